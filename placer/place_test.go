package placer

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/railmap/railmap/topology"
)

// workedExample is four leaves of three nodes in two pods under one core, two nodes busy, gangs on leaf 1 and both pods.
func workedExample(t *testing.T) *Snapshot {
	t.Helper()
	topo := &topology.Topology{Header: topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindTopology}}
	topo.Tree.Levels = []topology.Level{{Name: "leaf", Efficiency: 1}, {Name: "pod", Efficiency: .92}, {Name: "core", Efficiency: .83}}
	shares := [][]float64{{1, .98, .5}, {.99, .97, 1}, {.98, .95, .94}, {.25, 1, .97}}
	topo.Tree.Groups = []topology.Group{{Name: "core", Level: "core"}}
	for p, pod := range []string{"P0", "P1"} {
		topo.Tree.Groups = append(topo.Tree.Groups, topology.Group{Name: pod, Level: "pod", Parent: "core", Uplink: ptr(3)})
		for _, l := range []int{2 * p, 2*p + 1} {
			leaf := topology.Group{Name: "L" + string(rune('0'+l)), Level: "leaf", Parent: pod, Uplink: ptr(1.5)}
			for i, s := range shares[l] {
				name := strings.ToLower(leaf.Name) + "n" + string(rune('0'+i))
				leaf.Nodes = append(leaf.Nodes, name)
				topo.Nodes = append(topo.Nodes, topology.Node{Name: name, Group: leaf.Name, GPUCount: 8, Share: ptr(s), NominalBandwidthBytesPerSecond: 4e11, State: topology.OK})
			}
			topo.Tree.Groups = append(topo.Tree.Groups, leaf)
		}
	}
	c, err := NewCluster(topo, Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := c.base.draft(0)
	if err := d.apply(State{Busy: []string{"l1n2", "l3n1"}}); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]int32{"L1": 1, "P0": 2, "P1": 3} {
		d.addCrossings(int32(slices.IndexFunc(c.groups, func(g group) bool { return g.name == name })), x)
	}
	return &d.Snapshot
}

func TestWorkedExample(t *testing.T) {
	s := workedExample(t)
	want := []struct {
		k     int
		share float64
		at    string
	}{{2, .98, "L0"}, {3, .94, "L2"}, {4, .92, "P1"}, {5, .75, "core"}, {6, .75, "core"}, {7, .75, "core"}, {8, .75, "core"}, {9, .5, "core"}, {10, .25, "core"}}
	for _, w := range want {
		p, err := Place(s, &Request{Nodes: w.k})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(p.Share-w.share) > exact || p.Group != w.at {
			t.Errorf("k=%d: %v at %s, want %v at %s", w.k, p.Share, p.Group, w.share, w.at)
		}
	}
	if _, err := Place(s, &Request{Nodes: 11}); err == nil || !strings.Contains(err.Error(), "wait until running gangs end, or ask for 10 nodes") {
		t.Errorf("k=11: %v", err)
	}
}

func TestAnswer(t *testing.T) {
	p, err := Place(workedExample(t), &Request{Nodes: 5})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := topology.Write(&b, p, topology.YAML); err != nil {
		t.Fatal(err)
	}
	golden(t, "worked-k5.yaml", b.Bytes())
}

func TestConstraints(t *testing.T) {
	s := workedExample(t)
	tests := []struct {
		name  string
		r     Request
		nodes string
		err   string
	}{
		{"exclude", Request{Nodes: 3, Exclude: []string{"l2n2"}}, "l2n0 l2n1 l3n2", ""},
		{"include", Request{Nodes: 2, Include: []string{"l0n2", "l1n1", "l1n0"}}, "l1n0 l1n1", ""},
		{"within leaf", Request{Nodes: 3, Within: "leaf"}, "l2n0 l2n1 l2n2", ""},
		{"too many in a leaf", Request{Nodes: 4, Within: "leaf"}, "", "leave out within leaf"},
		{"one node", Request{Nodes: 1}, "l0n2", ""},
		{"gpus", Request{GPUs: 16, GPUsPerNode: 8}, "l0n0 l0n1", ""},
		{"floor", Request{Nodes: 5, MinimumShare: .9}, "", "minimumShare is 0.900"},
		{"segments", Request{Nodes: 6, SegmentNodes: 3}, "l0n0 l0n1 l0n2 l2n0 l2n1 l2n2", ""},
		{"unknown level", Request{Nodes: 2, Within: "rack"}, "", "must be a level of this topology"},
		{"unknown host", Request{Nodes: 2, Exclude: []string{"L2N02.example.com", "zebra"}}, "", "did you mean l2n2 or l0n2?"},
		{"model", Request{Nodes: 2, GPUModel: "B300"}, "", "leave out gpuModel B300"},
		{"bad", Request{Nodes: -1, Tolerance: 2, SegmentNodes: -3}, "", "tolerance is 2: must be between 0 and 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Place(s, &tt.r)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Fields(tt.nodes), p.Nodes); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestUnknownBusyHost(t *testing.T) {
	c := workedExample(t).c
	_, err := c.Snapshot(State{Busy: []string{"l0n0", "l9n9"}})
	e := (*UnknownHostError)(nil)
	if !errors.As(err, &e) || !slices.Equal(e.Names, []string{"l9n9"}) {
		t.Fatalf("got %v", err)
	}
}

// TestProperties checks what must hold for every answer on any cluster.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := randFrom(rt)
		w := randomWorld(rng, worldOptions{maxNodes: 24, crossings: rapid.Bool().Draw(rt, "crossings"), sick: rapid.Bool().Draw(rt, "sick"), roots: true})
		s := w.snapshot(t)
		r := &Request{Nodes: rapid.IntRange(1, 12).Draw(rt, "k"), Tolerance: rapid.SampledFrom([]float64{0, .02, .1}).Draw(rt, "tolerance")}
		if rapid.Bool().Draw(rt, "within") {
			r.Within = rapid.SampledFrom([]string{"leaf", "pod", "core"}).Draw(rt, "level")
		}
		p, err := Place(s, r)
		if err != nil {
			return
		}
		checkAnswer(rt, w, r, p)
		best, _ := Place(s, &Request{Nodes: r.Nodes, Within: r.Within})
		if !p.LowerBound && p.Share < best.Share*(1-r.Tolerance)-exact {
			rt.Fatalf("share %v, best %v, tolerance %v", p.Share, best.Share, r.Tolerance)
		}
	})
}

func checkAnswer(t rapid.TB, w *world, r *Request, p *Placement) {
	seen := map[string]bool{}
	for _, n := range p.Nodes {
		if seen[n] || !slices.Contains(w.free, n) {
			t.Fatalf("%s is given twice or is not free", n)
		}
		seen[n] = true
	}
	if len(p.Nodes) != r.Nodes || p.Loss < 0 || p.Loss > 1 || !p.LowerBound && p.Share > p.IdealShare+exact {
		t.Fatalf("%d nodes, loss %v, share %v, ideal %v", len(p.Nodes), p.Loss, p.Share, p.IdealShare)
	}
	if len(p.Nodes) > 1 && math.Abs(w.ring(p.Nodes)-p.Share) > exact {
		t.Fatalf("share %v, evaluated %v", p.Share, w.ring(p.Nodes))
	}
	if r.Within == "leaf" && p.Level != "leaf" || r.Within == "pod" && p.Level == "core" {
		t.Fatalf("asked within %s, got %s", r.Within, p.Level)
	}
	order := []string{}
	for _, n := range w.free {
		if seen[n] {
			order = append(order, n)
		}
	}
	if !slices.Equal(order, p.Nodes) {
		t.Fatalf("order %v, want depth first %v", p.Nodes, order)
	}
}

// TestDeterminism: 1,000 repeats, with a fresh cluster from a shuffled node list each time, give the same bytes.
func TestDeterminism(t *testing.T) {
	rng := randFor(7)
	w := randomWorld(rng, worldOptions{maxNodes: 60, crossings: true})
	var want []byte
	for i := 0; i < 1000; i++ {
		rng.Shuffle(len(w.topo.Nodes), func(i, j int) { w.topo.Nodes[i], w.topo.Nodes[j] = w.topo.Nodes[j], w.topo.Nodes[i] })
		rng.Shuffle(len(w.state.Busy), func(i, j int) { w.state.Busy[i], w.state.Busy[j] = w.state.Busy[j], w.state.Busy[i] })
		p, err := Place(w.snapshot(t), &Request{Nodes: 5})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := topology.Write(&b, p, topology.JSON); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = b.Bytes()
		} else if !bytes.Equal(want, b.Bytes()) {
			t.Fatalf("repeat %d differs:\n%s\n%s", i, want, b.Bytes())
		}
	}
}
