package topology_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/railmap/railmap/topology"
)

// loadedSweep measures two leaf groups of four nodes with two rails: alone each pair reaches 95 % of nominal, loaded each gets
// its share of an uplink worth two nodes. NIC 1 of node0002 is slow by half.
func loadedSweep(nominal float64) *topology.PairReport {
	m := func(v float64) *topology.Measurement {
		return &topology.Measurement{Value: v, Samples: 1, Method: "tcp"}
	}
	r := &topology.PairReport{Findings: []topology.Finding{{Code: "slow-path", Severity: topology.Warning, Subject: "node0000 - node0004", Message: "m"}}}
	name := func(i int) string { return fmt.Sprintf("node%04d", i) }
	for a := range 8 {
		for b := range 8 {
			if a == b {
				continue
			}
			p := topology.Pair{A: name(a), B: name(b), LatencySeconds: m(2e-6)}
			if a/4 != b/4 {
				p.LatencySeconds = m(5e-6)
			}
			sum := 0.0
			for rail := range 2 {
				v := .95 * nominal / 2
				if rail == 1 && (a == 2 || b == 2) {
					v /= 2
				}
				sum += v
				q := p
				q.Rail, q.BandwidthBytesPerSecond = new(rail), m(v)
				r.Pairs = append(r.Pairs, q)
			}
			p.BandwidthBytesPerSecond = m(sum)
			r.Pairs = append(r.Pairs, p)
		}
	}
	for i := range 4 { // eight senders share two node-worths each way
		for _, way := range [][2]int{{i, 4 + i}, {4 + i, i}} {
			r.Pairs = append(r.Pairs, topology.Pair{A: name(way[0]), B: name(way[1]), Loaded: true, LoadedLevel: topology.LeafLevel, Round: 9, BandwidthBytesPerSecond: m(.95 * nominal / 2)})
		}
	}
	return r
}

func TestPairsLowerUplinksAndRails(t *testing.T) {
	spec, err := topology.ParseSynthSpec("leaf:2 node:4 rail:2 uplink:3")
	if err != nil {
		t.Fatal(err)
	}
	fabric, err := topology.Synth(spec, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := topology.Build(topology.Input{Fabrics: []*topology.FabricReport{fabric}}, topology.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	topo, err := topology.Build(topology.Input{Fabrics: []*topology.FabricReport{fabric}, Pairs: []*topology.PairReport{loadedSweep(plain.Nodes[0].NominalBandwidthBytesPerSecond)}}, topology.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := topo.Validate(); err != nil {
		t.Error(err)
	}
	for i, g := range topo.Tree.Groups {
		if g.Parent == "" {
			continue
		}
		if was := plain.Tree.Groups[i].Uplink; was == nil || *was != 3 {
			t.Errorf("%s: nominal uplink %v, want 3", g.Name, was)
		}
		if g.Uplink == nil || math.Abs(*g.Uplink-2) > .01 || !g.UplinkMeasured {
			t.Errorf("%s: uplink %v, want 2, measured", g.Name, g.Uplink)
		}
	}
	n := topo.Nodes[2]
	if n.Share == nil || math.Abs(*n.Share-.5) > .01 || n.Limiting != "mlx5_1" || n.NICs[1].State != topology.Degraded || n.NICs[0].State == topology.Degraded {
		t.Errorf("node0002: share %v limited by %q, NICs %+v", n.Share, n.Limiting, n.NICs)
	}
	for _, want := range []string{"slow-nic node0002/mlx5_1", "slow-path node0000 - node0004", "narrow-uplink leaf0"} {
		if !slices.ContainsFunc(topo.Findings, func(f topology.Finding) bool { return f.Code+" "+f.Subject == want }) {
			t.Errorf("no finding %q in %v", want, topo.Findings)
		}
	}
	if l := topo.Tree.Levels; l[0].LatencySeconds == nil || *l[0].LatencySeconds != 2e-6 || *l[len(l)-1].LatencySeconds != 5e-6 {
		t.Errorf("levels %+v", l)
	}
}

// An uplink that was not full says nothing about its capacity.
func TestPairsLeaveWideUplinks(t *testing.T) {
	spec, _ := topology.ParseSynthSpec("leaf:2 node:4 rail:1")
	fabric, err := topology.Synth(spec, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &topology.PairReport{}
	for i := range 4 {
		r.Pairs = append(r.Pairs, topology.Pair{A: fmt.Sprintf("node%04d", i), B: fmt.Sprintf("node%04d", 4+i), Loaded: true, LoadedLevel: topology.LeafLevel, Round: 1,
			BandwidthBytesPerSecond: &topology.Measurement{Value: 50e9}})
	}
	topo, err := topology.Build(topology.Input{Fabrics: []*topology.FabricReport{fabric}, Pairs: []*topology.PairReport{r}}, topology.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range topo.Tree.Groups {
		if g.UplinkMeasured || g.Parent != "" && *g.Uplink != 4 {
			t.Errorf("%s: uplink %v, measured %v", g.Name, g.Uplink, g.UplinkMeasured)
		}
	}
}
