package bench

import (
	"cmp"
	"slices"
)

// kueueBestFit is the choice of Kueue's topology-aware scheduling, BestFit, preferred leaf: one leaf if any fits (the
// tightest), else pods, fewest first; then the leaves of all chosen pods together, fewest first, the tightest last.
func kueueBestFit(l *Load, k int) []int {
	leaves := make([]int, len(l.LeafFree))
	for i := range leaves {
		leaves[i] = i
	}
	if slices.Max(l.LeafFree) < k {
		pods := make([]int, len(l.PodFree))
		for i := range pods {
			pods[i] = i
		}
		chosen := greedyDomains(pods, l.PodFree, k)
		if chosen == nil {
			return nil
		}
		leaves = leaves[:0]
		for _, p := range chosen {
			for i := p * l.M.PodLeaves; i < min((p+1)*l.M.PodLeaves, len(l.LeafFree)); i++ {
				leaves = append(leaves, i)
			}
		}
		slices.Sort(leaves)
	}
	counts := map[int]int{}
	rem := k
	for _, i := range greedyDomains(leaves, l.LeafFree, k) {
		counts[i] = min(rem, l.LeafFree[i])
		rem -= counts[i]
	}
	return l.take(counts)
}

// greedyDomains takes domains by free nodes descending (name on ties); as soon as the current one fits the rest, the
// smallest that fits is taken instead. Nil when all together do not fit.
func greedyDomains(domains, free []int, k int) []int {
	sorted := slices.Clone(domains)
	slices.SortStableFunc(sorted, func(a, b int) int { return cmp.Compare(free[b], free[a]) })
	var out []int
	for i, d := range sorted {
		if free[d] < k {
			out = append(out, d)
			k -= free[d]
			continue
		}
		best := d
		for _, o := range sorted[i:] {
			if free[o] >= k && free[o] < free[best] {
				best = o
			}
		}
		return append(out, best)
	}
	return nil
}

// volcano is the choice of Volcano's network-topology-aware plugin, hard mode, equal leaves: the lowest tier where one
// hypernode fits, the fullest of those; inside it leaf by leaf.
func volcano(l *Load, k int) []int {
	if best := tightest(l.LeafFree, k); best >= 0 {
		return l.take(map[int]int{best: k})
	}
	first, end := 0, len(l.LeafFree)
	if pod := tightest(l.PodFree, k); pod >= 0 {
		first, end = pod*l.M.PodLeaves, min((pod+1)*l.M.PodLeaves, end)
	}
	counts := map[int]int{}
	rem := k
	for i := first; i < end && rem > 0; i++ {
		counts[i] = min(rem, l.LeafFree[i])
		rem -= counts[i]
	}
	if rem > 0 {
		return nil
	}
	return l.take(counts)
}

// tightest is the first domain with the fewest free nodes that fits; -1 = none.
func tightest(free []int, k int) int {
	best := -1
	for i, n := range free {
		if n >= k && (best < 0 || n < free[best]) {
			best = i
		}
	}
	return best
}
