package pair

import (
	"math"
	"slices"
)

// starts are the quantiles tried as first bases: the median is right when few are slow, a high one when most pairs of a kind
// are (a slow uplink of a small cluster).
var starts = []float64{.5, .75, .9}

// solve looks for culprits, puts the bases right, and looks again; of several starts the one that explains the report at the
// least cost is kept.
func (s *suspicion) solve() {
	type solution struct {
		base   []float64
		chosen []accused
		noise  float64
	}
	var found []solution
	least := math.Inf(1)
	for _, q := range starts {
		s.startBase(q)
		s.noise = s.pairedNoise()
		for range 3 {
			s.chosen = nil
			s.explain()
			s.greedy()
			s.exchange()
			s.refineBase()
		}
		found = append(found, solution{slices.Clone(s.base), s.chosen, s.noise})
		least = min(least, s.noise)
	}
	best := math.Inf(1)
	var top solution
	for _, f := range found {
		s.base, s.chosen, s.noise = f.base, f.chosen, least // one yardstick for all
		s.explain()
		if c := s.total(); c < best-1e-9 {
			best, top = c, f
		}
	}
	s.base, s.chosen, s.noise = top.base, top.chosen, top.noise
	s.explain()
}

// total is the cost of the whole report and the price of all accusations.
func (s *suspicion) total() float64 {
	sum := 0.0
	for i := range s.obs {
		sum += s.cost(int32(i), s.pred[i], s.loose[i])
	}
	for _, a := range s.chosen {
		sum += s.candidates[a.candidate].price
		if a.unsteady {
			sum += unsteadyPrice
		}
	}
	return sum
}

// cost is what a measurement costs when ln(ratio) p was expected, in nats.
func (s *suspicion) cost(i int32, p float64, loose bool) float64 {
	y := s.ratio(i)
	c := min(maxCost, math.Abs(y-p)/(meanAbsolute*s.noise))
	if loose && y < p-s.slow() {
		c = min(c, unsteadyCost)
	}
	return c
}

// explain recomputes what the chosen culprits explain.
func (s *suspicion) explain() {
	clear(s.pred)
	clear(s.loose)
	for _, a := range s.chosen {
		for _, i := range s.candidates[a.candidate].obs {
			if a.unsteady {
				s.loose[i] = true
			} else {
				s.pred[i] = min(s.pred[i], a.level)
			}
		}
	}
}

// greedy accuses the best candidate as long as it is worth its price.
func (s *suspicion) greedy() {
	for range len(s.nodes) {
		a, gain := s.best(nil)
		if gain <= 0 {
			return
		}
		s.chosen = append(s.chosen, a)
		s.explain()
	}
}

// exchange takes each culprit back and asks again, until nothing changes: the first choice was made without knowing the
// others.
func (s *suspicion) exchange() {
	for range 4 {
		changed := false
		for k := 0; k < len(s.chosen); k++ {
			old := s.chosen[k]
			s.chosen = slices.Delete(s.chosen, k, k+1)
			s.explain()
			a, gain := s.best(nil)
			if gain <= 0 {
				changed = true
				k--
				continue
			}
			changed = changed || a.candidate != old.candidate || a.unsteady != old.unsteady
			s.chosen = slices.Insert(s.chosen, k, a)
			s.explain()
		}
		if !changed {
			return
		}
		s.greedy()
	}
}

// best is the candidate that lowers the cost most, and by how much beyond its price. Those that skip names are left out.
func (s *suspicion) best(skip func(*candidate) bool) (accused, float64) {
	var top accused
	gain := 0.0
	for c := range s.candidates {
		if skip != nil && skip(&s.candidates[c]) {
			continue
		}
		a, g := s.accuse(c)
		if g > gain {
			top, gain = a, g
		}
	}
	return top, gain
}

// accuse finds the best accusation of one candidate.
func (s *suspicion) accuse(c int) (accused, float64) {
	cand := &s.candidates[c]
	now, below := 0.0, 0
	for _, i := range cand.obs {
		if s.ratio(i) < s.pred[i] {
			now += s.cost(i, s.pred[i], s.loose[i])
			below++
		}
	}
	top := accused{candidate: c}
	if now <= cand.price {
		return top, 0 // even a perfect fit is not worth it
	}
	gain := 0.0
	for _, level := range s.levels(cand) {
		g := -cand.price
		for _, i := range cand.obs {
			if level < s.pred[i] {
				g += s.cost(i, s.pred[i], s.loose[i]) - s.cost(i, level, s.loose[i])
			}
		}
		if g > gain {
			top.level, top.unsteady, gain = level, false, g
		}
	}
	if g := s.unsteadyGain(cand); g > gain {
		top.level, top.unsteady, gain = 0, true, g
	}
	return top, gain
}

// levels are the values worth trying for a steady culprit: quantiles of its measurements, far enough below peers.
func (s *suspicion) levels(c *candidate) []float64 {
	v := make([]float64, 0, len(c.obs))
	for _, i := range c.obs {
		v = append(v, s.ratio(i))
	}
	if len(v) == 0 {
		return nil
	}
	slices.Sort(v)
	limit := math.Log(1 - s.o.MinLoss)
	var levels []float64
	for _, q := range []float64{.1, .25, .5, .75, .9} {
		if y := v[int(q*float64(len(v)-1)+.5)]; y < limit && !slices.Contains(levels, y) {
			levels = append(levels, y)
		}
	}
	return levels
}

// unsteadyGain is the worth of calling a candidate unsteady: at least three slow measurements, in different pairs (three of
// them for an uplink: two slow paths may well cross the same one), among others that are not slow.
func (s *suspicion) unsteadyGain(c *candidate) float64 {
	g, slow := -c.price-unsteadyPrice, 0
	var pairs [][2]int32
	limit := s.slow()
	for _, i := range c.obs {
		if s.loose[i] || s.ratio(i) >= s.pred[i]-limit {
			continue
		}
		g += s.cost(i, s.pred[i], false) - s.cost(i, s.pred[i], true)
		slow++
		o := s.obs[i]
		if p := [2]int32{min(o.a, o.b), max(o.a, o.b)}; len(pairs) < 3 && !slices.Contains(pairs, p) {
			pairs = append(pairs, p)
		}
	}
	need := map[string]int{UplinkCulprit: 3, PathCulprit: 1}[c.kind]
	if need == 0 {
		need = 2
	}
	if slow < 3 || len(pairs) < need {
		return 0
	}
	return g
}
