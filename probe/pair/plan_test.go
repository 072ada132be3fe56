package pair

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/railmap/railmap/topology"
)

// drawSite makes a tree of one to three levels with up to 1,024 nodes, ragged, some uplinks unknown, some nodes nowhere.
func drawSite(t *rapid.T) *Site {
	s := &Site{}
	depth := rapid.IntRange(0, 2).Draw(t, "depth")
	parents := []int{-1}
	if depth > 0 {
		s.Groups = append(s.Groups, SiteGroup{Name: "core", Level: "core", Parent: -1})
		parents = []int{0}
	}
	if depth == 2 {
		parents = nil
		for p := range rapid.IntRange(1, 6).Draw(t, "pods") {
			parents = append(parents, len(s.Groups))
			s.Groups = append(s.Groups, SiteGroup{Name: fmt.Sprint("pod", p), Level: "pod", Parent: 0, Uplink: drawUplink(t)})
		}
	}
	for _, p := range parents {
		for range rapid.IntRange(1, 8).Draw(t, "leaves") {
			g := len(s.Groups)
			s.Groups = append(s.Groups, SiteGroup{Name: fmt.Sprint("leaf", g), Level: "leaf", Parent: p, Uplink: drawUplink(t)})
			for range min(rapid.IntRange(0, 24).Draw(t, "nodes"), 1020-len(s.Nodes)) {
				s.Nodes = append(s.Nodes, SiteNode{Name: fmt.Sprint("n", len(s.Nodes)), Group: g})
			}
		}
	}
	for range 2 + rapid.IntRange(0, 2).Draw(t, "lost") {
		s.Nodes = append(s.Nodes, SiteNode{Name: fmt.Sprint("n", len(s.Nodes)), Group: -1})
	}
	return s
}

func drawUplink(t *rapid.T) float64 {
	return rapid.SampledFrom([]float64{0, .25, 1, 2, 3.9, 4, 8, 32}).Draw(t, "uplink")
}

// checkRound is the promise of a round, written without the planner's own code: walk both ends to the common group.
func checkRound(s *Site, r Round) error {
	busy := map[int32]bool{}
	load := map[int]float64{}
	for _, run := range r.Runs {
		if run.A == run.B || busy[run.A] || busy[run.B] {
			return fmt.Errorf("%s: a node of %v stands twice in a round", r.Tier, run)
		}
		busy[run.A], busy[run.B] = true, true
		above := map[int]bool{}
		for g := s.Nodes[run.A].Group; g >= 0; g = s.Groups[g].Parent {
			above[g] = true
		}
		meet := s.Nodes[run.B].Group
		for ; meet >= 0 && !above[meet]; meet = s.Groups[meet].Parent {
		}
		for _, n := range []int32{run.A, run.B} {
			for g := s.Nodes[n].Group; g >= 0 && g != meet && s.Nodes[run.A].Group >= 0 && s.Nodes[run.B].Group >= 0; g = s.Groups[g].Parent {
				load[g]++
			}
		}
	}
	for g, n := range load {
		most := math.Max(1, math.Floor(s.Groups[g].Uplink/2))
		if s.Groups[g].Uplink < 4 {
			most = 1
		}
		if r.Tier == Leaf {
			most = 0
		}
		if r.Tier != Loaded && n > most {
			return fmt.Errorf("%s: %g pairs over the uplink of %s, must be at most %g", r.Tier, n, s.Groups[g].Name, most)
		}
	}
	return nil
}

func TestPlanDisturbsNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSite(t)
		tiers := rapid.SampledFrom([][]Tier{DefaultTiers(), {Leaf}, {Group}, {Loaded, Group}, {All}, {All, Loaded}}).Draw(t, "tiers")
		budget := time.Duration(rapid.SampledFrom([]int{0, 0, 20, 200}).Draw(t, "budget")) * time.Second
		p, err := NewPlan(s, PlanOptions{Tiers: tiers, Samples: rapid.IntRange(0, 4).Draw(t, "samples"), RoundSeconds: 5, Budget: budget})
		if err != nil {
			if strings.Contains(err.Error(), "nothing to measure") {
				return
			}
			t.Fatal(err)
		}
		if budget > 0 && p.Seconds() > budget.Seconds() {
			t.Fatalf("plan takes %g s of %s", p.Seconds(), budget)
		}
		for i, r := range p.Rounds {
			if err := checkRound(s, r); err != nil {
				t.Fatalf("round %d: %v", i, err)
			}
		}
	})
}

// The check sees what it forbids.
func TestCheckRoundCatches(t *testing.T) {
	s := &Site{Groups: []SiteGroup{{Name: "core", Parent: -1}, {Name: "leaf0", Uplink: 4}, {Name: "leaf1", Uplink: 2}}}
	for i := range 6 {
		s.Nodes = append(s.Nodes, SiteNode{Name: fmt.Sprint("n", i), Group: 1 + i/3})
	}
	for _, r := range []Round{
		{Tier: Group, Runs: []Run{{0, 3}, {0, 4}}},
		{Tier: Group, Runs: []Run{{0, 3}, {1, 4}}},
		{Tier: Leaf, Runs: []Run{{0, 3}}},
	} {
		if checkRound(s, r) == nil {
			t.Errorf("%v passes", r)
		}
	}
}

// All pairs stand in a plan exactly once, in the smallest number of rounds there is.
func TestAllPairsMeetTheLowerBound(t *testing.T) {
	for n := 2; n <= 33; n++ {
		for _, tier := range []Tier{Leaf, All} {
			s := &Site{Groups: []SiteGroup{{Name: "core", Parent: -1}, {Name: "leaf0", Uplink: 100}, {Name: "leaf1", Uplink: 100}}}
			for i := range n {
				g := 1
				if tier == All {
					g = 1 + i%2
				}
				s.Nodes = append(s.Nodes, SiteNode{Name: fmt.Sprintf("n%02d", i), Group: g})
			}
			p, err := NewPlan(s, PlanOptions{Tiers: []Tier{tier}, RoundSeconds: 1})
			if err != nil {
				t.Fatal(err)
			}
			seen := map[Run]bool{}
			for _, r := range p.Rounds {
				for _, run := range r.Runs {
					if seen[run] {
						t.Errorf("%d nodes, %s: %v twice", n, tier, run)
					}
					seen[run] = true
				}
			}
			if len(seen) != n*(n-1)/2 || len(p.Rounds) != n-1+n%2 {
				t.Errorf("%d nodes, %s: %d pairs in %d rounds, want %d in %d", n, tier, len(seen), len(p.Rounds), n*(n-1)/2, n-1+n%2)
			}
		}
	}
}

// Every node crosses its uplink, every two leaf groups meet, every group is loaded.
func TestDefaultPlanCovers(t *testing.T) {
	s := synthSite(t, "core:1 pod:2 leaf:4 node:8 rail:2")
	p, err := NewPlan(s, PlanOptions{Tiers: DefaultTiers(), RoundSeconds: 10})
	if err != nil {
		t.Fatal(err)
	}
	crosses, loaded, met := map[int32]bool{}, map[string]bool{}, map[[2]int]bool{}
	for _, r := range p.Rounds {
		for _, run := range r.Runs {
			g, h := s.Nodes[run.A].Group, s.Nodes[run.B].Group
			if r.Tier == Group {
				crosses[run.A], crosses[run.B] = true, true
				met[[2]int{g, h}] = true
			}
			if r.Tier == Loaded {
				loaded[r.Level+s.Groups[g].Name], loaded[r.Level+s.Groups[h].Name] = true, true
			}
		}
	}
	if len(crosses) != 64 || len(met) != 28 || len(loaded) != 16 {
		t.Errorf("%d nodes cross, %d group pairs meet, %d groups loaded; want 64, 28, 16", len(crosses), len(met), len(loaded))
	}
	short, err := NewPlan(s, PlanOptions{Tiers: DefaultTiers(), RoundSeconds: 10, Budget: 150 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if len(short.Notes) == 0 || short.Seconds() > 150 {
		t.Errorf("cut plan takes %g s and says %q", short.Seconds(), short.Notes)
	}
}

func synthSite(t testing.TB, shape string) *Site {
	t.Helper()
	spec, err := topology.ParseSynthSpec(shape)
	if err != nil {
		t.Fatal(err)
	}
	topo, err := topology.SynthTopology(spec, 1, nil, topology.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return SiteOf(topo, nil)
}

func BenchmarkPlan(b *testing.B) {
	for _, c := range []struct {
		name, shape string
		tiers       []Tier
	}{
		{"nodes=1024/tiers=default", "core:1 pod:4 leaf:8 node:32", DefaultTiers()},
		{"nodes=1024/tiers=default/leaf=8", "core:1 pod:8 leaf:16 node:8", DefaultTiers()},
		{"nodes=1024/tiers=all", "core:1 pod:4 leaf:8 node:32", []Tier{All}},
		{"nodes=1024/tiers=all/one-leaf", "leaf:1 node:1024", []Tier{Leaf}},
	} {
		s := synthSite(b, c.shape)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := NewPlan(s, PlanOptions{Tiers: c.tiers, RoundSeconds: 10}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
