package topology

import (
	"strings"
	"testing"
)

// matrixMap is two pods of one leaf group each and one of their nodes on its own; node b runs at half its bandwidth.
func matrixMap() *Topology {
	half, measured := 0.5, 0.7
	node := func(name, group string, share *float64) Node {
		return Node{Name: name, Group: group, NominalBandwidthBytesPerSecond: 400e9, Share: share, State: Unmeasured}
	}
	return &Topology{
		Nodes: []Node{node("a", "leaf0", nil), node("b", "leaf0", &half), node("c", "leaf1", nil), node("d", "leaf2", nil), node("e", "", nil)},
		Tree: Tree{
			Levels: []Level{{Name: LeafLevel, Efficiency: 1}, {Name: PodLevel, Efficiency: 0.9}},
			Groups: []Group{
				{Name: "pod0", Level: PodLevel, Efficiency: &measured},
				{Name: "leaf0", Level: LeafLevel, Parent: "pod0", Nodes: []string{"a", "b"}},
				{Name: "leaf1", Level: LeafLevel, Parent: "pod0", Nodes: []string{"c"}},
				{Name: "leaf2", Level: LeafLevel, Nodes: []string{"d"}},
			},
		},
	}
}

func TestNodeMatrix(t *testing.T) {
	m, err := matrixMap().NodeMatrix([]string{"a", "b", "c", "d", "e"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		i, j  int
		want  float64 // 0: absent
		level string
		why   string
	}{
		{0, 0, 0, "", "a node and itself"},
		{0, 1, 200e9, LeafLevel, "the slow node limits the pair"},
		{1, 0, 200e9, LeafLevel, "both ways alike"},
		{0, 2, 280e9, PodLevel, "the measured efficiency of the pod counts, not that of the level"},
		{1, 2, 200e9, PodLevel, "the smaller limit counts, they do not multiply"},
		{0, 3, 0, "", "nothing joins the pieces"},
		{0, 4, 0, "", "a node without a group"},
	}
	for _, tt := range tests {
		got := 0.0
		if v := m.BandwidthBytesPerSecond[tt.i][tt.j]; v != nil {
			got = *v
		}
		if got != tt.want || m.Levels[tt.i][tt.j] != tt.level {
			t.Errorf("%s - %s: got %g at %q, want %g at %q: %s", m.Names[tt.i], m.Names[tt.j], got, m.Levels[tt.i][tt.j], tt.want, tt.level, tt.why)
		}
	}
	if _, err := matrixMap().NodeMatrix([]string{"a", "z"}); err == nil || !strings.Contains(err.Error(), `"z"`) {
		t.Errorf("an unknown node gives %v", err)
	}
}

func TestGroupMatrix(t *testing.T) {
	m := matrixMap().GroupMatrix()
	if got := strings.Join(m.Names, " "); got != "leaf0 leaf1 leaf2" {
		t.Fatalf("groups are %s", got)
	}
	for i, row := range [][]float64{{400e9, 280e9, 0}, {280e9, 400e9, 0}, {0, 0, 400e9}} {
		for j, want := range row {
			got := 0.0
			if v := m.BandwidthBytesPerSecond[i][j]; v != nil {
				got = *v
			}
			if got != want {
				t.Errorf("%s - %s: got %g, want %g", m.Names[i], m.Names[j], got, want)
			}
		}
	}
}
