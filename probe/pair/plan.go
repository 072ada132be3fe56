package pair

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tier is one kind of rounds.
type Tier string

// Tiers. All is every pair of the cluster and includes Leaf and Group.
const (
	Leaf   Tier = "leaf"   // all pairs within each leaf group, uplinks idle
	Group  Tier = "group"  // sampled pairs between leaf groups, uplinks at most half full
	Loaded Tier = "loaded" // whole groups against each other: their uplinks full on purpose
	All    Tier = "all"    // all pairs, uplinks at most half full
	// Repeat rounds measure again what was doubtful; they are planned after the others have run.
	Repeat Tier = "repeat"
)

// DefaultTiers are the tiers of a plan when nobody says otherwise.
func DefaultTiers() []Tier { return []Tier{Leaf, Group, Loaded} }

// ParseTiers reads "leaf,group,loaded".
func ParseTiers(s string) ([]Tier, error) {
	var tiers []Tier
	for word := range strings.SplitSeq(s, ",") {
		t := Tier(strings.TrimSpace(word))
		if !slices.Contains([]Tier{Leaf, Group, Loaded, All}, t) {
			return nil, fmt.Errorf("tier %q: must be one of leaf, group, loaded, all", t)
		}
		if !slices.Contains(tiers, t) {
			tiers = append(tiers, t)
		}
	}
	return tiers, nil
}

// PlanOptions shape a plan.
type PlanOptions struct {
	Tiers        []Tier
	Samples      int           // pairs between each two leaf groups, 2 when 0; more when a node would otherwise never cross
	RoundSeconds float64       // how long one round takes
	Budget       time.Duration // 0 = no limit
}

// Run is one pair of a round: indices into Site.Nodes, A < B. It is measured both ways.
type Run struct{ A, B int32 }

// Round is a set of runs at the same time.
type Round struct {
	Tier Tier
	// Level is the level of the groups whose uplinks a loaded round fills.
	Level string
	Runs  []Run
}

// Plan is what will be measured, in order.
type Plan struct {
	Site         *Site
	Rounds       []Round
	RoundSeconds float64
	Notes        []string // what the budget left out
}

// Seconds is how long the plan takes.
func (p *Plan) Seconds() float64 { return float64(len(p.Rounds)) * p.RoundSeconds }

// NewPlan plans the rounds. Loaded rounds are few and come last; when the time does not reach for all, samples between
// groups go down to one, then rounds within leaf groups to three (fewer cannot tell a slow node from a slow partner), then
// the last rounds are left out. Notes say so.
func NewPlan(s *Site, o PlanOptions) (*Plan, error) {
	if len(s.Nodes) < 2 {
		return nil, fmt.Errorf("%d nodes: must be at least 2 to measure pairs", len(s.Nodes))
	}
	if o.RoundSeconds <= 0 {
		return nil, fmt.Errorf("a round of %g s: must be above 0", o.RoundSeconds)
	}
	b := newPlanner(s)
	p := &Plan{Site: s, RoundSeconds: o.RoundSeconds}
	limit := int(^uint(0) >> 1)
	if o.Budget > 0 {
		limit = int(o.Budget.Seconds() / o.RoundSeconds)
	}
	var leaf, group, loaded []Round
	for _, t := range o.Tiers {
		switch t {
		case Leaf:
			leaf = b.leafRounds()
		case Group:
			group = b.groupRounds(b.samples(o.Samples))
		case Loaded:
			loaded = b.loadedRounds()
		case All:
			group = b.allRounds()
		}
	}
	if slices.Contains(o.Tiers, All) {
		leaf = nil
	}
	if over := len(leaf) + len(group) + len(loaded) - limit; over > 0 && slices.Contains(o.Tiers, Group) && !slices.Contains(o.Tiers, All) {
		was := len(group)
		group = b.groupRounds(1)
		if len(group) < was {
			p.note("one sampled pair between each two leaf groups: %d rounds instead of %d", len(group), was)
		}
	}
	leaf = p.cut(Leaf, leaf, max(3, limit-len(group)-len(loaded)))
	loaded = p.cut(Loaded, loaded, max(1, limit-len(leaf)-len(group)))
	group = p.cut(Group, group, max(0, limit-len(leaf)-len(loaded)))
	p.Rounds = append(append(leaf, group...), loaded...)
	p.Rounds = p.cut("", p.Rounds, limit)
	if len(p.Rounds) == 0 {
		return nil, fmt.Errorf("nothing to measure: the budget must hold at least one round of %.1f s, and the tiers at least one pair", o.RoundSeconds)
	}
	return p, nil
}

func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, "the budget leaves "+fmt.Sprintf(format, args...))
}

// cut keeps the first rounds of a tier.
func (p *Plan) cut(t Tier, rounds []Round, n int) []Round {
	if len(rounds) <= n {
		return rounds
	}
	p.note("%d of %d %s rounds", n, len(rounds), strings.TrimSpace(string(t)+" "))
	return rounds[:n]
}

// PlanRow sums up the rounds of one tier.
type PlanRow struct {
	Tier    Tier    `json:"tier" yaml:"tier"`
	Level   string  `json:"level,omitempty" yaml:"level,omitempty"`
	Rounds  int     `json:"rounds" yaml:"rounds"`
	Pairs   int     `json:"pairs" yaml:"pairs"`
	AtOnce  int     `json:"atOnce" yaml:"atOnce"` // most pairs in one round
	Seconds float64 `json:"seconds" yaml:"seconds"`
}

// Rows sums up the plan, one row for each tier in the order of the rounds.
func (p *Plan) Rows() []PlanRow {
	var rows []PlanRow
	for _, r := range p.Rounds {
		if n := len(rows); n == 0 || rows[n-1].Tier != r.Tier || rows[n-1].Level != r.Level {
			rows = append(rows, PlanRow{Tier: r.Tier, Level: r.Level})
		}
		w := &rows[len(rows)-1]
		w.Rounds++
		w.Pairs += len(r.Runs)
		w.AtOnce = max(w.AtOnce, len(r.Runs))
		w.Seconds += p.RoundSeconds
	}
	return rows
}
