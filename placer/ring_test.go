package placer

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const exact = 1e-12

// TestRingEqualsBruteForce holds the closed form against every node set (depth-first order) of random small clusters, with
// and without running gangs on the uplinks.
func TestRingEqualsBruteForce(t *testing.T) {
	for _, crossings := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(1, 2))
		cases := 0
		for cases < 3000 {
			w := randomWorld(rng, worldOptions{maxNodes: 14, crossings: crossings, roots: true})
			k := 2 + rng.IntN(5)
			checkRing(t, w, k, func(set []string) float64 { return w.ring(set) })
			cases++
		}
		t.Logf("%d cases, crossings %v", cases, crossings)
	}
}

// TestRingEqualsEveryOrder also tries every ring order of every set.
func TestRingEqualsEveryOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := 0; i < 1500; i++ {
		w := randomWorld(rng, worldOptions{maxNodes: 9, crossings: true, roots: true})
		checkRing(t, w, 2+rng.IntN(4), func(set []string) float64 {
			best := 0.0
			eachRing(set, func(o []string) { best = max(best, w.ring(o)) })
			return best
		})
	}
}

func checkRing(t *testing.T, w *world, k int, value func([]string) float64) {
	t.Helper()
	want := 0.0
	if k <= len(w.free) {
		eachSubset(w.free, k, func(set []string) { want = max(want, value(set)) })
	}
	got, err := Place(w.snapshot(t), &Request{Nodes: k})
	if want == 0 {
		if e := (*InfeasibleError)(nil); !errors.As(err, &e) {
			t.Fatalf("k=%d: got %v, want infeasible", k, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.Share-want) > exact || math.Abs(w.ring(got.Nodes)-want) > exact {
		t.Fatalf("k=%d: share %v (evaluated %v), brute force %v\n%+v", k, got.Share, w.ring(got.Nodes), want, got)
	}
}

// TestSickLeafIsALowerBound: with a leaf slower than its pod the answer is reachable, never above the optimum, and says so.
func TestSickLeafIsALowerBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	equal, total := 0, 0
	for i := 0; i < 1500; i++ {
		w := randomWorld(rng, worldOptions{maxNodes: 9, crossings: true, sick: true})
		k := 2 + rng.IntN(4)
		want := 0.0
		if k <= len(w.free) {
			eachSubset(w.free, k, func(set []string) {
				eachRing(set, func(o []string) { want = max(want, w.ring(o)) })
			})
		}
		s := w.snapshot(t)
		p, err := Place(s, &Request{Nodes: k})
		if err != nil {
			continue
		}
		total++
		bound := slices.Max(ringValuesOf(s, k))
		if bound > p.Share+exact || p.Share > want+exact {
			t.Fatalf("k=%d: bound %v, share %v, optimum %v: must not decrease", k, bound, p.Share, want)
		}
		if p.LowerBound == s.c.uniform {
			t.Fatalf("lowerBound is %v for uniform %v", p.LowerBound, s.c.uniform)
		}
		if math.Abs(p.Share-want) < exact {
			equal++
		}
	}
	t.Logf("equal to the optimum in %d of %d", equal, total)
}

func ringValuesOf(s *Snapshot, k int) []float64 {
	p := &problem{c: s.c, s: s, k: k, seg: 1, r: &Request{Nodes: k}, within: 9, mask: -1}
	p.prepare()
	return p.ringValues()
}
