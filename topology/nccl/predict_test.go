package nccl

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/railmap/railmap/topology"
)

// twoLevels is a fabric of leaf groups below one pod: nodes "n0".."n<count-1>", perLeaf of them a group, nominal 400 GB/s, and
// uplinks of so many node-worths.
func twoLevels(count, perLeaf int, uplink float64) *topology.Topology {
	t := &topology.Topology{Tree: topology.Tree{
		Levels: []topology.Level{{Name: topology.LeafLevel, Efficiency: 1}, {Name: topology.PodLevel, Efficiency: 1}},
		Groups: []topology.Group{{Name: "pod", Level: topology.PodLevel}},
	}}
	for i := range count {
		leaf := fmt.Sprintf("leaf%d", i/perLeaf)
		if i%perLeaf == 0 {
			t.Tree.Groups = append(t.Tree.Groups, topology.Group{Name: leaf, Level: topology.LeafLevel, Parent: "pod", Uplink: &uplink, UplinkMeasured: true})
		}
		t.Nodes = append(t.Nodes, topology.Node{Name: fmt.Sprintf("n%d", i), Group: leaf, NominalBandwidthBytesPerSecond: 400e9})
	}
	return t
}

// usualNode is the model of eight H100 with a NIC of 400 Gb/s each.
var usualNode = sync.OnceValue(func() *NodeModel { return DefaultNode(NodeSpec{}) })

// jobOn makes an AllReduce of 8 GiB on the nodes, in order, each with the default model.
func jobOn(t testing.TB, top *topology.Topology, names ...string) *Job {
	t.Helper()
	f, err := NewFabric(top)
	if err != nil {
		t.Fatal(err)
	}
	model := usualNode()
	j := &Job{Collective: AllReduce, SizeBytes: 8 << 30, Fabric: f}
	for _, n := range names {
		j.Nodes = append(j.Nodes, JobNode{Name: n, Model: model, Place: f.Place(n)})
	}
	return j
}

func predict(t testing.TB, j *Job) Prediction {
	t.Helper()
	p, err := Predict(j)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func nodeNames(index ...int) []string {
	var out []string
	for _, i := range index {
		out = append(out, fmt.Sprintf("n%d", i))
	}
	return out
}

func gbps(e Estimate) float64 { return e.BusBandwidthBytesPerSecond / 1e9 }

func ofAlgorithm(p Prediction, a Algorithm) float64 {
	for _, e := range p.PerAlgorithm {
		if e.Algorithm == a {
			return gbps(e)
		}
	}
	return 0
}

// TestPredictOrder: with four node-worths of uplink for four nodes a leaf, any order of a ring is free; with one, the ring in
// leaf order crosses each uplink once, interleaved four times, and only a quarter is left.
func TestPredictOrder(t *testing.T) {
	sorted, mixed := nodeNames(0, 1, 2, 3, 4, 5, 6, 7), nodeNames(0, 4, 1, 5, 2, 6, 3, 7)
	for _, tc := range []struct {
		name    string
		uplink  float64
		nodes   []string
		ring    float64 // GB/s
		kind    BindingKind
		subject string
		edges   []Crossing
	}{
		{"wide, in order", 4, sorted, 377.0, BindingNIC, "", []Crossing{{"leaf", 6}, {"pod", 2}}},
		{"wide, interleaved", 4, mixed, 377.0, BindingNIC, "", []Crossing{{"pod", 8}}},
		{"narrow, in order", 1, sorted, 377.0, BindingNIC, "", []Crossing{{"leaf", 6}, {"pod", 2}}},
		{"narrow, interleaved", 1, mixed, 99.6, BindingUplink, "leaf0", []Crossing{{"pod", 8}}},
		{"half, in order", .5, sorted, 197.5, BindingUplink, "leaf0", []Crossing{{"leaf", 6}, {"pod", 2}}},
	} {
		p := predict(t, jobOn(t, twoLevels(8, 4, tc.uplink), tc.nodes...))
		if got := ofAlgorithm(p, Ring); math.Abs(got-tc.ring) > .005*tc.ring {
			t.Errorf("%s: Ring %g GB/s, want %g", tc.name, got, tc.ring)
		}
		if p.Algorithm != Ring || p.Binding.Kind != tc.kind || p.Binding.Subject != tc.subject {
			t.Errorf("%s: %s bound by %+v, want %s %q", tc.name, p.Algorithm, p.Binding, tc.kind, tc.subject)
		}
		if !slices.Equal(p.Crossings, tc.edges) {
			t.Errorf("%s: crossings %v, want %v", tc.name, p.Crossings, tc.edges)
		}
	}
}

// TestPredictWeakNode: a node that measures half of its network halves the job and is named with its NIC.
func TestPredictWeakNode(t *testing.T) {
	top := twoLevels(8, 4, 4)
	half := .5
	top.Nodes[5].Share, top.Nodes[5].Limiting = &half, "mlx5_3"
	p := predict(t, jobOn(t, top, nodeNames(0, 1, 2, 3, 4, 5, 6, 7)...))
	if got := ofAlgorithm(p, Ring); math.Abs(got-190.2) > 1 {
		t.Errorf("Ring %g GB/s, want 190.2", got)
	}
	if p.Binding.Kind != BindingNode || p.Binding.Subject != "n5" || p.Binding.Device != "mlx5_3" {
		t.Errorf("bound by %+v, want node n5, mlx5_3", p.Binding)
	}
}

// TestPredictUnequalModels: the model of one node is worse; its graphs bring the minimum to all.
func TestPredictUnequalModels(t *testing.T) {
	j := jobOn(t, twoLevels(4, 4, 4), nodeNames(0, 1, 2, 3)...)
	slow := *j.Nodes[0].Model
	slow.Name, slow.Limiting = "one NIC at 200G", "mlx5_3 at 200 Gb/s, the others at 400"
	slow.Joined.Ring.Channels, slow.Joined.Ring.BwIntra, slow.Joined.Ring.BwInter = 15, 24, 24
	slow.Joined.Tree.Channels, slow.Joined.Tree.BwIntra, slow.Joined.Tree.BwInter = 15, 24, 24
	slow.Joined.NVLS.Channels, slow.Joined.NVLS.BwIntra = 7, 45
	j.Nodes[2].Model = &slow
	p := predict(t, j)
	if p.Tuple != "8 24 24 1 4 2 8 24 24 1 4 0 7 40 48 1 4 0" {
		t.Errorf("graphs %q", p.Tuple)
	}
	if got := ofAlgorithm(p, Ring); math.Abs(got-191.1) > 1 {
		t.Errorf("Ring %g GB/s, want 191.1", got)
	}
	if p.Binding.Kind != BindingNode || p.Binding.Subject != "n2" || p.Binding.Device != slow.Limiting {
		t.Errorf("bound by %+v, want node n2", p.Binding)
	}
}

// TestPredictOddRails: on rails without a path between them an odd number of nodes halves the ring.
func TestPredictOddRails(t *testing.T) {
	top := twoLevels(4, 4, 4)
	zero, one := 0, 1
	top.Switches = []topology.Switch{
		{Name: "rail0", Role: topology.FabricSwitch, Group: "leaf0", Rail: &zero},
		{Name: "rail1", Role: topology.FabricSwitch, Group: "leaf0", Rail: &one},
	}
	three := predict(t, jobOn(t, top, nodeNames(0, 1, 2)...))
	four := predict(t, jobOn(t, top, nodeNames(0, 1, 2, 3)...))
	if three.Binding.Kind != BindingRail || ofAlgorithm(three, Ring) > .51*ofAlgorithm(four, Ring) {
		t.Errorf("three nodes: Ring %g of %g GB/s, bound by %+v; want half, bound by the rail", ofAlgorithm(three, Ring), ofAlgorithm(four, Ring), three.Binding)
	}
	if four.Binding.Kind != BindingNIC {
		t.Errorf("four nodes: bound by %+v", four.Binding)
	}
	top.Switches = append(top.Switches, topology.Switch{Name: "spine", Role: topology.FabricSwitch, Tier: 1})
	for _, s := range []string{"rail0", "rail1"} {
		top.Links = append(top.Links, topology.Link{A: topology.LinkEnd{Switch: s}, B: topology.LinkEnd{Switch: "spine"}})
	}
	if p := predict(t, jobOn(t, top, nodeNames(0, 1, 2)...)); p.Binding.Kind != BindingNIC {
		t.Errorf("three nodes with a spine: bound by %+v", p.Binding)
	}
}

// TestPredictDomain: hosts of one NVLink domain count as one node; a job inside one never leaves it.
func TestPredictDomain(t *testing.T) {
	top := twoLevels(4, 2, 1)
	for i := range top.Nodes {
		top.Nodes[i].NVLinkDomain = fmt.Sprintf("domain%d", i/2)
	}
	j := jobOn(t, top, nodeNames(0, 1, 2, 3)...)
	model := DefaultNode(NodeSpec{GPUModel: "GB200", GPUs: 4})
	for i := range j.Nodes {
		j.Nodes[i].Model = model
	}
	if p := predict(t, j); p.Nodes != 2 || p.Ranks != 16 {
		t.Errorf("%d nodes, %d ranks; want 2, 16", p.Nodes, p.Ranks)
	}
	j.Nodes = j.Nodes[:2]
	if p := predict(t, j); p.Nodes != 1 || p.Ranks != 8 || p.Binding.Kind != BindingNVLink || p.BusBandwidthBytesPerSecond < 600e9 {
		t.Errorf("one domain: %d nodes, %d ranks, %g, bound by %+v", p.Nodes, p.Ranks, p.BusBandwidthBytesPerSecond, p.Binding)
	}
}

// TestPredictAllToAll: half of the nodes on each side of the uplinks.
func TestPredictAllToAll(t *testing.T) {
	j := jobOn(t, twoLevels(8, 4, 1), nodeNames(0, 1, 2, 3, 4, 5, 6, 7)...)
	j.Collective = AllToAll
	p := predict(t, j)
	// 4 x 4 / 7 node-worths of 400 GB/s pass an uplink of 400: each node sends 7/16 of 400, of which 63/64 leave... the GPU.
	if p.Binding.Kind != BindingUplink || math.Abs(gbps(p.PerAlgorithm[0])-400*7./16/8*63/56) > .5 {
		t.Errorf("%g GB/s, bound by %+v", gbps(p.PerAlgorithm[0]), p.Binding)
	}
}

func TestPredictErrors(t *testing.T) {
	if _, err := Predict(&Job{}); err == nil {
		t.Error("a job without nodes must be an error")
	}
	if _, err := Predict(&Job{Nodes: []JobNode{{Name: "a"}}}); err == nil {
		t.Error("a node without a model must be an error")
	}
	top := twoLevels(1, 1, 1)
	top.Tree.Groups[1].Level = "rack"
	if _, err := NewFabric(top); err == nil {
		t.Error("a level that the tree lacks must be an error")
	}
	top = twoLevels(1, 1, 1)
	top.Tree.Groups[1].Parent = "elsewhere"
	if _, err := NewFabric(top); err == nil {
		t.Error("a parent that does not stand before must be an error")
	}
}

// TestPredictInvariants: more uplink never slows a job; no order beats the leaf order of equal nodes for a ring.
func TestPredictInvariants(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		leaves, per := rapid.IntRange(1, 5).Draw(r, "leaves"), rapid.IntRange(1, 5).Draw(r, "perLeaf")
		count := leaves * per
		uplink := rapid.Float64Range(.1, 4).Draw(r, "uplink")
		order := make([]int, count)
		for i := range order {
			order[i] = i
		}
		sorted := predict(t, jobOn(t, twoLevels(count, per, uplink), nodeNames(order...)...))
		shuffled := rapid.Permutation(order).Draw(r, "order")
		any := predict(t, jobOn(t, twoLevels(count, per, uplink), nodeNames(shuffled...)...))
		if ofAlgorithm(any, Ring) > ofAlgorithm(sorted, Ring)*1.000001 {
			r.Fatalf("order %v: %g GB/s, in leaf order %g", shuffled, ofAlgorithm(any, Ring), ofAlgorithm(sorted, Ring))
		}
		wider := predict(t, jobOn(t, twoLevels(count, per, uplink*1.5), nodeNames(shuffled...)...))
		if wider.TimeSeconds > any.TimeSeconds*1.000001 {
			r.Fatalf("order %v: wider uplinks %g s, narrower %g s", shuffled, wider.TimeSeconds, any.TimeSeconds)
		}
		total := 0
		for _, c := range any.Crossings {
			total += c.Edges
		}
		if want := count; count > 1 && total != want {
			r.Fatalf("crossings %v: must count all %d edges", any.Crossings, want)
		}
	})
}

// TestTreeParent checks the double binary tree of eight nodes: 0-4 4-2 4-6 2-1 2-3 6-5 6-7.
func TestTreeParent(t *testing.T) {
	var got []int
	for i := 1; i < 8; i++ {
		got = append(got, treeParent(i, 8))
	}
	if want := []int{2, 4, 2, 0, 6, 4, 6}; !slices.Equal(got, want) {
		t.Errorf("parents of 1..7: %v, want %v", got, want)
	}
}

func BenchmarkPredict(b *testing.B) {
	for _, n := range []int{16, 128, 1024} {
		var index []int
		for i := range n {
			index = append(index, i)
		}
		j := jobOn(b, twoLevels(n, 32, 16), nodeNames(index...)...)
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Predict(j); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
