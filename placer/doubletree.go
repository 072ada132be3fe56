package placer

import (
	"math"
	"slices"
)

// Double binary tree: NCCL's tree all-reduce runs over two trees on the node order, each with half of the data, made so that
// an inner node of one is a leaf of the other. In units of a ring crossing (twice the data one way), a tree edge over an
// uplink loads each direction with a quarter: half of the data once up (reduce) and once down (broadcast).
//
//	B = min( b_v over the set, eta of every edge's lowest common group, A_e / (edges_e/4 + x_e) )
//
// There is no closed form: the best of the ring-optimal sets of the best groups is taken, which is a lower bound of the
// optimum.

// treeCandidates bounds the sets that are evaluated.
const treeCandidates = 48

// treeParents gives the parent of every index in the in-order binary tree over n nodes, -1 for the root: an index with
// lowest set bit b hangs below the index with that bit cleared and the next one set.
func treeParents(n int) []int {
	up := make([]int, n)
	for i := range up {
		if i == 0 {
			up[i] = -1
			continue
		}
		bit := i & -i
		if up[i] = i ^ bit | bit<<1; up[i] >= n {
			up[i] = i ^ bit
		}
	}
	return up
}

// doubleTree lists the edges of both trees over n nodes as pairs of indexes. The second tree is the first one shifted by one
// (odd n) or mirrored (even n).
func doubleTree(n int) [][2]int {
	var edges [][2]int
	for i, p := range treeParents(n) {
		if p < 0 {
			continue
		}
		edges = append(edges, [2]int{i, p})
		if n%2 == 1 {
			edges = append(edges, [2]int{(i + 1) % n, (p + 1) % n})
		} else {
			edges = append(edges, [2]int{n - 1 - i, n - 1 - p})
		}
	}
	return edges
}

// evaluateTree is the bandwidth of the double binary tree over the nodes in this order, and what binds it.
func (s *Snapshot) evaluateTree(order []int32) (float64, Binding) {
	if len(order) < 2 {
		return 1, Binding{Kind: NoBinding}
	}
	best := Binding{Kind: NoBinding, Share: math.Inf(1)}
	crossed := map[int32]int{}
	for _, e := range doubleTree(len(order)) {
		u, v := order[e[0]], order[e[1]]
		top := s.c.commonOf(u, v)
		if top < 0 {
			return 0, Binding{Kind: NoBinding}
		}
		best.take(s.levelBinding(top))
		for _, w := range []int32{u, v} {
			for g := s.c.nodes[w].leaf; g >= 0 && g != top; g = s.c.groups[g].parent {
				crossed[g]++
			}
		}
	}
	groups := make([]int32, 0, len(crossed))
	for g := range crossed {
		groups = append(groups, g)
	}
	slices.Sort(groups)
	for _, g := range groups {
		best.take(s.uplinkBinding(g, s.c.groups[g].uplink/(float64(crossed[g])/4+float64(s.crossingsAt(g)))))
	}
	for _, v := range order {
		best.takeNode(s, v)
	}
	return best.Share, best
}

// evaluate is the share of an ordered set under the request's collective.
func (p *problem) evaluate(r *Request, order []int32) (float64, Binding) {
	switch r.collective() {
	case AllToAll:
		return p.s.evaluateAllToAll(order)
	case Tree:
		return p.s.evaluateTree(order)
	case Mixed:
		return p.evaluateMixed(r, order)
	}
	return p.s.evaluateSorted(order)
}

// evaluateMixed adds up the times of the parts: the share is the weighted harmonic mean of the parts' shares, and what binds
// is what binds the part that takes the longest.
func (p *problem) evaluateMixed(r *Request, order []int32) (float64, Binding) {
	time, total, longest := 0.0, 0.0, -1.0
	var binding Binding
	for _, part := range []struct {
		weight   float64
		evaluate func([]int32) (float64, Binding)
	}{{r.Weights.Ring, p.s.evaluateSorted}, {r.Weights.AllToAll, p.s.evaluateAllToAll}, {r.Weights.Tree, p.s.evaluateTree}} {
		if part.weight <= 0 {
			continue
		}
		share, b := part.evaluate(order)
		t := part.weight / share
		time, total = time+t, total+part.weight
		if t > longest {
			longest, binding = t, b
		}
	}
	return total / time, binding
}

// solveCandidates serves the collectives without a closed form: the ring-optimal sets of the best groups and, for mixed
// traffic, all-to-all optima (spread sets and packed ones) are evaluated, and the best is taken.
func (p *problem) solveCandidates(r *Request) (*choice, error) {
	ring := *r
	ring.Collective, ring.Weights = Ring, nil
	best, err := p.solveExact(&ring)
	if err != nil {
		return nil, err
	}
	sets := [][]int32{best.order}
	for _, g := range p.bestGroups(best.values) {
		sets = append(sets, p.at(g, best.values[g]*(1-r.Tolerance)))
	}
	if r.collective() == Mixed && r.Weights.AllToAll > 0 {
		sets = append(sets, p.spreadSets(&ring)...)
	}
	out := &choice{share: math.Inf(-1)}
	for _, set := range sets {
		if share, binding := p.evaluate(r, set); share > out.share {
			out.order, out.share, out.binding = set, share, binding
		}
	}
	out.group = p.c.common(out.order)
	return out, nil
}

// spreadSets are all-to-all optima from the spread ones to the packed ones: below every level, at several tolerances.
func (p *problem) spreadSets(r *Request) [][]int32 {
	var sets [][]int32
	for l := int32(0); l < int32(len(p.c.levels)) && l <= p.within; l++ {
		q := *p
		q.within = l
		for _, tolerance := range []float64{0, .02, .1, .3} {
			a := *r
			a.Collective, a.Tolerance = AllToAll, tolerance
			if c, err := q.solveAllToAll(&a); err == nil {
				sets = append(sets, c.order)
			}
		}
	}
	return sets
}

// bestGroups are the groups with the highest ring values, at most treeCandidates.
func (p *problem) bestGroups(values []float64) []int32 {
	var out []int32
	for g, v := range values {
		if !math.IsInf(v, -1) {
			out = append(out, int32(g))
		}
	}
	slices.SortStableFunc(out, func(a, b int32) int {
		switch {
		case values[a] > values[b]:
			return -1
		case values[a] < values[b]:
			return 1
		}
		return 0
	})
	return out[:min(treeCandidates, len(out))]
}
