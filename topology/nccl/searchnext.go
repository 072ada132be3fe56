package nccl

import (
	"cmp"
	"slices"
)

// nextGPUs lists the GPUs to try after one, best first. With NVSwitches only the neighbours by number count: the switch
// prefers few pairs, and the search stays small.
func (w *walk) nextGPUs(out []int, gpu *vertex, step int, to goal) []int {
	if w.sys.NVSwitch() {
		return w.neighbours(out, gpu)
	}
	rank := w.rankNext(gpu, to.net != -1)
	for _, r := range rank {
		out = append(out, r.gpu)
	}
	if to.net != -1 && to.net != step+1 && equalInside(rank) {
		slices.Reverse(out) // keep the GPUs near the NIC for the step that returns to it
	}
	return out
}

// neighbours are the next and the previous GPU where the channel has not been yet; rings try the previous one first.
func (w *walk) neighbours(out []int, gpu *vertex) []int {
	n := w.now.gpus
	previous, next := (gpu.index-1+n)%n, (gpu.index+1)%n
	var tries [2]int
	count := 1
	switch {
	case w.now.pattern == PatternRing:
		tries, count = [2]int{previous, next}, 2
	case w.now.pattern == PatternBalancedTree || w.now.pattern == PatternSplitTree:
		tries, count = [2]int{next, previous}, 2
	default:
		tries[0] = next
	}
	if previous == next {
		count = 1
	}
	for _, g := range tries[:count] {
		if g != gpu.index && w.open(gpu, g) {
			out = append(out, g)
		}
	}
	return out
}

// open tells whether a channel can still go from gpu to g.
func (w *walk) open(gpu *vertex, g int) bool {
	return len(gpu.paths[kindGPU][g].links) > 0 && w.used[g]&(1<<w.now.channels) == 0
}

// nextRank is what a GPU is worth as the next one; whole GB/s, as NCCL compares them.
type nextRank struct {
	gpu, distance        int
	interBw, interPCI    int
	interHops, intraHops int
	intraBw              int
}

// rankNext sorts the open GPUs: near the NIC first where the channel has to return to it, then by path from here, then by
// number.
func (w *walk) rankNext(gpu *vertex, toNet bool) []nextRank {
	c := w.now
	ranks := make([]nextRank, 0, c.gpus)
	for i := 1; i < c.gpus; i++ {
		g := (gpu.index + i) % c.gpus
		if !w.open(gpu, g) {
			continue
		}
		p := &gpu.paths[kindGPU][g]
		r := nextRank{gpu: g, distance: i, intraBw: int(p.bw), intraHops: len(p.links)}
		if toNet {
			from := &w.sys.vertices[kindNet][c.nets[c.channels*2]].paths[kindGPU][g]
			r.interBw, r.interHops = int(from.bw), len(from.links)
			r.interPCI = pcieOf(w.sys.vertices[kindGPU][g].parent)
		}
		ranks = append(ranks, r)
	}
	slices.SortFunc(ranks, func(a, b nextRank) int {
		return cmp.Or(b.interBw-a.interBw, b.interPCI-a.interPCI, a.interHops-b.interHops, b.intraBw-a.intraBw,
			a.intraHops-b.intraHops, a.distance-b.distance)
	})
	return ranks
}

func equalInside(ranks []nextRank) bool {
	for _, r := range ranks {
		if r.intraBw != ranks[0].intraBw || r.intraHops != ranks[0].intraHops {
			return false
		}
	}
	return true
}

// pcieOf is the PCIe bandwidth of a device in whole GB/s, the smaller of both directions; -1 without.
func pcieOf(device *vertex) int {
	for _, l := range device.links {
		if l.kind != linkPCI {
			continue
		}
		for _, back := range l.to.links {
			if back.to == device {
				return int(min(l.bw, back.bw))
			}
		}
	}
	return -1
}
