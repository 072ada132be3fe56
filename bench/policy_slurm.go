package bench

import "slices"

// slurmTree is the choice of Slurm's topology/tree plugin for whole nodes of one weight: take leaves one by one, each the
// best by the rule of better, until the job is full. Nodes of a leaf are taken in table order.
func slurmTree(l *Load, k int) []int {
	s := &slurmState{m: l.M, leaf: slices.Clone(l.LeafFree), pod: slices.Clone(l.PodFree), rem: k, dist: make([]int, len(l.LeafFree))}
	for _, n := range s.leaf {
		s.all += n
	}
	if s.all < k {
		return nil
	}
	counts := map[int]int{}
	for s.rem > 0 {
		best := -1
		for i, n := range s.leaf {
			if n > 0 && (best < 0 || s.replaces(i, best)) {
				best = i
			}
		}
		n := min(s.rem, s.leaf[best])
		counts[best] += n
		s.rem -= n
		s.leaf[best] -= n
		s.pod[best/l.M.PodLeaves] -= n
		s.all -= n
		for i := range s.dist {
			switch {
			case i == best:
			case i/l.M.PodLeaves == best/l.M.PodLeaves:
				s.dist[i] += 2
			default:
				s.dist[i] += 4
			}
		}
	}
	return l.take(counts)
}

// slurmState is the plugin's working state.
type slurmState struct {
	m         *Model
	leaf, pod []int // free nodes
	all, rem  int
	dist      []int // summed hops to the leaves taken
}

// replaces tells whether leaf i is a better next leaf than best.
func (s *slurmState) replaces(i, best int) bool {
	won, fit := s.compare(i, best)
	return s.dist[i] < s.dist[best] && fit || s.dist[i] == s.dist[best] && won
}

// compare climbs from two leaves to the first level that decides: the one that fits the rest with fewer free nodes wins, a
// fitting one beats one that does not fit, and where neither fits their parents are compared.
func (s *slurmState) compare(i, best int) (won, fit bool) {
	a, b := s.leaf[i], s.leaf[best]
	for level := 0; ; level++ {
		fa, fb := a >= s.rem, b >= s.rem
		switch {
		case fa && fb && a != b:
			return a < b, true
		case fa != fb:
			return fa, fa
		case fa && fb, level == 1, i/s.m.PodLeaves == best/s.m.PodLeaves:
			return a > b, fa
		}
		a, b = s.pod[i/s.m.PodLeaves], s.pod[best/s.m.PodLeaves]
	}
}

// take turns counts per leaf into positions, lowest first inside a leaf.
func (l *Load) take(counts map[int]int) []int {
	var set []int
	for leaf, n := range counts {
		for i := leaf * l.M.LeafNodes; n > 0 && i < min((leaf+1)*l.M.LeafNodes, l.M.Nodes); i++ {
			if l.Free[i] {
				set = append(set, i)
				n--
			}
		}
	}
	slices.Sort(set)
	return set
}

// slurmBlock is the choice of Slurm's topology/block plugin without segments; base blocks are the leaves and every power of
// two of them is an allowed block. It declines when no single block has room, even if enough nodes are free.
func slurmBlock(l *Load, k int) []int {
	size := l.M.LeafNodes
	level := 0
	for size<<level < k {
		level++
	}
	run := 1 << level // base blocks in a block
	lower := 1        // base blocks in a lower block
	if level > 0 {
		lower = run / 2
	}
	maxLower := (k + size*lower - 1) / (size * lower)
	best, bestFree := -1, 0
	for first := 0; first < len(l.LeafFree); first += run {
		free := l.blockFree(first, run)
		if l.blockAvailable(first, run, lower, maxLower) >= k && (best < 0 || free <= bestFree) {
			best, bestFree = first, free
		}
	}
	if best < 0 {
		return nil
	}
	return l.fillBlock(best, run, lower, maxLower, k)
}

func (l *Load) blockFree(first, run int) int {
	n := 0
	for i := first; i < min(first+run, len(l.LeafFree)); i++ {
		n += l.LeafFree[i]
	}
	return n
}

// blockAvailable is what a block offers when only its best maxLower lower blocks may be used.
func (l *Load) blockAvailable(first, run, lower, maxLower int) int {
	if run == lower*maxLower {
		return l.blockFree(first, run)
	}
	var frees []int
	for i := first; i < first+run; i += lower {
		frees = append(frees, l.blockFree(i, lower))
	}
	slices.Sort(frees)
	n := 0
	for i := len(frees) - 1; i >= 0 && i >= len(frees)-maxLower; i-- {
		n += frees[i]
	}
	return n
}

// fillBlock takes base blocks one by one: lower blocks in use first, then the tightest that fits, else the fullest.
func (l *Load) fillBlock(first, run, lower, maxLower, k int) []int {
	counts, used := map[int]int{}, map[int]bool{}
	rem := k
	for rem > 0 {
		best := -1
		for i := first; i < min(first+run, len(l.LeafFree)); i++ {
			if l.LeafFree[i] == 0 || counts[i] > 0 || len(used) >= maxLower && !used[i/lower] {
				continue
			}
			if best < 0 || l.blockBetter(i, best, lower, rem, used, first) {
				best = i
			}
		}
		if best < 0 {
			return nil
		}
		used[best/lower] = true
		counts[best] = min(rem, l.LeafFree[best])
		rem -= counts[best]
	}
	return l.take(counts)
}

func (l *Load) blockBetter(i, best, lower, rem int, used map[int]bool, first int) bool {
	if i/lower != best/lower {
		if used[i/lower] != used[best/lower] {
			return used[i/lower]
		}
		a, b := l.blockFree(i/lower*lower, lower), l.blockFree(best/lower*lower, lower)
		if a != b {
			return tighter(a, b, rem)
		}
	}
	a, b := l.LeafFree[i], l.LeafFree[best]
	return a == b || tighter(a, b, rem)
}

// tighter prefers what fits, the smallest of those that fit, the largest of those that do not.
func tighter(a, b, rem int) bool {
	if fa, fb := a >= rem, b >= rem; fa != fb {
		return fa
	} else if fa {
		return a < b
	}
	return a > b
}
