package bench

import (
	"fmt"
	"math/rand/v2"

	"github.com/railmap/railmap/probe/pair"
	"github.com/railmap/railmap/topology"
)

// blameShapes are the clusters that faults are drawn in.
var blameShapes = []string{
	"leaf:4 node:8 rail:1",
	"leaf:4 node:4 rail:8",
	"leaf:1 node:16 rail:4",
	"core:1 pod:2 leaf:4 node:8 rail:2",
	"leaf:16 node:4 rail:1",
	"core:1 pod:3 leaf:3 node:6 rail:4",
}

// BlameRow is how often the search for culprits was right about one kind of fault.
type BlameRow struct {
	Faults string `json:"faults" yaml:"faults"` // "node", "two", "healthy", ...
	Cases  int    `json:"cases" yaml:"cases"`
	// FirstRight is the share of cases whose first culprit is a true one (of healthy cases: that name nobody).
	FirstRight float64 `json:"firstRight" yaml:"firstRight"`
	// AllRight is the share of cases that name the true culprits and nobody else.
	AllRight float64 `json:"allRight" yaml:"allRight"`
	// Wrong describes the first case whose first culprit was wrong.
	Wrong string `json:"wrong,omitempty" yaml:"wrong,omitempty"`

	first, all int
}

// BlameOptions shape the run.
type BlameOptions struct {
	Cases   int     // single faults, half as many double ones
	Healthy int     // cases without a fault
	Seed    uint64  // the same seed draws the same cases
	Noise   float64 // relative standard deviation of a measurement
}

// Blame draws faults, simulates the measurements of the default plan and asks who is at fault. Rows: one for each kind of
// single fault, "single" for all of them, "two" for two faults at once, "healthy" for none.
func Blame(o BlameOptions) ([]BlameRow, error) {
	var sites []*pair.Plan
	var rails []int
	for _, shape := range blameShapes {
		p, n, err := blamePlan(shape)
		if err != nil {
			return nil, err
		}
		sites, rails = append(sites, p), append(rails, n)
	}
	kinds := []string{"node", "nic", "uplink", "path", "unsteady"}
	rows := make([]BlameRow, 0, len(kinds)+3)
	for _, k := range append(kinds, "single", "two", "healthy") {
		rows = append(rows, BlameRow{Faults: k})
	}
	total := o.Cases + o.Cases/2 + o.Healthy
	for c := range total {
		rng := rand.New(rand.NewPCG(o.Seed, uint64(c)))
		i := c % len(sites)
		s := &blameCase{plan: sites[i], rails: rails[i], rng: rng, noise: o.Noise}
		row := -1
		switch {
		case c < o.Cases:
			row = s.draw(kinds)
		case c < o.Cases+o.Cases/2:
			s.draw(kinds)
			s.draw(kinds)
		}
		first, all := s.judge()
		switch {
		case row >= 0:
			rows[row].count(c, s, first, all)
			rows[len(kinds)].count(c, s, first, all)
		case len(s.faults) == 2:
			rows[len(kinds)+1].count(c, s, first, all)
		default:
			rows[len(kinds)+2].count(c, s, first, all)
		}
	}
	for i := range rows {
		if n := float64(rows[i].Cases); n > 0 {
			rows[i].FirstRight, rows[i].AllRight = float64(rows[i].first)/n, float64(rows[i].all)/n
		}
	}
	return rows, nil
}

func (r *BlameRow) count(c int, s *blameCase, first, all bool) {
	r.Cases++
	if first {
		r.first++
	} else if r.Wrong == "" {
		r.Wrong = fmt.Sprintf("case %d: %v, said %s", c, s.faults, s.said)
	}
	if all {
		r.all++
	}
}

func blamePlan(shape string) (*pair.Plan, int, error) {
	spec, err := topology.ParseSynthSpec(shape)
	if err != nil {
		return nil, 0, err
	}
	t, err := topology.SynthTopology(spec, 1, nil, topology.BuildOptions{})
	if err != nil {
		return nil, 0, err
	}
	p, err := pair.NewPlan(pair.SiteOf(t, nil), pair.PlanOptions{Tiers: []pair.Tier{pair.Leaf, pair.Group}, RoundSeconds: 10})
	return p, spec.Rails, err
}

// blameFault is one thing that is slow.
type blameFault struct {
	kind, name string
	rail       int // -1 = all
	ratio      float64
	share      float64 // of its measurements that are slow; 1 = all
}

func (f blameFault) String() string {
	return fmt.Sprintf("%s %s rail %d at %.2f (%.0f %%)", f.kind, f.name, f.rail, f.ratio, 100*f.share)
}

// blameCase is one simulated cluster.
type blameCase struct {
	plan   *pair.Plan
	rails  int
	rng    *rand.Rand
	noise  float64
	faults []blameFault
	said   string
}

// draw adds a fault of a kind that this cluster can have, away from the faults that are there, and returns the kind's index.
func (s *blameCase) draw(kinds []string) int {
	site := s.plan.Site
	for {
		k := s.rng.IntN(len(kinds))
		n := site.Nodes[s.rng.IntN(len(site.Nodes))]
		f := blameFault{kind: kinds[k], name: n.Name, rail: -1, ratio: .3 + .5*s.rng.Float64(), share: 1}
		switch f.kind {
		case "nic":
			if s.rails < 2 {
				continue
			}
			f.rail = s.rng.IntN(s.rails)
		case "uplink":
			if s.plan.Rounds[len(s.plan.Rounds)-1].Tier != pair.Group {
				continue // one leaf group
			}
			f.name = site.Groups[n.Group].Name
			if s.rails > 1 && s.rng.IntN(2) == 0 {
				f.rail = s.rng.IntN(s.rails)
			}
		case "path":
			r := s.plan.Rounds[s.rng.IntN(len(s.plan.Rounds))]
			run := r.Runs[s.rng.IntN(len(r.Runs))]
			f.name = site.Nodes[run.A].Name + " - " + site.Nodes[run.B].Name
		case "unsteady":
			f.kind, f.share = "node", .5
		}
		if len(s.faults) == 1 && s.touches(s.faults[0], f) {
			continue
		}
		s.faults = append(s.faults, f)
		return k
	}
}

// touches tells whether one of two faults hides the other: they share a node or an uplink.
func (s *blameCase) touches(a, b blameFault) bool {
	for _, x := range s.plan.Site.Nodes {
		for _, y := range s.plan.Site.Nodes {
			path := x.Name + " - " + y.Name
			is := func(f blameFault) bool { return f.name == x.Name || f.name == y.Name || f.name == path }
			if (a.name == path || b.name == path) && is(a) && is(b) {
				return true
			}
		}
	}
	return a.name == b.name
}

// judge simulates the measurements and asks. It tells whether the first culprit is a true one and whether all are.
func (s *blameCase) judge() (first, all bool) {
	res := pair.Blame(s.simulate(), pair.BlameOptions{})
	s.said = "nobody"
	right := 0
	for i, c := range res.Culprits {
		if i == 0 {
			s.said = fmt.Sprintf("%s %s at %.2f", c.Kind, c.Subject(), c.Ratio)
		}
		for _, f := range s.faults {
			rail := -1
			if c.Rail != nil {
				rail = *c.Rail
			}
			if c.Kind == f.kind && c.Name == f.name && rail == f.rail {
				right++
				first = first || i == 0
			}
		}
	}
	if len(s.faults) == 0 {
		return len(res.Culprits) == 0, len(res.Culprits) == 0
	}
	return first, right == len(s.faults) && len(res.Culprits) == right
}

// simulate measures every pair of the plan both ways on every rail.
func (s *blameCase) simulate() *topology.PairReport {
	site := s.plan.Site
	groups := make([][]string, len(site.Nodes))
	r := &topology.PairReport{}
	for i, n := range site.Nodes {
		for g := n.Group; g >= 0; g = site.Groups[g].Parent {
			groups[i] = append(groups[i], site.Groups[g].Name)
		}
		r.Nodes = append(r.Nodes, topology.PairNode{Name: n.Name, Groups: groups[i]})
	}
	for _, round := range s.plan.Rounds {
		for _, run := range round.Runs {
			for _, way := range [][2]int32{{run.A, run.B}, {run.B, run.A}} {
				a, b := way[0], way[1]
				cross := site.Nodes[a].Group != site.Nodes[b].Group
				for rail := range s.rails {
					v := 50e9 / float64(s.rails) * (1 + s.noise*s.rng.NormFloat64())
					if cross {
						v *= .95
					}
					v *= s.slowest(site.Nodes[a].Name, site.Nodes[b].Name, groups[a], groups[b], rail)
					p := topology.Pair{A: site.Nodes[a].Name, B: site.Nodes[b].Name, Rail: new(rail), BandwidthBytesPerSecond: &topology.Measurement{Value: max(v, 1)}}
					r.Pairs = append(r.Pairs, p)
				}
			}
		}
	}
	return r
}

func (s *blameCase) slowest(a, b string, ga, gb []string, rail int) float64 {
	ratio := 1.0
	for _, f := range s.faults {
		hit := f.name == a || f.name == b || f.name == a+" - "+b || f.name == b+" - "+a
		if f.kind == "uplink" {
			hit = ga[0] != gb[0] && (f.name == ga[0] || f.name == gb[0])
		}
		if hit && (f.rail < 0 || f.rail == rail) && (f.share == 1 || s.rng.Float64() < f.share) {
			ratio = min(ratio, f.ratio)
		}
	}
	return ratio
}
