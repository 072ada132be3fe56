package probe

import (
	"fmt"
	"slices"
	"time"

	"github.com/railmap/railmap/probe/cuda"
	"github.com/railmap/railmap/topology"
)

const (
	copySize    = 512 << 20 // bytes of one GPU copy
	copyLoops   = 16        // copies in one sample
	copyRepeats = 3         // samples
	// slowLoops shortens samples over PCIe between GPUs: a pair at 20 GB/s would take seconds otherwise.
	slowLoops = 4
	// stepOverhead is what allocating, pinning and starting costs, seconds.
	stepOverhead = 0.05
	nicSeconds   = 4.0 // bandwidth, write latency and read latency of one port
	ncclSeconds  = 15.0
	hostSeconds  = 3.0
	stepTimeout  = 60 * time.Second
)

// PlanItem is one line of what a run would do.
type PlanItem struct {
	Stage   Stage
	What    string
	Seconds float64 // expected
	Skip    string  // why it will not be done; "" = it will
}

// plan is what a run measures.
type plan struct {
	items []PlanItem
	gpu   cuda.Plan
	stage []Stage // of each step of gpu
	ports []int   // indices into NICs
	// ncclTests is the number of GPUs that all_reduce_perf uses; 0 when libnccl is used instead, or nothing.
	ncclTests int
}

// makePlan says what the chosen stages measure on this node. Refused GPUs are left out, with the reason.
func makePlan(r *topology.NodeReport, o Options) *plan {
	p := &plan{gpu: cuda.Plan{GPUs: map[string]string{}, NUMA: map[string][]int{}, Bytes: copySize, Loops: copyLoops, Samples: copyRepeats, Timeout: stepTimeout}}
	if o.has(StageHost) {
		skip := ""
		if !o.live() {
			skip = "a recorded tree cannot be measured"
		}
		p.items = append(p.items, PlanItem{Stage: StageHost, What: "memory copies on each NUMA node, TCP over loopback", Seconds: hostSeconds, Skip: skip})
	}
	gpus := p.places(r, o)
	if o.has(StageCopy) {
		p.copies(r, gpus)
	}
	if o.has(StageP2P) {
		p.peers(r, gpus)
	}
	if o.has(StageLatency) {
		p.latencies(gpus)
	}
	if o.has(StageNIC) {
		p.nics(r, o)
	}
	if o.has(StageNCCL) && len(gpus) >= 2 && toolPath(allReducePerf) != "" {
		p.items = append(p.items, PlanItem{Stage: StageNCCL, What: allReducePerf + " over all GPUs", Seconds: ncclSeconds})
		p.ncclTests = len(gpus)
	} else if o.has(StageNCCL) && len(gpus) >= 2 {
		p.step(StageNCCL, "all-reduce over all GPUs", ncclSeconds, cuda.Step{Kind: cuda.NCCLStep, Sizes: []int{8 << 20, 128 << 20, 1 << 30}})
	}
	return p
}

// seconds is the expected time of everything that will be done.
func (p *plan) seconds() float64 {
	sum := 0.0
	for _, i := range p.items {
		if i.Skip == "" {
			sum += i.Seconds
		}
	}
	return sum
}

// places names the GPUs and NUMA nodes that may be used.
func (p *plan) places(r *topology.NodeReport, o Options) []topology.GPU {
	for _, n := range r.NUMANodes {
		if cpus, err := ParseCPUList(n.CPUs); err == nil {
			if cpus = allowed(cpus); len(cpus) > 0 {
				p.gpu.NUMA[fmt.Sprintf("NUMA%d", n.ID)] = cpus
			}
		}
	}
	var gpus []topology.GPU
	for _, g := range r.GPUs {
		if o.needGPU() {
			if why := refuse(r, g, o); why != "" {
				p.items = append(p.items, PlanItem{Stage: StageCopy, What: gpuName(g), Skip: why})
				continue
			}
		}
		p.gpu.GPUs[gpuName(g)] = g.PCIAddress
		gpus = append(gpus, g)
	}
	return gpus
}

// refuse says why a GPU must not be used: somebody works on it, or the driver does not show it.
func refuse(r *topology.NodeReport, g topology.GPU, o Options) string {
	if r.Driver == nil {
		return "the driver does not answer"
	}
	if n := g.ProcessCount; n != nil && *n > 0 && !o.Force {
		return fmt.Sprintf("in use by other processes (%d); --force measures all the same", *n)
	}
	if g.MIGEnabled != nil && *g.MIGEnabled {
		return "it is split by MIG"
	}
	return ""
}

func gpuName(g topology.GPU) string { return fmt.Sprintf("GPU%d", g.Index) }

func (p *plan) step(stage Stage, what string, seconds float64, s cuda.Step) {
	p.items = append(p.items, PlanItem{Stage: stage, What: what, Seconds: seconds})
	p.gpu.Steps = append(p.gpu.Steps, s)
	p.stage = append(p.stage, stage)
}

// copySeconds is the expected time of a copy step at a rate in bytes per second.
func copySeconds(rate float64, loops int) float64 {
	return stepOverhead + float64(copySize)*(1+float64(loops*copyRepeats))/rate
}

// hostRate guesses what the link of a GPU carries: 88 % of its line rate, or 20 GB/s when it is unknown.
func hostRate(g topology.GPU) float64 {
	if g.MaxPCIeGeneration == nil || g.PCIeWidth == nil {
		return 20e9
	}
	speeds := []float64{2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9, 128e9}
	return 0.88 * laneBytes(speeds[min(*g.MaxPCIeGeneration, len(speeds))-1]) * float64(*g.PCIeWidth)
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

// Match is a pair of a round.
type Match struct{ A, B int }

// Rounds pairs n things so that everyone meets everyone once and nobody stands twice in a round (the circle method): n-1
// rounds when n is even, n when it is odd, each sorted.
func Rounds(n int) [][]Match {
	size := n + n%2
	var rounds [][]Match
	for round := range size - 1 {
		var matches []Match
		for i := range size / 2 {
			a, b := (round+i)%(size-1), (round+size-1-i)%(size-1)
			if i == 0 {
				b = size - 1
			}
			if a < n && b < n {
				matches = append(matches, Match{min(a, b), max(a, b)})
			}
		}
		slices.SortFunc(matches, func(x, y Match) int { return x.A - y.A })
		rounds = append(rounds, matches)
	}
	return rounds
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

func deref[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// nics plans perftest on every port that is up.
func (p *plan) nics(r *topology.NodeReport, o Options) {
	for i, n := range r.NICs {
		item := PlanItem{Stage: StageNIC, What: "perftest on " + portName(n), Seconds: nicSeconds}
		switch {
		case !o.live() && o.DriverDir == "":
			item.Skip = "a recorded tree cannot be measured"
		case n.State != "ACTIVE":
			item.Skip = "the port is " + n.State
		default:
			p.ports = append(p.ports, i)
		}
		p.items = append(p.items, item)
	}
}
