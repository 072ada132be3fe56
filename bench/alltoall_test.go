package bench

import (
	"testing"

	"github.com/railmap/railmap/placer"
)

// TestAllToAllSpreads: on an oversubscribed tree packed gangs lose nearly half of their all-to-all rate; the exact choice
// spreads them and keeps it.
func TestAllToAllSpreads(t *testing.T) {
	m := NewModel(ModelSpec{Nodes: 2048, LeafNodes: 32, PodNodes: 512, Seed: 11})
	cluster, err := placer.NewCluster(m.Topology(), placer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := cluster.Snapshot(placer.State{})
	if err != nil {
		t.Fatal(err)
	}
	index := map[string]int{}
	for i := range m.Nodes {
		index[m.Name(i)] = i
	}
	for _, k := range []int{64, 256, 512} {
		p, err := placer.Place(s, &placer.Request{Nodes: k, Collective: placer.AllToAll, Brief: true})
		if err != nil || p.Share < .98 {
			t.Errorf("%d nodes: share %v, %v", k, p.Share, err)
		}
		packed, err := placer.Place(s, &placer.Request{Nodes: k, Brief: true})
		if err != nil {
			t.Fatal(err)
		}
		leaves := map[int]int{}
		for _, n := range packed.Nodes {
			leaves[m.Leaf(index[n])]++
		}
		rate := 1.0
		for leaf, n := range leaves {
			rate = min(rate, m.LeafUp[leaf]*float64(k-1)/float64(n*(k-n)))
		}
		t.Logf("%d nodes: spread %.3f, packed at most %.3f", k, p.Share, rate)
		if k >= 256 && rate > .6 {
			t.Errorf("%d nodes packed for a ring: rate %.3f; the test's cluster is not oversubscribed", k, rate)
		}
	}
}
