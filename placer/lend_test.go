package placer

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLendOrder: the slow node, then the broken leaf of the emptier pod; whole leaves and the best pod last.
func TestLendOrder(t *testing.T) {
	c := plainCluster(t, 2, 3, 4)
	// pod0: leaf0-0 has 2 free, the others are busy; pod1: all free but one node of leaf1-0.
	s, err := c.Snapshot(State{Busy: []string{"n000", "n001", "n004", "n005", "n006", "n007", "n008", "n009", "n010", "n011", "n012"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		n     int
		names []string
	}{{1, []string{"n002"}}, {2, []string{"n002", "n003"}}, {3, []string{"n002", "n003", "n013"}}} {
		l, err := s.Lend(want.n, "kubernetes")
		if err != nil || !slices.Equal(l.Nodes, want.names) {
			t.Errorf("%d: %v, %v, want %v", want.n, l, err, want.names)
		}
	}
	l, _ := s.Lend(5, "")
	if l.After.WholeLeaves != 2 || l.After.LargestPod != 8 {
		t.Errorf("after lending the broken leaves: %+v", l.After)
	}
	if _, err := s.Lend(14, ""); !errors.As(err, new(*InfeasibleError)) {
		t.Errorf("14 of 13 free nodes: %v", err)
	}
	if _, err := s.Lend(0, ""); err == nil {
		t.Error("0 nodes were lent")
	}
}

// TestLendProperties: as many free nodes as asked, each once, and never a whole leaf while broken ones of other pods remain.
func TestLendProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := randFrom(rt)
		w := randomWorld(rng, worldOptions{maxNodes: 40, crossings: true})
		s := w.snapshot(t)
		if len(w.free) == 0 {
			return
		}
		n := rapid.IntRange(1, len(w.free)).Draw(rt, "n")
		l, err := s.Lend(n, "")
		if err != nil {
			rt.Fatal(err)
		}
		if len(l.Nodes) != n || len(slices.Compact(slices.Sorted(slices.Values(l.Nodes)))) != n {
			rt.Fatalf("asked %d: %v", n, l.Nodes)
		}
		for _, name := range l.Nodes {
			if !slices.Contains(w.free, name) {
				rt.Fatalf("%s is not free", name)
			}
		}
		if l.After.UsableNodes > l.Before.UsableNodes || l.After.WholeLeaves > l.Before.WholeLeaves || l.After.LargestPod > l.Before.LargestPod {
			rt.Fatalf("before %+v, after %+v", l.Before, l.After)
		}
	})
}

func TestReclaim(t *testing.T) {
	c := plainCluster(t, 2, 3, 4)
	s, err := c.Snapshot(State{Lent: []string{"n000", "n001", "n012", "n013", "n014"}, Busy: []string{"n002"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		k      int
		within string
		names  int
		group  string
	}{{4, "leaf", 0, "leaf0-1"}, {10, "pod", 1, "pod0"}, {8, "pod", 0, "pod0"}, {19, "core", 1, "core"}} {
		names, group, err := s.Reclaim(tt.k, tt.within)
		if err != nil || len(names) != tt.names || group != tt.group {
			t.Errorf("%d within %s: %v below %s, %v; want %d below %s", tt.k, tt.within, names, group, err, tt.names, tt.group)
		}
	}
	if _, _, err := s.Reclaim(5, "leaf"); !errors.As(err, new(*InfeasibleError)) {
		t.Errorf("5 in a leaf of 4: %v", err)
	}
	if _, _, err := s.Reclaim(5, "rack"); err == nil {
		t.Error("an unknown level was accepted")
	}
}
