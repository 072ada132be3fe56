package server

import (
	"context"
	"time"

	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/topology"
)

// rebuildLoop makes the map anew when reports came, at most once in Options.Rebuild, and never for more than a fifth of the
// time: when 10,000 nodes report at once, taking their reports in comes first.
func (s *Server) rebuildLoop(ctx context.Context) {
	pause := s.opts.Rebuild
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.intake.dirty:
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		select { // what came meanwhile is included
		case <-s.intake.dirty:
		default:
		}
		begin := time.Now()
		if err := s.rebuild(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("map not made", "err", err)
		}
		pause = max(s.opts.Rebuild, 4*time.Since(begin))
	}
}

// rebuild makes a map of all reports and adopts it when it says anything new. The old one stays when that fails.
func (s *Server) rebuild(ctx context.Context) error {
	t, err := s.buildNow()
	if err != nil {
		return err
	}
	old, _ := s.currentTopology()
	if old != nil {
		if len(topology.Diff(old, t)) == 0 {
			return nil
		}
		t.Generation = old.Generation + 1
	}
	if err := s.adopt(ctx, t); err != nil {
		return err
	}
	s.intake.remember(t)
	return nil
}

// buildNow builds from the reports, or lays node reports over the map that was given at the start while no fabric report came.
func (s *Server) buildNow() (*topology.Topology, error) {
	input := s.intake.input()
	if len(input.Fabrics) == 0 && s.intake.base != nil {
		return overlay(s.intake.base, input.Nodes), nil
	}
	opts := s.opts.Build
	opts.Now, opts.ToolVersion = time.Now(), s.opts.ToolVersion
	return topology.Build(input, opts)
}

// overlay puts what node reports know on a given map: GPUs and their model. It makes no new node.
func overlay(base *topology.Topology, reports []*topology.NodeReport) *topology.Topology {
	t := *base
	t.Nodes = append([]topology.Node(nil), base.Nodes...)
	at := make(map[string]int, len(t.Nodes))
	for i := range t.Nodes {
		at[t.Nodes[i].Name] = i
	}
	for _, r := range reports {
		if i, ok := at[r.Node]; ok && len(r.GPUs) > 0 {
			t.Nodes[i].GPUCount, t.Nodes[i].GPUModel = len(r.GPUs), r.GPUs[0].Model
		}
	}
	return &t
}

func (in *intake) remember(t *topology.Topology) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.old, in.changed = append(in.old, t), time.Now()
	if err := in.keep.setGeneration(t.Generation); err != nil {
		in.log.Warn("generation not kept", "err", err)
	}
	if len(in.old) > keepGenerations {
		in.old = in.old[len(in.old)-keepGenerations:]
	}
}

// takeOccupancy puts what a scheduler says on the current map, at the serial point, so that no placement falls between.
func (s *Server) takeOccupancy(o *topology.Occupancy) {
	s.intake.mu.Lock()
	s.intake.occupancy[o.Side] = o
	s.intake.mu.Unlock()
	_, _ = ledger.Do(context.Background(), s.ledger, func(tx *ledger.Tx) (struct{}, error) {
		if w := s.worlds.cur.Load(); w != nil {
			w.occupy(s.intake.occupancies(), leasedJobs(tx.State()))
		}
		return struct{}{}, nil
	})
	s.events.publish(Event{Type: "occupancy", Side: o.Side})
}
