package placer

import (
	"math"
	"testing"
)

// TestDoubleTreeShape: both trees reach every node once, and no node is inner in both (but one, where n is odd).
func TestDoubleTreeShape(t *testing.T) {
	for n := 2; n <= 200; n++ {
		edges := doubleTree(n)
		if len(edges) != 2*(n-1) {
			t.Fatalf("n=%d: %d edges, want %d", n, len(edges), 2*(n-1))
		}
		for tree := 0; tree < 2; tree++ {
			up := map[int]int{}
			for i := tree; i < len(edges); i += 2 {
				if _, ok := up[edges[i][0]]; ok {
					t.Fatalf("n=%d: node %d has two parents", n, edges[i][0])
				}
				up[edges[i][0]] = edges[i][1]
			}
			for i := 0; i < n; i++ {
				at, steps := i, 0
				for ok := true; ok; steps++ {
					if steps > 2*n {
						t.Fatalf("n=%d: a cycle above node %d", n, i)
					}
					at, ok = up[at], func() bool { _, ok := up[at]; return ok }()
				}
			}
		}
	}
}

// TestTreeCrossings: gangs packed into whole leaves cross leaf uplinks as often as the ring analysis of the model says.
func TestTreeCrossings(t *testing.T) {
	for _, want := range []struct{ nodes, cross int }{{64, 4}, {128, 10}, {256, 22}, {512, 46}} {
		got := 0
		for _, e := range doubleTree(want.nodes) {
			if e[0]/32 != e[1]/32 {
				got++
			}
		}
		if got != want.cross {
			t.Errorf("%d nodes in leaves of 32: %d edges cross, want %d", want.nodes, got, want.cross)
		}
	}
}

// TestTreeWithinBound: the tree placement is never above the bound, mostly at the brute-force optimum over depth-first sets,
// and never below the ring-optimal set.
func TestTreeWithinBound(t *testing.T) {
	rng := randFor(31)
	equal, total := 0, 0
	for i := 0; i < 600; i++ {
		w := randomWorld(rng, worldOptions{maxNodes: 12, crossings: true})
		k := 2 + rng.IntN(5)
		s := w.snapshot(t)
		p, err := Place(s, &Request{Nodes: k, Collective: Tree})
		if err != nil {
			continue
		}
		best := 0.0
		eachSubset(w.free, k, func(set []string) {
			at, _ := s.c.names.positions("", set)
			share, _ := s.evaluateTree(at)
			best = max(best, share)
		})
		if p.Share > best+exact {
			t.Fatalf("k=%d: share %v above the optimum %v", k, p.Share, best)
		}
		ring, _ := Place(s, &Request{Nodes: k})
		at, _ := s.c.names.positions("", ring.Nodes)
		if share, _ := s.evaluateTree(at); p.Share < share-exact {
			t.Fatalf("k=%d: share %v below that of the ring-optimal set, %v", k, p.Share, share)
		}
		if total++; math.Abs(p.Share-best) < exact {
			equal++
		}
	}
	t.Logf("equal to the optimum in %d of %d", equal, total)
	if equal*10 < total*9 {
		t.Errorf("equal to the optimum in %d of %d: must be nine of ten", equal, total)
	}
}

// TestMixed: the mixed share is the weighted harmonic mean, and at the ends of the scale the pure collectives' optimum.
func TestMixed(t *testing.T) {
	rng := randFor(32)
	for i := 0; i < 300; i++ {
		w := randomWorld(rng, worldOptions{maxNodes: 14})
		s := w.snapshot(t)
		k := 2 + rng.IntN(5)
		ring, err := Place(s, &Request{Nodes: k})
		if err != nil {
			continue
		}
		all, _ := Place(s, &Request{Nodes: k, Collective: AllToAll})
		for _, tt := range []struct {
			weights Weights
			want    float64
		}{{Weights{Ring: 2}, ring.Share}, {Weights{AllToAll: 1}, all.Share}} {
			p, err := Place(s, &Request{Nodes: k, Collective: Mixed, Weights: &tt.weights})
			if err != nil || math.Abs(p.Share-tt.want) > exact {
				t.Fatalf("k=%d weights %+v: %v, %v, want %v", k, tt.weights, p, err, tt.want)
			}
		}
		p, err := Place(s, &Request{Nodes: k, Collective: Mixed, Weights: &Weights{Ring: 1, AllToAll: 3}})
		if err != nil {
			t.Fatal(err)
		}
		if want := 4 / (1/w.ring(p.Nodes) + 3/w.allToAll(p.Nodes)); math.Abs(p.Share-want) > exact {
			t.Fatalf("k=%d: share %v, want %v", k, p.Share, want)
		}
	}
}
