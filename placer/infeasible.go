package placer

import (
	"fmt"
	"strings"
)

// infeasible explains why no set fits and what would make one fit.
func (p *problem) infeasible(r *Request) error {
	p.prepare()
	e := &InfeasibleError{Nodes: p.k, Within: r.Within}
	view := newExactView(p, 0, false)
	where := int32(-1)
	for g := range p.c.groups {
		if p.c.groups[g].level > p.within {
			continue
		}
		if n := view.usable(int32(g)); n > e.Largest || where < 0 {
			e.Largest, where = n, int32(g)
		}
	}
	grp := &p.c.groups[where]
	rep := LevelReport{}
	p.countUses(where, &rep)
	below := "the cluster"
	if grp.name != "" {
		below = placeName(p.c.levels[grp.level], grp.name)
	}
	e.Reason = fmt.Sprintf("needs %s; %s has the most usable nodes, %d (%d busy, %d lent, %d drained or down, %d not allowed by the request)",
		p.asked(), below, e.Largest, rep.Busy, rep.Lent, rep.Drained, rep.Filtered)
	e.Remedy = p.remedy(r, e.Largest)
	return e
}

func (p *problem) asked() string {
	if p.seg > 1 {
		return fmt.Sprintf("%d nodes in segments of %d", p.k, p.seg)
	}
	return fmt.Sprintf("%d nodes", p.k)
}

// remedy names the first relaxation that helps, then the smaller gang.
func (p *problem) remedy(r *Request, largest int) string {
	fits := func(change func(q *Request)) bool {
		relaxed := *r
		change(&relaxed)
		q, err := p.s.problem(&relaxed)
		return err == nil && q.fitsNow()
	}
	smaller := ""
	if largest > 0 {
		smaller = fmt.Sprintf(", or ask for %d nodes", largest)
	}
	switch {
	case r.Within != "" && fits(func(q *Request) { q.Within = "" }):
		return fmt.Sprintf("leave out within %s%s", r.Within, smaller)
	case r.SegmentNodes > 1 && fits(func(q *Request) { q.SegmentNodes = 0 }):
		return "leave out segmentNodes or make it smaller" + smaller
	case (len(r.Exclude) > 0 || len(r.Include) > 0) && fits(func(q *Request) { q.Exclude, q.Include = nil, nil }):
		return "allow more nodes (exclude, include)" + smaller
	case len(r.Pools) > 0 && fits(func(q *Request) { q.Pools = nil }):
		return "allow more pools than " + strings.Join(r.Pools, ", ") + smaller
	case r.GPUModel != "" && fits(func(q *Request) { q.GPUModel = "" }):
		return "leave out gpuModel " + r.GPUModel + smaller
	}
	if e := p.emptied(r); e.fitsNow() {
		if seconds, ok := p.s.fitsAfter(r); ok {
			return fmt.Sprintf("wait %.0f s for running gangs to end%s", seconds, smaller)
		}
		return "wait until running gangs end" + smaller
	}
	if smaller == "" {
		return "no node of this topology satisfies the request"
	}
	return fmt.Sprintf("it would not fit on the empty cluster either: ask for %d nodes or fewer", largest)
}

func (p *problem) fitsNow() bool {
	p.prepare()
	view := newExactView(p, 0, false)
	for g := range p.c.groups {
		if p.c.groups[g].level <= p.within && view.usable(int32(g)) >= p.k {
			return true
		}
	}
	return false
}

// belowFloor is the refusal of a gang that would be slower than the caller's floor.
func (p *problem) belowFloor(floor float64, best *choice) error {
	return &InfeasibleError{Nodes: p.k, Largest: p.k,
		Reason: fmt.Sprintf("the best share now is %.3f, %s; minimumShare is %.3f", best.share, bindingText(&best.binding), floor),
		Remedy: fmt.Sprintf("wait, repair it, or lower minimumShare to %.3f", best.share)}
}
