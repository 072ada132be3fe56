package placer

import (
	"cmp"
	"slices"
)

// view answers what carries a threshold t. The exact search and the index each have one.
type view interface {
	usable(g int32) int // nodes below g (in whole segments) that carry t themselves and through every uplink below g
	open(g int32) bool  // the uplink of g carries t for one more ring
	fits(v int32) bool  // node v is free, allowed and carries t
	free(g int32) int   // free nodes below g at any bandwidth
}

// chooser picks, among all sets that carry the threshold, the one that harms later gangs least. Its rules, in order:
//
//	level   the lowest level at which a group holds k usable nodes
//	leaf    the smallest price g(c)-g(c-k), then fewest usable, fewest free in the parent, fewest free, first
//	others  fewest usable nodes, then fewest leaf groups needed, first
//	inside  whole children by usable nodes until the rest fits in one; that last one is the tightest
//	nodes   the slowest that suffice, in steps of 1 %, then by position
type chooser struct {
	c    *Cluster
	v    view
	k    int
	seg  int
	t    float64
	mask int32
}

// group chooses the group to place in; -1 when none fits at or below level within.
func (ch *chooser) group(within int32) int32 {
	level, found := int32(0), false
	for g := range ch.c.groups {
		if l := ch.c.groups[g].level; (!found || l < level) && l <= within && ch.candidate(int32(g)) {
			level, found = l, true
		}
	}
	best := int32(-1)
	var bestKey groupKey
	for g := range ch.c.groups {
		if ch.c.groups[g].level != level || !found || !ch.candidate(int32(g)) {
			continue
		}
		if key := ch.key(int32(g)); best < 0 || key.compare(&bestKey) < 0 {
			best, bestKey = int32(g), key
		}
	}
	return best
}

func (ch *chooser) candidate(g int32) bool {
	return g != ch.mask && ch.c.groups[g].flat >= ch.t && ch.v.usable(g) >= ch.k
}

// groupKey orders candidates of one level; smaller is better, position breaks what ties remain.
type groupKey struct {
	price                      float64
	usable, leaves, above, own int
}

func (k *groupKey) compare(o *groupKey) int {
	return cmp.Or(cmp.Compare(k.price, o.price), cmp.Compare(k.usable, o.usable), cmp.Compare(k.leaves, o.leaves),
		cmp.Compare(k.above, o.above), cmp.Compare(k.own, o.own))
}

func (ch *chooser) key(g int32) groupKey {
	grp := &ch.c.groups[g]
	u := ch.v.usable(g)
	if len(grp.children) > 0 {
		return groupKey{usable: u, leaves: ch.leavesNeeded(g)}
	}
	key := groupKey{price: ch.c.price(u, ch.k), usable: u, own: ch.v.free(g)}
	if grp.parent >= 0 {
		key.above = ch.v.free(grp.parent)
	}
	return key
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

// fill appends the positions of need usable nodes below g to out.
func (ch *chooser) fill(g int32, need int, out []int32) []int32 {
	grp := &ch.c.groups[g]
	if len(grp.children) == 0 {
		return ch.pick(grp, need, out)
	}
	kids := make([]int32, 0, len(grp.children))
	for _, kid := range grp.children {
		if ch.v.open(kid) && ch.v.usable(kid) > 0 {
			kids = append(kids, kid)
		}
	}
	slices.SortStableFunc(kids, func(a, b int32) int { return cmp.Compare(ch.v.usable(b), ch.v.usable(a)) })
	for len(kids) > 0 && need > 0 {
		if ch.v.usable(kids[0]) >= need {
			return ch.fill(ch.tightest(kids, need), need, out)
		}
		n := ch.v.usable(kids[0])
		out = ch.fill(kids[0], n, out)
		need -= n
		kids = kids[1:]
	}
	return out
}

// tightest is the child that can take the rest with the least harm.
func (ch *chooser) tightest(kids []int32, need int) int32 {
	best := int32(-1)
	var bestKey groupKey
	sub := *ch
	sub.k = need
	for _, kid := range kids {
		if ch.v.usable(kid) < need {
			break // sorted: no later one fits
		}
		if key := sub.key(kid); best < 0 || key.compare(&bestKey) < 0 || key.compare(&bestKey) == 0 && kid < best {
			best, bestKey = kid, key
		}
	}
	return best
}

// pick takes need nodes of a leaf group.
func (ch *chooser) pick(grp *group, need int, out []int32) []int32 {
	type cand struct {
		step int32
		at   int32
	}
	list := make([]cand, 0, grp.end-grp.first)
	for v := grp.first; v < grp.end; v++ {
		if ch.v.fits(v) {
			list = append(list, cand{int32(ch.c.nodes[v].capped * 100), v})
		}
	}
	slices.SortFunc(list, func(a, b cand) int { return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.at, b.at)) })
	for _, x := range list[:min(need, len(list))] {
		out = append(out, x.at)
	}
	return out
}
