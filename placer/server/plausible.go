package server

import (
	"fmt"
	"strings"

	"github.com/railmap/railmap/topology"
)

// Figures above which no machine known goes, with room for the next generations.
const (
	fastestPort = 400e9 // bytes per second: 3.2 Tbit/s, four times an XDR port
	fastestCopy = 4e12  // bytes per second: above the NVLink of any GPU
	shortest    = 1e-9  // seconds: light goes 30 cm
)

// foreignAdapter names the first adapter of a report that the map gives to another node: whoever reports it would take that
// node's place. Hosts that the fabric only knows by another name are normal, so a node that is not on the map may claim the
// adapters of one that never reported; a node that is on the map already may not. Where a card really moved, an administrator
// submits the report once, and the map knows.
func (w *world) foreignAdapter(r *topology.NodeReport, reported func(node string) bool) string {
	for _, n := range r.NICs {
		owner := w.adapters[n.NodeGUID]
		if n.NodeGUID == 0 || owner == "" || sameHost(owner, r.Node) {
			continue
		}
		if reported(owner) || w.knows(r.Node) {
			return fmt.Sprintf("adapter %s (%s) belongs to %s", n.Device, n.NodeGUID, owner)
		}
	}
	return ""
}

// knows tells whether a host is on the map.
func (w *world) knows(host string) bool {
	for name := range w.node {
		if sameHost(name, host) {
			return true
		}
	}
	return false
}

// sameHost compares host names without case and domain.
func sameHost(a, b string) bool {
	a, _, _ = strings.Cut(a, ".")
	b, _, _ = strings.Cut(b, ".")
	return strings.EqualFold(a, b)
}

// implausible names the first figure that cannot be true: a port faster than any, more than twice the rate of the port, more
// than any bus carries, an answer before light could bring it.
func implausible(r *topology.NodeReport) string {
	for _, n := range r.NICs {
		limit := 2 * fastestPort
		if rate := n.RateBytesPerSecond; rate != nil {
			if *rate > fastestPort {
				return fmt.Sprintf("%s says that its port runs at %.3g bytes/s", n.Device, *rate)
			}
			limit = 2 * *rate
		}
		for _, m := range []*topology.Measurement{n.BandwidthBytesPerSecond, n.GPUBandwidthBytesPerSecond} {
			if m != nil && m.Value > limit {
				return fmt.Sprintf("%s measured at %.3g bytes/s, which is more than twice what its port can carry", n.Device, m.Value)
			}
		}
		for _, m := range []*topology.Measurement{n.LatencySeconds, n.ReadLatencySeconds} {
			if m != nil && m.Value < shortest {
				return fmt.Sprintf("%s answers in %.3g s", n.Device, m.Value)
			}
		}
	}
	return implausibleInside(&r.Measurements)
}

// implausibleInside looks at what was measured inside the node.
func implausibleInside(m *topology.Measurements) string {
	for _, v := range m.Memory {
		if v.BandwidthBytesPerSecond.Value > fastestCopy {
			return fmt.Sprintf("memory of NUMA node %d at %.3g bytes/s", v.NUMANode, v.BandwidthBytesPerSecond.Value)
		}
	}
	for _, c := range m.Copies {
		if c.BandwidthBytesPerSecond.Value > fastestCopy {
			return fmt.Sprintf("copy %s to %s at %.3g bytes/s", c.From, c.To, c.BandwidthBytesPerSecond.Value)
		}
	}
	for _, l := range m.Latencies {
		if l.LatencySeconds.Value < shortest {
			return fmt.Sprintf("%s reaches %s in %.3g s", l.From, l.To, l.LatencySeconds.Value)
		}
	}
	for _, c := range m.Collective {
		if c.BusBandwidthBytesPerSecond.Value > fastestCopy {
			return fmt.Sprintf("%s at %.3g bytes/s", c.Name, c.BusBandwidthBytesPerSecond.Value)
		}
	}
	return ""
}
