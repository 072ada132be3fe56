package placer

import "math"

// evaluateRing is the bandwidth of a ring over the nodes at the given positions, in this order, and what binds it:
//
//	B = min( min(b_u, b_v, eta of their lowest common group) over ring edges, A_e/(own_e + x_e) over crossed uplinks )
//
// own_e counts how often the ring passes e upwards. Among equal bounds the level is named before an uplink before a node.
func (s *Snapshot) evaluateRing(order []int32) (float64, Binding) {
	if len(order) < 2 {
		return 1, Binding{Kind: NoBinding}
	}
	best := Binding{Kind: NoBinding, Share: math.Inf(1)}
	own := make(map[int32]int32)
	var passed []int32
	for i, u := range order {
		v := order[(i+1)%len(order)]
		top := s.c.commonOf(u, v)
		if top < 0 {
			return 0, Binding{Kind: NoBinding}
		}
		best.take(s.levelBinding(top))
		for g := s.c.nodes[u].leaf; g != top && g >= 0; g = s.c.groups[g].parent {
			if own[g] == 0 {
				passed = append(passed, g)
			}
			own[g]++
		}
	}
	for _, g := range passed {
		best.take(s.uplinkBinding(g, s.c.groups[g].uplink/float64(own[g]+s.crossingsAt(g))))
	}
	for _, v := range order {
		best.takeNode(s, v)
	}
	return best.Share, best
}

func (s *Snapshot) levelBinding(g int32) Binding {
	grp := &s.c.groups[g]
	return Binding{Kind: LevelBinding, Name: grp.name, Level: s.c.levels[grp.level], Share: grp.eta}
}

func (s *Snapshot) uplinkBinding(g int32, share float64) Binding {
	grp := &s.c.groups[g]
	return Binding{Kind: UplinkBinding, Name: grp.name, Level: s.c.levels[grp.level], Share: share, Sharers: int(s.crossingsAt(g))}
}

// take keeps the smaller bound; on a tie the one that came first.
func (b *Binding) take(o Binding) {
	if o.Share < b.Share {
		*b = o
	}
}

// takeNode keeps the bound of a node when it is smaller.
func (b *Binding) takeNode(s *Snapshot, v int32) {
	if share := s.shareAt(v); share < b.Share {
		n := &s.c.nodes[v]
		*b = Binding{Kind: NodeBinding, Name: n.name, Device: n.limiting, Share: share}
	}
}

// evaluateSorted is evaluateRing for positions in depth-first order, in time nodes + leaves × depth: every uplink between
// the set and its lowest common group is passed upwards once.
func (s *Snapshot) evaluateSorted(order []int32) (float64, Binding) {
	if len(order) < 2 {
		return 1, Binding{Kind: NoBinding}
	}
	c := s.c
	top := c.commonOf(order[0], order[len(order)-1])
	if top < 0 {
		return 0, Binding{Kind: NoBinding}
	}
	best := Binding{Kind: NoBinding, Share: math.Inf(1)}
	for i := 1; i < len(order); i++ {
		g, before := c.nodes[order[i]].leaf, c.nodes[order[i-1]].leaf
		if g != before {
			g = c.commonOf(order[i-1], order[i])
		}
		if eta := c.groups[g].eta; eta < best.Share {
			best = s.levelBinding(g)
		}
	}
	best.take(s.levelBinding(top))
	for _, g := range c.crossed(order) {
		if up := s.uplinkShare(g); up < best.Share {
			best = s.uplinkBinding(g, up)
		}
	}
	for _, v := range order {
		best.takeNode(s, v)
	}
	return best.Share, best
}

// commonOf is the lowest group that holds both positions; -1 when no group does.
func (c *Cluster) commonOf(u, v int32) int32 {
	lo, hi := min(u, v), max(u, v)
	g := c.nodes[lo].leaf
	for g >= 0 && c.groups[g].end <= hi {
		g = c.groups[g].parent
	}
	return g
}
