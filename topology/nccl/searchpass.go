package nccl

import "math/bits"

// hunt is the search for one pattern: many walks, each asking a little less than the one before.
type hunt struct {
	sys       *System
	workspace *workspace
	several   bool
	sm        int
	speeds    []float32
	at        int  // present speed
	cross     int  // the crossNic setting
	trySame   bool // equal channels first
	total     int  // steps left of all walks
	spent     int  // result of the last walk: steps left, or -1 for "all channels found"

	walked                 map[terms]int // steps left of walks done
	intraKinds, interKinds pathKinds
	now, best              *candidate
	pending                *candidate   // the last walk, if it was left out as hopeless
	postponed              []*candidate // those before it whose steps the total does not count yet
	lowIntra, lowInter     PathType     // nearest and farthest paths that exist
	highIntra, highInter   PathType
	maxBw, totalBw         float32
}

// find searches one pattern.
func (s *System) find(w *workspace, pattern Pattern, low, high int, several bool) *candidate {
	h := &hunt{sys: s, workspace: w, several: several, total: budgetTotal, walked: map[terms]int{}, best: newCandidate(pattern, s.GPUs(), low, high)}
	h.sm, _ = s.SM()
	if !h.prepare() {
		return h.best
	}
	h.collectKinds()
	h.firstPass()
	h.best.duplicate(h.sm)
	h.secondPass()
	if h.best.channels == 0 && h.best.pattern != PatternNVLS {
		h.fallBack()
	}
	return h.best
}

// prepare sets the terms of the first walk; false means that the pattern is not possible here.
func (h *hunt) prepare() bool {
	s, b := h.sys, h.best
	if h.several && s.Nets() > 1 && b.pattern != PatternNVLS {
		h.cross = s.options.crossNIC()
	}
	if h.cross == 1 {
		b.crossNIC = 1
	}
	h.pathRange()
	h.trySame = b.pattern != PatternNVLS
	b.typeIntra, b.typeInter, b.same = h.lowIntra, h.lowInter, h.trySame
	if b.pattern == PatternNVLS {
		if !s.NVSwitch() || h.sm < 90 {
			return false
		}
		b.maxChannels = min(searchChannels, b.gpus)
		if !h.several {
			b.minChannels = b.maxChannels // pull evenly from all GPUs
		}
	}
	if b.gpus == 1 && b.pattern != PatternRing {
		b.pattern = PatternTree
	}
	if b.pattern == PatternRing && b.maxChannels >= 2 && b.minChannels == 1 && s.splitNVLink() {
		b.minChannels = 2 // the tree, which must have as many channels, needs two
	}
	h.startSpeed()
	return true
}

// pathRange finds the nearest and farthest paths between GPUs, and to NICs. Trees before Hopper may come back the long way.
func (h *hunt) pathRange() {
	h.lowIntra, h.lowInter, h.highIntra, h.highInter = PathLOC, PathPIX, PathSYS, PathSYS
	if h.sys.GPUs() > 1 {
		h.lowIntra, h.highIntra = h.sys.pathRange(kindGPU)
	}
	if h.several {
		h.lowInter, h.highInter = h.sys.pathRange(kindNet)
		h.highIntra = h.highInter
	}
	if h.sm < 90 {
		h.highInter = PathSYS
	}
}

func (s *System) pathRange(k kind) (low, high PathType) {
	low = PathSYS
	for i, v := range s.vertices[kindGPU] {
		for j, p := range v.paths[k] {
			if k == kindGPU && i == j {
				continue
			}
			low, high = min(low, p.kind), max(high, p.kind)
		}
	}
	return low, high
}

// startSpeed picks the first speed that one route, and all channels together, could carry.
func (h *hunt) startSpeed() {
	s := h.sys
	h.speeds, h.maxBw, h.totalBw = searchSpeeds(h.sm, h.several), s.maxLocal, s.totalBw
	if h.several {
		h.maxBw = s.maxBw
	} else if s.GPUs() == 1 {
		h.totalBw = localGBps
	}
	most := h.totalBw
	if n := len(s.vertices[kindDevice]); n > 1 && h.best.pattern != PatternRing {
		most = float32(float64(most) * (float64(n) / float64(n-1))) // only rings need their last GPU to go on
	}
	for h.at < len(h.speeds)-1 && (h.speeds[h.at] > h.maxBw || h.speeds[h.at]*float32(h.best.minChannels) > most) {
		h.at++
	}
	h.now = newCandidate(h.best.pattern, s.GPUs(), 0, 0)
	h.now.take(h.best)
	h.setSpeed()
}

func (h *hunt) setSpeed() { h.now.bwIntra, h.now.bwInter = h.speeds[h.at], h.speeds[h.at] }

// walk searches on the present terms and tells whether the best graph can be called optimal.
func (h *hunt) walk() bool {
	h.now.channels = 0
	h.spent = h.steps(h.now, h.best)
	return h.spent == -1 || float32(h.best.channels)*h.best.bwInter >= h.totalBw
}

// steps walks and returns the number of steps left, or -1 when a graph with all channels was found.
func (h *hunt) steps(c, best *candidate) int {
	left := c.budget()
	t := h.terms(c)
	if before, walked := h.walked[t]; walked && !h.sys.options.everyWalk {
		return before
	}
	w := walk{sys: h.sys, several: h.several, workspace: h.workspace, now: c, best: best, budget: &left}
	w.channel()
	if best.pattern != PatternNVLS {
		h.walked[t] = left
	}
	return left
}

// terms is all that a walk depends on. A path type that no path has gives the same walk as the next nearer one: it visits the
// same graphs in the same order, none of which can be better than the best of the first time, so it is not walked again and
// only its steps count. (NVLS compares in two ways at once, so that this does not hold; it is always walked.)
type terms struct {
	pattern              Pattern
	crossNIC             int
	bwIntra, bwInter     float32
	typeIntra, typeInter PathType
	least, most          int
	same                 bool
}

func (h *hunt) terms(c *candidate) terms {
	return terms{c.pattern, c.crossNIC, c.bwIntra, c.bwInter, h.intraKinds.nearest(c.typeIntra), h.interKinds.nearest(c.typeInter),
		c.minChannels, c.maxChannels, c.same}
}

// pathKinds is a set of path types.
type pathKinds uint

func (k *pathKinds) add(paths []path) {
	for _, p := range paths {
		*k |= 1 << p.kind
	}
}

// nearest is the farthest type of the set that is not beyond t; -1 if there is none.
func (k pathKinds) nearest(t PathType) PathType {
	return PathType(bits.Len(uint(k)&(1<<(t+1)-1)) - 1)
}

// collectKinds notes which path types exist inside the node and between GPUs and NICs, both ways.
func (h *hunt) collectKinds() {
	for _, v := range h.sys.vertices[kindGPU] {
		h.intraKinds.add(v.paths[kindGPU])
		h.interKinds.add(v.paths[kindNet])
	}
	for _, v := range h.sys.vertices[kindNet] {
		h.interKinds.add(v.paths[kindGPU])
	}
}

// firstPass finds the most channels at the highest speed, relaxing the terms step by step.
func (h *hunt) firstPass() {
	for again := true; again; again = h.relax() {
		h.total -= h.now.budget()
		h.pending = nil
		if h.hopeless(h.now.bwIntra, h.now.crossNIC) {
			h.postpone()
		} else if h.walk() {
			return
		}
	}
}

// relax asks for less, in NCCL's order; false means that there is nothing left to give up.
func (h *hunt) relax() bool {
	now, best := h.now, h.best
	if now.same && !(h.sys.firstCPU().vendor == vendorAMD && h.sys.firstCPU().arch == archX86 && now.typeIntra == PathSYS) {
		now.same = false
		return true
	}
	now.same = h.trySame
	h.total += h.spent
	if h.pending != nil {
		h.postponed = append(h.postponed, h.pending)
	}
	if best.channels > 0 && (h.nothingLeft() || h.outOfSteps()) {
		return false
	}
	if h.sm >= 90 && now.pattern == PatternBalancedTree {
		now.pattern = PatternTree
		return true
	}
	now.pattern = best.pattern
	return h.relaxPaths() || h.relaxCross() || h.relaxSpeed()
}

func (h *hunt) relaxPaths() bool {
	now, best := h.now, h.best
	high := h.highIntra
	if h.several {
		high = now.typeInter
	}
	if now.typeIntra < min(high, PathDIS-1) && (best.channels == 0 || now.typeIntra < best.typeIntra) {
		now.typeIntra++
		return true
	}
	now.typeIntra = h.lowIntra
	if h.several && now.typeInter < min(h.highInter, PathDIS-1) &&
		(best.channels == 0 || now.typeInter < best.typeInter || now.typeInter < PathPXN) {
		now.typeInter++
		return true
	}
	now.typeInter = h.lowInter
	return false
}

func (h *hunt) relaxCross() bool {
	now := h.now
	if h.cross == 2 && now.crossNIC == 0 && (h.best.pattern == PatternRing || h.best.pattern == PatternBalancedTree) {
		now.crossNIC = 2
		return true
	}
	now.crossNIC = 0
	if h.cross == 1 {
		now.crossNIC = 1
	}
	return false
}

func (h *hunt) relaxSpeed() bool {
	if h.at >= len(h.speeds)-1 || h.best.channels > 0 && h.speeds[h.at+1]/h.best.bwInter <= .49 {
		return false
	}
	h.at++
	h.setSpeed()
	return true
}

// secondPass raises speeds with the channels fixed: rings both; NVLS between nodes up to twice the inner speed; trees inside
// up to twice the outer speed.
func (h *hunt) secondPass() {
	h.now.take(h.best)
	h.at = 0
	for h.at < len(h.speeds)-1 && h.speeds[h.at] > h.best.bwInter {
		h.at++
	}
	h.setSpeed()
	h.now.minChannels = h.best.channels
	for h.spent = -1; h.spent != 0 && h.at > 0; h.walk() {
		now, best := h.now, h.best
		switch {
		case best.pattern == PatternRing:
			h.at--
			h.setSpeed()
		case best.pattern == PatternNVLS && now.bwInter == best.bwInter && now.bwInter < now.bwIntra*2:
			now.minChannels, now.maxChannels = best.channels, best.channels
			h.at--
			now.bwInter = h.speeds[h.at]
		case now.bwIntra == best.bwIntra && now.bwIntra < now.bwInter*2:
			h.at--
			now.bwIntra = h.speeds[h.at]
		default:
			return
		}
	}
}

// fallbackGBps is the speed of a graph that the search did not find.
const fallbackGBps float32 = .1

// fallBack makes one channel in the order of the GPUs.
func (h *hunt) fallBack() {
	b := h.best
	for g := range b.gpus {
		b.order[g] = g
	}
	b.channels, b.bwIntra, b.typeIntra = 1, fallbackGBps, PathSYS
	b.nets[0], b.nets[1], b.bwInter, b.typeInter = -1, -1, 0, PathDIS
	first, last := h.sys.preferredNet(0), h.sys.preferredNet(b.gpus-1)
	if h.several && first >= 0 && last >= 0 {
		b.nets[0], b.nets[1], b.bwInter, b.typeInter = first, last, fallbackGBps, PathSYS
	}
}

// preferredNet is the NIC that a GPU uses first; -1 without NICs.
func (s *System) preferredNet(gpu int) int {
	if nets := s.localNets(s.vertices[kindGPU][gpu]); len(nets) > 0 {
		return nets[0]
	}
	return -1
}

// splitNVLink tells whether NVLink joins the GPUs into exactly two groups, with something slower between them.
func (s *System) splitNVLink() bool {
	group := make([]int, s.GPUs())
	for g := range group {
		group[g] = g
	}
	for g, v := range s.vertices[kindGPU] {
		for p := g + 1; p < len(group); p++ {
			if v.paths[kindGPU][p].kind == PathNVL {
				group[p] = group[g]
			}
		}
	}
	var large int
	for g := range group {
		members := 0
		for _, of := range group {
			if of == g {
				members++
			}
		}
		if members > 1 {
			large++
		}
	}
	return large == 2
}
