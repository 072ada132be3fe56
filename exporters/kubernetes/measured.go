package kubernetes

import (
	"strconv"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// Keys of the labels that carry what was measured, as integers, for the operators Gt and Lt of nodeAffinity.
const (
	// BusBandwidthKey is the measured network bandwidth of a node, one way, all rails together, in Gbit/s, rounded down.
	BusBandwidthKey = "railmap.dev/busbw-gbps"
	// ShareKey is the effective network bandwidth in percent of a healthy node's, rounded down.
	ShareKey = "railmap.dev/share-percent"
	// AdaptersKey is the number of compute NICs that are not known to be degraded, down or stale.
	AdaptersKey = "railmap.dev/hca-ok"
	// OrderKey is the place of a node in ring order, zero-padded so that text order is ring order. As a Kueue level just above
	// the host name it makes Kueue give rank i the i-th node of the ring.
	OrderKey = "railmap.dev/order"
)

// measuredLabels gives the integer labels of a node. What is unknown has no label, and Gt does not match a node without it.
func measuredLabels(n *topology.Node, previous map[string]string) []label {
	var labels []label
	add := func(key string, v int64) {
		if v >= 0 {
			labels = append(labels, label{key, strconv.FormatInt(v, 10)})
		}
	}
	if m := n.MeasuredBandwidthBytesPerSecond; m != nil {
		add(BusBandwidthKey, exporters.Quantise(before(previous, BusBandwidthKey), m.Value/exporters.BytesPerGbit))
	}
	if n.Share != nil {
		add(ShareKey, exporters.QuantiseShare(before(previous, ShareKey), *n.Share))
	}
	if ok, known := exporters.HealthyAdapters(n); known {
		add(AdaptersKey, ok)
	}
	return labels
}

// before reads an integer label that is in force; -1 = none.
func before(previous map[string]string, key string) int64 {
	v, err := strconv.ParseInt(previous[key], 10, 64)
	if err != nil {
		return -1
	}
	return v
}
