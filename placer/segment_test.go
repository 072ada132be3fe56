package placer

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// plainCluster has pods × leaves × nodes healthy nodes named n000, n001, ... in order, 8 GPUs each.
func plainCluster(t *testing.T, pods, leaves, nodes int) *Cluster {
	t.Helper()
	topo := &topology.Topology{}
	topo.Tree.Levels = []topology.Level{{Name: "leaf", Efficiency: 1}, {Name: "pod", Efficiency: .92}, {Name: "core", Efficiency: .83}}
	topo.Tree.Groups = []topology.Group{{Name: "core", Level: "core"}}
	for p := range pods {
		pod := fmt.Sprintf("pod%d", p)
		topo.Tree.Groups = append(topo.Tree.Groups, topology.Group{Name: pod, Level: "pod", Parent: "core"})
		for l := range leaves {
			leaf := topology.Group{Name: fmt.Sprintf("leaf%d-%d", p, l), Level: "leaf", Parent: pod}
			for range nodes {
				n := fmt.Sprintf("n%03d", len(topo.Nodes))
				leaf.Nodes = append(leaf.Nodes, n)
				topo.Nodes = append(topo.Nodes, topology.Node{Name: n, GPUCount: 8, State: topology.OK})
			}
			topo.Tree.Groups = append(topo.Tree.Groups, leaf)
		}
	}
	c, err := NewCluster(topo, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestChooseSegment: leaves of 6 nodes with 5, 4, 3 and 6 free hold 16 nodes in segments of 4 only as far as they go.
func TestChooseSegment(t *testing.T) {
	c := plainCluster(t, 1, 4, 6)
	s, err := c.Snapshot(State{Busy: []string{"n000", "n006", "n007", "n012", "n013", "n014"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ nodes, segment int }{{12, 4}, {8, 4}, {16, 2}, {6, 6}, {18, 3}} {
		p, err := Place(s, &Request{Nodes: want.nodes, ChooseSegment: true})
		if want.nodes == 18 {
			if err != nil || p.Segment < 1 {
				t.Errorf("18 nodes: %v", err)
			}
			continue
		}
		if err != nil || p.Segment%want.segment != 0 {
			t.Errorf("%d nodes: segment %d (%v), want a multiple of %d", want.nodes, p.Segment, err, want.segment)
		}
	}
}

func TestLayout(t *testing.T) {
	s, err := plainCluster(t, 2, 3, 4).Snapshot(State{Busy: []string{"n000", "n004"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Place(s, &Request{Nodes: 4, GPUsPerNode: 8, Layout: &Layout{Tensor: 8, Pipeline: 2, Data: 2}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Stages) != 2 || p.Stages[0].LeafGroups != 1 || p.Stages[1].LeafGroups != 1 || len(p.Stages[1].Nodes) != 2 {
		t.Errorf("%+v", p.Stages)
	}
	if d := cmp.Diff(p.Nodes, append(append([]string{}, p.Stages[0].Nodes...), p.Stages[1].Nodes...)); d != "" {
		t.Error(d)
	}
	for _, bad := range []Request{
		{Nodes: 4, GPUsPerNode: 8, Layout: &Layout{Tensor: 16, Pipeline: 1, Data: 2}},
		{Nodes: 4, GPUsPerNode: 8, Layout: &Layout{Tensor: 8, Pipeline: 2, Data: 3}},
		{Nodes: 4, Layout: &Layout{Tensor: 8, Pipeline: 2, Data: 2}},
	} {
		if _, err := Place(s, &bad); err == nil {
			t.Errorf("%+v was accepted", bad.Layout)
		}
	}
}

// TestDomainIsNotSplit: a job over multi-node NVLink stays inside one NVLink domain, or is refused.
func TestDomainIsNotSplit(t *testing.T) {
	topo := &topology.Topology{}
	topo.Tree.Levels = []topology.Level{{Name: "domain", Efficiency: 1}, {Name: "leaf", Efficiency: 1}, {Name: "core", Efficiency: .9}}
	topo.Tree.Groups = []topology.Group{{Name: "core", Level: "core"}}
	for l := range 2 {
		leaf := fmt.Sprintf("leaf%d", l)
		topo.Tree.Groups = append(topo.Tree.Groups, topology.Group{Name: leaf, Level: "leaf", Parent: "core"})
		for d := range 2 {
			g := topology.Group{Name: fmt.Sprintf("rack%d%d", l, d), Level: "domain", Parent: leaf}
			for i := range 4 {
				n := fmt.Sprintf("n%d%d%d", l, d, i)
				g.Nodes = append(g.Nodes, n)
				topo.Nodes = append(topo.Nodes, topology.Node{Name: n, State: topology.OK})
			}
			topo.Tree.Groups = append(topo.Tree.Groups, g)
		}
	}
	c, err := NewCluster(topo, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := c.Snapshot(State{Busy: []string{"n000", "n010", "n100"}})
	p, err := Place(s, &Request{Nodes: 4, Within: "domain"})
	if err != nil || p.Group != "rack11" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err = Place(s, &Request{Nodes: 5, Within: "domain"}); err == nil {
		t.Error("5 nodes in a domain of 4 were placed")
	}
	p, err = Place(s, &Request{Nodes: 6, SegmentNodes: 3})
	if err != nil || p.Segment != 3 || p.Level != "leaf" {
		t.Errorf("%+v, %v", p, err)
	}
}
