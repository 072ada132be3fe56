package probe

import (
	"fmt"

	"github.com/railmap/railmap/probe/cuda"
	"github.com/railmap/railmap/topology"
)

// copySeconds is the expected time of a copy step at a rate in bytes per second.
func copySeconds(rate float64, loops int) float64 {
	return stepOverhead + float64(copySize)*(1+float64(loops*copyRepeats))/rate
}

// hostRate guesses what the link of a GPU carries: 88 % of its line rate, or 20 GB/s when it is unknown.
func hostRate(g topology.GPU) float64 {
	if g.MaxPCIeGeneration == nil || g.PCIeWidth == nil {
		return 20e9
	}
	return 0.88 * pcieBytes(*g.MaxPCIeGeneration, *g.PCIeWidth)
}

// copies plans host copies: each GPU with its near node both ways and in both directions at once, with one far node, and
// the GPUs of a PCIe switch together.
func (p *plan) copies(r *topology.NodeReport, gpus []topology.GPU) {
	for _, g := range gpus {
		rate, name := hostRate(g), gpuName(g)
		near, far := p.nodes(r, g)
		if near == "" {
			p.items = append(p.items, PlanItem{Stage: StageCopy, What: name, Skip: "no NUMA node whose CPUs this process may use"})
			continue
		}
		p.copyStep(rate, cuda.Step{Ways: []cuda.Way{{From: near, To: name}}})
		p.copyStep(rate, cuda.Step{Ways: []cuda.Way{{From: name, To: near}}})
		p.copyStep(rate, cuda.Step{Ways: []cuda.Way{{From: near, To: name}}, Bidirectional: true})
		if far != "" {
			p.copyStep(rate, cuda.Step{Ways: []cuda.Way{{From: far, To: name}}})
			p.copyStep(rate, cuda.Step{Ways: []cuda.Way{{From: name, To: far}}})
		}
	}
	for _, group := range switchGroups(r, gpus) {
		down, up := cuda.Step{Together: true}, cuda.Step{Together: true}
		for _, g := range group {
			if near, _ := p.nodes(r, g); near != "" {
				down.Ways = append(down.Ways, cuda.Way{From: near, To: gpuName(g)})
				up.Ways = append(up.Ways, cuda.Way{From: gpuName(g), To: near})
			}
		}
		if len(down.Ways) > 1 {
			rate := hostRate(group[0]) / float64(len(group))
			p.copyStep(rate, down)
			p.copyStep(rate, up)
		}
	}
}

func (p *plan) copyStep(rate float64, s cuda.Step) {
	s.Kind = cuda.CopyStep
	p.step(StageCopy, describe(s), copySeconds(rate, copyLoops), s)
}

// describe spells a step: "NUMA0 -> GPU1", "GPU0 <-> GPU1, GPU2 <-> GPU3".
func describe(s cuda.Step) string {
	arrow, text := " -> ", ""
	if s.Bidirectional {
		arrow = " <-> "
	}
	for i, w := range s.Ways {
		if i > 0 {
			text += ", "
		}
		text += w.From + arrow + w.To
	}
	return text
}

// nodes names the NUMA node of a GPU and one other, among those whose CPUs may be used.
func (p *plan) nodes(r *topology.NodeReport, g topology.GPU) (near, far string) {
	for _, n := range r.NUMANodes {
		name := fmt.Sprintf("NUMA%d", n.ID)
		if p.gpu.NUMA[name] == nil {
			continue
		}
		if g.NUMANode == nil || *g.NUMANode == n.ID {
			if near == "" {
				near = name
			}
		} else if far == "" {
			far = name
		}
	}
	if near == "" {
		near, far = far, ""
	}
	return near, far
}

// switchGroups joins GPUs below one root port: they share its link to the host.
func switchGroups(r *topology.NodeReport, gpus []topology.GPU) [][]topology.GPU {
	byAddress := index(r.PCI)
	var order []string
	groups := map[string][]topology.GPU{}
	for _, g := range gpus {
		d := byAddress[g.PCIAddress]
		if d == nil {
			continue
		}
		up := ancestors(byAddress, d)
		if len(up) < 3 { // a root port alone is no switch
			continue
		}
		top := up[len(up)-1]
		if groups[top] == nil {
			order = append(order, top)
		}
		groups[top] = append(groups[top], g)
	}
	var out [][]topology.GPU
	for _, top := range order {
		if len(groups[top]) > 1 {
			out = append(out, groups[top])
		}
	}
	return out
}

// peers plans copies between all GPUs, one way for each order and both ways for each pair. Where every pair has NVLink,
// pairs that share no GPU run together; over PCIe they would disturb each other and run alone.
func (p *plan) peers(r *topology.NodeReport, gpus []topology.GPU) {
	rounds := Rounds(len(gpus))
	rate, loops := 200e9, copyLoops
	if !allNVLink(r, gpus) {
		rate, loops = 20e9, slowLoops
		var single [][]Match
		for _, round := range rounds {
			for _, m := range round {
				single = append(single, []Match{m})
			}
		}
		rounds = single
	}
	for _, kind := range []struct{ swap, both bool }{{false, false}, {true, false}, {false, true}} {
		for _, round := range rounds {
			s := cuda.Step{Kind: cuda.CopyStep, Bidirectional: kind.both, Loops: loops}
			for _, m := range round {
				a, b := gpuName(gpus[m.A]), gpuName(gpus[m.B])
				if kind.swap {
					a, b = b, a
				}
				s.Ways = append(s.Ways, cuda.Way{From: a, To: b})
			}
			p.step(StageP2P, describe(s), copySeconds(rate, loops), s)
		}
	}
}

func allNVLink(r *topology.NodeReport, gpus []topology.GPU) bool {
	letters := map[[2]string]string{}
	for _, p := range r.Paths {
		letters[[2]string{p.A, p.B}] = p.Type
	}
	for i, a := range gpus {
		for _, b := range gpus[i+1:] {
			if letter := letters[[2]string{gpuName(a), gpuName(b)}]; len(letter) < 3 || letter[:2] != "NV" {
				return false
			}
		}
	}
	return len(gpus) > 1
}

// latencies plans accesses of each GPU to its near node and to the next GPU.
func (p *plan) latencies(gpus []topology.GPU) {
	for i, g := range gpus {
		name := gpuName(g)
		s := cuda.Step{Kind: cuda.LatencyStep}
		near := fmt.Sprintf("NUMA%d", deref(g.NUMANode, 0))
		if p.gpu.NUMA[near] != nil {
			s.Ways = append(s.Ways, cuda.Way{From: name, To: near})
		}
		s.Ways = append(s.Ways, cuda.Way{From: name, To: name})
		if next := gpus[(i+1)%len(gpus)]; len(gpus) > 1 {
			s.Ways = append(s.Ways, cuda.Way{From: name, To: gpuName(next)})
		}
		p.step(StageLatency, describe(s), stepOverhead+float64(len(s.Ways))*0.6, s)
	}
}
