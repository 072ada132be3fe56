package nccl

import "math"

// candidate is a graph in the making: what is asked of it and the channels found so far. Nets are slots of net vertices;
// a channel has two, where it comes in and where it leaves.
type candidate struct {
	pattern     Pattern
	crossNIC    int
	minChannels int
	maxChannels int
	bwIntra     float32
	bwInter     float32
	typeIntra   PathType
	typeInter   PathType
	same        bool // all channels must take the same order

	channels int
	hops     int
	latency  float32
	gpus     int
	order    []int // [channel*gpus + step] = GPU index
	nets     []int // [channel*2 + end] = net slot
}

func newCandidate(pattern Pattern, gpus, least, most int) *candidate {
	return &candidate{pattern: pattern, minChannels: least, maxChannels: most, gpus: gpus,
		order: make([]int, maxChannels*gpus), nets: make([]int, 2*maxChannels)}
}

// budget is the number of steps of one walk.
func (c *candidate) budget() int {
	if c.same {
		return budgetSame
	}
	return budgetOther
}

// take makes c a copy of other.
func (c *candidate) take(other *candidate) {
	order, nets := c.order, c.nets
	copy(order, other.order[:other.channels*other.gpus])
	copy(nets, other.nets[:2*other.channels])
	*c = *other
	c.order, c.nets = order, nets
}

// betterThan compares a candidate with the best so far: more bandwidth first, then fewer hops. NVLS counts heads: one GPU
// that pulls from the switch each.
func (c *candidate) betterThan(best *candidate) bool {
	if c.channels < c.minChannels {
		return false
	}
	if c.pattern == PatternNVLS {
		return c.channels > best.channels && c.channels <= c.gpus || float32(c.channels)*c.bwInter > float32(best.channels)*best.bwInter
	}
	mine, others := float32(c.channels)*c.bwIntra, float32(best.channels)*best.bwIntra
	if mine != others {
		return mine > others
	}
	return c.pattern == best.pattern && c.crossNIC == best.crossNIC && c.hops < best.hops
}

// duplicate doubles the channels of fast graphs, at half their speed: one channel cannot fill a fast link alone.
func (c *candidate) duplicate(sm int) {
	if c.channels == 0 || c.pattern == PatternNVLS || c.bwIntra < 25 || sm > 80 && c.bwIntra < 50 && c.channels > 4 {
		return
	}
	n := min(c.channels*2, c.maxChannels)
	copy(c.order[c.channels*c.gpus:], c.order[:(n-c.channels)*c.gpus])
	copy(c.nets[c.channels*2:], c.nets[:(n-c.channels)*2])
	factor := float32((n + c.channels - 1) / c.channels)
	c.bwIntra /= factor
	c.bwInter /= factor
	c.channels = n
}

// workspace is what all walks of one search share.
type workspace struct {
	*ledger
	rankings [][]nextRank // see ranking
}

func newWorkspace(s *System) *workspace {
	return &workspace{ledger: newLedger(s), rankings: make([][]nextRank, s.GPUs()*(s.Nets()+1))}
}

// ledger is what is left of every link and NIC while channels are laid. Links are counted in MB/s: NCCL rounds to three
// decimals of a GB/s, so that taking and giving back ends where it began.
type ledger struct {
	sys   *System
	left  []int32   // by link index, MB/s
	netBw []float32 // by net index, GB/s
	used  []uint64  // by GPU index: bit c = part of channel c
}

func newLedger(s *System) *ledger {
	l := &ledger{sys: s, left: make([]int32, len(s.links)), netBw: make([]float32, s.Nets()), used: make([]uint64, s.GPUs())}
	for i, k := range s.links {
		l.left[i] = mega(k.bw)
	}
	for i, v := range s.vertices[kindNet] {
		l.netBw[i] = v.net.bw
	}
	return l
}

// mega turns GB/s into whole MB/s, down; the small addition makes up for decimals that float32 holds slightly short. Beyond
// 1 PB/s, which no link is, it says 1 PB/s.
func mega(gbps float32) int32 { return int32(min(math.Floor(float64(gbps)*1000+.01), 1e9)) }

// charge takes bandwidth from the first steps of a path (or gives it back when negative) and returns how many had enough.
func (l *ledger) charge(p *path, steps int, bw int32) int {
	pci := bw
	if p.overhead {
		pci = bw * 6 / 5
	}
	for i := range p.hops[:steps] {
		h := &p.hops[i]
		need := bw
		if h.pci {
			need = pci
		}
		if l.left[h.link] < need {
			return i
		}
		if h.share == 0 {
			l.left[h.link] -= need
			continue
		}
		back := need / h.share
		if back != 0 && l.left[h.back] < back {
			return i
		}
		l.left[h.link] -= need
		l.left[h.back] -= back
	}
	return steps
}

// reserve lays traffic of a candidate from one vertex to another, times the share, and tells whether there was room and the
// path is near enough. A share of exactly 1 checks the type of the path; NVLS heads, which count double, do not.
func (l *ledger) reserve(c *candidate, from, to *vertex, share float32) bool {
	p := &from.paths[to.kind][to.index]
	bw, worst := c.bwInter, c.typeInter
	if inside(from) && inside(to) {
		bw, worst = c.bwIntra, c.typeIntra
	}
	if p.kind >= PathDIS || share == 1 && p.kind > worst {
		return false
	}
	if share == 1 && c.isTree() && to.paths[from.kind][from.index].kind > worst {
		return false
	}
	need := mega(bw * share)
	if n := l.charge(p, len(p.hops), need); n < len(p.hops) {
		l.charge(p, n, -need)
		return false
	}
	c.hops += int(share * float32(len(p.links)))
	return true
}

// release takes a reservation back.
func (l *ledger) release(c *candidate, from, to *vertex, share float32) {
	p := &from.paths[to.kind][to.index]
	bw := c.bwInter
	if inside(from) && inside(to) {
		bw = c.bwIntra
	}
	if p.kind >= PathDIS {
		return
	}
	l.charge(p, len(p.hops), -mega(bw*share))
	c.hops -= int(share * float32(len(p.links)))
}

func inside(v *vertex) bool { return v.kind == kindGPU || v.kind == kindNVSwitch }

func (c *candidate) isTree() bool {
	return c.pattern == PatternBalancedTree || c.pattern == PatternTree || c.pattern == PatternSplitTree
}

// useNet takes bandwidth from all ports that share the card's port, whichever name they have.
func (l *ledger) useNet(net *vertex, bw float32) {
	for i, v := range l.sys.vertices[kindNet] {
		if v.net.asic == net.net.asic && v.net.port == net.net.port {
			l.netBw[i] -= bw
		}
	}
}
