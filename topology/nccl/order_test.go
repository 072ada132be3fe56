package nccl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

func TestCheckOrder(t *testing.T) {
	top := twoLevels(8, 4, 1)
	for _, tc := range []struct {
		name    string
		nodes   []string
		leaving OrderCounts
		codes   []string
	}{
		{"in tree order", nodeNames(0, 1, 2, 3, 4, 5, 6, 7), OrderCounts{2, 2, 2}, nil},
		{"interleaved", nodeNames(0, 4, 1, 5, 2, 6, 3, 7), OrderCounts{8, 2, 2}, []string{CodeOrder}},
		{"one leaf", nodeNames(3, 1, 2), OrderCounts{0, 0, 0}, nil},
		{"one node", nodeNames(3), OrderCounts{0, 0, 0}, nil},
		{"unknown node", []string{"n0", "x1", "n1"}, OrderCounts{2, 2, 2}, []string{CodeOrderUnseen}},
	} {
		c := cluster(t, top)
		r := CheckOrder(c.fabric, tc.nodes)
		var codes []string
		for _, f := range r.Findings {
			codes = append(codes, f.Code)
		}
		if d := cmp.Diff(tc.leaving, r.Leaving) + cmp.Diff(tc.codes, codes); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

// TestCheckOrderSorted: names that do not sort as the map does lose a good order under torchrun's dynamic rendezvous.
func TestCheckOrderSorted(t *testing.T) {
	top := twoLevels(4, 2, 1)
	rename := map[string]string{"n0": "a1", "n1": "b1", "n2": "a2", "n3": "b2"}
	for i := range top.Nodes {
		top.Nodes[i].Name = rename[top.Nodes[i].Name]
	}
	r := CheckOrder(cluster(t, top).fabric, []string{"a1", "b1", "a2", "b2"})
	if r.Leaving != (OrderCounts{2, 2, 4}) || len(r.Findings) != 1 || r.Findings[0].Code != CodeOrderSorted {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.Findings[0].Message, "4 ring edges would leave their leaf group instead of 2") {
		t.Errorf("message %q", r.Findings[0].Message)
	}
}

func TestFabricSort(t *testing.T) {
	top := twoLevels(6, 3, 1)
	top.Tree.Groups[2].Nodes = []string{"n5", "n3", "n4"} // physical order differs from names
	got := cluster(t, top).fabric.Sort([]string{"x", "n4", "n0", "n3", "n5", "n2"})
	if d := cmp.Diff([]string{"n0", "n2", "n5", "n3", "n4", "x"}, got); d != "" {
		t.Error(d)
	}
}

func TestOrderFiles(t *testing.T) {
	names := []string{"b", "a"}
	for _, tc := range []struct{ name, got, want string }{
		{"host list", HostList(names), "b\na\n"},
		{"slurm hostfile", SlurmHostfile(names, 2), "b\nb\na\na\n"},
		{"rankfile", Rankfile(names, 2), "rank 0=b slot=0\nrank 1=b slot=1\nrank 2=a slot=0\nrank 3=a slot=1\n"},
		{"torchrun", TorchrunMap(names), "b 0\na 1\n"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, tc.got, tc.want)
		}
	}
}

// TestClusterModels: nodes of one outline share a model; missing NICs and part of a node show.
func TestClusterModels(t *testing.T) {
	top := withNICs(twoLevels(3, 3, 1))
	top.Nodes[1].NICs[5].State = topology.Down
	top.Nodes[2].GPUModel = "NVIDIA B200"
	c := cluster(t, top)
	j, err := c.Job(nodeNames(0, 1, 2), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range j.Nodes {
		got = append(got, n.Model.Name+": "+n.Model.Joined.Tuple())
	}
	want := []string{
		"default 8xH100, 8x400G: 8 48 48 1 4 2 8 48 48 1 4 0 8 40 48 1 4 0",
		"default 8xH100, 7x400G: 7 48 48 1 7 0 7 48 48 1 4 0 7 45 48 1 4 0",
		"default 8xB200, 8x400G: 8 48 48 1 7 0 8 96 48 1 4 0 8 48 48 1 4 0",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if a, b := c.Model(0, 0), c.Model(0, 0); a != b {
		t.Error("one outline must give one model")
	}
	if m := c.Model(0, 4); m.GPUs != 4 || m.Joined.Ring.Channels != 8 || m.Joined.Ring.BwInter != 24 {
		t.Errorf("half of a node: %+v", m)
	}
	if _, err := c.Job([]string{"n0", "who"}, 0); err == nil || !strings.Contains(err.Error(), "does not know who") {
		t.Errorf("unknown node: %v", err)
	}
	if _, err := c.Job([]string{"n0", "n0"}, 0); err == nil || !strings.Contains(err.Error(), "n0 stands twice") {
		t.Errorf("a node twice: %v", err)
	}
}
