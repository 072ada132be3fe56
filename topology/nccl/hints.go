package nccl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// EnvVar is one setting for NCCL and why.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Why   string `json:"why"`
}

// NodeHints are the settings of one node of a job.
type NodeHints struct {
	Node string   `json:"node"`
	Env  []EnvVar `json:"env"`
}

// Hints are the settings for a job. Common holds what all nodes share, or most of them for NCCL_IB_HCA; Nodes, in rank order,
// what a node has in place of it or on top.
type Hints struct {
	Common   []EnvVar           `json:"common"`
	Nodes    []NodeHints        `json:"nodes,omitempty"`
	Findings []topology.Finding `json:"findings,omitempty"`
}

// For lists the settings of one node: its own, and the common ones that it has no own value for.
func (h Hints) For(node string) []EnvVar {
	var own []EnvVar
	for _, n := range h.Nodes {
		if n.Node == node {
			own = append(own, n.Env...)
		}
	}
	var out []EnvVar
	for _, v := range h.Common {
		if !slices.ContainsFunc(own, func(o EnvVar) bool { return o.Name == v.Name }) {
			out = append(out, v)
		}
	}
	return append(out, own...)
}

// HintOptions say what is known beside the map.
type HintOptions struct {
	Version  Version
	Reports  map[string]*topology.NodeReport // by node name; nil = settings that need them are left out
	TopoFile string                          // where NCCL_TOPO_FILE should point when the PCI tree is hidden
}

// Codes of findings of hints.
const (
	CodeExcludedNIC = "nccl-nic-excluded"
	CodeHiddenTree  = "nccl-pci-hidden"
	CodeOddRails    = "nccl-odd-rails"
	CodeNoNIC       = "nccl-no-nic"
)

// HintsFor derives settings for a job on nodes of the cluster, in rank order.
func (c *Cluster) HintsFor(names []string, o HintOptions) (Hints, error) {
	var h Hints
	perNode := make([][]EnvVar, len(names))
	for i, name := range names {
		place := c.fabric.Place(name)
		if place < 0 {
			return h, fmt.Errorf("the map does not know %s: names must be those of the map", name)
		}
		n := withReport(c.nodes[place], o.Reports[name])
		if v, ok := h.hca(&n, o.Version); ok {
			perNode[i] = append(perNode[i], v)
		}
		if r := o.Reports[name]; r != nil {
			perNode[i] = append(perNode[i], h.topoFile(r, o.TopoFile)...)
		}
	}
	h.split(names, perNode)
	if v, ok := h.crossNIC(c.fabric, len(names)); ok {
		h.Common = append(h.Common, v)
	}
	if v, ok := socketInterface(names, o.Reports); ok {
		h.Common = append(h.Common, v)
	}
	h.Findings = topology.SortFindings(h.Findings)
	return h, nil
}

// split moves settings that are the same on all nodes to Common, and the NIC list that most nodes have.
func (h *Hints) split(names []string, perNode [][]EnvVar) {
	uses := make(map[EnvVar]int)
	for _, env := range perNode {
		for _, v := range env {
			uses[EnvVar{Name: v.Name, Value: v.Value}]++
		}
	}
	common := func(v EnvVar) bool {
		n := uses[EnvVar{Name: v.Name, Value: v.Value}]
		return n == len(names) || v.Name == hcaVariable && 2*n > len(names)
	}
	for i, env := range perNode {
		var own []EnvVar
		for _, v := range env {
			if !common(v) {
				own = append(own, v)
				continue
			}
			if !slices.ContainsFunc(h.Common, func(o EnvVar) bool { return o.Name == v.Name }) {
				h.Common = append(h.Common, v)
			}
		}
		if len(own) > 0 {
			h.Nodes = append(h.Nodes, NodeHints{names[i], own})
		}
	}
}

// hcaVariable is the variable that lists the NICs.
const hcaVariable = "NCCL_IB_HCA"

// hca names the NICs to use, exactly ("="): the compute NICs that are up, without those that would slow the whole job more
// than their absence does. From 2.30.7 NCCL also takes the rail of each.
func (h *Hints) hca(n *topology.Node, v Version) (EnvVar, bool) {
	used, left := chooseNICs(n)
	for _, l := range left {
		h.Findings = append(h.Findings, topology.Finding{Code: CodeExcludedNIC, Severity: topology.Warning, Subject: n.Name + "/" + l.device,
			Message: l.why, Remedy: "repair the NIC; until then NCCL_IB_HCA leaves it out"})
	}
	if len(used) == 0 {
		h.Findings = append(h.Findings, topology.Finding{Code: CodeNoNIC, Severity: topology.Warning, Subject: n.Name,
			Message: "the map names no usable compute NIC of this node", Remedy: "give node reports to the map, or select compute NICs there"})
		return EnvVar{}, false
	}
	var words []string
	for _, nic := range used {
		port := max(nic.Port, 1)
		if v.AtLeast(30, 7) {
			words = append(words, fmt.Sprintf("%s:%d:%d", nic.Device, port, *nic.Rail))
		} else {
			words = append(words, fmt.Sprintf("%s:%d", nic.Device, port))
		}
	}
	why := plural(len(used), "compute NIC", "compute NICs")
	for _, l := range left {
		why += ", without " + l.device + ": " + l.why
	}
	return EnvVar{hcaVariable, "=" + strings.Join(words, ","), why}, true
}

// leftOut is a NIC that a job is better without.
type leftOut struct{ device, why string }

// chooseNICs splits the compute NICs of a node. NCCL spreads a collective evenly over the NICs, so n NICs carry n times the
// slowest: leaving the slow ones out pays when the others carry more than that.
func chooseNICs(n *topology.Node) (used []topology.NodeNIC, left []leftOut) {
	fastest := 0.
	for _, nic := range n.NICs {
		if nic.Rail != nil && nic.Device != "" && nic.State != topology.Down {
			fastest = max(fastest, nic.NominalBandwidthBytesPerSecond)
		}
	}
	var slow []topology.NodeNIC
	slowest := fastest
	for _, nic := range n.NICs {
		switch {
		case nic.Rail == nil || nic.Device == "":
		case nic.State == topology.Down:
			left = append(left, leftOut{nic.Device, "it is down"})
		case nic.NominalBandwidthBytesPerSecond > 0 && nic.NominalBandwidthBytesPerSecond < slowNIC*fastest:
			slow = append(slow, nic)
			slowest = min(slowest, nic.NominalBandwidthBytesPerSecond)
		default:
			used = append(used, nic)
		}
	}
	all := float64(len(used)+len(slow)) * slowest
	without := float64(len(used)) * fastest
	if len(slow) == 0 || without <= all {
		used = append(used, slow...)
		slices.SortStableFunc(used, func(a, b topology.NodeNIC) int { return *a.Rail - *b.Rail })
		return used, left
	}
	for _, nic := range slow {
		left = append(left, leftOut{nic.Device, fmt.Sprintf("at %.0f Gb/s it holds the node to %.0f GB/s, without it %.0f GB/s are left",
			nic.NominalBandwidthBytesPerSecond*8/1e9, all/1e9, without/1e9)})
	}
	return used, left
}

// crossNIC forbids rings to change NIC where that means changing a rail that has no other path, or one hop too many.
func (h *Hints) crossNIC(f *Fabric, nodes int) (EnvVar, bool) {
	if nodes < 2 {
		return EnvVar{}, false
	}
	if f.isolated {
		if nodes%2 == 1 {
			h.Findings = append(h.Findings, topology.Finding{Code: CodeOddRails, Severity: topology.Warning, Subject: "job",
				Message: "an odd number of nodes on isolated rails: rings that alternate NICs would change rail between the last node and the first",
				Remedy:  "take an even number of nodes, or set NCCL_CROSS_NIC=0"})
		}
		return EnvVar{"NCCL_CROSS_NIC", "0", "the rails have no path between them"}, true
	}
	rails := slices.ContainsFunc(f.groups, func(g fabricGroup) bool { return g.rails })
	if rails && nodes%2 == 1 {
		return EnvVar{"NCCL_CROSS_NIC", "0", "with an odd number of nodes half of the channels would change rail on one hop, over the spine"}, true
	}
	return EnvVar{}, false
}
