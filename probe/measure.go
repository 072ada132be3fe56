package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railmap/railmap/probe/cuda"
	"github.com/railmap/railmap/topology"
)

// measurer runs the plan of one node and writes the figures into its report.
type measurer struct {
	o     Options
	r     *topology.NodeReport
	plan  *plan
	done  int
	fails map[Stage][]string
	links []busyLink
}

// measure runs all planned stages. Whatever could not be measured is a failed stage in the report; the error is a cancelled
// context only.
func measure(ctx context.Context, r *topology.NodeReport, o Options) error {
	if o.Timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("the probe's time of %v is over", o.Timeout))
		defer cancel()
		ctx = limited
	}
	m := &measurer{o: o, r: r, plan: makePlan(r, o), fails: map[Stage][]string{}}
	if why := occupied(o); why != "" {
		m.refuseAll(why)
	} else {
		m.refused()
		m.host(ctx)
		m.gpus(ctx, m.plan.gpu.Steps, m.plan.stage)
		m.repeat(ctx)
		m.nics(ctx)
		m.ncclTests(ctx)
	}
	m.stamp()
	m.statuses()
	if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// refuseAll writes why a node in use is not measured.
func (m *measurer) refuseAll(why string) {
	for _, s := range m.o.stages() {
		if s != StageStatic {
			m.fail(s, "%s", why)
		}
	}
}

// refused writes down the GPUs that were left out of the plan.
func (m *measurer) refused() {
	for _, item := range m.plan.items {
		if item.Skip == "" || item.Stage == StageHost || item.Stage == StageNIC {
			continue
		}
		for _, s := range []Stage{StageCopy, StageP2P, StageLatency, StageNCCL} {
			if m.o.has(s) {
				m.fail(s, "%s: %s", item.What, item.Skip)
			}
		}
	}
}

func (m *measurer) fail(s Stage, format string, args ...any) {
	m.fails[s] = append(m.fails[s], fmt.Sprintf(format, args...))
}

// progress tells which item runs.
func (m *measurer) progress(what string) {
	m.done++
	if m.o.Progress != nil {
		m.o.Progress(m.done, len(m.plan.items), what)
	}
}

func (m *measurer) host(ctx context.Context) {
	if !m.o.has(StageHost) || !m.o.live() {
		return
	}
	m.progress("memory and loopback")
	memory, err := measureMemory(ctx, m.r.NUMANodes)
	if err != nil {
		m.fail(StageHost, "%v", err)
	}
	loopback, err := measureLoopback(ctx)
	if err != nil {
		m.fail(StageHost, "%v", err)
	}
	m.r.Measurements.Memory, m.r.Measurements.Loopback = memory, loopback
}

// gpus runs steps in a child and takes its results as they come: a child that hangs loses only what it had not measured.
func (m *measurer) gpus(ctx context.Context, steps []cuda.Step, stages []Stage) {
	if len(steps) == 0 {
		return
	}
	if len(m.o.Worker) == 0 {
		m.fail(stages[0], "no measuring process is set up")
		return
	}
	req := workerRequest{DriverDir: m.o.DriverDir, Plan: m.plan.gpu}
	req.Plan.Steps = steps
	finished := 0
	m.progress(describe(steps[0]))
	err := runWorker(ctx, m.o.Worker, req, func(e workerEvent) {
		switch {
		case e.Link != nil:
			m.links = append(m.links, *e.Link)
		case e.Error != "":
			m.fail(stages[min(finished, len(stages)-1)], "%s", e.Error)
		case e.Result != nil && e.Result.Step >= 0 && e.Result.Step < len(steps):
			m.take(steps[e.Result.Step], stages[e.Result.Step], e.Result)
			if finished = e.Result.Step + 1; finished < len(steps) {
				m.progress(describe(steps[finished]))
			}
		}
	})
	if err != nil {
		for _, s := range slices.Compact(slices.Clone(stages[min(finished, len(stages)-1):])) {
			m.fail(s, "%v", err)
		}
	}
}

// repeat measures once more what would be condemned.
func (m *measurer) repeat(ctx context.Context) {
	again := suspects(m.r, m.o)
	var steps []cuda.Step
	var stages []Stage
	for i, s := range m.plan.gpu.Steps {
		if s.Kind != cuda.CopyStep {
			continue
		}
		s.Ways = slices.DeleteFunc(slices.Clone(s.Ways), func(w cuda.Way) bool {
			return !again[copyKey(topology.Copy{From: w.From, To: w.To, Bidirectional: s.Bidirectional, Together: s.Together})]
		})
		if len(s.Ways) > 0 {
			steps, stages = append(steps, s), append(stages, m.plan.stage[i])
		}
	}
	m.gpus(ctx, steps, stages)
}

// take writes one result into the report.
func (m *measurer) take(step cuda.Step, stage Stage, result *cuda.Result) {
	if result.Error != "" {
		what := describe(step)
		if what == "" {
			what = step.Kind
		}
		m.fail(stage, "%s: %s", what, result.Error)
	}
	for _, w := range result.Ways {
		if len(w.Samples) == 0 {
			continue
		}
		v := summarize(w.Samples, w.Method)
		if step.Kind == cuda.LatencyStep {
			m.r.Measurements.Latencies = append(m.r.Measurements.Latencies, topology.CopyLatency{From: w.From, To: w.To, LatencySeconds: v})
			continue
		}
		m.putCopy(topology.Copy{From: w.From, To: w.To, Bidirectional: step.Bidirectional, Together: step.Together, BandwidthBytesPerSecond: v})
	}
	for _, s := range result.Sizes {
		if len(s.Samples) > 0 {
			m.r.Measurements.Collective = append(m.r.Measurements.Collective, topology.Collective{Name: "all_reduce", SizeBytes: uint64(s.Bytes), GPUs: s.GPUs,
				BusBandwidthBytesPerSecond: summarize(s.Samples, "libnccl "+ncclVersion(result.Version)), TimeSeconds: new(s.Seconds)})
		}
	}
}

// putCopy keeps the better of two measurements of one copy: a repeat can only clear a suspicion.
func (m *measurer) putCopy(c topology.Copy) {
	for i, old := range m.r.Measurements.Copies {
		if old.From == c.From && old.To == c.To && old.Bidirectional == c.Bidirectional && old.Together == c.Together {
			if c.BandwidthBytesPerSecond.Value > old.BandwidthBytesPerSecond.Value {
				m.r.Measurements.Copies[i] = c
			}
			return
		}
	}
	m.r.Measurements.Copies = append(m.r.Measurements.Copies, c)
}

// ncclVersion spells NCCL's number: 22304 is 2.23.4.
func ncclVersion(v int) string {
	if v < 10000 {
		return fmt.Sprintf("%d.%d.%d", v/1000, v%1000/100, v%100)
	}
	return fmt.Sprintf("%d.%d.%d", v/10000, v%10000/100, v%100)
}

// stamp gives report and figures the time of this run.
func (m *measurer) stamp() {
	if m.o.Now.IsZero() {
		return
	}
	at := m.o.Now.UTC().Truncate(time.Second)
	m.r.Time = &at
}

// wake replaces the links that idle GPUs showed by those of busy ones, and judges their speed, which can now be believed.
func (m *measurer) wake() {
	for _, l := range m.links {
		for i := range m.r.GPUs {
			g := &m.r.GPUs[i]
			if gpuName(*g) != l.GPU {
				continue
			}
			if l.Generation != nil {
				g.PCIeGeneration = l.Generation
			}
			if l.Width != nil {
				g.PCIeWidth = l.Width
			}
			m.r.Findings = slices.DeleteFunc(m.r.Findings, func(f topology.Finding) bool { return f.Code == "pcie-speed-idle" && f.Subject == l.GPU })
			if g.PCIeGeneration != nil && g.MaxPCIeGeneration != nil && *g.PCIeGeneration < *g.MaxPCIeGeneration {
				m.r.Findings = append(m.r.Findings, topology.Finding{Code: "pcie-speed-low", Severity: topology.Error, Subject: l.GPU,
					Message: fmt.Sprintf("the PCIe link of %s runs at generation %d while the GPU works, it can do generation %d", g.PCIAddress,
						*g.PCIeGeneration, *g.MaxPCIeGeneration),
					Remedy: "reseat the GPU or its riser; check the slot's speed setting in the firmware"})
			}
		}
	}
}

// statuses sums up how each stage went.
func (m *measurer) statuses() {
	m.wake()
	m.r.Stages = []topology.StageResult{{Stage: string(StageStatic), Status: topology.StageOK}}
	for _, s := range m.o.stages() {
		if s == StageStatic {
			continue
		}
		result := topology.StageResult{Stage: string(s), Status: topology.StageOK}
		switch reasons := m.fails[s]; {
		case len(reasons) > 0:
			slices.Sort(reasons)
			result.Status, result.Reason = topology.StageFailed, summary(slices.Compact(reasons))
		case !m.planned(s):
			result.Status, result.Reason = topology.StageSkipped, "nothing to measure"
		}
		m.r.Stages = append(m.r.Stages, result)
	}
}

func (m *measurer) planned(s Stage) bool {
	return slices.ContainsFunc(m.plan.items, func(i PlanItem) bool { return i.Stage == s && i.Skip == "" })
}

// summary joins reasons, at most three in full.
func summary(reasons []string) string {
	if len(reasons) <= 3 {
		return strings.Join(reasons, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(reasons[:3], "; "), len(reasons)-3)
}
