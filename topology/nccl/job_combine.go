package nccl

// Combine makes the graphs of a job from those of its nodes, as NCCL does when ranks exchange their results: the minimum of
// channels and speeds, the maximum (worst) of path types and crossNic, pattern TREE if any node needs it. A pattern that one
// node lacks is gone for all.
func Combine(nodes ...Graphs) Graphs {
	if len(nodes) == 0 {
		return Graphs{}
	}
	g := nodes[0]
	for i := range nodes[1:] {
		g.lower(&nodes[i+1])
	}
	return g
}

// lower takes the worse of g and n, in place.
func (g *Graphs) lower(n *Graphs) {
	g.Ring.lower(&n.Ring)
	g.Tree.lower(&n.Tree)
	g.NVLS.lower(&n.NVLS)
	ch := min(g.Ring.Channels, g.Tree.Channels)
	g.Ring.Channels, g.Tree.Channels = ch, ch
}

func (g *Graph) lower(n *Graph) {
	g.Channels = min(g.Channels, n.Channels)
	g.BwIntra = min(g.BwIntra, n.BwIntra)
	g.BwInter = min(g.BwInter, n.BwInter)
	g.TypeIntra = max(g.TypeIntra, n.TypeIntra)
	g.TypeInter = max(g.TypeInter, n.TypeInter)
	g.CrossNic = max(g.CrossNic, n.CrossNic)
	if n.Pattern == PatternTree {
		g.Pattern = PatternTree
	}
}
