package placer

import "slices"

// segmentValues replaces the node bandwidths eff[from:] of one leaf group by those of its segments of d nodes: the j-th
// segment is as good as the (j·d)-th best node. Left-over nodes drop out.
func segmentValues(eff []float64, from, d int) []float64 {
	leaf := eff[from:]
	slices.Sort(leaf)
	slices.Reverse(leaf)
	n := 0
	for i := d - 1; i < len(leaf); i += d {
		leaf[n] = leaf[i]
		n++
	}
	return eff[:from+n]
}
