package nccl

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// corpus opens a file of the shared corpus; the test skips when the corpus is not there.
func corpus(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "corpus", "nccl", name))
	if err != nil {
		t.Skipf("no corpus beside this checkout: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// commOf returns the communicator of a row, with the row's own graphs.
func commOf(v Vector, version Version) (Comm, error) {
	sm := 0
	for _, part := range strings.Fields(v.Env) {
		if text, ok := strings.CutPrefix(part, "SM="); ok {
			n, err := strconv.Atoi(text)
			if err != nil {
				return Comm{}, fmt.Errorf("env %q: SM must be a number", v.Env)
			}
			sm = n
		}
	}
	if sm == 0 {
		return Comm{}, fmt.Errorf("env %q: must name SM, the compute capability × 10", v.Env)
	}
	return Comm{
		Version: version, Nodes: v.Nodes, Ranks: v.Nodes * v.GPUsPerNode, MinSM: sm, MaxSM: sm,
		CPU: cpuOfVendor(v.CPUVendor), Graphs: v.Graphs, NVSwitch: v.Graphs.NVLS.Channels > 0,
	}, nil
}

// cpuOfVendor maps the short names of a vectors file.
func cpuOfVendor(s string) CPU {
	switch s {
	case "amd":
		return CPU{Arch: "x86_64", Vendor: "AuthenticAMD"}
	case "intel":
		return CPU{Arch: "x86_64", Vendor: "GenuineIntel"}
	case "arm":
		return CPU{Arch: "arm64"}
	case "power":
		return CPU{Arch: "ppc64"}
	}
	return CPU{Vendor: s}
}

// closeTo tells whether got is within 0.5 % of want, or rounds to it at the precision that want was printed with.
func closeTo(got, want, unit float64) bool {
	return math.Abs(got-want) <= .005*want || math.Abs(got-want) <= unit/2*1.0001
}

// TestTuningVectors holds the arithmetic against NCCL's own code, given the graphs of each row.
func TestTuningVectors(t *testing.T) {
	rows, err := ReadVectors(corpus(t, "vectors.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		t.Fatal("no rows")
	}
	bad := 0
	for i, v := range rows {
		if msg := checkVector(v); msg != "" {
			if bad++; bad <= 20 {
				t.Errorf("row %d %s n=%d %s %d: %s", i+2, v.Machine, v.Nodes, v.Collective, v.SizeBytes, msg)
			}
		}
	}
	t.Logf("%d rows, %d differ", len(rows), bad)
}

func checkVector(v Vector) string {
	comm, err := commOf(v, NewestVersion)
	if err != nil {
		return err.Error()
	}
	tuning, err := NewTuning(comm, v.Collective)
	if err != nil {
		return err.Error()
	}
	best := tuning.Best(v.SizeBytes)
	if best.Algorithm != v.Best.Algorithm || best.Protocol != v.Best.Protocol {
		return fmt.Sprintf("choice %s %s, want %s %s", best.Algorithm, best.Protocol, v.Best.Algorithm, v.Best.Protocol)
	}
	if !closeTo(best.TimeSeconds*1e6, v.Best.TimeSeconds*1e6, .1) {
		return fmt.Sprintf("time %g us, want %g", best.TimeSeconds*1e6, v.Best.TimeSeconds*1e6)
	}
	if !closeTo(best.BusBandwidthBytesPerSecond/1e9, v.Best.BusBandwidthBytesPerSecond/1e9, .01) {
		return fmt.Sprintf("busbw %g GB/s, want %g", best.BusBandwidthBytesPerSecond/1e9, v.Best.BusBandwidthBytesPerSecond/1e9)
	}
	return comparePerAlgorithm(tuning.PerAlgorithm(v.SizeBytes), v.PerAlgorithm)
}

func comparePerAlgorithm(got, want []Estimate) string {
	if len(got) != len(want) {
		return fmt.Sprintf("algorithms %v, want %v", got, want)
	}
	for i, w := range want {
		if got[i].Algorithm != w.Algorithm || !closeTo(got[i].BusBandwidthBytesPerSecond/1e9, w.BusBandwidthBytesPerSecond/1e9, .1) {
			return fmt.Sprintf("%s %g GB/s, want %s %g", got[i].Algorithm, got[i].BusBandwidthBytesPerSecond/1e9, w.Algorithm, w.BusBandwidthBytesPerSecond/1e9)
		}
	}
	return ""
}

// TestBadNodeVectors: one node with a fault among good ones; the job takes the minimum.
func TestBadNodeVectors(t *testing.T) {
	rows, err := ReadBadNodes(corpus(t, "bad_node_vectors.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		t.Fatal("no rows")
	}
	for i, v := range rows {
		comm, err := commOf(v, NewestVersion)
		if err != nil {
			t.Fatal(err)
		}
		comm.Graphs = Combine(v.GoodGraphs, v.Graphs)
		tuning, err := NewTuning(comm, v.Collective)
		if err != nil {
			t.Fatal(err)
		}
		best := tuning.Best(v.SizeBytes)
		msg := comparePerAlgorithm(tuning.PerAlgorithm(v.SizeBytes), v.PerAlgorithm)
		if best.Algorithm != v.Best.Algorithm || !closeTo(best.BusBandwidthBytesPerSecond/1e9, v.Best.BusBandwidthBytesPerSecond/1e9, .01) {
			msg = fmt.Sprintf("best %s %g, want %s %g; %s", best.Algorithm, best.BusBandwidthBytesPerSecond/1e9,
				v.Best.Algorithm, v.Best.BusBandwidthBytesPerSecond/1e9, msg)
		}
		if msg != "" {
			t.Errorf("row %d, %s, %d nodes, %d bytes: %s", i+2, v.BadNode, v.Nodes, v.SizeBytes, msg)
		}
	}
}
