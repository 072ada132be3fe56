package placer

// exactView counts what carries a threshold by looking at every node once.
type exactView struct {
	p      *problem
	t      float64
	raw    bool // by measured share, also in sick groups (all-to-all knows no level efficiency)
	count  []int32
	worths []int32
}

func newExactView(p *problem, t float64, raw bool) *exactView {
	return newExactViewOf(p, t, raw, 0, int32(len(p.c.groups)))
}

// newExactViewOf counts in the groups from..to only, which must be whole sub-trees.
func newExactViewOf(p *problem, t float64, raw bool, from, to int32) *exactView {
	c := p.c
	e := &exactView{p: p, t: t, raw: raw, count: make([]int32, len(c.groups)), worths: make([]int32, len(c.groups))}
	for g := to - 1; g >= from; g-- {
		grp := &c.groups[g]
		if len(grp.children) == 0 {
			for v := grp.first; v < grp.end; v++ {
				if (p.s.freeAt(v) || p.allow[v]) && p.s.cappedAt(v) >= worthShare {
					e.worths[g]++
				}
				if e.fits(v) {
					e.count[g]++
				}
			}
			e.count[g] -= e.count[g] % int32(p.seg)
		}
		if grp.parent >= from {
			e.worths[grp.parent] += e.worths[g]
			if e.open(g) {
				e.count[grp.parent] += e.count[g]
			}
		}
	}
	return e
}

func (e *exactView) usable(g int32) int { return int(e.count[g]) }
func (e *exactView) open(g int32) bool  { return e.p.s.uplinkShare(g) >= e.t }
func (e *exactView) fits(v int32) bool {
	return e.p.allow[v] && (e.p.s.cappedAt(v) >= e.t || e.raw && e.p.s.shareAt(v) >= e.t)
}
func (e *exactView) worth(g int32) int { return int(e.worths[g]) }
