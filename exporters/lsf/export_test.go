package lsf

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

// wounded has a leaf directly below the core, names that LSF does not take, a group with the name of a host, and a lost host.
func wounded() *topology.Topology {
	t := fabric(2, 3, 2)
	for i := range t.Tree.Groups {
		switch g := &t.Tree.Groups[i]; g.Name {
		case "leaf1":
			g.Parent = "core"
		case "leaf2":
			g.Name = "MF0;sw 1/U1"
		case "leaf3":
			g.Name = "node0000"
		}
	}
	return t
}

func TestExport(t *testing.T) {
	files, err := Export(wounded())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		golden(t, f.Name, f.Data)
	}
	if p := Lint(files); len(p) > 0 || files[0].Nodes != 13 {
		t.Errorf("%d nodes, our own lint says %v", files[0].Nodes, p)
	}
}

// TestExportHoldsTogether: on random ragged trees the files keep IBM's rules and every host is in one unit of every type.
func TestExportHoldsTogether(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		top := fabric(rapid.IntRange(1, 3).Draw(rt, "pods"), rapid.IntRange(1, 4).Draw(rt, "leaves"), rapid.IntRange(1, 3).Draw(rt, "nodes"))
		for i := range top.Tree.Groups {
			switch g := &top.Tree.Groups[i]; rapid.IntRange(0, 7).Draw(rt, "fault") {
			case 0:
				g.Parent = ""
			case 1:
				if g.Parent != "" {
					g.Parent = "core"
				}
			case 2:
				for j := range top.Nodes {
					if top.Nodes[j].Group == g.Name {
						top.Nodes[j].Group = ""
					}
				}
				g.Nodes = nil
			}
		}
		files, err := Export(top)
		if err != nil {
			rt.Fatal(err)
		}
		if p := Lint(files); len(p) > 0 {
			rt.Fatalf("%v\n%s", p, files[0].Data)
		}
		for _, n := range top.Nodes {
			if strings.Count(string(files[0].Data), n.Name+" ")+strings.Count(string(files[0].Data), n.Name+")") < 1 {
				rt.Fatalf("%s is in no unit", n.Name)
			}
		}
	})
}

func TestExportSameBytesForShuffledInput(t *testing.T) {
	top := wounded()
	var want []exporters.File
	r := rand.New(rand.NewSource(1))
	for range 20 {
		files, err := Export(top)
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
	if _, err := Export(&topology.Topology{}); err == nil {
		t.Error("empty map: no error")
	}
	top := wounded()
	top.Nodes[12].Name = "a b"
	if _, err := Export(top); err == nil || !strings.Contains(err.Error(), "alias") {
		t.Errorf("host name: %v", err)
	}
}

func TestJob(t *testing.T) {
	got, err := UnitRequest("leaf", PreferBestFit, 2)
	if want := `-R "cu[type=leaf:pref=bestfit:maxcus=2]"`; err != nil || got != want {
		t.Errorf("UnitRequest = %s, %v, want %s", got, err, want)
	}
	for _, in := range []struct {
		level, pref string
		max         int
	}{{"a b", PreferConfig, 0}, {"leaf", "best", 0}, {"leaf", PreferConfig, -1}} {
		if _, err := UnitRequest(in.level, in.pref, in.max); err == nil {
			t.Errorf("UnitRequest(%v): no error", in)
		}
	}
	file, err := Hostfile([]string{"n27", "n19"}, 8)
	if err != nil || string(file) != "n27 8\nn19 8\n" {
		t.Errorf("Hostfile = %q, %v", file, err)
	}
	for _, nodes := range [][]string{nil, {"a", "a"}, {"a b"}} {
		if _, err := Hostfile(nodes, 1); err == nil {
			t.Errorf("Hostfile(%q): no error", nodes)
		}
	}
	if _, err := Hostfile([]string{"a"}, 0); err == nil {
		t.Error("no slots: no error")
	}
}

func TestLint(t *testing.T) {
	const params = "COMPUTE_UNIT_TYPES = leaf! spine\n"
	const units = "Begin ComputeUnit\nNAME  MEMBER  TYPE\nleaf0 (n1 n2) leaf\nleaf1 (n3 n4) leaf\nspine0 (leaf0 leaf1) spine\nEnd ComputeUnit\n"
	tests := []struct{ name, old, new, want string }{
		{"good", "", "", ""},
		{"comment", "leaf0 (n1", "# x\nleaf0 (n1", ""},
		{"egroup", "(n1 n2)", "(!)", ""},
		{"other section", "Begin ComputeUnit", "Begin HostGroup\nGROUP_NAME GROUP_MEMBER\na (b)\nEnd HostGroup\nBegin ComputeUnit", ""},
		{"host twice", "(n3 n4)", "(n1 n4)", "member-twice"},
		{"unit twice", "leaf1 (n3", "leaf0 (n3", "unit-repeated"},
		{"host in a coarse unit", "(leaf0 leaf1)", "(leaf0 leaf1 n9)", "member-kind"},
		{"unit in the finest", "(n3 n4)", "(n3 spine0)", "member-kind"},
		{"type", "leaf\nleaf1", "rack\nleaf1", "type-unknown"},
		{"skipped level", "leaf! spine", "leaf! pod spine", "member-kind"},
		{"two defaults", "leaf! spine", "leaf! spine!", "types"},
		{"type twice", "leaf! spine", "leaf! leaf", "types"},
		{"no types", params, "", "types"},
		{"no types left", "leaf! spine", "", "types"},
		{"alone", "(leaf0 leaf1)", "(leaf0)", "unit-alone"},
		{"empty", "(n1 n2)", "()", "members"},
		{"columns", "(n1 n2)", "n1 n2", "columns"},
		{"heading", "NAME  MEMBER  TYPE", "NAME  MEMBER  KIND", "columns"},
		{"name", "leaf0 (n1", "leaf.0 (n1", "name"},
		{"no end", "End ComputeUnit", "", "section"},
		{"no begin", "Begin ComputeUnit", "", "section"},
		{"nested", "NAME", "Begin Host\nNAME", "section"},
	}
	for _, tt := range tests {
		text := strings.Replace(params+units, tt.old, tt.new, 1)
		problems := Lint([]exporters.File{{Name: "a", Data: []byte(text)}})
		if got := fmt.Sprint(problems); tt.want == "" && len(problems) > 0 || !strings.Contains(got, tt.want) {
			t.Errorf("%s: problems = %v, want %q", tt.name, problems, tt.want)
		}
	}
	twice := Lint([]exporters.File{{Name: "a", Data: []byte(params + units)}, {Name: "b", Data: []byte(params)}})
	if got := fmt.Sprint(twice); !strings.Contains(got, "b:1: error: COMPUTE_UNIT_TYPES stands twice") {
		t.Errorf("types in two files: %v", twice)
	}
}

func FuzzLint(f *testing.F) {
	f.Add([]byte("COMPUTE_UNIT_TYPES = leaf! spine\nBegin ComputeUnit\nNAME MEMBER TYPE\nleaf0 (n1 n2) leaf\nEnd ComputeUnit\n"))
	f.Add([]byte("Begin ComputeUnit\n\nEnd Host\n((a b) c\n)"))
	f.Fuzz(func(t *testing.T, data []byte) { Lint([]exporters.File{{Name: "a", Data: data}}) })
}

// BenchmarkExport renders 16,384 nodes.
func BenchmarkExport(b *testing.B) {
	top := fabric(16, 32, 32)
	for b.Loop() {
		if _, err := Export(top); err != nil {
			b.Fatal(err)
		}
	}
}
