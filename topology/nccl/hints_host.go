package nccl

import (
	"cmp"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// withReport is a node of the map with what its own report says of its NICs: rate and state of ports of the same name.
func withReport(n topology.Node, r *topology.NodeReport) topology.Node {
	if r == nil {
		return n
	}
	n.NICs = slices.Clone(n.NICs)
	for i := range n.NICs {
		nic := &n.NICs[i]
		at := slices.IndexFunc(r.NICs, func(p topology.NICReport) bool {
			return p.Device == nic.Device && (p.Port == nic.Port || nic.Port == 0)
		})
		if at < 0 {
			continue
		}
		if p := &r.NICs[at]; p.State != "" && p.State != "ACTIVE" {
			nic.State = topology.Down
		} else if p.RateBytesPerSecond != nil {
			nic.NominalBandwidthBytesPerSecond = *p.RateBytesPerSecond
		}
	}
	return n
}

// topoFile tells when NCCL cannot see which NIC stands beside which GPU: a machine with NVLinks always has PCIe switches, so
// when no GPU shares one with a NIC the tree is hidden, as in many virtual machines.
func (h *Hints) topoFile(r *topology.NodeReport, file string) []EnvVar {
	if !hiddenTree(r) {
		return nil
	}
	why := "no GPU shares a PCIe switch with a NIC: the PCI tree is hidden (virtual machine?), and NCCL would not use GPUDirect RDMA"
	h.Findings = append(h.Findings, topology.Finding{Code: CodeHiddenTree, Severity: topology.Warning, Subject: r.Node, Message: why,
		Remedy: "write the machine's real tree with railmap nccl xml, or take the file of the platform, and point NCCL_TOPO_FILE at it"})
	if file == "" {
		return nil
	}
	return []EnvVar{{"NCCL_TOPO_FILE", file, why}}
}

func hiddenTree(r *topology.NodeReport) bool {
	parent := make(map[string]string, len(r.PCI))
	for _, d := range r.PCI {
		parent[d.Address] = d.Parent
	}
	above := make(map[string]bool)
	for _, nic := range r.NICs {
		for a, steps := parent[nic.PCIAddress], 0; a != "" && steps < 64; a, steps = parent[a], steps+1 {
			above[a] = true
		}
	}
	linked := false
	for _, g := range r.GPUs {
		linked = linked || len(g.NVLinks) > 0
		for a, steps := parent[g.PCIAddress], 0; a != "" && steps < 64; a, steps = parent[a], steps+1 {
			if above[a] {
				return false
			}
		}
	}
	return linked && len(r.NICs) > 0 && len(r.PCI) > 0
}

// virtualInterfaces begin like this: bridges, containers, tunnels. NCCL would take them for its bootstrap.
var virtualInterfaces = []string{"lo", "docker", "veth", "br-", "virbr", "cali", "tunl", "flannel", "cni", "cilium", "lxc", "kube", "vxlan", "wg", "tun", "tap", "dummy"}

// socketInterface picks the network interface for NCCL's bootstrap: up on every node under one name, a real device, not a
// compute NIC where there is another; the quickest, then the first by name.
func socketInterface(names []string, reports map[string]*topology.NodeReport) (EnvVar, bool) {
	type candidate struct {
		name  string
		nodes int
		rdma  bool
		speed float64
	}
	var all []candidate
	for _, node := range names {
		r := reports[node]
		if r == nil {
			return EnvVar{}, false
		}
		for _, d := range r.NetDevices {
			if d.State != "up" && d.State != "unknown" || slices.ContainsFunc(virtualInterfaces, func(p string) bool { return strings.HasPrefix(d.Name, p) }) {
				continue
			}
			at := slices.IndexFunc(all, func(c candidate) bool { return c.name == d.Name })
			if at < 0 {
				at = len(all)
				all = append(all, candidate{name: d.Name})
			}
			c := &all[at]
			c.nodes++
			c.rdma = c.rdma || d.RDMADevice != ""
			if d.SpeedBytesPerSecond != nil && (c.speed == 0 || *d.SpeedBytesPerSecond < c.speed) {
				c.speed = *d.SpeedBytesPerSecond
			}
		}
	}
	all = slices.DeleteFunc(all, func(c candidate) bool { return c.nodes < len(names) })
	if len(all) == 0 {
		return EnvVar{}, false
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(count(a.rdma)-count(b.rdma), cmp.Compare(b.speed, a.speed), topology.CompareNames(a.name, b.name))
	})
	return EnvVar{"NCCL_SOCKET_IFNAME", "=" + all[0].name, "up on every node under this name"}, true
}
