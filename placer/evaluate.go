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
		best.take(s.uplinkBinding(g, s.c.groups[g].uplink/float64(own[g]+s.crossings[g])))
	}
	for _, v := range order {
		n := &s.c.nodes[v]
		best.take(Binding{Kind: NodeBinding, Name: n.name, Device: n.limiting, Share: n.share})
	}
	return best.Share, best
}

func (s *Snapshot) levelBinding(g int32) Binding {
	grp := &s.c.groups[g]
	return Binding{Kind: LevelBinding, Name: grp.name, Level: s.c.levels[grp.level], Share: grp.eta}
}

func (s *Snapshot) uplinkBinding(g int32, share float64) Binding {
	grp := &s.c.groups[g]
	return Binding{Kind: UplinkBinding, Name: grp.name, Level: s.c.levels[grp.level], Share: share, Sharers: int(s.crossings[g])}
}

// take keeps the smaller bound; on a tie the one that came first.
func (b *Binding) take(o Binding) {
	if o.Share < b.Share {
		*b = o
	}
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
