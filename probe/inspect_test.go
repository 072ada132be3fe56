package probe

import (
	"testing"

	"github.com/railmap/railmap/topology"
)

// TestLinkOfFunctionZero: only function 0 speaks for the link that all functions of a device share.
func TestLinkOfFunctionZero(t *testing.T) {
	two, sixteen := 2, 16
	port := topology.PCIDevice{Address: "0000:80:01.0", Class: "0x060400", Link: &topology.PCILink{Width: &two, MaxWidth: &sixteen}}
	first := topology.PCIDevice{Address: "0000:81:00.0", Parent: port.Address, Class: "0x060400", Link: &topology.PCILink{Width: &two, MaxWidth: &two}}
	second := topology.PCIDevice{Address: "0000:81:00.1", Parent: port.Address, Class: "0x058000", Link: &topology.PCILink{Width: &two, MaxWidth: &sixteen}}
	for _, f := range inspectLinks(&topology.NodeReport{PCI: []topology.PCIDevice{port, first, second}}) {
		if f.Code == "pcie-width-low" {
			t.Errorf("%s: %s", f.Subject, f.Message)
		}
	}
	if got := inspectLinks(&topology.NodeReport{PCI: []topology.PCIDevice{port, second}}); len(got) == 0 {
		t.Error("a function without function 0 beside it must be judged")
	}
}
