package exporters

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

func levels(names ...string) []topology.Level {
	var l []topology.Level
	for _, n := range names {
		l = append(l, topology.Level{Name: n, Efficiency: 1})
	}
	return l
}

func group(name, level, parent string, nodes ...string) topology.Group {
	return topology.Group{Name: name, Level: level, Parent: parent, Nodes: nodes}
}

// ragged has a leaf below the core, a part without a core, a node directly in a pod, two nodes in a domain and a lost node.
func ragged() *topology.Topology {
	t := &topology.Topology{Tree: topology.Tree{
		Levels: levels(topology.DomainLevel, topology.LeafLevel, topology.PodLevel, topology.CoreLevel),
		Groups: []topology.Group{
			group("core0", topology.CoreLevel, ""),
			group("pod0", topology.PodLevel, "core0", "n9"),
			group("leaf2", topology.LeafLevel, "pod0", "n3"),
			group("nvl0", topology.DomainLevel, "leaf2", "n1", "n2"),
			group("leaf10", topology.LeafLevel, "pod0", "n10"),
			group("leaf3", topology.LeafLevel, "core0", "n4"),
			group("leaf4", topology.LeafLevel, "", "n5"),
		},
	}}
	for _, n := range []string{"n1", "n2", "n3", "n4", "n5", "n9", "n10", "lost"} {
		t.Nodes = append(t.Nodes, topology.Node{Name: n})
	}
	return t
}

func TestFlattenFillsGaps(t *testing.T) {
	top := ragged()
	want := []string{
		"n4: core0 leaf3 leaf3 ", "n1: core0 pod0 leaf2 nvl0", "n2: core0 pod0 leaf2 nvl0", "n3: core0 pod0 leaf2 ", "n10: core0 pod0 leaf10 ",
		"n9: core0 pod0  ", "n5: leaf4 leaf4 leaf4 ", "lost:    ",
	}
	r := rand.New(rand.NewSource(1))
	for i := range 20 {
		flat, err := Flatten(top)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"core", "pod", "leaf", "domain"}, flat.Levels); d != "" {
			t.Error(d)
		}
		var got []string
		for _, n := range flat.Nodes {
			got = append(got, n.Name+": "+strings.Join(n.Groups, " "))
			if n.Attached() == (n.Name == "lost") {
				t.Errorf("%s: attached %v", n.Name, n.Attached())
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("run %d (-want +got):\n%s", i, d)
		}
		r.Shuffle(len(top.Nodes), func(i, j int) { top.Nodes[i], top.Nodes[j] = top.Nodes[j], top.Nodes[i] })
		r.Shuffle(len(top.Tree.Groups), func(i, j int) {
			top.Tree.Groups[i], top.Tree.Groups[j] = top.Tree.Groups[j], top.Tree.Groups[i]
		})
	}
}

func TestFlattenRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*topology.Topology)
		want   string
	}{
		{"circle", func(t *topology.Topology) { t.Tree.Groups[0].Parent = "leaf3" }, "above"},
		{"own parent", func(t *topology.Topology) { t.Tree.Groups[0].Parent = "core0" }, "above"},
		{"unknown parent", func(t *topology.Topology) { t.Tree.Groups[0].Parent = "x" }, "parent"},
		{"unknown level", func(t *topology.Topology) { t.Tree.Groups[0].Level = "x" }, "level"},
		{"level twice", func(t *topology.Topology) { t.Tree.Levels[0].Name = "leaf" }, "level"},
		{"group twice", func(t *topology.Topology) { t.Tree.Groups[1].Name = "core0" }, "name of its own"},
		{"node twice", func(t *topology.Topology) { t.Nodes[0].Name = "n2" }, "name of its own"},
		{"unknown node", func(t *topology.Topology) { t.Tree.Groups[0].Nodes = []string{"x"} }, "among the nodes"},
		{"two groups", func(t *topology.Topology) { t.Tree.Groups[0].Nodes = []string{"n1"} }, "must be in one"},
		{"deep", func(t *topology.Topology) { t.Tree.Levels = make([]topology.Level, 17) }, "at most"},
	}
	for _, tt := range tests {
		top := ragged()
		tt.change(top)
		if _, err := Flatten(top); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: err = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestFlattenFallsBackOnTheGroupOfTheNode(t *testing.T) {
	top := ragged()
	top.Nodes[7].Group = "leaf10"
	flat, err := Flatten(top)
	if err != nil {
		t.Fatal(err)
	}
	if got := flat.Nodes[4]; got.Name != "lost" || got.Groups[2] != "leaf10" {
		t.Errorf("lost is at %s %v", got.Name, got.Groups)
	}
}
