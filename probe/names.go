package probe

import (
	"fmt"
	"strings"

	"github.com/railmap/railmap/topology"
)

func index(devices []topology.PCIDevice) map[string]*topology.PCIDevice {
	m := make(map[string]*topology.PCIDevice, len(devices))
	for i := range devices {
		m[devices[i].Address] = &devices[i]
	}
	return m
}

// isNIC tells by class: 0x0200 Ethernet, 0x0207 InfiniBand.
func isNIC(d *topology.PCIDevice) bool {
	return strings.HasPrefix(d.Class, "0x0200") || strings.HasPrefix(d.Class, "0x0207")
}

// downstreamPort tells whether a bridge looks down: root ports and downstream ports of switches do, upstream ports do not.
// They alternate on the way down from the root bus: root port, upstream, downstream, upstream, ...
func downstreamPort(byAddress map[string]*topology.PCIDevice, d *topology.PCIDevice) bool {
	return strings.HasPrefix(d.Class, "0x0604") && len(ancestors(byAddress, d))%2 == 0
}

// pciName names a device as people know it: GPU0, a NIC's device name, else its address.
func pciName(r *topology.NodeReport, d *topology.PCIDevice) string {
	for _, g := range r.GPUs {
		if g.PCIAddress == d.Address {
			return fmt.Sprintf("GPU%d", g.Index)
		}
	}
	for _, n := range r.NICs {
		if n.PCIAddress == d.Address {
			return n.Device
		}
	}
	for _, n := range r.NetDevices {
		if n.PCIAddress == d.Address {
			return n.Name
		}
	}
	return d.Address
}

func portName(n topology.NICReport) string { return fmt.Sprintf("%s/%d", n.Device, n.Port) }

func isGPUName(s string) bool { return numbered(s, "GPU") }

// least is the smaller of two known values, the known one of one, nil of none.
func least[T int | float64](a, b *T) *T {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return new(min(*a, *b))
}

func gt(transfers float64) string { return fmt.Sprintf("%g GT/s", transfers/1e9) }

func gbit(bytesPerSecond float64) string { return fmt.Sprintf("%g Gb/s", bytesPerSecond*8/1e9) }
