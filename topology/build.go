package topology

import "errors"

// Input is everything a map is made from. Any part may be empty, not all of it.
type Input struct {
	Fabrics []*FabricReport
	Nodes   []*NodeReport
	Pairs   []*PairReport
}

// BuildOptions change how the map is made. The zero value is right for most fabrics.
type BuildOptions struct {
	Hosts []string          // project on these hosts; nil = every compute host found
	Alias map[string]string // host name or switch GUID as found -> name to use
}

// Build makes the map.
func Build(in Input, opts BuildOptions) (*Topology, error) {
	return nil, errors.New("not built yet")
}

// Validate checks a topology document.
func (t *Topology) Validate() error { return nil }
