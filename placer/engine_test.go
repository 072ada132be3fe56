package placer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/railmap/railmap/topology"
)

// TestEngineEqualsRebuild: after any history of changes the index equals one built from scratch.
func TestEngineEqualsRebuild(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := randFrom(rt)
		w := randomWorld(rng, worldOptions{maxNodes: 40, crossings: true, sick: rapid.Bool().Draw(rt, "sick"), roots: true})
		for i := range w.topo.Nodes {
			w.topo.Nodes[i].GPUCount = 4 + 4*rng.IntN(2)
		}
		e := mustEngine(t, w)
		for i := 0; i < 40; i++ {
			if err := e.Update(func(tx *Tx) error { return randomChange(rng, w, tx) }); err != nil {
				rt.Fatal(err)
			}
		}
		got := e.Snapshot()
		d := got.draft(got.generation)
		d.buildIndex()
		for l := range got.layers {
			for g := range got.c.groups {
				r := got.c.row[g]
				if diff := cmp.Diff(d.layers[l].row(r)[:], got.layers[l].row(r)[:]); diff != "" {
					rt.Fatalf("group %s, layer %d: -rebuilt +kept\n%s", got.c.groups[g].name, l, diff)
				}
			}
		}
	})
}

func mustEngine(t *testing.T, w *world) *Engine {
	t.Helper()
	c, err := NewCluster(w.topo, Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEngine(c, w.state)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func randomChange(rng *rand.Rand, w *world, tx *Tx) error {
	n := w.topo.Nodes[rng.IntN(len(w.topo.Nodes))].Name
	m := w.topo.Nodes[rng.IntN(len(w.topo.Nodes))].Name
	switch rng.IntN(5) {
	case 0:
		return tx.Set([]Use{Busy, Lent, Drained}[rng.IntN(3)], n)
	case 1:
		return tx.Give(n)
	case 2:
		return tx.Measure(n, rng.Float64())
	case 3:
		return tx.Cross(1, n, m)
	}
	return tx.Cross(-1, n, m)
}

// TestUpdateIsAllOrNothing: a failed transaction leaves the engine as it was.
func TestUpdateIsAllOrNothing(t *testing.T) {
	e := mustEngine(t, randomWorld(randFor(21), worldOptions{maxNodes: 30}))
	before := e.Snapshot()
	free := ""
	for _, n := range before.c.Names() {
		if u, _ := before.UseOf(n); u == Free {
			free = n
		}
	}
	wrong := errors.New("no")
	if err := e.Update(func(tx *Tx) error { return errors.Join(tx.Take(free), wrong) }); !errors.Is(err, wrong) {
		t.Fatal(err)
	}
	if u, _ := e.Snapshot().UseOf(free); e.Snapshot() != before || u != Free {
		t.Fatalf("generation %d, %s is %d", e.Snapshot().Generation(), free, u)
	}
	if err := e.Update(func(tx *Tx) error { return tx.Take(free) }); err != nil || e.Snapshot().Generation() != before.Generation()+1 {
		t.Fatal(err, e.Snapshot().Generation())
	}
	if err := e.Update(func(tx *Tx) error { return tx.Take(free) }); err == nil {
		t.Fatal("taken twice")
	}
	if u, _ := before.UseOf(free); u != Free {
		t.Fatal("an old snapshot changed")
	}
}

// TestIndexAgainstExact: the index answer is within the tolerance and one bucket of the exact optimum, and feasible exactly
// when the exact way is.
func TestIndexAgainstExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := randFrom(rt)
		w := randomWorld(rng, worldOptions{maxNodes: 60, crossings: rapid.Bool().Draw(rt, "crossings"), roots: true})
		s := mustEngine(t, w).Snapshot()
		k := rapid.IntRange(1, 12).Draw(rt, "k")
		r := &Request{Nodes: k, Tolerance: rapid.SampledFrom([]float64{.01, .03}).Draw(rt, "tolerance"), Exclude: w.free[:min(len(w.free), rng.IntN(4))]}
		if rapid.Bool().Draw(rt, "within") {
			r.Within = rapid.SampledFrom([]string{"leaf", "pod"}).Draw(rt, "level")
		}
		q := *r
		q.Tolerance = 0
		got, err := Place(s, r)
		want, exactErr := Place(s, &q)
		if (err == nil) != (exactErr == nil) {
			rt.Fatalf("index: %v, exact: %v", err, exactErr)
		}
		if err != nil {
			return
		}
		if len(got.Nodes) != k || got.Share > want.Share+exact || got.Share < (want.Share-.005)*(1-r.Tolerance)-exact {
			rt.Fatalf("index share %v, exact %v, tolerance %v", got.Share, want.Share, r.Tolerance)
		}
	})
}

// TestReadersSeeWholeGenerations: while a writer moves a gang about, every reader finds it whole.
func TestReadersSeeWholeGenerations(t *testing.T) {
	topo := &topology.Topology{}
	topo.Tree.Levels = []topology.Level{{Name: "leaf", Efficiency: 1}}
	topo.Tree.Groups = []topology.Group{{Name: "l", Level: "leaf"}}
	for i := 0; i < 600; i++ {
		n := fmt.Sprintf("n%03d", i)
		topo.Tree.Groups[0].Nodes = append(topo.Tree.Groups[0].Nodes, n)
		topo.Nodes = append(topo.Nodes, topology.Node{Name: n, State: topology.OK})
	}
	c, err := NewCluster(topo, Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, _ := NewEngine(c, State{})
	var wg sync.WaitGroup
	done := make(chan struct{})
	for i := 0; i < 4; i++ {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				s := e.Snapshot()
				free := s.layers[0].row(0)[0]
				if busy := 600 - free; busy != 0 && busy != 300 {
					t.Errorf("%d nodes busy: must be 0 or 300", busy)
					return
				}
			}
		})
	}
	half := c.Names()[:300]
	for i := 0; i < 300; i++ {
		change := func(tx *Tx) error { return tx.Start(half...) }
		if i%2 == 1 {
			change = func(tx *Tx) error { return tx.End(half...) }
		}
		if err := e.Update(change); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	wg.Wait()
}
