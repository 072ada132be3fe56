package bench

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/railmap/railmap/placer"
)

// newGate makes a policy for replays. The railmap ones come in three kinds: plain starts whatever fits, +floor declines
// below 0.9 of nominal (or the core's efficiency), +wait follows the start-or-wait rule.
func newGate(name string, l *Load, cluster *placer.Cluster, seed uint64) (gate, error) {
	base, idle, tuned := strings.Cut(name, "@")
	switch base {
	case "railmap+floor":
		r, err := newRailmap(l, cluster, placer.DefaultTolerance)
		return &floorGate{r, min(drainLimit, l.M.EtaCore)}, err
	case "railmap+wait":
		g := &waitGate{rule: placer.DefaultWaitOptions()}
		var err error
		if tuned {
			if g.rule.IdleShare, err = strconv.ParseFloat(idle, 64); err != nil || g.rule.IdleShare < 0 {
				return nil, fmt.Errorf("policy %q: the idle share must be a number that is not negative", name)
			}
		}
		g.railmap, err = newRailmap(l, cluster, placer.DefaultTolerance)
		return g, err
	}
	p, err := NewPolicy(name, l, cluster, seed)
	return plainGate{p}, err
}

// plainGate starts whatever the policy chooses.
type plainGate struct{ Policy }

func (g plainGate) choose(r *replay, k int, _ float64) []int { return g.Choose(r.load, k) }

// floorGate declines gangs that would be slower than a fixed share.
type floorGate struct {
	*railmap
	floor float64
}

func (g *floorGate) choose(r *replay, k int, _ float64) []int {
	set := g.Choose(r.load, k)
	if set != nil && k > 1 && r.load.Ring(set) < g.floor {
		return nil
	}
	return set
}

// waitGate asks the placer whether to start or wait.
type waitGate struct {
	*railmap
	rule placer.WaitOptions
}

func (g *waitGate) choose(r *replay, k int, duration float64) []int {
	s := g.engine.Snapshot()
	req := g.req
	req.Nodes, req.DurationSeconds, req.CommunicationFraction = k, duration, r.o.Comm
	p, err := placer.Place(s, &req)
	if err != nil {
		return nil
	}
	wait, err := s.Advise(&req, p, g.outlook(r, k, p), g.rule)
	if err != nil {
		panic(fmt.Sprintf("bench: %v", err)) // the bench's own bookkeeping is wrong
	}
	if wait != nil {
		return nil
	}
	return g.positions(p)
}

// outlook lists the ends of the running gangs, when they can matter at all.
func (g *waitGate) outlook(r *replay, k int, p *placer.Placement) placer.Outlook {
	o := placer.Outlook{Queued: max(0, len(r.queue)-1)}
	if k < 2 || p.Share >= p.IdealShare {
		return o
	}
	for _, x := range r.running {
		o.Ends = append(o.Ends, placer.GangEnd{Nodes: g.nameList(x.set), Seconds: x.end - r.now})
	}
	return o
}
