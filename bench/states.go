package bench

import (
	"math/rand/v2"
	"slices"

	"github.com/railmap/railmap/placer"
)

// stateSizes are the gangs asked for on every state.
func stateSizes() []int { return []int{2, 4, 8, 16, 32, 64, 128, 256} }

// sameStates shows one history (first fit, random ends) to all policies and compares their choices with that state's exact
// optimum. Policies with drained nodes see the slow free nodes as taken.
func sameStates(o *QualityOptions, seed uint64, tallies []*tally) error {
	m := NewModel(ModelSpec{Nodes: o.Nodes, LeafNodes: 32, PodNodes: 512, Degraded: o.Degraded, Seed: seed})
	cluster, err := placer.NewCluster(m.Topology(), placer.Options{})
	if err != nil {
		return err
	}
	busy := .85
	if o.Nodes < 5000 {
		busy = .8
	}
	h := &history{load: NewLoad(m), rng: rand.New(rand.NewPCG(seed, 7)), busy: busy}
	oracle, err := newRailmap(h.load, cluster, 0)
	if err != nil {
		return err
	}
	h.follow = oracle
	for _, t := range tallies {
		t.begin()
	}
	warm, steps := o.Steps/10, o.Steps/5
	for step := range warm + steps {
		h.step()
		if step < warm || step%20 != 0 {
			continue
		}
		if err := askAll(h.load, oracle, cluster, seed, tallies); err != nil {
			return err
		}
	}
	for _, t := range tallies {
		t.end()
	}
	return nil
}

// askAll asks every policy for every size on the present state.
func askAll(l *Load, oracle *railmap, cluster *placer.Cluster, seed uint64, tallies []*tally) error {
	optima := map[int]float64{}
	for _, k := range stateSizes() {
		if set := oracle.Choose(l, k); set != nil {
			optima[k] = l.Ring(set)
		}
	}
	for _, t := range tallies {
		view := l.clone()
		var policy Policy = &sameEngine{oracle, placer.DefaultTolerance}
		var err error
		if t.name != "railmap" {
			policy, err = NewPolicy(t.name, view, cluster, seed)
		}
		if err != nil {
			return err
		}
		for _, k := range stateSizes() {
			best, ok := optima[k]
			if !ok {
				continue
			}
			set := policy.Choose(view, k)
			if set == nil {
				t.declined(k)
				continue
			}
			if err := t.placed(k, l.Ring(set), best, l.M, set, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameEngine asks the oracle's engine with a tolerance.
type sameEngine struct {
	r         *railmap
	tolerance float64
}

func (s *sameEngine) Choose(l *Load, k int) []int {
	r := *s.r
	r.req.Tolerance = s.tolerance
	return r.Choose(l, k)
}

func (*sameEngine) Changed([]int, bool) {}

func (l *Load) clone() *Load {
	return &Load{M: l.M, Free: slices.Clone(l.Free), LeafFree: slices.Clone(l.LeafFree), PodFree: slices.Clone(l.PodFree),
		LeafX: slices.Clone(l.LeafX), PodX: slices.Clone(l.PodX), Busy: l.Busy}
}

// history is a cluster in use by first fit with random ends.
type history struct {
	load   *Load
	rng    *rand.Rand
	busy   float64
	jobs   [][]int
	follow Policy
}

func (h *history) step() {
	k := drawSize(h.rng, 64)
	for len(h.jobs) > 0 && float64(h.load.Busy+k) > h.busy*float64(h.load.M.Nodes) {
		i := h.rng.IntN(len(h.jobs))
		h.load.End(h.jobs[i])
		h.follow.Changed(h.jobs[i], false)
		h.jobs[i] = h.jobs[len(h.jobs)-1]
		h.jobs = h.jobs[:len(h.jobs)-1]
	}
	set := firstFit(h.load, k)
	if set == nil {
		return
	}
	h.load.Start(set)
	h.follow.Changed(set, true)
	h.jobs = append(h.jobs, set)
}
