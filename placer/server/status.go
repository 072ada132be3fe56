package server

import (
	"context"
	"errors"
	"time"

	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/topology"
)

// Status is what the service looks like now, for metrics. Reading it takes microseconds for each 1,000 nodes.
type Status struct {
	Topology     *topology.Topology // nil = no map yet
	LastChange   time.Time          // of the map; zero = none yet
	OldestReport time.Time          // of the newest reports of all nodes; zero = no report has a time
	Quarantined  map[string]bool    // nodes
	FreeGPUs     int
	ReservedGPUs int // held by leases
	OtherGPUs    int // used by schedulers without a lease, drained, or of nodes that are down
	Leases       map[ledger.Phase]int
}

// Status reads what the service looks like now.
func (s *Server) Status() Status {
	st := Status{Quarantined: map[string]bool{}, Leases: map[ledger.Phase]int{ledger.Reserved: 0, ledger.Bound: 0, ledger.Released: 0, ledger.Expired: 0}}
	s.ledger.View(func(l *ledger.State) { l.CountPhases(st.Leases) })
	s.intake.status(&st)
	if w := s.worlds.cur.Load(); w != nil {
		st.Topology = w.topo
		w.countGPUs(&st)
	}
	return st
}

func (in *intake) status(st *Status) {
	in.mu.Lock()
	defer in.mu.Unlock()
	st.LastChange = in.changed
	for node, q := range in.quarantine {
		if time.Now().Before(q.until) {
			st.Quarantined[node] = true
		}
	}
	for _, r := range in.nodes {
		if r.Time != nil && (st.OldestReport.IsZero() || r.Time.Before(st.OldestReport)) {
			st.OldestReport = *r.Time
		}
	}
}

// countGPUs sorts the GPUs of the map into free, reserved and other.
func (w *world) countGPUs(st *Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.topo.Nodes {
		n := &w.topo.Nodes[i]
		all := w.all(n.Name)
		held := count(w.held[n.Name] & all)
		st.ReservedGPUs += held
		switch {
		case n.State == topology.Down || w.closed[n.Name]:
			st.OtherGPUs += count(all) - held
		default:
			free := count(all &^ w.used[n.Name])
			st.FreeGPUs += free
			st.OtherGPUs += count(all) - held - free
		}
	}
}

// Alive fails when the ledger's serial point does not answer before ctx ends: the process should be started again. A store
// that cannot be reached is an answer: another start would not help.
func (s *Server) Alive(ctx context.Context) error {
	_, err := ledger.Do(ctx, s.ledger, func(*ledger.Tx) (struct{}, error) { return struct{}{}, nil })
	if errors.Is(err, ledger.ErrUnavailable) && ctx.Err() == nil {
		return nil
	}
	return err
}

// Leaves is the number of groups that the nodes of a placement stand in directly: leaf groups or NVLink domains.
func (s *Server) Leaves(nodes []string) int {
	w := s.worlds.cur.Load()
	if w == nil {
		return 0
	}
	seen := map[string]bool{}
	for _, n := range nodes {
		if i, ok := w.node[n]; ok {
			seen[w.topo.Nodes[i].Group] = true
		}
	}
	return len(seen)
}
