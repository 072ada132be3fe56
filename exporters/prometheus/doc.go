// Package prometheus shows the map as metrics. The figures of a map are made anew at every scrape, so what has left the map
// leaves the page. No metric has a label whose values grow with the number of node pairs, and every label has a written
// bound; see Table for all names.
//
//	registry.MustRegister(prometheus.NewMap(func() *topology.Topology { return current.Load() }))
package prometheus
