package placer

import (
	"cmp"
	"math"
	"slices"
)

// A gang that no single pod holds costs an uplink crossing per leaf group and per pod. Few pods mean many leaf groups, and
// the other way round; half as many pods are worth doublingPrice leaf groups:
//
//	cost = leaf groups + doublingPrice × log2(pods)
//
// The search prices leaf groups: at a price p a pod is worth the sum of (usable - p) over its leaf groups above p; the m
// most valuable pods, their largest leaf groups first, are one candidate for every m and p.
const doublingPrice = 8

// maxPrices bounds the number of leaf prices tried.
const maxPrices = 12

// span lists what the leaf groups below g give for need nodes when several children must be used. It is called with
// children that hold leaf groups deeper down; kids are sorted by usable nodes, largest first.
func (ch *chooser) span(kids []child, need int) {
	pods := make([]podLeaves, 0, len(kids))
	largest := 0
	for _, kid := range kids {
		p := podLeaves{kid: kid, leaves: ch.openLeaves(kid.g)}
		for _, l := range p.leaves {
			largest = max(largest, l.usable)
		}
		pods = append(pods, p)
	}
	best := spanChoice{}
	for step := 0; step < maxPrices && step <= largest; step++ {
		price := step
		if largest >= maxPrices {
			price = step * largest / maxPrices
		}
		bestSpan(pods, price, largest, need, &best)
	}
	ch.takeLeaves(best.pods, need)
}

// podLeaves is a child with its reachable leaf groups.
type podLeaves struct {
	kid    child
	leaves []child
	value  int
}

// spanChoice is the cheapest candidate so far.
type spanChoice struct {
	cost float64
	pods []podLeaves
}

// bestSpan tries the most valuable pods at one leaf price, one more at a time.
func bestSpan(pods []podLeaves, price, largest, need int, best *spanChoice) {
	for i := range pods {
		pods[i].value = 0
		for _, l := range pods[i].leaves {
			pods[i].value += max(0, l.usable-price)
		}
	}
	slices.SortFunc(pods, func(a, b podLeaves) int { return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.kid.g, b.kid.g)) })
	sizes := make([]int, largest+1) // leaf groups by usable nodes
	sum := 0
	for i := range pods {
		for _, l := range pods[i].leaves {
			sizes[l.usable]++
		}
		if sum += pods[i].kid.usable; sum < need {
			continue
		}
		base := doublingPrice * math.Log2(float64(i+1))
		if best.pods != nil && base >= best.cost {
			return
		}
		if cost := base + float64(leavesFor(sizes, need)); best.pods == nil || cost < best.cost {
			best.cost, best.pods = cost, slices.Clone(pods[:i+1])
		}
	}
}

// leavesFor counts the leaf groups that hold need nodes, the largest first.
func leavesFor(sizes []int, need int) int {
	n := 0
	for c := len(sizes) - 1; c > 0 && need > 0; c-- {
		use := min(sizes[c], (need+c-1)/c)
		n += use
		need -= use * c
	}
	return n
}

// openLeaves lists the leaf groups below g whose nodes reach g.
func (ch *chooser) openLeaves(g int32) []child {
	c := ch.c
	if len(c.groups[g].children) == 0 {
		return []child{{g, ch.v.usable(g)}}
	}
	var out []child
	for i := g + 1; i < int32(len(c.groups)) && c.groups[i].first < c.groups[g].end; i++ {
		if c.groups[i].parent < g {
			break
		}
		if !ch.v.open(i) {
			end := c.groups[i].end
			for i+1 < int32(len(c.groups)) && c.groups[i+1].end <= end && c.groups[i+1].parent >= i {
				i++
			}
			continue
		}
		if u := ch.v.usable(i); u > 0 && len(c.groups[i].children) == 0 {
			out = append(out, child{i, u})
		}
	}
	return out
}

// takeLeaves uses the largest leaf groups of the pods; the last one is the tightest that holds the rest.
func (ch *chooser) takeLeaves(pods []podLeaves, need int) {
	var leaves []child
	for _, p := range pods {
		leaves = append(leaves, p.leaves...)
	}
	slices.SortFunc(leaves, func(a, b child) int { return cmp.Or(cmp.Compare(b.usable, a.usable), cmp.Compare(a.g, b.g)) })
	for i := 0; i < len(leaves) && need > 0; i++ {
		l := leaves[i]
		if l.usable >= need {
			ch.takes = append(ch.takes, take{ch.tightest(leaves[i:], need), need})
			return
		}
		ch.takes = append(ch.takes, take{l.g, l.usable})
		need -= l.usable
	}
}
