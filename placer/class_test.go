package placer

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestPools: requests stay in their pools, by the exact way and by the index, and the refusal says what would help.
func TestPools(t *testing.T) {
	w := randomWorld(randFor(41), worldOptions{maxNodes: 40})
	pools := map[string]string{}
	for i, n := range w.topo.Nodes {
		pools[n.Name] = []string{"train", "serve", ""}[i%3]
	}
	c, err := NewCluster(w.topo, Options{Pools: pools})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEngine(c, State{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tolerance := range []float64{0, .02} {
		for _, allowed := range [][]string{{"train"}, {"train", "serve"}, {""}} {
			p, err := Place(e.Snapshot(), &Request{Nodes: 3, Pools: allowed, Tolerance: tolerance})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range p.Nodes {
				if !slices.Contains(allowed, pools[n]) {
					t.Errorf("pools %q: got %s of pool %q", allowed, n, pools[n])
				}
			}
		}
	}
	_, err = Place(e.Snapshot(), &Request{Nodes: len(pools)/3 + 2, Pools: []string{"serve"}})
	if e := (*InfeasibleError)(nil); !errors.As(err, &e) || !strings.Contains(e.Remedy, "allow more pools than serve") {
		t.Errorf("got %v", err)
	}
}
