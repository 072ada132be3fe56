package placer

import (
	"cmp"
	"math"
	"slices"
)

// All-to-all: every node of the gang sends 1/(k-1) of its traffic to every other one, so with n_e nodes of the gang below an
// uplink e, n_e (k-n_e)/(k-1) node-worths pass it, and
//
//	B = min( b_v over the set, A_e (k-1) / (n_e (k-n_e)) over uplinks with 0 < n_e < k )
//
// At a rate r an uplink therefore allows n_e in [0, lo] or [k-lo, k], or any n_e. More than half of the gang stands below a
// group in the upper range, so such groups form one chain: a group H and all groups above it. With H fixed every group has
// one interval of counts, and sums and cuts of integer intervals are intervals again, so a pass up decides and a pass down
// builds the set. Trying every H costs only its chain, because all sums outside the chain stay as they are. The largest
// feasible r is found by bisection that jumps to the value of each set it builds, so the answer is a reached value.
//
// Level efficiencies and other gangs' traffic are not part of this model.

// spread is the all-to-all search of one problem: counts are in segments (p.seg nodes).
type spread struct {
	p    *problem
	m    int     // segments of the gang
	r    float64 // rate of the last pass
	low  []int32 // per group: most segments in the lower range, its own uplink included
	room []int32 // per group: most segments when its own uplink is left out
	cap  []int32 // per group: largest count of the lower range

	shares []float64 // allowed nodes, ascending inside each leaf group
	first  []int32   // per leaf group: where its shares start
	end    []int32
}

func newSpread(p *problem) *spread {
	n := len(p.c.groups)
	a := &spread{p: p, m: p.k / p.seg, low: make([]int32, n), room: make([]int32, n), cap: make([]int32, n), first: make([]int32, n), end: make([]int32, n)}
	for g := range p.c.groups {
		grp := &p.c.groups[g]
		if len(grp.children) > 0 {
			continue
		}
		a.first[g] = int32(len(a.shares))
		for v := grp.first; v < grp.end; v++ {
			if p.allow[v] {
				a.shares = append(a.shares, p.s.shareAt(v))
			}
		}
		a.end[g] = int32(len(a.shares))
		slices.Sort(a.shares[a.first[g]:])
	}
	return a
}

// atLeast counts the nodes of a leaf group with share r or more.
func (a *spread) atLeast(g int, r float64) int {
	leaf := a.shares[a.first[g]:a.end[g]]
	i, _ := slices.BinarySearch(leaf, r)
	return len(leaf) - i
}

// pass computes low, room and cap of every group for rate r.
func (a *spread) pass(r float64) {
	a.r = r
	c := a.p.c
	clear(a.room)
	for g := len(c.groups) - 1; g >= 0; g-- {
		grp := &c.groups[g]
		if len(grp.children) == 0 {
			a.room[g] = int32(a.atLeast(g, r) / a.p.seg)
		}
		a.cap[g] = int32(a.lowest(grp.uplink))
		a.low[g] = min(a.room[g], a.cap[g])
		if grp.parent >= 0 {
			a.room[grp.parent] += a.low[g]
		}
	}
}

// lowest is the largest count n <= m/2, in segments, that an uplink carries at rate r; m when every count passes.
func (a *spread) lowest(uplink float64) int {
	k, d := a.p.k, a.p.seg
	passes := func(n int) bool {
		return float64(n)*float64(k-n)*a.r <= uplink*float64(k-1)*(1+1e-12)
	}
	half := a.m / 2
	if passes(half*d) && passes((a.m-half)*d) {
		return a.m
	}
	disc := float64(k)*float64(k) - 4*uplink*float64(k-1)/a.r
	n := min(half, int((float64(k)-math.Sqrt(max(0, disc)))/2)/d)
	for n < half && passes((n+1)*d) {
		n++
	}
	for n > 0 && !passes(n*d) {
		n--
	}
	return n
}

// noChain stands for "no group in the upper range".
const noChain = -1

// feasible tells whether the gang fits below top at the rate of the last pass, and with which chain.
func (a *spread) feasible(top int32) (chain int32, ok bool) {
	if int(a.room[top]) >= a.m {
		return noChain, true
	}
	c := a.p.c
	for h := top + 1; h < int32(len(c.groups)) && c.groups[h].first < c.groups[top].end; h++ {
		if a.chainFits(h, top) {
			return h, true
		}
	}
	return noChain, false
}

// chainFits walks from h up to top with h and all groups between in the upper range.
func (a *spread) chainFits(h, top int32) bool {
	c, m := a.p.c, int32(a.m)
	if a.cap[h] >= m || a.room[h] == 0 {
		return false // any count passes: not a chain of its own
	}
	least, most := m-a.cap[h], min(a.room[h], m)
	for g := h; least <= most; {
		up := c.groups[g].parent
		most = a.room[up] - a.low[g] + most
		if up == top {
			return most >= m
		}
		if a.cap[up] < m {
			least = max(least, m-a.cap[up])
		}
		most, g = min(most, m), up
	}
	return false
}

// build gives every group below top its count and returns the chosen positions, sorted.
func (a *spread) build(top, chain int32) []int32 {
	out := make([]int32, 0, a.p.k)
	out = a.deal(top, a.m, a.chainBounds(top, chain), out)
	slices.Sort(out)
	return out
}

// bounds are the counts that a group on the chain may hold.
type bounds struct{ least, most int32 }

func (a *spread) chainBounds(top, chain int32) map[int32]bounds {
	out := map[int32]bounds{}
	if chain == noChain {
		return out
	}
	c, m := a.p.c, int32(a.m)
	b := bounds{m - a.cap[chain], min(a.room[chain], m)}
	for g := chain; g != top; {
		out[g] = b
		up := c.groups[g].parent
		b.most = min(m, a.room[up]-a.low[g]+b.most)
		if a.cap[up] < m {
			b.least = max(b.least, m-a.cap[up])
		}
		g = up
	}
	return out
}

// deal hands n segments to the children of g: first what each must have, then the rest to the roomiest first, which uses the
// fewest leaf groups.
func (a *spread) deal(g int32, n int, chain map[int32]bounds, out []int32) []int32 {
	grp := &a.p.c.groups[g]
	if len(grp.children) == 0 {
		return a.pick(grp, n*a.p.seg, out)
	}
	kids := slices.Clone(grp.children)
	bound := func(kid int32) bounds {
		if b, ok := chain[kid]; ok {
			return b
		}
		return bounds{0, a.low[kid]}
	}
	slices.SortStableFunc(kids, func(x, y int32) int { return cmp.Compare(bound(y).most, bound(x).most) })
	rest := n
	for _, kid := range kids {
		rest -= int(bound(kid).least)
	}
	for _, kid := range kids {
		b := bound(kid)
		extra := min(rest, int(b.most-b.least))
		rest -= extra
		if give := int(b.least) + extra; give > 0 {
			out = a.deal(kid, give, chain, out)
		}
	}
	return out
}

// pick takes the slowest nodes of a leaf group that reach the rate, in steps of 1 %, then by position.
func (a *spread) pick(grp *group, need int, out []int32) []int32 {
	list := make([]int32, 0, grp.end-grp.first)
	for v := grp.first; v < grp.end; v++ {
		if a.p.allow[v] && a.p.s.shareAt(v) >= a.r {
			list = append(list, v)
		}
	}
	step := func(v int32) int { return int(a.p.s.shareAt(v) * 100) }
	slices.SortStableFunc(list, func(x, y int32) int { return cmp.Compare(step(x), step(y)) })
	return append(out, list[:min(need, len(list))]...)
}

// best is the largest rate that some group of tops reaches.
func (a *spread) best(tops []int32) float64 {
	try := func(r float64) (float64, bool) {
		a.pass(r)
		value, found := 0.0, false
		for _, top := range tops {
			if chain, ok := a.feasible(top); ok {
				share, _ := a.p.s.evaluateAllToAll(a.build(top, chain))
				value, found = max(value, share), true
			}
		}
		return value, found
	}
	lo, ok := try(0)
	if !ok {
		return math.Inf(-1)
	}
	hi := lo
	for v := range a.p.allow {
		if a.p.allow[v] {
			hi = max(hi, a.p.s.shareAt(int32(v)))
		}
	}
	if v, ok := try(hi); ok {
		return max(hi, v)
	}
	for i := 0; i < 60 && hi-lo > 1e-14; i++ {
		mid := (lo + hi) / 2
		if v, ok := try(mid); ok {
			lo = max(mid, v)
		} else {
			hi = mid
		}
	}
	return lo
}

// tops are the highest groups that may hold the gang: a group above another one allows all that the lower one allows.
func (p *problem) tops() []int32 {
	var out []int32
	for g := range p.c.groups {
		grp := &p.c.groups[g]
		if grp.level <= p.within && (grp.parent < 0 || p.c.groups[grp.parent].level > p.within) {
			out = append(out, int32(g))
		}
	}
	return out
}

// solveAllToAll is the exact optimum, then the lowest group and the fewest leaf groups that reach it within the tolerance.
func (p *problem) solveAllToAll(r *Request) (*choice, error) {
	p.prepare()
	a := newSpread(p)
	rate := a.best(p.tops())
	if math.IsInf(rate, -1) {
		return nil, p.infeasible(r)
	}
	if p.k == 1 {
		return p.solveRing(r)
	}
	a.pass(rate * (1 - r.Tolerance) * (1 - 1e-13))
	view := newExactView(p, a.r, true)
	ch := &chooser{c: p.c, s: p.s, v: view, k: p.k, seg: p.seg}
	top, chain := int32(-1), int32(noChain)
	var key groupKey
	for g := range p.c.groups {
		grp := &p.c.groups[g]
		if int32(g) == p.mask || grp.level > p.within || top >= 0 && grp.level > p.c.groups[top].level {
			continue
		}
		if via, ok := a.feasible(int32(g)); ok {
			k := ch.key(int32(g), view.usable(int32(g)))
			if top < 0 || grp.level < p.c.groups[top].level || k.compare(&key) < 0 {
				top, chain, key = int32(g), via, k
			}
		}
	}
	if top < 0 {
		return nil, p.infeasible(r)
	}
	order := a.build(top, chain)
	out := &choice{order: order, group: p.c.common(order)}
	out.share, out.binding = p.s.evaluateAllToAll(order)
	return out, nil
}

// evaluateAllToAll is the all-to-all rate of a set (sorted positions) and what binds it.
func (s *Snapshot) evaluateAllToAll(set []int32) (float64, Binding) {
	best := Binding{Kind: NoBinding, Share: math.Inf(1)}
	k := len(set)
	if k < 2 {
		return 1, Binding{Kind: NoBinding}
	}
	if s.c.common(set) < 0 {
		return 0, Binding{Kind: NoBinding}
	}
	for _, g := range s.c.crossed(set) {
		grp := &s.c.groups[g]
		lo, _ := slices.BinarySearch(set, grp.first)
		hi, _ := slices.BinarySearch(set, grp.end)
		n := hi - lo
		b := s.uplinkBinding(g, grp.uplink*float64(k-1)/(float64(n)*float64(k-n)))
		b.Sharers = 0
		best.take(b)
	}
	for _, v := range set {
		best.takeNode(s, v)
	}
	return best.Share, best
}
