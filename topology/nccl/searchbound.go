package nccl

import "math"

// hopeless tells whether no walk at a speed and crossNic can beat the best graph, whatever path types it allows: NICs bound
// the channels, and the shortest routes the hops of those that tie.
func (h *hunt) hopeless(speed float32, cross int) bool {
	b := h.best
	if !h.several || b.pattern == PatternNVLS || h.sys.options.everyWalk {
		return false
	}
	channels := min(h.netChannels(speed), b.maxChannels)
	if b.channels == 0 || channels < b.minChannels {
		return channels < b.minChannels
	}
	best := float32(b.channels) * b.bwIntra
	if float32(channels)*speed != best {
		return float32(channels)*speed < best
	}
	return cross != b.crossNIC || channels*h.leastHops() >= b.hops
}

// netChannels is how many channels of a speed all NICs together can take. Ports that share a card's port are one.
func (h *hunt) netChannels(speed float32) int {
	if speed < 1 {
		return maxChannels // NICs count whole GB/s: no bound
	}
	type port struct {
		asic uint64
		port int
	}
	most := map[port]int{}
	for _, v := range h.sys.vertices[kindNet] {
		p := port{v.net.asic, v.net.port}
		most[p] = max(most[p], int(v.net.bw/float32(int(speed))))
	}
	var sum int
	for _, n := range most {
		sum += n
	}
	return sum
}

// leastHops is the number of links of the shortest channel that could be: in, through all GPUs, and out.
func (h *hunt) leastHops() int {
	in, through, out := math.MaxInt32, math.MaxInt32, math.MaxInt32
	for i, g := range h.sys.vertices[kindGPU] {
		for j, p := range g.paths[kindGPU] {
			if i != j && p.kind < PathDIS {
				through = min(through, len(p.links))
			}
		}
		for n, p := range g.paths[kindNet] {
			if p.kind < PathDIS {
				out = min(out, len(p.links))
			}
			if back := h.sys.vertices[kindNet][n].paths[kindGPU][i]; back.kind < PathDIS {
				in = min(in, len(back.links))
			}
		}
	}
	if h.best.gpus == 1 {
		through = 0
	}
	return in + through*(h.best.gpus-1) + out
}

// nothingLeft tells whether all terms that the first pass could still try are hopeless.
func (h *hunt) nothingLeft() bool {
	for at := h.at; at < len(h.speeds); at++ {
		if at > h.at && h.speeds[at]/h.best.bwInter <= .49 {
			return true
		}
		for _, cross := range []int{0, h.cross} {
			if !h.hopeless(h.speeds[at], cross) {
				return false
			}
		}
	}
	return true
}

// postpone leaves a hopeless walk out: only the number of steps that it would have left is missing from the total.
func (h *hunt) postpone() {
	c := newCandidate(h.now.pattern, h.now.gpus, 0, 0)
	c.take(h.now)
	h.pending = c
	h.spent = 0
}

// outOfSteps tells whether all walks together have used up their steps. The total is what is left at least; only when it is
// below zero do the postponed walks have to tell what they leave.
func (h *hunt) outOfSteps() bool {
	if h.total < 0 {
		for _, c := range h.postponed {
			h.total += h.steps(c, h.best)
		}
		h.postponed = nil
	}
	return h.total < 0
}
