package nccl

// walk is one search: it lays channel after channel, depth first, and keeps the best graph met.
//
//	several nodes   ring  NIC > GPU a > GPU b > ... > GPU x > NIC       tree  NIC > GPU a > GPU b > ... > GPU x
//	                                                                                  `> NIC
//	one node        ring        GPU a > GPU b > ... > GPU x > GPU a     tree        GPU a > GPU b > ... > GPU x
//	                NVLS  every GPU <> NVSwitch, one GPU a channel (its head) twice
type walk struct {
	sys     *System
	several bool // several nodes: channels start and end at NICs
	*workspace
	now    *candidate
	best   *candidate
	budget *int // steps left; -1 = a graph with all channels was found
}

// order is how the next GPU is chosen.
type order int

const (
	freeOrder   order = iota
	ownOrder          // as the GPUs are numbered
	replayOrder       // as in the channel before
)

// goal says at which step a channel must go back to a NIC, or to its first GPU; -1 = never.
type goal struct {
	net   int
	first int
}

func (w *walk) goal() goal {
	last := w.now.gpus - 1
	switch {
	case !w.several && w.now.pattern == PatternRing:
		return goal{net: -1, first: last}
	case !w.several:
		return goal{net: -1, first: -1}
	case w.now.pattern == PatternRing:
		return goal{net: last, first: -1}
	case w.now.pattern == PatternSplitTree:
		return goal{net: 1, first: -1}
	}
	return goal{net: 0, first: -1}
}

// channel lays the next channel.
func (w *walk) channel() {
	if w.several {
		w.fromNets(w.goal())
		return
	}
	w.fromGPUs(w.goal())
}

// fromGPUs starts channels inside one node.
func (w *walk) fromGPUs(to goal) {
	c := w.now
	if c.pattern == PatternNVLS {
		w.enter(nil, c.channels, 0, to, freeOrder)
		return
	}
	if c.channels == 0 {
		w.enter(nil, 0, 0, to, ownOrder)
	} else {
		w.enter(nil, w.replayed(0), 0, to, replayOrder)
	}
	if !c.same || c.channels == 0 {
		for g := range c.gpus {
			w.enter(nil, g, 0, to, freeOrder)
		}
	}
}

// fromNets starts channels at NICs. Every channel begins its round at the next NIC, so that channels spread.
func (w *walk) fromNets(to goal) {
	c := w.now
	bw := float32(int(c.bwInter)) // whole GB/s, as NCCL counts NICs
	nets := w.sys.netsFor(-1, c.typeInter)
	for i := range nets {
		net := w.sys.vertices[kindNet][nets[(c.channels+i)%len(nets)]]
		if w.netBw[net.index] < bw || w.wrongPair(net) {
			continue
		}
		c.nets[c.channels*2] = net.slot
		c.latency = net.net.latency
		w.useNet(net, bw)
		found := false
		switch {
		case c.pattern == PatternNVLS:
			found = w.headOf(net, len(nets), to)
		case c.channels > 0 && c.same:
			w.enter(net, w.replayed(0), 0, to, replayOrder)
		default:
			w.fromNet(net, to)
		}
		w.useNet(net, -bw)
		if found {
			return
		}
	}
}

// wrongPair holds crossNic 2 together: the odd channel enters where the even one before it left.
func (w *walk) wrongPair(net *vertex) bool {
	c := w.now
	return c.pattern == PatternRing && c.crossNIC == 2 && c.channels&1 == 1 && net.slot != c.nets[(c.channels-1)*2+1]
}

// fromNet tries the GPUs near a NIC as the first of a channel, its own GPU first.
func (w *walk) fromNet(net *vertex, to goal) {
	if w.now.channels == 0 && !w.sys.NVSwitch() {
		w.tryOwnOrder(net, to)
	}
	local := net.net.localGPU
	if local >= 0 {
		w.enter(net, local, 0, to, freeOrder)
	}
	for _, g := range net.net.near {
		if g != local {
			w.enter(net, g, 0, to, freeOrder)
		}
	}
}

// tryOwnOrder takes the GPUs in their own order first, on a budget of its own, to have something to compare with.
func (w *walk) tryOwnOrder(net *vertex, to goal) {
	outer, own := w.budget, budgetOrder
	w.budget = &own
	w.enter(net, 0, 0, to, ownOrder)
	w.budget = outer
	if own == -1 {
		*w.budget = -1
	}
}

// headOf makes the NIC's own GPU the head of an NVLS channel, once, and tells whether it did.
func (w *walk) headOf(net *vertex, nets int, to goal) bool {
	c := w.now
	head := net.net.localGPU
	if c.channels >= nets || head < 0 {
		return false
	}
	for ch := range c.channels {
		if c.order[ch*c.gpus] == head {
			return false
		}
	}
	w.enter(net, head, 0, to, freeOrder)
	return true
}

// replayed is the GPU that the channel before had at a step.
func (w *walk) replayed(step int) int { return w.now.order[(w.now.channels-1)*w.now.gpus+step] }

// enter goes on to a GPU, from a NIC, another GPU or nowhere, and everything that follows from there.
func (w *walk) enter(from *vertex, g, step int, to goal, how order) {
	gpu := w.sys.vertices[kindGPU][g]
	if from != nil && !w.reserve(w.now, from, gpu, 1) {
		return
	}
	bit := uint64(1) << w.now.channels
	w.used[g] ^= bit
	w.at(gpu, step, to, how)
	w.used[g] ^= bit
	if from != nil {
		w.release(w.now, from, gpu, 1)
	}
}

// at stands on the GPU of a step and decides where the channel goes next.
func (w *walk) at(gpu *vertex, step int, to goal, how order) {
	if *w.budget <= 0 {
		return
	}
	*w.budget--
	c := w.now
	if step == c.gpus {
		w.complete()
		return
	}
	c.order[c.channels*c.gpus+step] = gpu.index
	switch {
	case step == to.net:
		w.toNets(gpu, step, to, how)
	case c.pattern == PatternNVLS:
		w.nvls(gpu)
	case step < c.gpus-1:
		w.toGPUs(gpu, step, to, how)
	case step == to.first:
		first := w.sys.vertices[kindGPU][c.order[c.channels*c.gpus]]
		if w.reserve(c, gpu, first, 1) {
			w.at(first, step+1, goal{to.net, -1}, how)
			w.release(c, gpu, first, 1)
		}
	default:
		w.at(gpu, c.gpus, goal{-1, -1}, how)
	}
}

// complete ends a channel: the graph may be the best so far, and another channel may follow.
func (w *walk) complete() {
	c := w.now
	c.channels++
	if c.betterThan(w.best) {
		w.best.take(c)
		if c.channels == c.maxChannels {
			*w.budget = -1
		}
	}
	if c.channels < c.maxChannels {
		w.channel()
	}
	c.channels--
}

// toNets leaves the node. A balanced tree comes back to the NIC from its first two GPUs, half of the traffic each.
func (w *walk) toNets(gpu *vertex, step int, to goal, how order) {
	c := w.now
	start := w.sys.vertices[kindNet][c.nets[c.channels*2]]
	after, balanced := goal{-1, to.first}, c.pattern == PatternBalancedTree
	if balanced && step == 0 {
		after.net = 1
	}
	for _, n := range w.sys.netsFor(gpu.index, c.typeInter) {
		net := w.sys.vertices[kindNet][n]
		if !w.mayLeave(start, net, step) {
			continue
		}
		whole := c.bwInter
		if balanced {
			c.bwInter = whole / 2
		}
		fits := w.reserve(c, gpu, net, 1)
		c.bwInter = whole
		if !fits {
			continue
		}
		c.nets[c.channels*2+1] = net.slot
		w.at(gpu, step, after, how)
		if balanced {
			c.bwInter = whole / 2
		}
		w.release(c, gpu, net, 1)
		c.bwInter = whole
	}
}

// mayLeave applies the rules of planes, rails, crossNic and trees to the NIC where a channel leaves.
func (w *walk) mayLeave(start, net *vertex, step int) bool {
	c, a, b := w.now, start.net, net.net
	if a.plane >= 0 && b.plane >= 0 && a.plane != b.plane {
		return false
	}
	if c.pattern == PatternTree && net.slot != start.slot {
		return false // trees go both ways over one NIC
	}
	if c.pattern == PatternRing && c.crossNIC == 2 {
		if c.channels&1 == 1 && net.slot != c.nets[(c.channels-1)*2] {
			return false // the odd channel leaves where the even one before it entered
		}
	} else if c.crossNIC == 0 && !w.sameRail(start, net) {
		return false
	}
	return c.pattern != PatternBalancedTree || step == 0 || net.slot == c.nets[c.channels*2+1]
}

func (w *walk) sameRail(start, net *vertex) bool {
	a, b := start.net, net.net
	switch {
	case a.rail >= 0 && b.rail >= 0:
		return a.rail == b.rail
	case w.sys.options.RailPerHost && start.host != net.host:
		return a.port == b.port && nicOf(start).id == nicOf(net).id
	}
	return a.asic == b.asic && a.port == b.port
}

// nicOf is the card of a port.
func nicOf(net *vertex) *vertex { return net.links[0].to }

// nvls takes the traffic of all GPUs from and to the switch; the head's counts double.
func (w *walk) nvls(head *vertex) {
	c := w.now
	all := w.sys.vertices[kindNVSwitch][0]
	gpus := w.sys.vertices[kindGPU]
	share := func(g *vertex) float32 {
		if g == head {
			return 2
		}
		return 1
	}
	down := 0
	for down < len(gpus) && w.reserve(c, all, gpus[down], share(gpus[down])) {
		down++
	}
	up := 0
	if down == len(gpus) {
		for up < len(gpus) && w.reserve(c, gpus[up], all, share(gpus[up])) {
			up++
		}
		if up == len(gpus) {
			w.at(nil, c.gpus, goal{-1, -1}, freeOrder)
		}
	}
	for up--; up >= 0; up-- {
		w.release(c, gpus[up], all, share(gpus[up]))
	}
	for down--; down >= 0; down-- {
		w.release(c, all, gpus[down], share(gpus[down]))
	}
}

// toGPUs goes on to the next GPU of a channel.
func (w *walk) toGPUs(gpu *vertex, step int, to goal, how order) {
	switch how {
	case ownOrder:
		w.enter(gpu, step+1, step+1, to, how)
	case replayOrder:
		w.enter(gpu, w.replayed(step+1), step+1, to, how)
	default:
		var room [16]int
		for _, g := range w.nextGPUs(room[:0], gpu, step, to) {
			w.enter(gpu, g, step+1, to, how)
		}
	}
}
