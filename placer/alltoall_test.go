package placer

import (
	"math"
	"testing"
)

// allToAll evaluates a set by the definition of the model.
func (w *world) allToAll(set []string) float64 {
	best := math.Inf(1)
	count := map[string]int{}
	roots := map[string]bool{}
	for _, n := range set {
		best = min(best, w.share[n])
		chain := w.chain(n)
		for _, g := range chain {
			count[g]++
		}
		roots[chain[len(chain)-1]] = true
	}
	if len(roots) > 1 {
		return 0
	}
	k := float64(len(set))
	for g, n := range count {
		if n := float64(n); n < k {
			best = min(best, w.uplink[g]*(k-1)/(n*(k-n)))
		}
	}
	return best
}

// TestAllToAllEqualsBruteForce holds the interval method against every set of random small clusters.
func TestAllToAllEqualsBruteForce(t *testing.T) {
	rng := randFor(11)
	feasible := 0
	for feasible < 2000 {
		w := randomWorld(rng, worldOptions{maxNodes: 14, sick: true, roots: true})
		k := 2 + rng.IntN(6)
		want := 0.0
		if k <= len(w.free) {
			eachSubset(w.free, k, func(set []string) { want = max(want, w.allToAll(set)) })
		}
		p, err := Place(w.snapshot(t), &Request{Nodes: k, Collective: AllToAll})
		if want == 0 {
			if err == nil {
				t.Fatalf("k=%d: got %v, want infeasible", k, p.Nodes)
			}
			continue
		}
		if err != nil {
			t.Fatalf("k=%d: %v, brute force %v", k, err, want)
		}
		if got := w.allToAll(p.Nodes); math.Abs(got-want) > exact || math.Abs(p.Share-got) > exact {
			t.Fatalf("k=%d: share %v (evaluated %v), brute force %v\n%v", k, p.Share, got, want, p.Nodes)
		}
		feasible++
	}
}

// TestAllToAllSegments: with segments every leaf group holds a multiple of the segment, and no such set is better.
func TestAllToAllSegments(t *testing.T) {
	rng := randFor(12)
	for i := 0; i < 1000; i++ {
		w := randomWorld(rng, worldOptions{maxNodes: 12})
		want := 0.0
		if len(w.free) >= 4 {
			eachSubset(w.free, 4, func(set []string) {
				if w.wholeSegments(set, 2) {
					want = max(want, w.allToAll(set))
				}
			})
		}
		p, err := Place(w.snapshot(t), &Request{Nodes: 4, SegmentNodes: 2, Collective: AllToAll})
		if want == 0 && err != nil {
			continue
		}
		if err != nil || !w.wholeSegments(p.Nodes, 2) || math.Abs(p.Share-want) > exact {
			t.Fatalf("got %+v, %v, brute force %v", p, err, want)
		}
	}
}

// TestRingSegments is the same for rings.
func TestRingSegments(t *testing.T) {
	rng := randFor(13)
	for i := 0; i < 2000; i++ {
		w := randomWorld(rng, worldOptions{maxNodes: 12, crossings: true})
		want := 0.0
		if len(w.free) >= 6 {
			eachSubset(w.free, 6, func(set []string) {
				if w.wholeSegments(set, 2) {
					want = max(want, w.ring(set))
				}
			})
		}
		p, err := Place(w.snapshot(t), &Request{Nodes: 6, SegmentNodes: 2})
		if want == 0 && err != nil {
			continue
		}
		if err != nil || !w.wholeSegments(p.Nodes, 2) || math.Abs(p.Share-want) > exact {
			t.Fatalf("got %+v, %v, brute force %v", p, err, want)
		}
	}
}

func (w *world) wholeSegments(set []string, d int) bool {
	count := map[string]int{}
	for _, n := range set {
		count[w.leaf[n]]++
	}
	for _, c := range count {
		if c%d != 0 {
			return false
		}
	}
	return true
}
