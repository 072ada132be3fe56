package placer

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestExplainAllCollectives: for every collective the levels, alternatives and words agree with the answer.
func TestExplainAllCollectives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := randFrom(rt)
		w := randomWorld(rng, worldOptions{maxNodes: 30, crossings: rapid.Bool().Draw(rt, "crossings")})
		s := w.snapshot(t)
		r := &Request{Nodes: rapid.IntRange(2, 10).Draw(rt, "k"), Collective: rapid.SampledFrom([]Collective{Ring, AllToAll, Tree, Mixed}).Draw(rt, "collective")}
		if r.Collective == Mixed {
			r.Weights = &Weights{Ring: 1, AllToAll: 1}
		}
		p, err := Place(s, r)
		if err != nil {
			return
		}
		for _, l := range p.Levels {
			if l.Share != nil && *l.Share > p.Share+exact {
				rt.Fatalf("level %s offers %v, the answer is %v", l.Level, *l.Share, p.Share)
			}
			if l.Share != nil && (l.Usable < r.Nodes || l.IdealShare == nil) {
				rt.Fatalf("%+v", l)
			}
			for _, text := range p.Reasons {
				if l.Usable >= r.Nodes && strings.HasPrefix(text, "no "+l.Level+" has") {
					rt.Fatalf("%+v, but %q", l, text)
				}
			}
		}
		for _, a := range p.Alternatives {
			if a.Share > p.Share+exact || len(a.Nodes) != r.Nodes || strings.Join(a.Nodes, " ") == strings.Join(p.Nodes, " ") {
				rt.Fatalf("alternative %+v to %v %v", a, p.Share, p.Nodes)
			}
		}
	})
}
