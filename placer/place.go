package placer

import (
	"fmt"
	"math"
	"slices"

	"github.com/railmap/railmap/topology"
)

// Place chooses nodes for a gang. It returns an *UnknownHostError for names that the topology does not have, an
// *InfeasibleError when no set of nodes satisfies the request now, and another error for a request that is wrong in itself.
func Place(s *Snapshot, r *Request) (*Placement, error) {
	p, err := s.problem(r)
	if err != nil {
		return nil, err
	}
	best, err := p.solveSegments(r)
	if err != nil {
		return nil, err
	}
	out := p.answer(r, best)
	if out.Wait, err = s.Advise(r, out, Outlook{Ends: s.ends}, DefaultWaitOptions()); err != nil {
		return nil, err
	}
	if out.Wait != nil {
		out.Reasons = append([]string{out.Wait.Reason}, out.Reasons...)
	}
	return out, nil
}

// problem turns the names of a request into positions.
func (s *Snapshot) problem(r *Request) (*problem, error) {
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	c := s.c
	p := &problem{c: c, s: s, k: r.size(), seg: max(1, r.SegmentNodes), r: r, mask: -1, within: int32(len(c.levels))}
	if r.Within != "" {
		if p.within = int32(slices.Index(c.levels, r.Within)); p.within < 0 {
			return nil, fmt.Errorf("within is %q: must be a level of this topology: %v", r.Within, c.levels)
		}
	}
	exclude, err := c.names.positions("exclude", r.Exclude)
	if err != nil {
		return nil, err
	}
	if p.include, err = c.names.positions("include", r.Include); err != nil {
		return nil, err
	}
	if len(exclude) > 0 {
		d := s.draft(s.generation)
		for _, v := range exclude {
			if d.useAt(v) == Free {
				d.setUse(v, excluded)
			}
		}
		p.s = &d.Snapshot
	}
	return p, nil
}

// prepare marks the nodes that the exact way may use.
func (p *problem) prepare() {
	if p.allow != nil {
		return
	}
	c, r := p.c, p.r
	p.allow = make([]bool, len(c.nodes))
	for v := range p.allow {
		p.allow[v] = p.include == nil
	}
	for _, v := range p.include {
		p.allow[v] = true
	}
	for v := range p.allow {
		n := &c.nodes[v]
		k := class{n.model, n.pool, n.gpus}
		if !p.s.freeAt(int32(v)) && !p.s.sharesGPUs(int32(v), r.GPUsPerNode) || !k.allows(r) {
			p.allow[v] = false
		}
	}
}

// choice is a chosen ordered set.
type choice struct {
	order   []int32
	group   int32
	share   float64
	binding Binding
	values  []float64         // per group, what it could have given; nil = not computed
	sets    map[int32][]int32 // the sets behind values, for other collectives than ring
}

// solve finds the best set for the request's collective.
func (p *problem) solve(r *Request) (*choice, error) {
	solver := p.solveRing
	switch r.collective() {
	case AllToAll:
		solver = p.solveAllToAll
	case Tree, Mixed:
		solver = p.solveCandidates
	}
	best, err := solver(r)
	if err != nil {
		return nil, err
	}
	if floor := r.MinimumShare; p.k > 1 && best.share < floor {
		return nil, p.belowFloor(floor, best)
	}
	return best, nil
}

// solveRing takes the index where the request's tolerance allows it, else the exact way.
func (p *problem) solveRing(r *Request) (*choice, error) {
	if out, ok := p.solveIndex(r); ok {
		return out, nil
	}
	return p.solveExact(r)
}

// solveExact is the exact optimum of ring.go, then the least harm among the sets that reach it (within the tolerance).
func (p *problem) solveExact(r *Request) (*choice, error) {
	p.prepare()
	values := p.ringValues()
	best := math.Inf(-1)
	for g, v := range values {
		if int32(g) != p.mask {
			best = max(best, v)
		}
	}
	if math.IsInf(best, -1) {
		return nil, p.infeasible(r)
	}
	t := best * (1 - r.Tolerance)
	if p.k == 1 {
		t = 0 // one node needs no fabric: the price picks a broken leaf and its slowest node
	}
	if p.preferShared(t) {
		values = p.ringValues()
	}
	ch := &chooser{c: p.c, s: p.s, v: newExactView(p, t, false), k: p.k, seg: p.seg, t: t, mask: p.mask}
	out := &choice{order: ch.nodes(ch.group(p.within)), values: values}
	out.group = p.c.common(out.order)
	out.share, out.binding = p.s.evaluateSorted(out.order)
	return out, nil
}

// answer fills in the document.
func (p *problem) answer(r *Request, best *choice) *Placement {
	c := p.c
	out := &Placement{
		Header:     topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindPlacement},
		Generation: p.s.generation, Nodes: c.nodeNames(best.order), Share: best.share, Binding: best.binding,
		LowerBound: !c.uniform && p.k > 1,
	}
	if best.group >= 0 {
		out.Group, out.Level = c.groups[best.group].name, c.levels[c.groups[best.group].level]
		if out.Group == "" {
			out.Level = ""
		}
	}
	out.Segment = c.segmentOf(best.order)
	out.Stages = c.stages(r.Layout, r.GPUsPerNode, best.order)
	out.GPUs = p.pickGPUs(r, best.order)
	out.IdealShare = p.idealShare(r)
	out.Loss = lossAgainst(best.share, out.IdealShare)
	if c.predict != nil {
		out.Predicted = c.predict(out.Nodes, out.Share, r)
	} else {
		out.Predicted = c.shareOfNominal(best.order, out.Share, r)
	}
	p.explain(r, best, out)
	return out
}

// lossAgainst is 1 - share/ideal, cleared of rounding and never negative.
func lossAgainst(share, ideal float64) float64 {
	if ideal <= 0 || share >= ideal {
		return 0
	}
	return 1 - share/ideal
}

func (c *Cluster) nodeNames(at []int32) []string {
	out := make([]string, len(at))
	for i, v := range at {
		out[i] = c.nodes[v].name
	}
	return out
}
