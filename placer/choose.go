package placer

import (
	"cmp"
	"math"
	"slices"
)

// view answers what carries a threshold t. The exact search and the index each have one.
type view interface {
	usable(g int32) int // nodes below g (in whole segments) that carry t themselves and through every uplink below g
	open(g int32) bool  // the uplink of g carries t for one more ring
	fits(v int32) bool  // node v is free, allowed and carries t
	worth(g int32) int  // free nodes below g that later gangs would want (worthShare)
}

// chooser picks, among all sets that carry the threshold, the one that harms later gangs least. Its rules, in order:
//
//	level   the lowest level at which a group holds k usable nodes
//	leaf    the smallest price g(c)-g(c-k), then fewest nodes worth having, the same in the parent, fewest below the threshold, first
//	others  fewest nodes worth having, first; among evenly used groups fewest leaf groups needed before that
//	inside  whole children by usable nodes until the rest fits in one, that one the tightest; among evenly used ones the
//	        fewest leaf groups and pods (span.go)
//	nodes   the slowest that suffice, in steps of 1 %, then by position
type chooser struct {
	c     *Cluster
	s     *Snapshot
	v     view
	k     int
	seg   int
	t     float64
	mask  int32
	takes []take
	even  bool // the groups of the level are used evenly, see evenlyUsed
}

// take is how many nodes a leaf group gives.
type take struct {
	leaf int32
	n    int
}

// group chooses the group to place in; -1 when none fits at or below level within.
func (ch *chooser) group(within int32) int32 {
	for l := int32(0); l < int32(len(ch.c.levels)) && l <= within; l++ {
		if int(ch.c.largest[l]) < ch.k {
			continue
		}
		best := int32(-1)
		var bestKey groupKey
		ch.even = ch.evenlyUsed(ch.c.byLevel[l])
		for _, g := range ch.c.byLevel[l] {
			if ch.hopeless(g, best, &bestKey) {
				continue
			}
			u := ch.candidate(g)
			if u < ch.k {
				continue
			}
			if key := ch.key(g, u); best < 0 || key.compare(&bestKey) < 0 {
				best, bestKey = g, key
			}
		}
		if best >= 0 {
			return best
		}
	}
	return -1
}

// nodes are the positions of the k nodes chosen below g, in depth-first order.
func (ch *chooser) nodes(g int32) []int32 {
	ch.takes = ch.takes[:0]
	ch.fill(g, ch.k)
	slices.SortFunc(ch.takes, func(a, b take) int { return cmp.Compare(a.leaf, b.leaf) })
	out := make([]int32, 0, ch.k)
	for _, t := range ch.takes {
		out = ch.pick(&ch.c.groups[t.leaf], t.n, out)
	}
	return out
}

// candidate is the number of usable nodes below g, 0 when g may not be chosen.
func (ch *chooser) candidate(g int32) int {
	if g == ch.mask || ch.c.hot[g].flat < ch.t {
		return 0
	}
	return ch.v.usable(g)
}

// groupKey orders candidates of one level; smaller is better, position breaks what ties remain.
type groupKey struct {
	price           float64
	first, worth    int // worth: nodes that later gangs would want
	above, unusable int
}

func (k *groupKey) compare(o *groupKey) int {
	return cmp.Or(cmp.Compare(k.price, o.price), cmp.Compare(k.first, o.first), cmp.Compare(k.worth, o.worth),
		cmp.Compare(k.above, o.above), cmp.Compare(k.unusable, o.unusable))
}

// key values g, which has u usable nodes. What later gangs lose is counted in nodes that are worth having, not in those that
// happen to carry this gang's threshold: otherwise a leaf of good nodes looks tight to a gang that wants the very best ones.
func (ch *chooser) key(g int32, u int) groupKey {
	grp := &ch.c.hot[g]
	worth := max(u, ch.v.worth(g))
	if !grp.leaf {
		key := groupKey{first: worth, worth: worth}
		if ch.even {
			key.first = ch.leavesNeeded(g)
		}
		return key
	}
	key := groupKey{price: ch.c.price(worth, ch.k), worth: worth, unusable: worth - u}
	if grp.parent >= 0 {
		key.above = ch.v.worth(grp.parent)
	}
	return key
}

// evenlyUsed tells whether groups with children are in use to about the same extent: their shares of nodes worth having
// differ by no more than random use of single nodes would explain (6 standard deviations). Then no group stands out that is
// worth keeping whole for a later, larger gang, and compactness decides. Otherwise gangs go where the least is left: under
// churn that is worth more than a point of bandwidth.
func (ch *chooser) evenlyUsed(groups []int32) bool {
	low, high, sum, n, size := 1.0, 0.0, 0.0, 0.0, math.Inf(1)
	for _, g := range groups {
		if ch.c.hot[g].leaf {
			continue
		}
		grp := &ch.c.groups[g]
		nodes := float64(grp.end - grp.first)
		f := float64(ch.v.worth(g)) / nodes
		low, high, sum, n, size = min(low, f), max(high, f), sum+f, n+1, min(size, nodes)
	}
	if n < 2 {
		return n > 0
	}
	p := sum / n
	return high-low <= 6*math.Sqrt(p*(1-p)/size)
}

// hopeless tells early, from the number of nodes worth having alone, that a leaf group is too small or cannot beat the best
// so far. That number counts only where the threshold is not below the worth of nodes: then usable nodes are among them.
func (ch *chooser) hopeless(g, best int32, bestKey *groupKey) bool {
	if ch.t < worthShare || !ch.c.hot[g].leaf {
		return false
	}
	worth := ch.v.worth(g)
	if worth < ch.k {
		return true
	}
	if best < 0 {
		return false
	}
	price := ch.c.price(worth, ch.k)
	return price > bestKey.price || price == bestKey.price && worth > bestKey.worth
}

// leavesNeeded counts the leaf groups that k nodes below g take when the largest come first.
func (ch *chooser) leavesNeeded(g int32) int {
	var sizes []int
	for i := g + 1; i < int32(len(ch.c.groups)) && ch.c.groups[i].first < ch.c.groups[g].end; i++ {
		if len(ch.c.groups[i].children) == 0 && ch.v.open(i) {
			sizes = append(sizes, ch.v.usable(i))
		}
	}
	slices.Sort(sizes)
	n, sum := 0, 0
	for i := len(sizes) - 1; i >= 0 && sum < ch.k; i-- {
		sum += sizes[i]
		n++
	}
	return n
}

// fill lists what the leaf groups below g give for need nodes.
func (ch *chooser) fill(g int32, need int) {
	grp := &ch.c.groups[g]
	if len(grp.children) == 0 {
		ch.takes = append(ch.takes, take{g, need})
		return
	}
	kids := make([]child, 0, len(grp.children))
	for _, kid := range grp.children {
		if ch.v.open(kid) {
			if n := ch.v.usable(kid); n > 0 {
				kids = append(kids, child{kid, n})
			}
		}
	}
	slices.SortFunc(kids, func(a, b child) int { return cmp.Or(cmp.Compare(b.usable, a.usable), cmp.Compare(a.g, b.g)) })
	if kids[0].usable < need && ch.evenlyUsed(grp.children) {
		ch.span(kids, need)
		return
	}
	for need > 0 {
		if kids[0].usable >= need {
			ch.fill(ch.tightest(kids, need), need)
			return
		}
		ch.fill(kids[0].g, kids[0].usable)
		need -= kids[0].usable
		kids = kids[1:]
	}
}

// child is a group with its usable nodes.
type child struct {
	g      int32
	usable int
}

// tightest is the child that can take the rest with the least harm.
func (ch *chooser) tightest(kids []child, need int) int32 {
	best := int32(-1)
	var bestKey groupKey
	sub := *ch
	sub.k = need
	for _, kid := range kids {
		if kid.usable < need {
			break // sorted: no later one fits
		}
		if key := sub.key(kid.g, kid.usable); best < 0 || key.compare(&bestKey) < 0 || key.compare(&bestKey) == 0 && kid.g < best {
			best, bestKey = kid.g, key
		}
	}
	return best
}

// pick appends need nodes of a leaf group, in order.
func (ch *chooser) pick(grp *group, need int, out []int32) []int32 {
	from := len(out)
	for v := grp.first; v < grp.end; v++ {
		if ch.v.fits(v) {
			out = append(out, v)
		}
	}
	found := out[from:]
	if len(found) > need {
		step := func(v int32) int { return int(ch.s.shareAt(v) * 100) }
		slices.SortFunc(found, func(a, b int32) int {
			return cmp.Or(cmp.Compare(ch.s.freeGPUs(a), ch.s.freeGPUs(b)), cmp.Compare(step(a), step(b)), cmp.Compare(a, b))
		})
		found = found[:need]
		slices.Sort(found)
	}
	return out[:from+len(found)]
}
