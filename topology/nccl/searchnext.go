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
	start := noNet
	if to.net != -1 {
		start = w.now.nets[w.now.channels*2]
	}
	equal := true
	var first *nextRank
	ranking := w.ranking(gpu, start)
	for i := range ranking {
		r := &ranking[i]
		if w.used[r.gpu]&(1<<w.now.channels) != 0 {
			continue
		}
		if first == nil {
			first = r
		}
		equal = equal && r.intraBw == first.intraBw && r.intraHops == first.intraHops
		out = append(out, r.gpu)
	}
	if start != noNet && to.net != step+1 && equal {
		slices.Reverse(out) // keep the GPUs near the NIC for the step that returns to it
	}
	return out
}

// noNet stands for a channel that does not have to return to a NIC.
const noNet = -1

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
		if g != gpu.index && len(gpu.paths[kindGPU][g].links) > 0 && w.used[g]&(1<<w.now.channels) == 0 {
			out = append(out, g)
		}
	}
	return out
}

// nextRank is what a GPU is worth as the next one; whole GB/s, as NCCL compares them.
type nextRank struct {
	gpu, distance        int
	interBw, interPCI    int
	interHops, intraHops int
	intraBw              int
}

// ranking sorts the GPUs that can follow one: near the NIC first where the channel has to return to it, then by path from
// here, then by number. It is made once for each GPU and NIC.
func (w *workspace) ranking(gpu *vertex, net int) []nextRank {
	at := gpu.index*(w.sys.Nets()+1) + net + 1
	if w.rankings[at] == nil {
		w.rankings[at] = w.sys.rank(gpu, net)
	}
	return w.rankings[at]
}

func (s *System) rank(gpu *vertex, net int) []nextRank {
	n := s.GPUs()
	ranks := make([]nextRank, 0, n)
	for i := 1; i < n; i++ {
		g := (gpu.index + i) % n
		p := &gpu.paths[kindGPU][g]
		if len(p.links) == 0 {
			continue
		}
		r := nextRank{gpu: g, distance: i, intraBw: int(p.bw), intraHops: len(p.links)}
		if net != noNet {
			from := &s.vertices[kindNet][net].paths[kindGPU][g]
			r.interBw, r.interHops = int(from.bw), len(from.links)
			r.interPCI = pcieOf(s.vertices[kindGPU][g].parent)
		}
		ranks = append(ranks, r)
	}
	slices.SortFunc(ranks, func(a, b nextRank) int {
		return cmp.Or(b.interBw-a.interBw, b.interPCI-a.interPCI, a.interHops-b.interHops, b.intraBw-a.intraBw,
			a.intraHops-b.intraHops, a.distance-b.distance)
	})
	return ranks
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
