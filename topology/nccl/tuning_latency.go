package nccl

import "math/bits"

// algorithmLatency is the fixed cost in microseconds of one algorithm and protocol.
func (t *Tuning) algorithmLatency(a, p int) float64 {
	c := t.comm
	g := t.graph(a)
	base := baseLatency[a][p]
	intra := t.intraLatency(a, p, g)
	inter := t.interLatency(a, p)
	perNode := c.Ranks / c.Nodes
	depth := float64(bits.Len(uint(c.Nodes)) - 1)
	switch a {
	case iRing:
		return base + t.ringLatency(p, intra, inter)
	case iTree:
		return base + 2*(float64(perNode-1)*intra+depth*inter)
	case iNVLS:
		if c.Nodes > 1 {
			return intra + inter
		}
		return intra
	case iNVLSTree:
		return base + intra + 2*depth*inter
	case iPAT:
		return base + depth*inter/3.5 + 2.8*float64(c.Ranks)
	case iCollNetDirect:
		const arity = .4 // microseconds that each further GPU of the node adds
		return base + 2*(float64(min(1, perNode-1))*intra+float64(perNode-1)*arity) + inter
	}
	return base + 2*float64(perNode-1)*intra + inter // CollNetChain
}

// intraLatency is one step inside the node.
func (t *Tuning) intraLatency(a, p int, g Graph) float64 {
	if g.TypeIntra == PathNVL {
		return hopLatency[hopNVLink][a][p]
	}
	if a == iTree && p == iSimple && t.comm.CPU.Arch == "ppc64" {
		a = iRing // POWER machines are told that a tree step costs as much as a ring step
	}
	return hopLatency[hopPCI][a][p]
}

// interLatency is one step between nodes. With one GPU a node all algorithms show the latency of Tree; Simple pays the
// plugin's latency twice, for the flush.
func (t *Tuning) interLatency(a, p int) float64 {
	c := t.comm
	row := a
	if c.Ranks == c.Nodes {
		row = iTree
	}
	lat := hopLatency[hopNet][row][p]
	if row == iNVLSTree && !c.Version.AtLeast(28, 9) {
		lat = nvlsTreeNetLatencyBefore2289
	}
	lat += c.LatencyInter
	if p == iSimple {
		lat += c.LatencyInter
	}
	return lat
}

// ringLatency counts the steps of a ring. Broadcast and Reduce pipeline along a ring that is the same on all channels and
// cost one step; over several nodes rings start at different NICs, and every step counts.
func (t *Tuning) ringLatency(p int, intra, inter float64) float64 {
	c := t.comm
	if t.collective == Broadcast || t.collective == Reduce {
		if c.Nodes == 1 || c.Graphs.Ring.Channels == 1 {
			if c.Nodes > 1 {
				return inter
			}
			return intra
		}
		row := iRing
		if p == iSimple {
			row = iTree
		}
		return float64(t.steps()) * hopLatency[hopNet][row][p]
	}
	if c.Nodes == 1 {
		return float64(t.steps()) * intra
	}
	interSteps := c.Nodes - 1
	if t.collective == AllReduce {
		interSteps *= 2
	}
	return float64(t.steps()-interSteps)*max(intra, t.netOverhead(p)) + float64(interSteps)*inter
}

// netOverhead is the cost of posting to the network, which steps inside a node of a multi-node ring wait for.
func (t *Tuning) netOverhead(p int) float64 {
	us := 1.
	switch {
	case t.comm.NetOverhead != nil:
		us = *t.comm.NetOverhead
	case t.comm.CPU.Arch == "x86_64" && t.comm.CPU.amd():
		us = 2
	}
	if p == iSimple {
		us *= 3
	}
	return us
}
