package nccl

import (
	"flag"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
	"github.com/railmap/railmap/topology/nccl"
)

var update = flag.Bool("update", false, "write the golden files")

// drawn is a fabric with a slow cable and one that is out.
func drawn(t testing.TB, words string, faults ...topology.Fault) *topology.Topology {
	t.Helper()
	spec, err := topology.ParseSynthSpec(words)
	if err != nil {
		t.Fatal(err)
	}
	topo, err := topology.SynthTopology(spec, 1, faults, topology.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

func TestExport(t *testing.T) {
	topo := drawn(t, "core:1 leaf:2 node:4 rail:4 gpu:8", topology.Fault{Kind: "cable", Count: 1}, topology.Fault{Kind: "slow", Count: 1})
	files, findings, err := Export(topo, nccl.Version{})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		all.WriteString("== " + f.Name + "\n" + string(f.Data))
		for _, line := range strings.Split(strings.TrimSpace(string(f.Data)), "\n") {
			if strings.HasPrefix(line, "#") == strings.Contains(line, "=") {
				t.Errorf("%s: NCCL takes every line with '=' for a setting: %q", f.Name, line)
			}
		}
	}
	if len(findings) == 0 || files[0].Nodes != 8 {
		t.Errorf("%d findings, %d nodes", len(findings), files[0].Nodes)
	}
	path := filepath.Join("testdata", "confs")
	if *update {
		if err := os.WriteFile(path, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if d := cmp.Diff(string(want), all.String()); err != nil || d != "" {
		t.Error(err, d)
	}
}

func TestExportSameBytesForShuffledInput(t *testing.T) {
	topo := drawn(t, "core:1 leaf:2 node:4 rail:4 gpu:8", topology.Fault{Kind: "slow", Count: 2})
	var want []exporters.File
	r := rand.New(rand.NewSource(1))
	for range 20 {
		files, _, err := Export(topo, nccl.Version{})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = files
		}
		if d := cmp.Diff(want, files); d != "" {
			t.Fatal(d)
		}
		r.Shuffle(len(topo.Nodes), func(i, j int) { topo.Nodes[i], topo.Nodes[j] = topo.Nodes[j], topo.Nodes[i] })
	}
}

func TestExportRefuses(t *testing.T) {
	if _, _, err := Export(&topology.Topology{}, nccl.Version{}); err == nil {
		t.Error("empty map: no error")
	}
}

// BenchmarkExport renders 16,384 nodes with 8 rails.
func BenchmarkExport(b *testing.B) {
	topo := drawn(b, "core:1 pod:16 leaf:32 node:32 rail:8 gpu:8")
	for b.Loop() {
		if _, _, err := Export(topo, nccl.Version{}); err != nil {
			b.Fatal(err)
		}
	}
}
