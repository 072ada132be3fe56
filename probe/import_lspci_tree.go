package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// maxLspciEnds bounds the GPUs and NICs between which paths are written: each has one to every other.
const maxLspciEnds = 512

// lspciReport hangs the functions below their bridges, takes the inventory and looks for what is wrong.
func lspciReport(functions []*lspciFunction, r *topology.NodeReport) {
	functions = lspciUnique(functions, r)
	whole := lspciParents(functions, r)
	hidden := lspciInventory(functions, r)
	if hidden > 0 {
		lose(r, "lspci", "%d functions hide their capabilities, so links and access control are not known: run lspci -vvv as root", hidden)
	}
	if !whole {
		lose(r, "lspci", "the bridges above the devices are not shown, so paths are not known: run lspci -vvv for the whole node")
		return
	}
	if n := len(r.GPUs) + len(r.NICs); n > maxLspciEnds {
		lose(r, "lspci", "%d GPUs and NICs: paths are written for at most %d", n, maxLspciEnds)
	} else {
		r.Paths = paths(r)
	}
	r.Findings = append(r.Findings, inspectLinks(r)...)
	r.Findings = append(r.Findings, inspectACS(r)...)
	r.Findings = append(r.Findings, inspectNUMA(r)...)
}

// lspciInventory fills the lists of a report, like readPCI with what matters for paths. NUMA nodes are those that devices
// name. It counts the functions that hide their capabilities.
func lspciInventory(functions []*lspciFunction, r *topology.NodeReport) (hidden int) {
	numa, models := map[int]bool{}, map[string]string{}
	for _, f := range functions {
		if f.hidden {
			hidden++
		}
		if f.NUMANode != nil && !numa[*f.NUMANode] {
			numa[*f.NUMANode] = true
			r.NUMANodes = append(r.NUMANodes, topology.NUMANode{ID: *f.NUMANode})
		}
		if f.Parent == "" && !matters(f.Class) {
			continue
		}
		r.PCI = append(r.PCI, f.PCIDevice)
		models[f.Address] = f.model
		if f.dead {
			r.Findings = append(r.Findings, topology.Finding{Code: "pci-no-answer", Severity: topology.Warning, Subject: f.Address,
				Message: "every register reads as ones: the device is off, or it fell off the bus",
				Remedy:  "read the kernel's log for Xid 79 or a link that went down; reset or reseat the card"})
		}
		if isNIC(&f.PCIDevice) && f.Vendor == vendorMellanox {
			r.NICs = append(r.NICs, topology.NICReport{Device: f.Address, Port: 1, PCIAddress: f.Address, NUMANode: f.NUMANode, LinkLayer: lspciLinkLayer(f.Class)})
		}
	}
	slices.SortFunc(r.NUMANodes, func(a, b topology.NUMANode) int { return a.ID - b.ID })
	r.GPUs = pciGPUs(r.PCI)
	for i := range r.GPUs {
		r.GPUs[i].Model = models[r.GPUs[i].PCIAddress]
	}
	return hidden
}

func lspciLinkLayer(class string) string {
	if strings.HasPrefix(class, "0x0207") {
		return "InfiniBand"
	}
	return "Ethernet"
}

// lspciUnique sorts by address and drops what stands twice.
func lspciUnique(functions []*lspciFunction, r *topology.NodeReport) []*lspciFunction {
	slices.SortStableFunc(functions, func(a, b *lspciFunction) int { return comparePCI(a.Address, b.Address) })
	kept := functions[:0]
	for _, f := range functions {
		if len(kept) > 0 && kept[len(kept)-1].Address == f.Address {
			lose(r, f.Address, "the PCI address stands twice; the first entry counts")
			continue
		}
		kept = append(kept, f)
	}
	return kept
}

// lspciParents sets the bridge above each function, and its root complex where the listing shows all bridges up to it. It
// returns whether it does: something of a root bus is listed and every bridge names its bus. Root complexes are named like
// the kernel's, by their first bus.
func lspciParents(functions []*lspciFunction, r *topology.NodeReport) (whole bool) {
	above := map[string]*lspciFunction{}
	blind := false
	for _, f := range functions {
		whole = whole || f.root
		if f.secondary == "" {
			blind = blind || strings.HasPrefix(f.Class, "0x0604")
			continue
		}
		// Buses are numbered downwards; anything else would lead in circles.
		if f.secondary <= f.bus || above[f.secondary] != nil {
			lose(r, f.Address, "its secondary bus is %s: must be above its own bus and that of no other bridge", f.secondary)
			continue
		}
		above[f.secondary] = f
	}
	whole = whole && !blind
	for _, f := range functions {
		if up := above[f.bus]; up != nil {
			f.Parent = up.Address
		}
		if whole {
			f.RootComplex = fmt.Sprintf("pci%s", lspciRootBus(above, f.bus))
		}
	}
	return whole
}

// lspciRootBus goes up; each step leads to a lower bus, so there are at most 256.
func lspciRootBus(above map[string]*lspciFunction, bus string) string {
	for above[bus] != nil {
		bus = above[bus].bus
	}
	return bus
}
