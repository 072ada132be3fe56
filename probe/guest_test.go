package probe

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/railmap/railmap/topology"
)

// guest boots the small machine that .ci/vm/build made and returns what its probe reported, and the folder with the rest.
func guest(t *testing.T, job string) (*topology.NodeReport, string) {
	t.Helper()
	dir := os.Getenv("RAILMAP_TEST_VM")
	if dir == "" {
		t.Skip("no guest: run make test-vm, which builds it")
	}
	out := t.TempDir()
	console, err := exec.CommandContext(t.Context(), "../.ci/vm/run", dir, job, out).CombinedOutput()
	if err != nil {
		t.Fatalf("guest: %v\n%s", err, console)
	}
	r := new(topology.NodeReport)
	if err := topology.ReadFile(filepath.Join(out, "report.json"), r); err != nil {
		t.Fatalf("%v\n%s", err, console)
	}
	return r, out
}

// TestGuestPerftest measures a soft-RoCE device for real: our figures are those that perftest itself printed.
func TestGuestPerftest(t *testing.T) {
	r, out := guest(t, "rdma")
	i := slices.IndexFunc(r.NICs, func(n topology.NICReport) bool { return n.Device == "rxe0" })
	if i < 0 {
		t.Fatalf("no rxe0: %+v", r.NICs)
	}
	n := r.NICs[i]
	if n.State != "ACTIVE" || n.LinkLayer != "Ethernet" || !slices.Contains(n.NetDevices, "eth0") || n.NodeGUID == 0 || len(n.Counters) == 0 {
		t.Errorf("rxe0: %+v", n)
	}
	for tool, ours := range map[string]*topology.Measurement{"ib_write_bw": n.BandwidthBytesPerSecond, "ib_write_lat": n.LatencySeconds, "ib_read_lat": n.ReadLatencySeconds} {
		text, err := os.ReadFile(filepath.Join(out, tool+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		theirs, column := lastFigure(t, string(text)), 1e9/8
		if strings.HasSuffix(tool, "_lat") {
			column = 1e-6
		}
		if ours == nil || !close1(ours.Value, theirs*column) {
			t.Errorf("%s: we say %+v, the tool %g: %+v", tool, ours, theirs, r.Stages)
		}
	}
	if r.Verdict != topology.VerdictPass {
		t.Errorf("verdict %s: %+v", r.Verdict, r.Findings)
	}
}

// lastFigure reads column 4 (average bandwidth) or 5 (typical latency) of the last row without our parser.
func lastFigure(t *testing.T, text string) float64 {
	t.Helper()
	var header, row []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if strings.Contains(line, "#bytes") {
			header = f
		} else if header != nil && len(f) > 4 && strings.Trim(f[0], "0123456789") == "" {
			row = f
		}
	}
	if row == nil {
		t.Fatalf("the tool printed no row:\n%s", text)
	}
	at := 3
	if strings.Contains(strings.Join(header, " "), "t_typical") {
		at = 4
	}
	v, err := strconv.ParseFloat(row[at], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestGuestTree walks the PCI tree of a running two-socket machine whose root ports run far below their speed.
func TestGuestTree(t *testing.T) {
	r, _ := guest(t, "pci")
	if len(r.NUMANodes) != 2 || r.NUMANodes[1].CPUs != "2-3" || !slices.Equal(r.NUMANodes[0].Distances, []int{10, 21}) {
		t.Errorf("numa nodes: %+v", r.NUMANodes)
	}
	byAddress := index(r.PCI)
	low := 0
	for _, f := range r.Findings {
		if f.Code == "pcie-uplink-low" {
			low++
		} else if f.Severity != topology.Info {
			t.Errorf("finding %+v", f)
		}
	}
	if low != 4 {
		t.Errorf("%d uplinks named, want 4", low)
	}
	nics := 0
	for _, n := range r.NetDevices {
		d := byAddress[n.PCIAddress]
		if d == nil {
			continue
		}
		nics++
		want := map[string]int{"pci0000:20": 0, "pci0000:60": 1}[d.RootComplex]
		up := ancestors(byAddress, d)
		if d.NUMANode == nil || *d.NUMANode != want || len(up) != 3 || n.NUMANode == nil || *n.NUMANode != want {
			t.Errorf("%s at %s: NUMA %v, bridges %v, want NUMA %d and 3 bridges", n.Name, d.Address, d.NUMANode, up, want)
		}
		for _, other := range r.PCI {
			if strings.HasPrefix(other.Class, "0x00ff") && slices.Contains(ancestors(byAddress, &other), up[1]) {
				letter := pciLetter(byAddress, endpoint{pci: d.Address, numa: d.NUMANode}, endpoint{pci: other.Address, numa: other.NUMANode}, 2)
				if letter != pathPIX {
					t.Errorf("%s and %s share a switch but are %s", d.Address, other.Address, letter)
				}
			}
		}
	}
	if nics != 4 {
		t.Errorf("%d NICs, want 4", nics)
	}
}
