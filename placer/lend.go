package placer

import (
	"cmp"
	"fmt"
	"slices"
)

// Lending chooses nodes for the other side such that large gangs stay possible on this one. What a gang can have is counted
// in nodes worth having (worthShare), in whole leaf groups, and in the pod with most of them. Nodes go in this order:
//
//  1. free nodes that are slow: serving seldom needs the fabric;
//  2. leaf groups that are broken already, from the pods with the fewest usable nodes up, but not of the best pod;
//  3. broken leaf groups of the best pod, the most broken first, up to an eighth of what it has;
//  4. whole leaf groups of the other pods, the emptiest pod first;
//  5. the rest of the best pod.
//
// The free nodes of a leaf group go together; only the last leaf group taken from is left part free.

// Lending is the answer to "lend n nodes".
type Lending struct {
	Nodes   []string `json:"nodes" yaml:"nodes"` // depth first
	To      string   `json:"to,omitempty" yaml:"to,omitempty"`
	Before  Capacity `json:"before" yaml:"before"`
	After   Capacity `json:"after" yaml:"after"`
	Reasons []string `json:"reasons" yaml:"reasons"`
}

// Capacity is what gangs can have.
type Capacity struct {
	UsableNodes int    `json:"usableNodes" yaml:"usableNodes"` // free and worth having
	WholeLeaves int    `json:"wholeLeaves" yaml:"wholeLeaves"` // leaf groups without any node missing
	LargestPod  int    `json:"largestPod" yaml:"largestPod"`   // most usable nodes that reach each other below one pod
	Pod         string `json:"pod,omitempty" yaml:"pod,omitempty"`
}

// lendLeaf is one leaf group as lending sees it.
type lendLeaf struct {
	g      int32
	pod    int32
	usable int
	whole  bool
	tier   int // order of lending
	podUse int // usable nodes of its pod
}

// Lend chooses n free nodes to lend to the other side. An *InfeasibleError says that fewer are free.
func (s *Snapshot) Lend(n int, to string) (*Lending, error) {
	if n < 1 {
		return nil, fmt.Errorf("lend %d nodes: must be at least 1", n)
	}
	var slow []int32
	free := 0
	for v := range s.c.nodes {
		if s.freeAt(int32(v)) {
			free++
			if s.cappedAt(int32(v)) < worthShare {
				slow = append(slow, int32(v))
			}
		}
	}
	if free < n {
		return nil, &InfeasibleError{Nodes: n, Largest: free, Reason: fmt.Sprintf("asked to lend %d nodes, %d are free", n, free), Remedy: fmt.Sprintf("lend %d or wait until gangs end", free)}
	}
	slices.SortStableFunc(slow, func(a, b int32) int { return cmp.Compare(s.cappedAt(a), s.cappedAt(b)) })
	out := slow[:min(n, len(slow))]
	leaves := s.lendLeaves()
	for i := 0; i < len(leaves) && len(out) < n; i++ {
		out = s.lendFrom(&leaves[i], n-len(out), out)
	}
	slices.Sort(out)
	d := s.draft(s.generation)
	for _, v := range out {
		d.setUse(v, Lent)
	}
	l := &Lending{Nodes: s.c.nodeNames(out), To: to, Before: s.Capacity(), After: d.Snapshot.Capacity()}
	l.Reasons = []string{fmt.Sprintf("%s slower than %.2f of nominal go first", plural(min(n, len(slow)), "free node"), worthShare),
		fmt.Sprintf("whole leaf groups: %d before, %d after", l.Before.WholeLeaves, l.After.WholeLeaves),
		fmt.Sprintf("largest gang in one pod: %d before, %d after (%s)", l.Before.LargestPod, l.After.LargestPod, l.After.Pod)}
	return l, nil
}

// lendFrom takes up to n usable free nodes of a leaf group.
func (s *Snapshot) lendFrom(l *lendLeaf, n int, out []int32) []int32 {
	grp := &s.c.groups[l.g]
	for v := grp.first; v < grp.end && n > 0; v++ {
		if s.freeAt(v) && s.cappedAt(v) >= worthShare {
			out = append(out, v)
			n--
		}
	}
	return out
}

// lendLeaves lists the leaf groups in the order in which they are lent.
func (s *Snapshot) lendLeaves() []lendLeaf {
	c := s.c
	pods := map[int32]int{}
	var leaves []lendLeaf
	for g := range c.groups {
		grp := &c.groups[g]
		if len(grp.children) > 0 {
			continue
		}
		l := lendLeaf{g: int32(g), pod: grp.parent, usable: s.worthIn(grp)}
		l.whole = l.usable == int(grp.end-grp.first)
		if s.uplinkShare(int32(g)) >= worthShare {
			pods[l.pod] += l.usable
		}
		if l.usable > 0 {
			leaves = append(leaves, l)
		}
	}
	best := int32(-1)
	for i := range leaves {
		if p := leaves[i].pod; best < 0 || pods[p] > pods[best] {
			best = p
		}
	}
	for i := range leaves {
		leaves[i].podUse = pods[leaves[i].pod]
	}
	slices.SortStableFunc(leaves, lendOrder)
	spare := pods[best] / 8
	for i := range leaves {
		l := &leaves[i]
		switch {
		case l.pod != best && l.whole:
			l.tier = 2
		case l.pod == best:
			l.tier = 3
			if !l.whole && l.usable <= spare {
				spare -= l.usable
				l.tier = 1
			}
		}
	}
	slices.SortStableFunc(leaves, func(a, b lendLeaf) int { return cmp.Compare(a.tier, b.tier) })
	return leaves
}

// lendOrder: broken before whole, emptier pods first, emptier leaf groups first.
func lendOrder(a, b lendLeaf) int {
	if a.whole != b.whole {
		if b.whole {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.podUse, b.podUse), cmp.Compare(a.pod, b.pod), cmp.Compare(a.usable, b.usable), cmp.Compare(a.g, b.g))
}

func (s *Snapshot) worthIn(grp *group) int {
	n := 0
	for v := grp.first; v < grp.end; v++ {
		if s.freeAt(v) && s.cappedAt(v) >= worthShare {
			n++
		}
	}
	return n
}

// Capacity counts what gangs can have now.
func (s *Snapshot) Capacity() Capacity {
	var out Capacity
	pods := map[int32]int{}
	for g := range s.c.groups {
		grp := &s.c.groups[g]
		if len(grp.children) > 0 {
			continue
		}
		n := s.worthIn(grp)
		out.UsableNodes += n
		if n > 0 && n == int(grp.end-grp.first) {
			out.WholeLeaves++
		}
		if s.uplinkShare(int32(g)) >= worthShare && grp.parent >= 0 {
			if pods[grp.parent] += n; pods[grp.parent] > out.LargestPod {
				out.LargestPod, out.Pod = pods[grp.parent], s.c.groups[grp.parent].name
			}
		}
	}
	return out
}

// Reclaim names the fewest lent nodes to ask back so that a gang of k fits below one group of a level, and that group. It
// returns no name when the gang fits already.
func (s *Snapshot) Reclaim(k int, within string) (names []string, group string, err error) {
	level := int32(slices.Index(s.c.levels, within))
	if within != "" && level < 0 {
		return nil, "", fmt.Errorf("within is %q: must be a level of this topology: %v", within, s.c.levels)
	}
	best, need := int32(-1), 0
	for g := range s.c.groups {
		if within != "" && s.c.groups[g].level > level {
			continue
		}
		usable, lent := s.reclaimable(int32(g))
		if want := max(0, k-usable); want <= len(lent) && (best < 0 || want < need) {
			best, need = int32(g), want
		}
	}
	if best < 0 {
		return nil, "", &InfeasibleError{Nodes: k, Within: within, Reason: fmt.Sprintf("no group has %d nodes that are free or lent", k), Remedy: "wait until running gangs end"}
	}
	_, lent := s.reclaimable(best)
	return s.c.nodeNames(lent[:need]), s.c.groups[best].name, nil
}

// reclaimable counts the usable nodes below g and lists its lent ones, the best first.
func (s *Snapshot) reclaimable(g int32) (usable int, lent []int32) {
	grp := &s.c.groups[g]
	for v := grp.first; v < grp.end; v++ {
		switch {
		case s.c.nodes[v].down || s.cappedAt(v) < worthShare:
		case s.useAt(v) == Free:
			usable++
		case s.useAt(v) == Lent:
			lent = append(lent, v)
		}
	}
	return usable, lent
}
