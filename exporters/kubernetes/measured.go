package kubernetes

// Keys of the labels that carry what was measured, as integers, for the operators Gt and Lt of nodeAffinity.
const (
	// BusBandwidthKey is the measured network bandwidth of a node, one way, all rails together, in Gbit/s, rounded down.
	BusBandwidthKey = "railmap.dev/busbw-gbps"
	// ShareKey is the effective network bandwidth in percent of a healthy node's, rounded down.
	ShareKey = "railmap.dev/share-percent"
	// AdaptersKey is the number of compute NICs that are not known to be degraded, down or stale.
	AdaptersKey = "railmap.dev/hca-ok"
	// OrderKey is the place of a node in ring order, zero-padded so that text order is ring order.
	OrderKey = "railmap.dev/order"
)
