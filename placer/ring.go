package placer

import "math"

// problem is one request on one snapshot, with names turned into positions.
type problem struct {
	c       *Cluster
	s       *Snapshot
	k       int // nodes
	seg     int // nodes per segment, 1 = none; divides k
	r       *Request
	include []int32 // nil = all
	allow   []bool  // by position: free and allowed; made by prepare, for the exact way only
	within  int32   // highest level index that may hold the gang
	mask    int32   // a group that must not be chosen; -1 = none
}

// ringValues computes for every group T the best bandwidth of a ring of k nodes whose nodes stand below T:
//
//	value(T) = min( eta_T, k-th largest of eff_T(v) over the allowed nodes v below T )
//	eff_T(v) = min( b_v, A_e/(1+x_e) for every uplink e from v up to, not including, the uplink of T )
//
// and -Inf where fewer than k nodes are allowed. The largest value over all groups is the optimum over all node sets and all
// ring orders:
//
//   - No set is better. Let T be the lowest common group of a set S. Some ring edge has T as its lowest common group, so
//     B <= eta_T; every node is on an edge, so B <= b_v; every uplink strictly below T with some of S under it is passed
//     upwards at least once, so B <= A_e/(1+x_e). Together B <= min(eta_T, min over S of eff_T).
//   - It is reached by the k nodes of largest eff_T in depth-first order: the nodes under any group are consecutive, so every
//     uplink below T that separates S is passed upwards exactly once, and every edge has its common group at or below T.
//
// With segments of d nodes that must share a leaf group, the j-th segment of a leaf is worth its (j·d)-th best node; segments
// then take the place of nodes. Efficiencies must not increase on the way up; Cluster.settleEfficiency sees to that.
// Time O(nodes × depth).
func (p *problem) ringValues() []float64 {
	eff, first, end := p.units()
	values := make([]float64, len(p.c.groups))
	scratch := make([]float64, 0, len(eff))
	m := p.k / p.seg
	for g := len(p.c.groups) - 1; g >= 0; g-- {
		grp := &p.c.groups[g]
		values[g] = math.Inf(-1)
		below := eff[first[g]:end[g]]
		if len(below) >= m && grp.level <= p.within {
			scratch = append(scratch[:0], below...)
			values[g] = min(grp.flat, kthLargest(scratch, m))
		}
		if up := p.s.uplinkShare(int32(g)); !math.IsInf(up, 1) {
			for i := range below {
				below[i] = min(below[i], up)
			}
		}
	}
	return values
}

// units lists the bandwidths of all allowed nodes (or segments) in depth-first order and each group's range in the list.
func (p *problem) units() (eff []float64, first, end []int32) {
	c := p.c
	first, end = make([]int32, len(c.groups)), make([]int32, len(c.groups))
	eff = make([]float64, 0, len(c.nodes))
	for g := range c.groups {
		grp := &c.groups[g]
		first[g] = int32(len(eff))
		if len(grp.children) > 0 {
			continue
		}
		for v := grp.first; v < grp.end; v++ {
			if p.allow[v] {
				eff = append(eff, p.s.cappedAt(v))
			}
		}
		if p.seg > 1 {
			eff = segmentValues(eff, int(first[g]), p.seg)
		}
		for a := int32(g); a >= 0; a = c.groups[a].parent {
			end[a] = int32(len(eff))
		}
	}
	for g := range end {
		end[g] = max(end[g], first[g])
	}
	return eff, first, end
}

// kthLargest is the k-th largest of a, 1 <= k <= len(a); it reorders a (quickselect, median of three).
func kthLargest(a []float64, k int) float64 {
	lo, hi := 0, len(a)-1
	for lo < hi {
		pivot := medianOf3(a[lo], a[(lo+hi)/2], a[hi])
		i, j := lo, hi
		for i <= j {
			for a[i] > pivot {
				i++
			}
			for a[j] < pivot {
				j--
			}
			if i <= j {
				a[i], a[j] = a[j], a[i]
				i++
				j--
			}
		}
		switch {
		case k-1 <= j:
			hi = j
		case k-1 >= i:
			lo = i
		default:
			return a[k-1]
		}
	}
	return a[lo]
}

func medianOf3(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }
