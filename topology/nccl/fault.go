package nccl

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is something wrong with one device of a machine, in the words of bad-node files.
type Fault string

// Faults. A NIC or GPU is meant by its number in file order; AllNICsNoGDR means every NIC.
const (
	NoFault      Fault = "same"
	NICHalfSpeed Fault = "one NIC at 200G"
	NICMissing   Fault = "one NIC missing"
	NICNoGDR     Fault = "one NIC without GDR"
	NICPCIeX4    Fault = "NIC PCIe x4"
	GPUPCIeGen4  Fault = "GPU PCIe Gen4"
	GPUPCIeX8    Fault = "GPU PCIe x8"
	AllNICsNoGDR Fault = "all NICs no GDR"
)

// faultDevice is the number of the faulty device in bad-node files.
const faultDevice = 3

// WithFault returns a copy of a complete document in which device number n, counted from 0 in file order, has the fault.
func WithFault(x *XML, f Fault, n int) (*XML, error) {
	x = x.Clone()
	var change func(pci *Element)
	class := pciNIC
	switch f {
	case NoFault:
		return x, nil
	case NICHalfSpeed:
		change = func(p *Element) { setOnNets(p, "speed", "200000") }
	case NICMissing:
		change = func(p *Element) { p.Children = nil }
	case NICNoGDR, AllNICsNoGDR:
		change = func(p *Element) { setOnNets(p, "gdr", "0") }
	case NICPCIeX4:
		change = func(p *Element) { p.Set("link_width", "4") }
	case GPUPCIeGen4:
		class, change = pciGPU, func(p *Element) { p.Set("link_speed", "16.0 GT/s PCIe") }
	case GPUPCIeX8:
		class, change = pciGPU, func(p *Element) { p.Set("link_width", "8") }
	default:
		return nil, fmt.Errorf("fault %q is unknown: must be one of %s", f, strings.Join(faultNames(), ", "))
	}
	devices := x.functions(class)
	if f == AllNICsNoGDR {
		for _, d := range devices {
			change(d)
		}
		return x, nil
	}
	if n < 0 || n >= len(devices) {
		return nil, fmt.Errorf("fault %q on device %d: the machine has %d", f, n, len(devices))
	}
	change(devices[n])
	return x, nil
}

func faultNames() []string {
	var out []string
	for _, f := range []Fault{NoFault, NICHalfSpeed, NICMissing, NICNoGDR, NICPCIeX4, GPUPCIeGen4, GPUPCIeX8, AllNICsNoGDR} {
		out = append(out, string(f))
	}
	return out
}

// functions lists the PCI functions of a class in file order.
func (x *XML) functions(k pciKind) []*Element {
	var out []*Element
	x.Root.walk(func(e *Element, _ []*Element) {
		if class, _ := e.Get("class"); e.Name == "pci" && pciKindOf(class) == k {
			out = append(out, e)
		}
	})
	return out
}

func setOnNets(pci *Element, attr, value string) {
	if nic := pci.Child("nic"); nic != nil {
		for _, net := range slices.DeleteFunc(slices.Clone(nic.Children), func(e *Element) bool { return e.Name != "net" }) {
			net.Set(attr, value)
		}
	}
}
