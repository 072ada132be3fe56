package probe

import (
	"fmt"
	"slices"

	"github.com/railmap/railmap/topology"
)

// Path letters, from near to far, as nvidia-smi topo -m prints them:
//
//	X     itself
//	NV#   # NVLinks
//	PIX   at most one PCIe bridge (one switch)
//	PXB   several PCIe bridges, no host bridge
//	PHB   a PCIe host bridge (one root complex)
//	NODE  several host bridges of one NUMA node
//	SYS   the link between NUMA nodes
const (
	pathSelf = "X"
	pathPIX  = "PIX"
	pathPXB  = "PXB"
	pathPHB  = "PHB"
	pathNODE = "NODE"
	pathSYS  = "SYS"
)

// endpoint is one row of the matrix.
type endpoint struct {
	name string
	pci  string
	numa *int
	gpu  *topology.GPU // nil for a NIC
}

// endpoints gives the rows in matrix order: GPUs by index, then RDMA devices by name. Ports of one device are one row.
func endpoints(r *topology.NodeReport) []endpoint {
	var rows []endpoint
	for i := range r.GPUs {
		g := &r.GPUs[i]
		rows = append(rows, endpoint{name: fmt.Sprintf("GPU%d", g.Index), pci: g.PCIAddress, numa: g.NUMANode, gpu: g})
	}
	for _, n := range r.NICs {
		if rows == nil || rows[len(rows)-1].name != n.Device {
			rows = append(rows, endpoint{name: n.Device, pci: n.PCIAddress, numa: n.NUMANode})
		}
	}
	return rows
}

// paths computes the letters between all pairs of GPUs and NICs, each pair once. A pair whose place in the PCI tree is not
// known has no entry.
func paths(r *topology.NodeReport) []topology.Path {
	byAddress := map[string]*topology.PCIDevice{}
	for i := range r.PCI {
		byAddress[r.PCI[i].Address] = &r.PCI[i]
	}
	var out []topology.Path
	rows := endpoints(r)
	for i, a := range rows {
		for _, b := range rows[i+1:] {
			letter := nvlinkLetter(a, b)
			if letter == "" {
				letter = pciLetter(byAddress, a, b, len(r.NUMANodes))
			}
			if letter != "" {
				out = append(out, topology.Path{A: a.name, B: b.name, Type: letter})
			}
		}
	}
	return out
}

// nvlinkLetter counts the active NVLinks between two GPUs: those that name the other GPU, else those into the switches that
// both reach; "" when there are none.
func nvlinkLetter(a, b endpoint) string {
	if a.gpu == nil || b.gpu == nil {
		return ""
	}
	direct, switchedA, switchedB := 0, 0, 0
	for _, l := range a.gpu.NVLinks {
		if l.Active && l.RemoteType == "switch" {
			switchedA++
		} else if l.Active && l.Remote != "" && l.Remote == b.pci {
			direct++
		}
	}
	for _, l := range b.gpu.NVLinks {
		if l.Active && l.RemoteType == "switch" {
			switchedB++
		}
	}
	if n := direct + min(switchedA, switchedB); n > 0 {
		return fmt.Sprintf("NV%d", n)
	}
	return ""
}

// pciLetter walks both devices up to their lowest common bridge. One switch shows as three bridges to the kernel (downstream,
// upstream, downstream port), a shared bus as one: up to three are PIX, more are PXB.
func pciLetter(byAddress map[string]*topology.PCIDevice, a, b endpoint, numaNodes int) string {
	da, db := byAddress[a.pci], byAddress[b.pci]
	if da == nil || db == nil {
		return ""
	}
	if da == db {
		return pathPIX
	}
	upA, upB := ancestors(byAddress, da), ancestors(byAddress, db)
	for i, bridge := range upA {
		if j := slices.Index(upB, bridge); j >= 0 {
			if i+j+1 <= 3 {
				return pathPIX
			}
			return pathPXB
		}
	}
	if da.RootComplex != "" && da.RootComplex == db.RootComplex {
		return pathPHB
	}
	if sameNUMA(a.numa, b.numa, numaNodes) {
		return pathNODE
	}
	return pathSYS
}

// pathBetween looks the letter of two rows up; "" when there is none.
func pathBetween(r *topology.NodeReport, a, b string) string {
	for _, p := range r.Paths {
		if p.A == a && p.B == b || p.A == b && p.B == a {
			return p.Type
		}
	}
	return ""
}

// ancestors lists the bridges above a device, nearest first. The bound keeps a looped report from looping us.
func ancestors(byAddress map[string]*topology.PCIDevice, d *topology.PCIDevice) []string {
	var up []string
	for d != nil && d.Parent != "" && len(up) < 64 {
		up = append(up, d.Parent)
		d = byAddress[d.Parent]
	}
	return up
}

// sameNUMA holds when both nodes are known and equal; a machine with one node or none has only one place to be.
func sameNUMA(a, b *int, nodes int) bool {
	if nodes <= 1 {
		return true
	}
	return a != nil && b != nil && *a == *b
}
