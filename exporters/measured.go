package exporters

import "github.com/railmap/railmap/topology"

// BytesPerGbit is 10^9 / 8: readers of exported values think in Gbit/s.
const BytesPerGbit = 1e9 / 8

// HealthyAdapters counts the compute NICs of a node that are not known to be degraded, down or stale. known is false when the
// map holds no compute NIC of the node.
func HealthyAdapters(n *topology.Node) (ok int64, known bool) {
	for _, nic := range n.NICs {
		if nic.Rail == nil {
			continue
		}
		known = true
		if nic.State != topology.Degraded && nic.State != topology.Down && nic.State != topology.Stale {
			ok++
		}
	}
	return ok, known
}
