package placer

import (
	"bytes"
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/railmap/railmap/topology"
)

// lingjun is a real three-tier fabric of 847 hosts with ragged leaves, read with a leaf per pair of aggregation and ToR
// switch: the ToR names alone do not make a tree. Bandwidths are drawn, the source has none.
func lingjun(t *testing.T, rng *rand.Rand) *topology.Topology {
	t.Helper()
	f, err := os.Open("../../shared/corpus/traces/lingjun2023_topo.csv")
	if err != nil {
		t.Skipf("no fabric file: %v", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	topo := &topology.Topology{Generation: 1}
	topo.Tree.Levels = []topology.Level{{Name: "leaf", Efficiency: 1}, {Name: "pod", Efficiency: .92}, {Name: "core", Efficiency: .83}}
	leaves := map[string][]string{}
	pods := map[string][]string{}
	for _, r := range rows[1:] {
		leaf := r[2] + "/" + r[3]
		if leaves[leaf] == nil {
			pods[r[2]] = append(pods[r[2]], leaf)
		}
		leaves[leaf] = append(leaves[leaf], r[0])
		share := min(1, max(.94, .985+.012*rng.NormFloat64()))
		if rng.IntN(50) == 0 {
			share *= .5
		}
		topo.Nodes = append(topo.Nodes, topology.Node{Name: r[0], Group: leaf, GPUCount: 8, Share: &share, State: topology.OK})
	}
	topo.Tree.Groups = []topology.Group{{Name: "G6", Level: "core"}}
	names := make([]string, 0, len(pods))
	for p := range pods {
		names = append(names, p)
	}
	slices.SortFunc(names, topology.CompareNames)
	for _, p := range names {
		topo.Tree.Groups = append(topo.Tree.Groups, topology.Group{Name: p, Level: "pod", Parent: "G6", Uplink: ptr(60)})
		slices.SortFunc(pods[p], topology.CompareNames)
		for _, l := range pods[p] {
			slices.SortFunc(leaves[l], topology.CompareNames)
			topo.Tree.Groups = append(topo.Tree.Groups, topology.Group{Name: l, Level: "leaf", Parent: p, Nodes: leaves[l], Uplink: ptr(float64(len(leaves[l])) / 2)})
		}
	}
	return topo
}

// TestLingjunRepeats: 1,000 answers, from the exact way and from the index, with the nodes in shuffled order, are the same
// bytes.
func TestLingjunRepeats(t *testing.T) {
	topo := lingjun(t, randFor(1))
	rng := randFor(2)
	var busy []string
	for i := range topo.Nodes {
		if rng.IntN(3) == 0 {
			busy = append(busy, topo.Nodes[i].Name)
		}
	}
	want := map[float64][]byte{}
	for i := range 1000 {
		rng.Shuffle(len(topo.Nodes), func(i, j int) { topo.Nodes[i], topo.Nodes[j] = topo.Nodes[j], topo.Nodes[i] })
		rng.Shuffle(len(busy), func(i, j int) { busy[i], busy[j] = busy[j], busy[i] })
		c, err := NewCluster(topo, Options{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewEngine(c, State{Busy: busy})
		if err != nil {
			t.Fatal(err)
		}
		tolerance := []float64{0, .02}[i%2]
		p, err := Place(e.Snapshot(), &Request{Nodes: 24, Tolerance: tolerance, Brief: i%20 > 1})
		if err != nil {
			t.Fatal(err)
		}
		if i%20 > 1 { // brief answers are compared with brief ones
			tolerance = -1 - tolerance
		}
		var b bytes.Buffer
		if err := topology.Write(&b, p, topology.JSON); err != nil {
			t.Fatal(err)
		}
		if want[tolerance] == nil {
			want[tolerance] = b.Bytes()
		} else if !bytes.Equal(want[tolerance], b.Bytes()) {
			t.Fatalf("repeat %d differs:\n%s\n%s", i, want[tolerance], b.Bytes())
		}
	}
}

// TestLingjunSubTrees: on random sub-trees of the real fabric the closed form equals brute force.
func TestLingjunSubTrees(t *testing.T) {
	topo := lingjun(t, randFor(3))
	rng := randFor(4)
	for range 300 {
		var keep []string
		from := rng.IntN(len(topo.Tree.Groups) - 4)
		for _, g := range topo.Tree.Groups[from : from+4] {
			keep = append(keep, g.Nodes...)
		}
		rng.Shuffle(len(keep), func(i, j int) { keep[i], keep[j] = keep[j], keep[i] })
		keep = keep[:min(len(keep), 12)]
		k := 2 + rng.IntN(4)
		if len(keep) < k {
			continue
		}
		c, err := NewCluster(topo, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, _ := c.Snapshot(State{})
		p, err := Place(s, &Request{Nodes: k, Include: keep, Brief: true})
		if err != nil {
			t.Fatal(err)
		}
		at, _ := c.names.positions("", keep)
		names := c.nodeNames(at)
		best := 0.0
		eachSubset(names, k, func(set []string) {
			order, _ := c.names.positions("", set)
			share, _ := s.evaluateRing(order)
			best = max(best, share)
		})
		if math.Abs(best-p.Share) > exact {
			t.Fatalf("k=%d of %v: %v, brute force %v", k, names, p.Share, best)
		}
	}
}
