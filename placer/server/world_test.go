package server

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/topology"
)

// TestWorldFollowsLedger mixes whole and shared gangs, releases and occupancy of two schedulers; after each step the world in
// use is the one that a start from the same ledger would make, and no GPU is given out twice.
func TestWorldFollowsLedger(t *testing.T) {
	s, hs := start(t, nil)
	rng := rand.New(rand.NewPCG(3, 1))
	var live []*ledger.Lease
	for step := range 120 {
		switch k := rng.IntN(6); {
		case k < 3:
			req := PlaceRequest{Request: placer.Request{Nodes: 1 + rng.IntN(6), GPUsPerNode: rng.IntN(3) * 2}, Lease: &LeaseRequest{Holder: "x"}}
			var resp PlaceResponse
			if call(t, "POST", hs.URL+"/v1/placements", req, &resp) == http.StatusOK {
				live = append(live, resp.Lease)
			}
		case k < 5 && len(live) > 0:
			i := rng.IntN(len(live))
			call(t, "DELETE", fmt.Sprintf("%s/v1/leases/%s?token=%d", hs.URL, live[i].ID, live[i].Token), nil, nil)
			live = append(live[:i], live[i+1:]...)
		default:
			if code := call(t, "POST", hs.URL+"/v1/reports", randomOccupancy(rng), nil); code != http.StatusAccepted {
				t.Fatalf("occupancy: %d", code)
			}
		}
		compareWithFresh(t, s, step)
	}
}

func randomOccupancy(rng *rand.Rand) *topology.Occupancy {
	o := &topology.Occupancy{Side: []string{"slurm", "kubernetes"}[rng.IntN(2)]}
	o.APIVersion, o.Kind = topology.APIVersion, topology.KindOccupancy
	for n := range 64 {
		e := topology.NodeOccupancy{Name: fmt.Sprintf("node%04d", n), Use: topology.UseFree}
		switch rng.IntN(12) {
		case 0:
			e.Use = topology.UseDrained
		case 1:
			e.Use, e.GPUsUsed = topology.UseBusy, []int{rng.IntN(8)}
		case 2:
			e.Use = topology.UseBusy
		}
		o.Nodes = append(o.Nodes, e)
	}
	return o
}

func compareWithFresh(t *testing.T, s *Server, step int) {
	t.Helper()
	w := s.worlds.cur.Load()
	fresh, err := newWorld(w.topo, placer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string]uint64{}
	s.ledger.View(func(st *ledger.State) {
		for _, l := range st.List() {
			if !l.Live() {
				continue
			}
			fresh.hold(l, true)
			for _, c := range l.Claims {
				if taken[c.Node]&bits(c) != 0 {
					t.Fatalf("step %d: a GPU of %s is held twice", step, c.Node)
				}
				taken[c.Node] |= bits(c)
			}
		}
	})
	if reports := s.intake.occupancies(); len(reports) > 0 {
		fresh.occupy(reports, nil)
	}
	nonzero := func(m map[string]uint64) map[string]uint64 {
		m = maps.Clone(m)
		maps.DeleteFunc(m, func(_ string, v uint64) bool { return v == 0 })
		return m
	}
	if !maps.Equal(nonzero(w.used), nonzero(fresh.used)) {
		t.Fatalf("step %d: used %v, a fresh start says %v", step, w.used, fresh.used)
	}
	for name := range w.node {
		a, _ := w.engine.Snapshot().UseOf(name)
		b, _ := fresh.engine.Snapshot().UseOf(name)
		if a != b {
			t.Fatalf("step %d: %s is %v, a fresh start says %v", step, name, a, b)
		}
	}
}
