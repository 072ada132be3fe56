package probe

import (
	"slices"

	"github.com/railmap/railmap/topology"
)

// summarize gives the median of the samples and their spread, (max-min)/median.
func summarize(samples []float64, method string) topology.Measurement {
	if len(samples) == 0 {
		return topology.Measurement{Method: method}
	}
	s := slices.Sorted(slices.Values(samples))
	median := s[len(s)/2]
	if len(s)%2 == 0 {
		median = (s[len(s)/2-1] + s[len(s)/2]) / 2
	}
	m := topology.Measurement{Value: median, Samples: len(s), Method: method}
	if median > 0 {
		m.Spread = (s[len(s)-1] - s[0]) / median
	}
	return m
}
