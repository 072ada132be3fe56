package pbs

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// fabric makes a map of pods × leaves × nodes, and one node outside.
func fabric(pods, leaves, nodes int) *topology.Topology {
	t := &topology.Topology{Tree: topology.Tree{Levels: []topology.Level{{Name: topology.LeafLevel}, {Name: topology.PodLevel}, {Name: topology.CoreLevel}}}}
	t.Tree.Groups = append(t.Tree.Groups, topology.Group{Name: "core", Level: topology.CoreLevel})
	for p := range pods {
		pod := fmt.Sprintf("pod%d", p)
		t.Tree.Groups = append(t.Tree.Groups, topology.Group{Name: pod, Level: topology.PodLevel, Parent: "core"})
		for l := range leaves {
			g := topology.Group{Name: fmt.Sprintf("leaf%d", p*leaves+l), Level: topology.LeafLevel, Parent: pod}
			for n := range nodes {
				name := fmt.Sprintf("node%04d", (p*leaves+l)*nodes+n)
				g.Nodes = append(g.Nodes, name)
				t.Nodes = append(t.Nodes, topology.Node{Name: name, Group: g.Name})
			}
			t.Tree.Groups = append(t.Tree.Groups, g)
		}
	}
	t.Nodes = append(t.Nodes, topology.Node{Name: "lost"})
	return t
}

func wounded() *topology.Topology {
	t := fabric(2, 2, 2)
	share := 0.74
	t.Nodes[3].Share = &share
	t.Nodes[3].MeasuredBandwidthBytesPerSecond = &topology.Measurement{Value: 37.3e9}
	t.Tree.Groups[2].Name, t.Nodes[0].Group, t.Nodes[1].Group = "MF0;sw 1/U1", "MF0;sw 1/U1", "MF0;sw 1/U1"
	return t
}

func TestExport(t *testing.T) {
	files, warnings, err := Export(wounded(), Options{NeverSpan: true})
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	for _, f := range files {
		golden(t, f.Name, f.Data)
	}
	if files[1].Nodes != 9 {
		t.Errorf("%d nodes, want 9", files[1].Nodes)
	}
	if p := Lint(files); len(p) > 0 {
		t.Errorf("our own lint says %v", p)
	}
	files, err = VnodeFile(wounded(), "node0003", Options{Prefix: "rm_"})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, VnodeName, files[0].Data)
}

func TestExportKeepsToTheServersNodes(t *testing.T) {
	files, warnings, err := Export(wounded(), Options{Nodes: []string{"node0001", "node0002", "cpu1"}})
	if err != nil {
		t.Fatal(err)
	}
	if files[1].Nodes != 3 || !strings.Contains(string(files[1].Data), "set node cpu1 resources_available.leaf = unk-cpu1") || strings.Contains(string(files[1].Data), "node0003") {
		t.Errorf("%d nodes\n%s", files[1].Nodes, files[1].Data)
	}
	want := "[warning: 7 nodes of the map are not known to the scheduler and are left out: lost,node[0000,0003-0007] (not-in-pbs) " +
		"warning: 1 nodes of the scheduler are not in the map and are in no group: cpu1 (not-in-map)]"
	if d := cmp.Diff(want, fmt.Sprint(warnings)); d != "" {
		t.Error(d)
	}
}

func TestExportKeepsMeasuredValuesQuiet(t *testing.T) {
	top := wounded()
	files, _, err := Export(top, Options{})
	if err != nil {
		t.Fatal(err)
	}
	top.Nodes[3].MeasuredBandwidthBytesPerSecond.Value *= 0.985
	again, _, err := Export(top, Options{Previous: ReadNodes(files[1].Data)})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(files[1].Data), string(again[1].Data)); d != "" {
		t.Error(d)
	}
}

func TestExportSameBytesForShuffledInput(t *testing.T) {
	top := wounded()
	var want []exporters.File
	r := rand.New(rand.NewSource(1))
	for range 20 {
		files, _, err := Export(top, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = files
		}
		if d := cmp.Diff(want, files); d != "" {
			t.Fatal(d)
		}
		r.Shuffle(len(top.Nodes), func(i, j int) { top.Nodes[i], top.Nodes[j] = top.Nodes[j], top.Nodes[i] })
		r.Shuffle(len(top.Tree.Groups), func(i, j int) { top.Tree.Groups[i], top.Tree.Groups[j] = top.Tree.Groups[j], top.Tree.Groups[i] })
	}
}

func TestExportRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*topology.Topology, *Options)
		want   string
	}{
		{"empty map", func(t *topology.Topology, _ *Options) { *t = topology.Topology{} }, "no nodes"},
		{"prefix", func(_ *topology.Topology, o *Options) { o.Prefix = "9" }, "resource"},
		{"dot", func(_ *topology.Topology, o *Options) { o.Prefix = "a." }, "resource"},
		{"node", func(t *topology.Topology, _ *Options) { t.Nodes[8].Name = "a,b" }, "alias"},
		{"nodes", func(_ *topology.Topology, o *Options) { o.Nodes = []string{"x"} }, "in common"},
	}
	for _, tt := range tests {
		top, o := wounded(), Options{}
		tt.change(top, &o)
		if _, _, err := Export(top, o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: err = %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := VnodeFile(wounded(), "nobody", Options{}); err == nil {
		t.Error("vnode file of an unknown node")
	}
}

func TestSelect(t *testing.T) {
	tests := []struct {
		nodes []string
		o     JobOptions
		want  string
	}{
		{[]string{"n27", "n19"}, JobOptions{CPUs: 8}, "-l select=1:ncpus=8:vnode=n27+1:ncpus=8:vnode=n19 -l place=scatter:excl"},
		{[]string{"n1"}, JobOptions{CPUs: 96, GPUs: 8, Processes: 8, Shared: true, ByHost: true}, "-l select=1:ncpus=96:ngpus=8:mpiprocs=8:host=n1 -l place=scatter"},
		{[]string{"n1"}, JobOptions{}, "-l select=1:ncpus=1:vnode=n1 -l place=scatter:excl"},
	}
	for _, tt := range tests {
		got, err := Select(tt.nodes, tt.o)
		if err != nil || got != tt.want {
			t.Errorf("Select(%v) = %q, %v, want %q", tt.nodes, got, err, tt.want)
		}
	}
	for _, nodes := range [][]string{nil, {"a", "a"}, {"a+b"}, {"a b"}, {""}} {
		if _, err := Select(nodes, JobOptions{}); err == nil {
			t.Errorf("Select(%q): no error", nodes)
		}
	}
	if _, err := Select([]string{"a"}, JobOptions{CPUs: -1}); err == nil {
		t.Error("negative cpus: no error")
	}
}

// BenchmarkExport renders 16,384 nodes.
func BenchmarkExport(b *testing.B) {
	top := fabric(16, 32, 32)
	for b.Loop() {
		if _, _, err := Export(top, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLint reads them back.
func BenchmarkLint(b *testing.B) {
	files, _, err := Export(fabric(16, 32, 32), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if p := Lint(files); len(p) > 0 {
			b.Fatal(p)
		}
	}
}

func file(name, text string) exporters.File { return exporters.File{Name: name, Data: []byte(text)} }
