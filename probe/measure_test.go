//go:build cgo && linux

package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/probe/fakenode"
	"github.com/railmap/railmap/topology"
)

const (
	workerVariable = "RAILMAP_TEST_PROBE_WORKER"
	probeVariable  = "RAILMAP_TEST_PROBE_ROOT"
)

// TestMain is also the measuring child, and the process that probes a fake machine: the fake driver serves one machine in
// a process.
func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) != "" {
		ctx, stop := signalContext()
		defer stop()
		if err := Worker(ctx, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if root := os.Getenv(probeVariable); root != "" {
		os.Exit(probeChild(root))
	}
	os.Exit(m.Run())
}

// fakeRun is a probe of a fake machine in a process of its own.
type fakeRun struct {
	m       *fakenode.Machine
	stages  string
	force   bool
	timeout time.Duration
	tools   map[string]string // programs on the PATH, shell scripts
	files   map[string]string // more files of the tree
	within  time.Duration     // a signal is sent after this
	expect  string            // a file of expectations
	peers   []*topology.NodeReport
}

type fakeOutcome struct {
	report *topology.NodeReport
	state  fakenode.State
	code   int
	stderr string
}

func (f fakeRun) start(t *testing.T) fakeOutcome {
	t.Helper()
	lib, err := fakenode.Library()
	if err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatalf("no fake driver: %v", err)
		}
		t.Skipf("no fake driver: %v", err)
	}
	f.m.CPUs = 1 // so that each NUMA node is one processor of this machine and pinning works for real
	dir := scratch(t)
	root, driver, bin, peers := filepath.Join(dir, "root"), filepath.Join(dir, "driver"), filepath.Join(dir, "bin"), filepath.Join(dir, "peers")
	for _, d := range []string{driver, bin, peers} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.m.WriteTree(root); err != nil {
		t.Fatal(err)
	}
	environment, err := f.m.WriteDriver(driver, lib)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range f.tools {
		writeTestFile(t, filepath.Join(bin, name), text, 0o755)
	}
	for name, text := range f.files {
		writeTestFile(t, filepath.Join(root, name), text, 0o644)
	}
	for i, p := range f.peers {
		writeReport(t, filepath.Join(peers, fmt.Sprintf("%d.json", i)), p)
	}
	environment = append(environment, probeVariable+"="+root, "RAILMAP_TEST_DRIVER="+driver, "RAILMAP_TEST_STAGES="+f.stages, "RAILMAP_TEST_PEERS="+peers,
		"RAILMAP_TEST_FORCE="+fmt.Sprint(f.force), "RAILMAP_TEST_TIMEOUT="+f.timeout.String(), "PATH="+bin+":/usr/bin:/bin", "RAILMAP_TEST_EXPECT="+f.expect)
	return f.child(t, environment, driver)
}

func writeTestFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func writeReport(t *testing.T, path string, r *topology.NodeReport) {
	t.Helper()
	var b strings.Builder
	if err := topology.Write(&b, r, topology.JSON); err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, path, b.String(), 0o644)
}

func near(got, want float64) bool { return math.Abs(got-want) <= 0.01*want }

// TestScriptedMachinesAreMeasured: every copy that the report holds is what the machine was told, within 1 %, and there are
// no findings on a healthy machine.
func TestScriptedMachinesAreMeasured(t *testing.T) {
	for _, name := range fakenode.Machines() {
		t.Run(name, func(t *testing.T) {
			m, err := fakenode.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			o := fakeRun{m: m, stages: "copy,p2p,latency,nccl"}.start(t)
			if o.report == nil {
				t.Fatalf("no report: %s", o.stderr)
			}
			if got := serious(o.report.Findings); got != nil || o.report.Verdict != topology.VerdictPass {
				t.Errorf("verdict %s, findings %q", o.report.Verdict, got)
			}
			for _, s := range o.report.Stages {
				if s.Status != topology.StageOK {
					t.Errorf("stage %+v", s)
				}
			}
			checkCopies(t, m, o.report)
			if o.state.Live() != 0 {
				t.Errorf("left behind: %+v", o.state)
			}
			n := len(m.GPUs)
			if pairs := n*(n-1) + n*(n-1)/2; countCopies(o.report) != pairs {
				t.Errorf("%d copies between GPUs, want %d", countCopies(o.report), pairs)
			}
		})
	}
}

func countCopies(r *topology.NodeReport) int {
	n := 0
	for _, c := range r.Measurements.Copies {
		if isGPUName(c.From) && isGPUName(c.To) {
			n++
		}
	}
	return n
}

func checkCopies(t *testing.T, m *fakenode.Machine, r *topology.NodeReport) {
	t.Helper()
	for _, c := range r.Measurements.Copies {
		var a, b int
		want := 0.0
		switch {
		case isGPUName(c.From) && isGPUName(c.To):
			fmt.Sscanf(c.From+" "+c.To, "GPU%d GPU%d", &a, &b)
			want = m.PeerBandwidth
			for _, p := range m.Pairs {
				if p.A == min(a, b) && p.B == max(a, b) {
					want = p.Bandwidth
				}
			}
		default:
			if _, err := fmt.Sscanf(c.From+" "+c.To, "GPU%d NUMA%d", &a, &b); err != nil {
				fmt.Sscanf(c.From+" "+c.To, "NUMA%d GPU%d", &b, &a)
			}
			want = m.FarBandwidth
			if m.GPUs[a].NUMA == b {
				want = m.HostBandwidth
			}
			if c.Together {
				want = min(want, m.UplinkBandwidth/2)
			}
		}
		if c.Bidirectional {
			want *= 2
		}
		if got := c.BandwidthBytesPerSecond; !near(got.Value, want) || got.Samples != copyRepeats {
			t.Errorf("%s: %+v, want %g", copyKey(c), got, want)
		}
	}
}

// TestIdleLinkIsReadAwake: the PCIe generation of the report is the one of the working GPU.
func TestIdleLinkIsReadAwake(t *testing.T) {
	o := fakeRun{m: fakenode.H100x8(), stages: "static"}.start(t)
	if got := *o.report.GPUs[0].PCIeGeneration; got != 1 {
		t.Errorf("idle generation %d, want 1", got)
	}
	o = fakeRun{m: fakenode.H100x8(), stages: "copy"}.start(t)
	for _, g := range o.report.GPUs {
		if *g.PCIeGeneration != 5 {
			t.Errorf("%s: generation %d while it works, want 5", gpuName(g), *g.PCIeGeneration)
		}
	}
}

// TestMeasuredFaults: a fault of the machine gives exactly the findings that name it.
func TestMeasuredFaults(t *testing.T) {
	for _, tc := range []struct {
		name   string
		damage func(m *fakenode.Machine)
		want   []string
	}{
		{"one slow pair", func(m *fakenode.Machine) { m.Pairs = []fakenode.Pair{{A: 2, B: 5, Bandwidth: 120e9}} }, []string{"copy-peer-low GPU2-GPU5"}},
		{"one slow gpu", func(m *fakenode.Machine) {
			for i := range 8 {
				if i != 3 {
					m.Pairs = append(m.Pairs, fakenode.Pair{A: min(i, 3), B: max(i, 3), Bandwidth: 150e9})
				}
			}
		}, []string{"copy-peer-low GPU3"}},
		{"downtrained when awake", func(m *fakenode.Machine) { m.GPUs[4].Generation, m.GPUs[4].MaxGeneration = 3, 5 }, []string{"pcie-speed-low GPU4"}},
		{"one nvlink down", func(m *fakenode.Machine) { m.GPUs[1].Links[7].Active = false }, []string{"nvlink-down GPU1"}},
		{"no peer access", func(m *fakenode.Machine) { m.Faults = []string{"nopeer"} }, []string{"p2p-denied GPU0", "p2p-denied GPU1", "p2p-denied GPU2",
			"p2p-denied GPU3", "p2p-denied GPU4", "p2p-denied GPU5", "p2p-denied GPU6", "p2p-denied GPU7"}},
		{"nvlink errors", func(m *fakenode.Machine) { m.GPUs[3].Links[2].Errors = 7 }, []string{"nvlink-errors GPU3"}},
		{"nvlinks missing", func(m *fakenode.Machine) { m.GPUs[6].Links = m.GPUs[6].Links[:12] }, []string{"nvlink-missing GPU6"}},
		{"hot", func(m *fakenode.Machine) { m.GPUs[2].Throttle = 64 }, []string{"gpu-throttled GPU2"}},
		{"memory row", func(m *fakenode.Machine) { m.GPUs[0].RemapFailed = true }, []string{"gpu-remap-failed GPU0"}},
		{"narrow", func(m *fakenode.Machine) { m.Device(m.GPUs[5].PCI).Width, m.GPUs[5].Width = 8, 8 }, []string{"pcie-width-low GPU5"}},
		{"all host copies slow", func(m *fakenode.Machine) { m.HostBandwidth = 30e9 }, []string{"copy-host-low GPU0", "copy-host-low GPU1", "copy-host-low GPU2",
			"copy-host-low GPU3", "copy-host-low GPU4", "copy-host-low GPU5", "copy-host-low GPU6", "copy-host-low GPU7"}},
		{"collective slow", func(m *fakenode.Machine) { m.NCCLBandwidth = 300e9 }, []string{"allreduce-low NCCL"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := fakenode.H100x8()
			tc.damage(m)
			o := fakeRun{m: m, stages: "copy,p2p,nccl"}.start(t)
			if o.report == nil {
				t.Fatalf("no report: %s", o.stderr)
			}
			if diff := cmp.Diff(tc.want, slices.Compact(serious(o.report.Findings))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if want := map[bool]string{true: topology.VerdictWarn, false: topology.VerdictFail}[tc.name == "hot" || tc.name == "nvlink errors"]; o.report.Verdict != want {
				t.Errorf("verdict %s, want %s", o.report.Verdict, want)
			}
		})
	}
}

// TestFabricHealthIsRead decodes the health mask and knows which clusters are domains.
func TestFabricHealthIsRead(t *testing.T) {
	m := fakenode.GB200x4()
	m.GPUs[2].Health = 0xa9 // degraded bandwidth
	o := fakeRun{m: m, stages: "static"}.start(t)
	if diff := cmp.Diff([]string{"nvlink-fabric-unhealthy GPU2"}, serious(o.report.Findings)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if got := o.report.GPUs[0].Fabric.Domain(); got != "6f2a4c8e-10b3-4d5e-9a7b-3c1d2e4f5061.1" {
		t.Errorf("domain %q", got)
	}
	m = fakenode.H100x8()
	m.ClusterUUID = strings.Repeat("0", 32)
	o = fakeRun{m: m, stages: "static"}.start(t)
	if got := o.report.GPUs[0].Fabric.Domain(); got != "" {
		t.Errorf("the all-zero cluster is domain %q", got)
	}
}

// TestBusyIsRefused: neither a GPU in use nor a node with a job or a lease is loaded, and the report says so.
func TestBusyIsRefused(t *testing.T) {
	m := fakenode.H100x8()
	m.GPUs[3].Processes = 2
	o := fakeRun{m: m, stages: "copy,p2p"}.start(t)
	for _, c := range o.report.Measurements.Copies {
		if c.From == "GPU3" || c.To == "GPU3" {
			t.Errorf("%s although GPU3 is in use", copyKey(c))
		}
	}
	if s := o.report.Stages[1]; s.Status != topology.StageFailed || !strings.Contains(s.Reason, "GPU3: in use by other processes (2)") {
		t.Errorf("%+v", s)
	}
	if o := (fakeRun{m: m, stages: "copy", force: true}).start(t); o.report.Stages[1].Status != topology.StageOK {
		t.Errorf("forced: %+v", o.report.Stages[1])
	}
	for name, file := range map[string]string{"lease": "run/railmap/lease", "slurm": "proc/4711/comm"} {
		o := fakeRun{m: fakenode.H100x8(), stages: "copy", files: map[string]string{file: "slurmstepd\n"}}.start(t)
		if len(o.report.Measurements.Copies) != 0 || o.report.Stages[1].Status != topology.StageFailed || o.state.Device != 0 {
			t.Errorf("%s: measured all the same: %+v", name, o.report.Stages)
		}
	}
}

// TestHangingDriver: the time is over, the child is ended, and what was measured before stays.
func TestHangingDriver(t *testing.T) {
	m := fakenode.H100x8()
	m.Faults = []string{"fault cuMemcpyAsync 120 0 hang"}
	o := fakeRun{m: m, stages: "copy", timeout: 2 * time.Second}.start(t)
	if o.report == nil {
		t.Fatalf("no report: %s", o.stderr)
	}
	if s := o.report.Stages[1]; s.Status != topology.StageFailed || !strings.Contains(s.Reason, "time") {
		t.Errorf("%+v", s)
	}
	if n := len(o.report.Measurements.Copies); n == 0 {
		t.Error("what was measured before the hang is lost")
	}
}

// TestHangingInventory: a driver that does not even list its GPUs costs the GPU stages, not the report.
func TestHangingInventory(t *testing.T) {
	m := fakenode.H100x8()
	m.Faults = []string{"fault nvmlDeviceGetCount_v2 1 0 hang"}
	o := fakeRun{m: m, stages: "copy"}.start(t)
	if o.report == nil {
		t.Fatalf("no report: %s", o.stderr)
	}
	if diff := cmp.Diff([]string{"driver-unusable driver"}, serious(o.report.Findings)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if len(o.report.GPUs) != 8 || o.report.Stages[1].Status != topology.StageFailed {
		t.Errorf("%d GPUs, stages %+v", len(o.report.GPUs), o.report.Stages)
	}
}

// TestInventoryErrorAtAnyCall lets every call of the management library fail at its first time: there is a report all the
// same, and what could not be asked is absent.
func TestInventoryErrorAtAnyCall(t *testing.T) {
	for _, call := range []string{"Init_v2", "SystemGetDriverVersion", "SystemGetCudaDriverVersion", "DeviceGetCount_v2", "DeviceGetHandleByIndex_v2", "DeviceGetName",
		"DeviceGetUUID", "DeviceGetPciInfo_v3", "DeviceGetMemoryInfo", "DeviceGetCudaComputeCapability", "DeviceGetCurrPcieLinkGeneration", "DeviceGetMaxPcieLinkWidth",
		"DeviceGetMigMode", "DeviceGetC2cModeInfoV", "DeviceGetTemperature", "DeviceGetPcieReplayCounter", "DeviceGetComputeRunningProcesses_v3",
		"DeviceGetRemappedRows", "DeviceGetCurrentClocksEventReasons", "DeviceGetNvLinkState", "DeviceGetNvLinkRemotePciInfo_v2", "DeviceGetGpuFabricInfoV", "DeviceGetP2PStatus"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			m := fakenode.A100x4PCIe()
			m.Faults = []string{"fault nvml" + call + " 1 15"}
			o := fakeRun{m: m, stages: "static"}.start(t)
			if o.report == nil {
				t.Fatalf("no report: %s", o.stderr)
			}
			if len(o.report.GPUs) != 4 {
				t.Errorf("%d GPUs: %v", len(o.report.GPUs), serious(o.report.Findings))
			}
		})
	}
}

// TestInterrupt: after a signal no process and no GPU memory stays.
func TestInterrupt(t *testing.T) {
	m := fakenode.H100x8()
	m.Faults = []string{"slow"}
	o := fakeRun{m: m, stages: "copy,p2p,latency", within: 700 * time.Millisecond}.start(t)
	if o.report != nil || o.state.Calls == 0 {
		t.Fatalf("the signal did not come in the middle: report %v, %+v", o.report != nil, o.state)
	}
	if o.state.Live() != 0 {
		t.Errorf("left behind: %+v", o.state)
	}
}

// TestPeersDecide: a node 8 % slower than like nodes warns, one 15 % slower fails; too few peers say nothing.
func TestPeersDecide(t *testing.T) {
	healthy := fakeRun{m: fakenode.H100x8(), stages: "copy"}.start(t).report
	var peers []*topology.NodeReport
	for i := range 6 {
		p := *healthy
		p.Node = fmt.Sprintf("peer-%d", i)
		peers = append(peers, &p)
	}
	for _, tc := range []struct {
		share float64
		peers int
		want  string
	}{{1, 6, "pass"}, {0.92, 6, "warn"}, {0.85, 4, "pass"}} {
		m := fakenode.H100x8()
		m.FarBandwidth *= tc.share // no absolute floor holds for the far node
		o := fakeRun{m: m, stages: "copy", peers: peers[:tc.peers]}.start(t)
		if o.report.Verdict != tc.want {
			t.Errorf("share %g of %d peers: verdict %s, want %s: %v", tc.share, tc.peers, o.report.Verdict, tc.want, serious(o.report.Findings))
		}
	}
	m := fakenode.H100x8()
	m.FarBandwidth *= 0.85
	if o := (fakeRun{m: m, stages: "copy", peers: peers}).start(t); o.report.Verdict != topology.VerdictFail {
		t.Errorf("verdict %s, want fail", o.report.Verdict)
	}
}

// TestPlanFitsBringUp: all default stages of an 8-GPU node take at most 90 s by their own estimate.
func TestPlanFitsBringUp(t *testing.T) {
	r := fakeRun{m: fakenode.H100x8(), stages: "static"}.start(t).report
	p := makePlan(r, Options{Root: "recorded", DriverDir: "driver", Stages: DefaultStages()})
	if s := p.seconds(); s > 90 || s < 20 {
		t.Errorf("the plan takes %.0f s", s)
	}
	if len(p.ports) != 9 || len(p.gpu.Steps) == 0 {
		t.Errorf("%d ports, %d steps", len(p.ports), len(p.gpu.Steps))
	}
}

// TestAllReducePerfIsPreferred: nccl-tests is what operators compare with, so it runs when it is installed.
func TestAllReducePerfIsPreferred(t *testing.T) {
	tool := "#!/bin/sh\ncat <<'EOF'\n" + ncclTestsSample + "EOF\n"
	o := fakeRun{m: fakenode.H100x8(), stages: "nccl", tools: map[string]string{"all_reduce_perf": tool}}.start(t)
	c := o.report.Measurements.Collective
	if len(c) != 1 || !strings.HasPrefix(c[0].BusBandwidthBytesPerSecond.Method, "nccl-tests") || !near(c[0].BusBandwidthBytesPerSecond.Value, 460.55e9) {
		t.Errorf("%+v, %+v", c, o.report.Stages)
	}
	o = fakeRun{m: fakenode.H100x8(), stages: "nccl", tools: map[string]string{"all_reduce_perf": "#!/bin/sh\necho out of luck >&2\nexit 3\n"}}.start(t)
	if s := o.report.Stages[1]; s.Status != topology.StageFailed || !strings.Contains(s.Reason, "out of luck") {
		t.Errorf("%+v", s)
	}
}

// TestRepeatClears: a copy that was slow once and is good when it is measured again is not condemned.
func TestRepeatClears(t *testing.T) {
	m := fakenode.H100x8()
	m.Faults = []string{fmt.Sprintf("glitch 2 5 100e9 %d", 1+copyRepeats*copyLoops)}
	o := fakeRun{m: m, stages: "p2p"}.start(t)
	if got := serious(o.report.Findings); got != nil || o.report.Verdict != topology.VerdictPass {
		t.Errorf("verdict %s: %q", o.report.Verdict, got)
	}
	m = fakenode.H100x8()
	m.Faults = []string{"glitch 2 5 100e9 100000"}
	o = fakeRun{m: m, stages: "p2p"}.start(t)
	if diff := cmp.Diff([]string{"copy-peer-low GPU2-GPU5"}, serious(o.report.Findings)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

const fakePerftest = `#!/bin/sh
# stands in for perftest: the end without a host waits for the other, which prints the table
lock=${TMPDIR:-/tmp}/railmap-perftest-$PPID
case "$*" in *--help*) echo "  --use_cuda=<id>"; exit 0;; esac
case "$*" in *127.0.0.1*) ;; *) sleep 0.2; exit 0;; esac
case "$0" in
*ib_write_bw) rate=369.12; case "$*" in *mlx5_2*) rate=120.5;; esac
  echo " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"; echo " 65536      1000     0.00     $rate    0.7";;
*) echo " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]"
  echo " 2       1000          1.80           5.17         1.91     	       1.92        	0.07   		2.10    		5.17";;
esac
`

// TestPorts: perftest runs on each port that is up; its figures are ours; a slow port is named.
func TestPorts(t *testing.T) {
	m := fakenode.H100x8()
	m.NIC("mlx5_5").State = "1: DOWN"
	tools := map[string]string{"ib_write_bw": fakePerftest, "ib_write_lat": fakePerftest, "ib_read_lat": fakePerftest}
	o := fakeRun{m: m, stages: "nic", tools: tools}.start(t)
	if o.report == nil {
		t.Fatalf("no report: %s", o.stderr)
	}
	for _, n := range o.report.NICs {
		switch {
		case n.Device == "mlx5_5":
			if n.BandwidthBytesPerSecond != nil {
				t.Error("a port that is down was measured")
			}
		case n.BandwidthBytesPerSecond == nil || n.LatencySeconds == nil || n.ReadLatencySeconds == nil:
			t.Errorf("%s was not measured: %+v", n.Device, o.report.Stages)
		case n.Device != "mlx5_2" && !near(n.BandwidthBytesPerSecond.Value, 369.12e9/8) || !near(n.LatencySeconds.Value, 1.91e-6):
			t.Errorf("%s: %+v %+v", n.Device, n.BandwidthBytesPerSecond, n.LatencySeconds)
		}
	}
	want := []string{"nic-bandwidth-low mlx5_2/1", "port-down mlx5_5/1"}
	if diff := cmp.Diff(want, slices.Compact(serious(o.report.Findings))); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	o = fakeRun{m: fakenode.H100x8(), stages: "nic", tools: map[string]string{"ib_write_bw": "#!/bin/sh\necho no device >&2\nexit 1\n"}}.start(t)
	if s := o.report.Stages[1]; s.Status != topology.StageFailed || !strings.Contains(s.Reason, "no device") {
		t.Errorf("%+v", s)
	}
}

func signalContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := make(chan os.Signal, 1)
	notify(c)
	go func() {
		<-c
		cancel(errors.New("a signal"))
	}()
	return ctx, func() { cancel(nil) }
}
