package probe

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/probe/fakenode"
	"github.com/railmap/railmap/topology"
)

var update = flag.Bool("update", false, "rewrite golden files")

// scratch is a temporary folder in memory where there is one: a tree is a thousand small files.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "railmap-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// static probes a fake machine's tree without any driver.
func static(t testing.TB, m *fakenode.Machine) *topology.NodeReport {
	t.Helper()
	dir := scratch(t)
	if err := m.WriteTree(dir); err != nil {
		t.Fatal(err)
	}
	return probeRoot(t, dir)
}

func probeRoot(t testing.TB, dir string) *topology.NodeReport {
	t.Helper()
	r, err := Run(t.Context(), Options{Root: dir, Stages: DefaultStages()[:2]})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Fatalf("report is not valid: %v", err)
	}
	return r
}

// serious keeps what an operator must act on.
func serious(findings []topology.Finding) []string {
	var out []string
	for _, f := range findings {
		if f.Severity != topology.Info {
			out = append(out, f.Code+" "+f.Subject)
		}
	}
	return out
}

func TestHealthyMachinesHaveNoFindings(t *testing.T) {
	for _, name := range fakenode.Machines() {
		t.Run(name, func(t *testing.T) {
			m, err := fakenode.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			r := static(t, m)
			if got := serious(r.Findings); got != nil {
				t.Errorf("findings on a healthy machine: %q", got)
			}
			if len(r.GPUs) != len(m.GPUs) || len(r.NICs) != len(m.NICs) {
				t.Errorf("%d GPUs and %d NICs, want %d and %d", len(r.GPUs), len(r.NICs), len(m.GPUs), len(m.NICs))
			}
		})
	}
}

func TestSameTreeGivesSameBytes(t *testing.T) {
	dir := scratch(t)
	if err := fakenode.H100x8().WriteTree(dir); err != nil {
		t.Fatal(err)
	}
	var first []byte
	for range 20 {
		var b bytes.Buffer
		if err := topology.Write(&b, probeRoot(t, dir), topology.JSON); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b.Bytes()
		} else if !bytes.Equal(first, b.Bytes()) {
			t.Fatal("two runs on one tree differ")
		}
	}
	var back topology.NodeReport
	if err := topology.Read(bytes.NewReader(first), "report", &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(probeRoot(t, dir), &back); diff != "" {
		t.Errorf("report changed on its way through a file (-want +got):\n%s", diff)
	}
}

// TestSeededFaults breaks a healthy machine in one way at a time: the probe must name that, and nothing else.
func TestSeededFaults(t *testing.T) {
	gpu := func(m *fakenode.Machine, i int) *fakenode.Device { return m.Device(m.GPUs[i].PCI) }
	nic := func(m *fakenode.Machine, name string) *fakenode.Device { return m.Device(m.NIC(name).PCI) }
	for _, tc := range []struct {
		name   string
		damage func(m *fakenode.Machine)
		want   []string
	}{
		{"gpu x8", func(m *fakenode.Machine) { gpu(m, 3).Width = 8 }, []string{"pcie-width-low GPU3"}},
		{"nic x8", func(m *fakenode.Machine) { nic(m, "mlx5_2").Width = 8 }, []string{"pcie-width-low mlx5_2"}},
		{"nic gen1", func(m *fakenode.Machine) { nic(m, "mlx5_5").Speed = "2.5 GT/s PCIe" }, []string{"pcie-speed-low mlx5_5"}},
		{"switch uplink gen1 x1", func(m *fakenode.Machine) { d := m.Device("0000:29:00.0"); d.Speed, d.Width = "2.5 GT/s PCIe", 1 },
			[]string{"pcie-speed-low 0000:29:00.0", "pcie-width-low 0000:29:00.0"}},
		{"acs on one port", func(m *fakenode.Machine) { m.Device("0000:12:00.0").ACS = new(true) }, []string{"acs-enabled GPU0"}},
		{"nic gone", func(m *fakenode.Machine) { m.RemoveNIC("mlx5_6") }, []string{"nic-missing GPU6"}},
		{"wrong numa of nic", func(m *fakenode.Machine) { nic(m, "mlx5_1").NUMA = 1 }, []string{"numa-mismatch mlx5_1"}},
		{"wrong numa of gpu", func(m *fakenode.Machine) { gpu(m, 7).NUMA = 0 }, []string{"numa-mismatch GPU7"}},
		{"numa unknown", func(m *fakenode.Machine) { gpu(m, 2).NUMA = -1 }, []string{"numa-unknown GPU2"}},
		{"port down", func(m *fakenode.Machine) { n := m.NIC("mlx5_4"); n.State, n.PhysState = "1: DOWN", "3: Disabled" }, []string{"port-down mlx5_4/1"}},
		{"port polling", func(m *fakenode.Machine) {
			n := m.NIC("mlx5_0")
			n.State, n.PhysState, n.Rate = "1: DOWN", "2: Polling", "2.5 Gb/sec (1X SDR)"
		},
			[]string{"port-polling mlx5_0/1"}},
		{"no gpudirect", func(m *fakenode.Machine) { m.NoPeerMemory = true }, []string{"gdr-missing driver"}},
		{"port slow", func(m *fakenode.Machine) { m.NIC("mlx5_3").Rate = "200 Gb/sec (2X NDR)" }, []string{"port-rate-low mlx5_3/1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := fakenode.H100x8()
			tc.damage(m)
			if diff := cmp.Diff(tc.want, serious(static(t, m).Findings)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestIdleGPUIsNoFault: an idle GPU lowers its link, so a low speed alone is a note.
func TestIdleGPUIsNoFault(t *testing.T) {
	m := fakenode.H100x8()
	m.Device(m.GPUs[1].PCI).Speed = "2.5 GT/s PCIe"
	r := static(t, m)
	if got := serious(r.Findings); got != nil {
		t.Errorf("serious findings: %q", got)
	}
	if len(r.Findings) != 1 || r.Findings[0].Code != "pcie-speed-idle" || r.Findings[0].Subject != "GPU1" {
		t.Errorf("findings: %+v", r.Findings)
	}
}

// TestUnusedPortsAreNoFault: a storage port that is slower, a disabled port and the second port of a card are notes.
func TestUnusedPortsAreNoFault(t *testing.T) {
	m := fakenode.H100x8()
	m.NIC("mlx5_8").Board = m.NIC("mlx5_0").Board
	m.NIC("mlx5_8").LinkLayer = "InfiniBand"
	if got := serious(static(t, m).Findings); got != nil {
		t.Errorf("slow storage port: %q", got)
	}
	m = fakenode.H100x8()
	m.NIC("mlx5_8").State, m.NIC("mlx5_8").PhysState = "1: DOWN", "3: Disabled"
	if got := serious(static(t, m).Findings); got != nil {
		t.Errorf("disabled port: %q", got)
	}
	m = fakenode.H100x8()
	second := *m.NIC("mlx5_8")
	second.Name, second.State, second.PhysState, second.NetDevice = "mlx5_9", "1: DOWN", "2: Polling", ""
	m.NICs = append(m.NICs, &second)
	if got := serious(static(t, m).Findings); got != nil {
		t.Errorf("second port: %q", got)
	}
}

// TestMatrixGolden keeps the letters of each machine; -update rewrites them.
func TestMatrixGolden(t *testing.T) {
	for _, name := range fakenode.Machines() {
		t.Run(name, func(t *testing.T) {
			m, err := fakenode.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			got := letters(static(t, m))
			golden := filepath.Join("testdata", name+".matrix")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("matrix (-want +got):\n%s", diff)
			}
		})
	}
}

func letters(r *topology.NodeReport) string {
	var b strings.Builder
	for _, p := range r.Paths {
		fmt.Fprintf(&b, "%s %s %s\n", p.A, p.B, p.Type)
	}
	return b.String()
}

func TestLinksMayNotLeaveTheRoot(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sys/class/dmi/id"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "sys/class/dmi/id/product_name")); err != nil {
		t.Fatal(err)
	}
	if r := probeRoot(t, dir); r.Product != "" {
		t.Errorf("product is %q: a file outside the root was read", r.Product)
	}
}

func TestMissingRootIsAnError(t *testing.T) {
	if _, err := Run(t.Context(), Options{Root: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("no error for a root that does not exist")
	}
}

// TestThisMachine measures for real: figures must be there and plausible, not fast.
func TestThisMachine(t *testing.T) {
	r, err := Run(t.Context(), Options{Stages: []Stage{StageStatic, StageHost}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	if r.CPU == nil || r.CPU.Threads == 0 {
		t.Error("no processors found")
	}
	l := r.Measurements.Loopback
	if l == nil || l.BandwidthBytesPerSecond.Value < 1e6 || l.RoundTripSeconds.Value <= 0 || l.RoundTripSeconds.Samples != loopbackSamples {
		t.Errorf("loopback: %+v", l)
	}
	for _, m := range r.Measurements.Memory {
		if m.BandwidthBytesPerSecond.Value < 1e8 || m.BandwidthBytesPerSecond.Samples != copySamples {
			t.Errorf("memory: %+v", m)
		}
	}
	if len(r.NUMANodes) > 0 && len(r.Measurements.Memory) == 0 {
		t.Error("no NUMA node was measured")
	}
}

func BenchmarkStatic(b *testing.B) {
	dir := scratch(b)
	if err := fakenode.H100x8().WriteTree(dir); err != nil {
		b.Fatal(err)
	}
	b.Run("gpus=8/nics=9", func(b *testing.B) {
		for b.Loop() {
			probeRoot(b, dir)
		}
	})
}
