package probe

import (
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

const (
	vendorNVIDIA = "0x10de"
	// classVGA and class3D are the two display classes under which NVIDIA GPUs appear: 0x0300 with a monitor port, 0x0302
	// without.
	classVGA, class3D = "0x0300", "0x0302"
)

// isGPU tells by class and vendor whether a PCI function is an NVIDIA GPU.
func isGPU(d *topology.PCIDevice) bool {
	return d.Vendor == vendorNVIDIA && (strings.HasPrefix(d.Class, classVGA) || strings.HasPrefix(d.Class, class3D))
}

// pciGPUs lists the GPUs that the PCI tree shows, by address. They are there without any driver.
func pciGPUs(devices []topology.PCIDevice) []topology.GPU {
	var gpus []topology.GPU
	for i := range devices {
		d := &devices[i]
		if !isGPU(d) {
			continue
		}
		g := topology.GPU{Index: len(gpus), PCIAddress: d.Address, NUMANode: d.NUMANode}
		if l := d.Link; l != nil {
			g.PCIeWidth, g.MaxPCIeWidth = l.Width, l.MaxWidth
			g.PCIeGeneration = generation(l.SpeedTransfersPerSecond)
			g.MaxPCIeGeneration = generation(l.MaxSpeedTransfersPerSecond)
		}
		gpus = append(gpus, g)
	}
	return gpus
}

// generation names the PCIe generation of a speed; nil when unknown.
func generation(transfers *float64) *int {
	if transfers == nil {
		return nil
	}
	for i, limit := range pcieSpeeds() {
		if *transfers <= limit {
			return new(i + 1)
		}
	}
	return nil
}

// mergeGPUs puts what the driver says over what the PCI tree shows. The driver's numbers count (they are those of CUDA and
// nvidia-smi); GPUs that only the tree shows get the numbers that are left, and each is a finding.
func mergeGPUs(onBus, driver []topology.GPU) ([]topology.GPU, []topology.Finding) {
	byAddress := map[string]topology.GPU{}
	for _, g := range onBus {
		byAddress[g.PCIAddress] = g
	}
	placeNameless(onBus, driver)
	taken, seen := map[int]bool{}, map[string]bool{}
	merged := make([]topology.GPU, 0, len(driver))
	for _, g := range driver {
		fillFromBus(&g, byAddress[g.PCIAddress])
		taken[g.Index], seen[g.PCIAddress] = true, true
		merged = append(merged, g)
	}
	var findings []topology.Finding
	for _, g := range onBus {
		if seen[g.PCIAddress] {
			continue
		}
		for g.Index = 0; taken[g.Index]; g.Index++ {
		}
		taken[g.Index] = true
		merged = append(merged, g)
		if len(driver) > 0 {
			findings = append(findings, topology.Finding{Code: "gpu-lost", Severity: topology.Error, Subject: g.PCIAddress,
				Message: "a GPU is on the PCI bus, but the driver does not list it",
				Remedy:  "look for Xid messages of this address in the kernel log; reset the GPU or replace it"})
		}
	}
	slices.SortFunc(merged, func(a, b topology.GPU) int { return a.Index - b.Index })
	return merged, findings
}

// fillFromBus adds what the driver does not tell.
func fillFromBus(g *topology.GPU, bus topology.GPU) {
	if g.NUMANode == nil {
		g.NUMANode = bus.NUMANode
	}
	if g.MaxPCIeWidth == nil {
		g.PCIeWidth, g.MaxPCIeWidth = bus.PCIeWidth, bus.MaxPCIeWidth
	}
	if g.MaxPCIeGeneration == nil {
		g.PCIeGeneration, g.MaxPCIeGeneration = bus.PCIeGeneration, bus.MaxPCIeGeneration
	}
}

// placeNameless gives GPUs whose address the driver did not tell the addresses that are left on the bus, when there are as
// many: both lists are in bus order.
func placeNameless(onBus, driver []topology.GPU) {
	known := map[string]bool{}
	var nameless []*topology.GPU
	for i := range driver {
		if known[driver[i].PCIAddress] = true; driver[i].PCIAddress == "" {
			nameless = append(nameless, &driver[i])
		}
	}
	var left []string
	for _, g := range onBus {
		if !known[g.PCIAddress] {
			left = append(left, g.PCIAddress)
		}
	}
	if len(left) == len(nameless) {
		for i, g := range nameless {
			g.PCIAddress = left[i]
		}
	}
}
