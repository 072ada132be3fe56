package pair

import (
	"cmp"
	"math"
	"slices"
)

// culprit describes the k-th accused: evidence, and how much better it explains than the next best.
func (s *suspicion) culprit(k int) Culprit {
	a := s.chosen[k]
	c := &s.candidates[a.candidate]
	out := Culprit{Kind: c.kind, Name: c.name, Direction: c.direction, Unsteady: a.unsteady, Pairs: len(c.obs), Ratio: math.Exp(a.level)}
	if c.rail >= 0 {
		out.Rail = new(int(c.rail))
	}
	keep := s.chosen
	s.chosen = slices.Delete(slices.Clone(keep), k, k+1)
	s.explain()
	same := func(x *candidate) bool { return x.kind == c.kind && x.name == c.name && x.rail == c.rail }
	_, out.gain = s.accuse(a.candidate)
	other, second := s.best(same)
	if second > 0 {
		o := &s.candidates[other.candidate]
		alt := Culprit{Kind: o.kind, Name: o.name}
		if o.rail >= 0 {
			alt.Rail = new(int(o.rail))
		}
		out.Instead = o.kind + " " + alt.Subject()
	}
	out.Confidence = 1 / (1 + math.Exp(-(out.gain - second)))
	s.evidence(&out, c)
	s.chosen = keep
	s.explain()
	return out
}

// evidence lists the slow measurements that only this culprit explains; the others are taken back when it is called.
func (s *suspicion) evidence(out *Culprit, c *candidate) {
	var slow []int32
	for _, i := range c.obs {
		if s.ratio(i) < s.pred[i]-s.slow() {
			slow = append(slow, i)
		}
	}
	slices.SortStableFunc(slow, func(x, y int32) int { return cmp.Compare(s.ratio(x)-s.pred[x], s.ratio(y)-s.pred[y]) })
	out.SlowPairs = len(slow)
	if out.Unsteady && len(slow) > 0 {
		out.Ratio = math.Exp(s.ratio(slow[len(slow)/2]))
	}
	out.Evidence = []Evidence{}
	for _, i := range slow[:min(len(slow), s.o.MaxEvidence)] {
		o := s.obs[i]
		e := Evidence{A: s.nodes[o.a], B: s.nodes[o.b], ExpectedBytesPerSecond: math.Exp(s.base[o.class])}
		if o.rail >= 0 {
			e.Rail = new(int(o.rail))
		}
		if !o.dead {
			e.BandwidthBytesPerSecond = new(math.Exp(o.y))
		}
		out.Evidence = append(out.Evidence, e)
	}
}
