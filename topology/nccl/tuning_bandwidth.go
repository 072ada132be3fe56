package nccl

// algorithmBandwidth is bytes of the buffer per time in GB/s (nccl-tests' algbw) of one algorithm and protocol; 0 when it
// cannot run.
func (t *Tuning) algorithmBandwidth(a, p int) float64 {
	g := t.graph(a)
	if g.Channels < 1 {
		return 0
	}
	switch a {
	case iRing:
		return t.ringBandwidth(g, p)
	case iTree:
		return t.treeBandwidth(g, p) * .5
	case iNVLS, iNVLSTree:
		return t.nvlsBandwidth(a, g)
	case iPAT:
		return float64(g.Channels) * t.linkSpeed(g) * .75
	case iCollNetDirect:
		return t.collNetDirectBandwidth(g)
	}
	return float64(g.Channels) * g.BwIntra * .5 // CollNetChain
}

// linkSpeed is the speed of one channel that counts: with one or two nodes NCCL looks inside the node only.
func (t *Tuning) linkSpeed(g Graph) float64 {
	if t.comm.Nodes <= 2 {
		return g.BwIntra
	}
	return g.BwInter
}

// column is the index into cap arrays: one node, two nodes, more.
func (t *Tuning) column() int { return min(t.comm.Nodes, 3) - 1 }

func (t *Tuning) caps() caps { return capsFor(generation(t.comm.MinSM), t.comm.Version) }

// llCap bounds the LL protocol. Inside one node the GPU limits it, between nodes the CPU: NCCL keeps the CPU rows in the
// same table, Intel and others in Volta's row, AMD and mixed vendors in Ampere's.
func (t *Tuning) llCap() float64 {
	if t.comm.Nodes == 1 {
		return t.caps().ll[0]
	}
	row := volta
	if t.comm.CPU.amd() || t.comm.CPU.Vendor == "mixed" {
		row = ampere
	}
	return capsOf[row].ll[t.column()]
}

func (t *Tuning) ringBandwidth(g Graph, p int) float64 {
	bus := float64(g.Channels) * t.linkSpeed(g)
	switch p {
	case iLL:
		bus = min(t.llCap(), bus*.5)
	case iLL128:
		bus = min(bus*.92, float64(g.Channels)*t.caps().ringLL128[t.column()])
	}
	return bus * float64(t.comm.Ranks) / float64(t.steps())
}

// treeBandwidth: a search that had to put both directions of the tree on one GPU's NIC (pattern TREE) costs 15 %.
func (t *Tuning) treeBandwidth(g Graph, p int) float64 {
	channels, caps := float64(g.Channels), t.caps()
	bus := min(channels*t.linkSpeed(g)*.92, channels*caps.tree[t.column()])
	switch p {
	case iLL:
		bus = min(bus/3.8, t.llCap())
	case iLL128:
		share := 120. / 128
		if t.comm.Nodes == 1 {
			share = 7. / 9
		}
		bus = min(bus*share, channels*caps.treeLL128[t.column()])
	}
	if g.Pattern == PatternTree {
		bus *= .85
	}
	return bus
}

func (t *Tuning) nvlsBandwidth(a int, g Graph) float64 {
	if g.Channels < 2 {
		return 0
	}
	if !t.comm.Version.AtLeast(28, 3) {
		return t.nvlsBandwidthBefore2283(a, g)
	}
	channels, caps := float64(g.Channels), t.caps()
	intra := g.BwIntra * caps.nvlsEfficiency * (channels - 1) / channels
	inter := g.BwInter
	if t.collective == AllReduce {
		intra *= 2
	} else {
		perNode := float64(t.comm.Ranks) / float64(t.comm.Nodes)
		intra *= (perNode - 1) / perNode
	}
	if a == iNVLSTree && t.comm.Nodes <= 2 {
		inter *= 2
	}
	bw := min(intra, inter)
	if a == iNVLSTree {
		bw = min(bw, caps.nvlsTree[t.column()])
	}
	return t.withoutRatio(channels * bw)
}

// nvlsBandwidthBefore2283 is the older rule: the slower side counts, and 5/6 of the bus reaches the algorithm.
func (t *Tuning) nvlsBandwidthBefore2283(a int, g Graph) float64 {
	if generation(t.comm.MinSM) < hopper {
		return 0
	}
	channels, bw := float64(g.Channels), min(g.BwIntra, g.BwInter)
	switch {
	case a == iNVLSTree && t.comm.Nodes > 2:
		bw = min(g.BwIntra, g.BwInter/2)
	case t.collective != AllReduce:
		perNode := float64(t.comm.Ranks) / float64(t.comm.Nodes)
		return channels * min(g.BwIntra*(perNode-1)/perNode, g.BwInter*.9)
	}
	return channels * bw * 5 / 6
}

// withoutRatio turns the bus bandwidth of NVLS into algorithm bandwidth; AllGather and ReduceScatter are not converted.
func (t *Tuning) withoutRatio(bus float64) float64 {
	if t.collective != AllReduce {
		return bus
	}
	return bus * float64(t.comm.Ranks) / float64(t.steps())
}

func (t *Tuning) collNetDirectBandwidth(g Graph) float64 {
	perNode := float64(t.comm.Ranks) / float64(t.comm.Nodes)
	if t.collective != AllReduce {
		return perNode * min(g.BwIntra, g.BwInter*.9)
	}
	factor := perNode / float64(g.Channels)
	factor -= (factor - 1) / 2
	bus := float64(g.Channels) * g.BwIntra / factor
	if t.comm.MinSM >= 90 {
		bus *= .85
	}
	return bus * .5
}

// steps is how often a ring passes a chunk on.
func (t *Tuning) steps() int {
	switch t.collective {
	case AllReduce:
		return 2 * (t.comm.Ranks - 1)
	case AllGather, ReduceScatter:
		return t.comm.Ranks - 1
	}
	return t.comm.Ranks
}
