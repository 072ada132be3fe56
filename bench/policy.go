package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/railmap/railmap/placer"
)

// Policy chooses nodes on a model. The peers' selection rules are re-implemented from their public sources; they stand for
// the quality of the choice only, never for the peers' speed.
type Policy interface {
	// Choose returns k free positions, sorted, or nil when the policy declines. It must not change l.
	Choose(l *Load, k int) []int
	// Changed is told of every start and end on the load that the policy lives with.
	Changed(set []int, started bool)
}

// drainLimit is the share of nominal below which "+drain" takes a node away, and drainSuffix how a policy asks for it.
const (
	drainLimit  = .9
	drainSuffix = "+drain"
)

// PolicyNames lists what NewPolicy knows.
func PolicyNames() []string {
	return []string{"random", "first-fit", "slurm-tree", "slurm-block", "kueue", "volcano", "railmap", "railmap-exact",
		"slurm-tree" + drainSuffix, "slurm-block" + drainSuffix, "kueue" + drainSuffix, "volcano" + drainSuffix}
}

// NewPolicy makes a policy for a load. With "+drain" the slow nodes of the load are taken away at once.
func NewPolicy(name string, l *Load, cluster *placer.Cluster, seed uint64) (Policy, error) {
	base, drained := strings.CutSuffix(name, drainSuffix)
	if drained {
		l.Drain(drainLimit)
	}
	switch base {
	case "random":
		return &random{rng: rand.New(rand.NewPCG(seed, 3))}, nil
	case "first-fit":
		return rule(firstFit), nil
	case "slurm-tree":
		return rule(slurmTree), nil
	case "slurm-block":
		return rule(slurmBlock), nil
	case "kueue":
		return rule(kueueBestFit), nil
	case "volcano":
		return rule(volcano), nil
	case "railmap":
		return newRailmap(l, cluster, placer.DefaultTolerance)
	case "railmap-exact":
		return newRailmap(l, cluster, 0)
	}
	if tolerance, ok := strings.CutPrefix(base, "railmap@"); ok {
		v, err := strconv.ParseFloat(tolerance, 64)
		if err != nil || v < 0 || v > 1 {
			return nil, fmt.Errorf("policy %q: the tolerance must be between 0 and 1", name)
		}
		return newRailmap(l, cluster, v)
	}
	return nil, fmt.Errorf("policy %q: must be one of %s", name, strings.Join(PolicyNames(), ", "))
}

// rule is a policy without memory.
type rule func(l *Load, k int) []int

func (r rule) Choose(l *Load, k int) []int { return r(l, k) }
func (rule) Changed([]int, bool)           {}

// random takes k free nodes uniformly.
type random struct{ rng *rand.Rand }

func (r *random) Choose(l *Load, k int) []int {
	free := make([]int, 0, l.M.Nodes)
	for i, f := range l.Free {
		if f {
			free = append(free, i)
		}
	}
	if len(free) < k {
		return nil
	}
	for i := range k {
		j := i + r.rng.IntN(len(free)-i)
		free[i], free[j] = free[j], free[i]
	}
	slices.Sort(free[:k])
	return free[:k]
}

func (*random) Changed([]int, bool) {}

// railmap asks the placer; its engine follows the load.
type railmap struct {
	m      *Model
	engine *placer.Engine
	req    placer.Request
	names  []string
	index  map[string]int
}

func newRailmap(l *Load, cluster *placer.Cluster, tolerance float64) (*railmap, error) {
	r := &railmap{m: l.M, req: placer.Request{Tolerance: tolerance, Brief: true}, index: map[string]int{}}
	for i := range l.M.Nodes {
		r.names = append(r.names, l.M.Name(i))
		r.index[r.names[i]] = i
	}
	var err error
	r.engine, err = placer.NewEngine(cluster, placer.State{Busy: r.busy(l)})
	return r, err
}

func (r *railmap) busy(l *Load) []string {
	var out []string
	for i, f := range l.Free {
		if !f {
			out = append(out, r.names[i])
		}
	}
	return out
}

func (r *railmap) Choose(l *Load, k int) []int {
	req := r.req
	req.Nodes = k
	p, err := placer.Place(r.engine.Snapshot(), &req)
	if err != nil {
		return nil
	}
	return r.positions(p)
}

func (r *railmap) positions(p *placer.Placement) []int {
	set := make([]int, len(p.Nodes))
	for i, n := range p.Nodes {
		set[i] = r.index[n]
	}
	return set
}

func (r *railmap) nameList(set []int) []string {
	names := make([]string, len(set))
	for i, v := range set {
		names[i] = r.names[v]
	}
	return names
}

func (r *railmap) Changed(set []int, started bool) {
	names := r.nameList(set)
	err := r.engine.Update(func(tx *placer.Tx) error {
		if started {
			return tx.Start(names...)
		}
		return tx.End(names...)
	})
	if err != nil {
		panic(fmt.Sprintf("bench: %v", err)) // the bench's own bookkeeping is wrong
	}
}
