package probe

import (
	"fmt"
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
