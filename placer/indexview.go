package placer

import "math"

// indexView answers the chooser from the index, for one bucket.
type indexView struct {
	s       *Snapshot
	layers  []layer // of the classes that the request allows
	allowed [maxClasses]bool
	q       uint8
}

func (x *indexView) worth(g int32) int {
	r := x.s.c.row[g]
	if r >= x.s.c.leafRows {
		return x.at(g, x.s.c.keep)
	}
	n := x.layers[0].sums.at(r / sumSize).worth[r%sumSize]
	for i := 1; i < len(x.layers); i++ {
		n += x.layers[i].sums.at(r / sumSize).worth[r%sumSize]
	}
	return int(n)
}

func (x *indexView) usable(g int32) int {
	r := x.s.c.row[g]
	if x.q > 0 || r >= x.s.c.leafRows {
		return x.at(g, x.q)
	}
	n := x.layers[0].sums.at(r / sumSize).free[r%sumSize]
	for i := 1; i < len(x.layers); i++ {
		n += x.layers[i].sums.at(r / sumSize).free[r%sumSize]
	}
	return int(n)
}

func (x *indexView) open(g int32) bool { return x.s.linkBucketAt(g) >= x.q }

func (x *indexView) fits(v int32) bool {
	return x.s.bucketAt(v) >= x.q && x.s.freeAt(v) && x.allowed[x.s.c.nodes[v].class]
}

func (x *indexView) at(g int32, q uint8) int {
	r := x.s.c.row[g]
	n := x.layers[0].row(r)[q]
	for i := 1; i < len(x.layers); i++ {
		n += x.layers[i].row(r)[q]
	}
	return int(n)
}

// levelBest is the best value that k nodes reach below one group of level l, to bucket precision from below; -Inf when none
// has k. It starts at what is already known: only a better bucket counts.
func (x *indexView) levelBest(l int32, k int, known float64, mask int32) float64 {
	c := x.s.c
	if int(c.largest[l]) < k {
		return known
	}
	q := 0
	if !math.IsInf(known, -1) {
		q = int(c.bucketOf(known)) + 1
	}
	for _, g := range c.byLevel[l] {
		flat := c.hot[g].flat
		for q < len(c.edges) && flat > known && g != mask && x.at(g, uint8(q)) >= k {
			known = min(flat, c.edges[q])
			q++
		}
		if q >= len(c.edges) {
			break
		}
	}
	return known
}

// solveIndex answers a ring request from the index; ok is false when it needs the exact way: no tolerance, segments, node
// kinds that the index does not tell apart, or no better answer than where its buckets are wide.
func (p *problem) solveIndex(r *Request) (*choice, bool) {
	x, ok := p.indexView(r)
	if !ok {
		return nil, false
	}
	best := math.Inf(-1)
	for l := int32(0); l < int32(len(p.c.levels)) && l <= p.within; l++ {
		best = x.levelBest(l, p.k, best, p.mask)
	}
	if math.IsInf(best, -1) {
		return nil, false // the exact way finds out why
	}
	if p.k > 1 && best < fineShare {
		return nil, false
	}
	t := best * (1 - r.Tolerance)
	for int(x.q)+1 < len(p.c.edges) && p.c.edges[x.q] < t {
		x.q++
	}
	if p.c.edges[x.q] > best {
		x.q--
	}
	if p.k == 1 {
		t, x.q = 0, 0
	}
	ch := &chooser{c: p.c, s: p.s, v: x, k: p.k, seg: 1, t: min(t, p.c.edges[x.q]), mask: p.mask}
	g := ch.group(p.within)
	out := &choice{order: ch.nodes(g)}
	out.group = p.c.common(out.order)
	out.share, out.binding = p.s.evaluateSorted(out.order)
	return out, true
}

// fineShare is where buckets become wide: a gang that cannot do better is placed the exact way.
const fineShare = .8

// minimumTolerance is the least tolerance that the index can honour: below it buckets are too wide.
const minimumTolerance = .01

func (p *problem) indexView(r *Request) (*indexView, bool) {
	s := p.s
	if s.layers == nil || p.seg > 1 || r.GPUsPerNode > 0 && len(s.gpus) > 0 || r.Tolerance < minimumTolerance && p.k > 1 || r.Include != nil {
		return nil, false
	}
	x := &indexView{s: s}
	if r.GPUModel == "" && r.GPUsPerNode == 0 && r.Pools == nil {
		x.layers = s.layers
		for i := range x.allowed {
			x.allowed[i] = true
		}
		return x, true
	}
	if s.c.blurred {
		return nil, false
	}
	for i := range s.c.classes {
		if !s.c.classes[i].allows(r) {
			continue
		}
		x.allowed[i] = true
		x.layers = append(x.layers, s.layers[i])
	}
	return x, len(x.layers) > 0
}

// DefaultTolerance is the share of bandwidth that the engine gives up for tighter placements unless told otherwise: about
// what a measurement is worth.
const DefaultTolerance = .015

// worthShare is the share from which on a node is worth keeping for later gangs.
const worthShare = .9
