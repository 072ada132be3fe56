//go:build cgo && linux

package cuda

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railmap/railmap/probe/fakenode"
)

const workerVariable = "RAILMAP_TEST_CUDA_DIR"

// TestMain is also the child that measures: the fake driver serves one machine in a process.
func TestMain(m *testing.M) {
	if dir := os.Getenv(workerVariable); dir != "" {
		os.Exit(worker(dir))
	}
	os.Exit(m.Run())
}

type outcome struct {
	Results []Result
	Busy    []string
	Error   string
}

func worker(dir string) int {
	var plan Plan
	if err := json.NewDecoder(os.Stdin).Decode(&plan); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	var o outcome
	err := Run(context.Background(), plan, Options{Dir: dir, Busy: func(g string) { o.Busy = append(o.Busy, g) }},
		func(r Result) { o.Results = append(o.Results, r) })
	if err != nil {
		o.Error = err.Error()
	}
	json.NewEncoder(os.Stdout).Encode(o)
	return 0
}

// measure runs a plan on a fake machine in a child process.
func measure(t *testing.T, m *fakenode.Machine, plan Plan) (outcome, fakenode.State) {
	t.Helper()
	lib, err := fakenode.Library()
	if err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatalf("no fake driver: %v", err)
		}
		t.Skipf("no fake driver: %v", err)
	}
	dir := t.TempDir()
	env, err := m.WriteDriver(dir, lib)
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), append(env, workerVariable+"="+dir)...)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("child: %v", err)
	}
	var o outcome
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("child said %q: %v", out, err)
	}
	state, err := fakenode.ReadState(dir)
	if err != nil {
		t.Fatal(err)
	}
	return o, state
}

// smallCPUs makes each NUMA node one CPU of this machine, so that pinning works for real.
func small(m *fakenode.Machine) *fakenode.Machine {
	m.CPUs = 1
	return m
}

func planFor(m *fakenode.Machine, steps ...Step) Plan {
	p := Plan{GPUs: map[string]string{}, NUMA: map[string][]int{}, Steps: steps, Bytes: 512 << 20, Loops: 16, Samples: 3, Timeout: 20 * time.Second}
	for i, g := range m.GPUs {
		p.GPUs[fmt.Sprintf("GPU%d", i)] = g.PCI
	}
	for n := range m.NUMA {
		p.NUMA[fmt.Sprintf("NUMA%d", n)] = []int{n}
	}
	return p
}

func near(got, want float64) bool { return math.Abs(got-want) <= 0.01*want }

func median(s []float64) float64 {
	s = slices.Sorted(slices.Values(s))
	return s[len(s)/2]
}

// TestMeasuredIsScripted: on each machine, what is measured equals what the machine was told to do, within 1 %.
func TestMeasuredIsScripted(t *testing.T) {
	for _, name := range fakenode.Machines() {
		t.Run(name, func(t *testing.T) {
			m, err := fakenode.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			last := fmt.Sprintf("GPU%d", len(m.GPUs)-1)
			pair := m.PeerBandwidth
			for _, p := range m.Pairs {
				if p.A == 0 && p.B == len(m.GPUs)-1 {
					pair = p.Bandwidth
				}
			}
			together := Step{Kind: CopyStep, Together: true, Ways: []Way{{"NUMA0", "GPU0"}, {"NUMA0", "GPU1"}}}
			each := min(m.HostBandwidth, m.UplinkBandwidth/2)
			if name != "a100x4pcie" { // there each GPU has its own switch
				each = m.HostBandwidth
			}
			steps := []Step{
				{Kind: CopyStep, Ways: []Way{{"NUMA0", "GPU0"}}}, {Kind: CopyStep, Ways: []Way{{"GPU0", "NUMA0"}}},
				{Kind: CopyStep, Ways: []Way{{"NUMA1", "GPU0"}}}, {Kind: CopyStep, Ways: []Way{{"GPU0", last}}},
				{Kind: CopyStep, Ways: []Way{{"GPU0", last}}, Bidirectional: true}, {Kind: CopyStep, Ways: []Way{{"NUMA0", "GPU0"}}, Bidirectional: true},
				together,
				{Kind: LatencyStep, Ways: []Way{{"GPU0", "NUMA0"}}}, {Kind: LatencyStep, Ways: []Way{{"GPU0", last}}}, {Kind: LatencyStep, Ways: []Way{{"GPU0", "GPU0"}}},
			}
			want := []float64{m.HostBandwidth, m.HostBandwidth, m.FarBandwidth, pair, 2 * pair, 2 * m.HostBandwidth, each, m.HostLatency, m.PeerLatency, m.LocalLatency}
			o, state := measure(t, small(m), planFor(m, steps...))
			if o.Error != "" || len(o.Results) != len(steps) {
				t.Fatalf("%d results, error %q", len(o.Results), o.Error)
			}
			for i, r := range o.Results {
				if r.Error != "" || len(r.Ways) != len(steps[i].Ways) {
					t.Errorf("step %d: %+v", i, r)
					continue
				}
				for _, w := range r.Ways {
					if len(w.Samples) != 3 || !near(median(w.Samples), want[i]) {
						t.Errorf("step %d, %s to %s by %s: %v, want %g", i, w.From, w.To, w.Method, w.Samples, want[i])
					}
				}
			}
			if state.Live() != 0 || state.Calls == 0 {
				t.Errorf("left behind: %+v", state)
			}
			if !slices.Contains(o.Busy, "GPU0") {
				t.Errorf("nobody looked at GPU0 while it worked: %q", o.Busy)
			}
		})
	}
}

func TestOneSlowPair(t *testing.T) {
	m := small(fakenode.H100x8())
	m.Pairs = []fakenode.Pair{{A: 2, B: 5, Bandwidth: 120e9}}
	o, state := measure(t, m, planFor(m, Step{Kind: CopyStep, Ways: []Way{{"GPU2", "GPU5"}, {"GPU0", "GPU1"}, {"GPU3", "GPU4"}}}))
	want := []float64{120e9, 376e9, 376e9}
	for i, w := range o.Results[0].Ways {
		if !near(median(w.Samples), want[i]) {
			t.Errorf("%s to %s: %v, want %g", w.From, w.To, w.Samples, want[i])
		}
	}
	if state.Live() != 0 {
		t.Errorf("left behind: %+v", state)
	}
}

func TestNCCL(t *testing.T) {
	m := small(fakenode.H100x8())
	o, state := measure(t, m, planFor(m, Step{Kind: NCCLStep, Sizes: []int{8 << 20, 1 << 30}}))
	r := o.Results[0]
	if r.Error != "" || r.Version != 22304 || len(r.Sizes) != 2 || !near(median(r.Sizes[1].Samples), m.NCCLBandwidth) || r.Sizes[1].GPUs != 8 {
		t.Errorf("%+v %s", r, o.Error)
	}
	if state.Live() != 0 {
		t.Errorf("left behind: %+v", state)
	}
}

// TestWays of a driver that lacks something: the measurement goes on by other means.
func TestLackingDriver(t *testing.T) {
	m := small(fakenode.H100x8())
	m.Faults = []string{"nowait", "nokernel", "nopeer"}
	o, state := measure(t, m, planFor(m, Step{Kind: CopyStep, Ways: []Way{{"NUMA0", "GPU0"}}}, Step{Kind: CopyStep, Ways: []Way{{"GPU0", "GPU1"}}},
		Step{Kind: LatencyStep, Ways: []Way{{"GPU0", "NUMA0"}}}))
	if o.Error != "" || !near(median(o.Results[0].Ways[0].Samples), m.HostBandwidth) {
		t.Errorf("%+v", o)
	}
	if got := o.Results[1].Ways[0].Method; got != methodStaged {
		t.Errorf("copy without peer access: method %q", got)
	}
	if w := o.Results[2].Ways[0]; w.Method != methodSmall || !near(median(w.Samples), 2.5e-6) {
		t.Errorf("latency without kernel: %+v", w)
	}
	if state.Live() != 0 {
		t.Errorf("left behind: %+v", state)
	}
}

// TestErrorAtAnyCall lets every call fail at its first, second and fifth time: there is an error that names the call, or the
// call is not needed, and nothing is left behind except what the failing release itself could not give back.
func TestErrorAtAnyCall(t *testing.T) {
	calls := []string{"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetPCIBusId", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemGetInfo_v2",
		"cuMemHostAlloc", "cuMemAlloc_v2", "cuDeviceCanAccessPeer", "cuCtxEnablePeerAccess", "cuStreamCreate", "cuStreamQuery", "cuStreamWaitValue32_v2",
		"cuEventCreate", "cuEventRecord", "cuEventElapsedTime_v2", "cuMemcpyAsync", "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel",
		"ncclCommInitAll", "ncclAllReduce", "ncclGroupEnd"}
	for _, call := range calls {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			for _, nth := range []int{1, 2, 5} {
				m := small(fakenode.A100x4PCIe())
				m.Faults = []string{fmt.Sprintf("fault %s %d 999", call, nth)}
				o, state := measure(t, m, planFor(m, Step{Kind: CopyStep, Ways: []Way{{"GPU0", "GPU1"}, {"GPU2", "GPU3"}}, Bidirectional: true},
					Step{Kind: CopyStep, Ways: []Way{{"NUMA0", "GPU0"}}}, Step{Kind: LatencyStep, Ways: []Way{{"GPU0", "NUMA0"}}}, Step{Kind: NCCLStep, Sizes: []int{1 << 20}}))
				if state.Live() != 0 {
					t.Errorf("call %d: left behind %+v", nth, state)
				}
				said := o.Error
				for _, r := range o.Results {
					said += " " + r.Error
				}
				name := strings.TrimSuffix(call, "_v2")
				if nth == 1 && !strings.Contains(said, name) && !strings.HasPrefix(call, "cuModule") {
					t.Errorf("call %d: nobody says that %s failed: %q", nth, name, said)
				}
			}
		})
	}
}

// TestFailingRelease: when a release fails the error says so, and the rest is still given back.
func TestFailingRelease(t *testing.T) {
	for _, call := range []string{"cuMemFreeHost", "cuMemFree_v2", "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuDevicePrimaryCtxRelease_v2"} {
		m := small(fakenode.H100x8())
		m.Faults = []string{fmt.Sprintf("fault %s 1 999", call)}
		o, state := measure(t, m, planFor(m, Step{Kind: CopyStep, Ways: []Way{{"NUMA0", "GPU0"}}}))
		said := o.Error + o.Results[0].Error
		if !strings.Contains(said, strings.TrimSuffix(call, "_v2")) || state.Live() != 1 {
			t.Errorf("%s: said %q, left %+v", call, said, state)
		}
	}
}

// TestMemoryIsBounded: a GPU that is nearly full is refused before anything is allocated on it.
func TestMemoryIsBounded(t *testing.T) {
	m := small(fakenode.H100x8())
	m.GPUs[0].MemoryBytes = 600 << 20
	o, state := measure(t, m, planFor(m, Step{Kind: CopyStep, Ways: []Way{{"NUMA0", "GPU0"}}}))
	if !strings.Contains(o.Results[0].Error, "GPU0 has") || state.Live() != 0 {
		t.Errorf("%+v %+v", o, state)
	}
}

// TestHangEndsWithTheProcess: a call that never returns is ended by ending the child; nothing of it stays.
func TestHangEndsWithTheProcess(t *testing.T) {
	lib, err := fakenode.Library()
	if err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatalf("no fake driver: %v", err)
		}
		t.Skipf("no fake driver: %v", err)
	}
	m := small(fakenode.H100x8())
	m.Faults = []string{"fault cuMemcpyAsync 1 0 hang"}
	dir := t.TempDir()
	env, err := m.WriteDriver(dir, lib)
	if err != nil {
		t.Fatal(err)
	}
	input, _ := json.Marshal(planFor(m, Step{Kind: CopyStep, Ways: []Way{{"NUMA0", "GPU0"}}}))
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), append(env, workerVariable+"="+dir)...)
	cmd.Stdin = bytes.NewReader(input)
	if err := cmd.Run(); err == nil || ctx.Err() == nil {
		t.Errorf("the child ended by itself: %v", err)
	}
	if cmd.ProcessState == nil || cmd.ProcessState.Success() {
		t.Error("the child is still there")
	}
}

func TestNoLibrary(t *testing.T) {
	err := Run(t.Context(), Plan{}, Options{Dir: filepath.Join(t.TempDir(), "none")}, func(Result) {})
	if err == nil || !strings.Contains(err.Error(), "libcuda") {
		t.Errorf("error %v", err)
	}
}
