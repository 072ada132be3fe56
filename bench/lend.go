package bench

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/railmap/railmap/placer"
)

// LendRow is one rule of lending: means over the seeds of what gangs can still have.
type LendRow struct {
	Lent         float64   `json:"lent" yaml:"lent"` // share of all nodes
	Policy       string    `json:"policy" yaml:"policy"`
	LeafGangs32  float64   `json:"leafGangs32" yaml:"leafGangs32"` // gangs of 32 inside leaves
	LeafGangs16  float64   `json:"leafGangs16" yaml:"leafGangs16"`
	LargestPod   float64   `json:"largestPod" yaml:"largestPod"`
	BySeed32     []float64 `json:"leafGangs32BySeed" yaml:"leafGangs32BySeed,flow"`
	BySeedLargst []float64 `json:"largestPodBySeed" yaml:"largestPodBySeed,flow"`
}

// lendRules choose n free positions; railmap's own comes last.
func lendRules() []string {
	return []string{"nothing", "spread", "first-by-name", "emptiest-leaf", "railmap"}
}

// Lend compares rules of lending on clusters of 2,048 nodes (2 % slow) that gangs placed by railmap use to 55 %, after a peak
// use (0.55 = none). What the state has before anything is lent bounds every rule: the rule "nothing" shows it.
func Lend(shares []float64, seeds []uint64, peak float64) ([]LendRow, error) {
	var rows []LendRow
	worlds := make([]*lendWorld, len(seeds))
	for i, seed := range seeds {
		var err error
		if worlds[i], err = newLendWorld(seed, peak); err != nil {
			return nil, err
		}
	}
	for _, share := range shares {
		for _, rule := range lendRules() {
			row := LendRow{Lent: share, Policy: rule}
			for _, w := range worlds {
				set, err := w.lend(rule, int(share*float64(w.load.M.Nodes)+.5))
				if err != nil {
					return nil, fmt.Errorf("%s: %w", rule, err)
				}
				g32, g16, pod := w.left(set)
				n := float64(len(seeds))
				row.LeafGangs32 += float64(g32) / n
				row.LeafGangs16 += float64(g16) / n
				row.LargestPod += float64(pod) / n
				row.BySeed32, row.BySeedLargst = append(row.BySeed32, float64(g32)), append(row.BySeedLargst, float64(pod))
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// lendWorld is a cluster in use.
type lendWorld struct {
	load    *Load
	railmap *railmap
	rng     *rand.Rand
}

func newLendWorld(seed uint64, peak float64) (*lendWorld, error) {
	m := NewModel(ModelSpec{Nodes: 2048, LeafNodes: 32, PodNodes: 512, Degraded: .02, Seed: seed})
	cluster, err := placer.NewCluster(m.Topology(), placer.Options{})
	if err != nil {
		return nil, err
	}
	w := &lendWorld{load: NewLoad(m), rng: rand.New(rand.NewPCG(seed, 13))}
	if w.railmap, err = newRailmap(w.load, cluster, placer.DefaultTolerance); err != nil {
		return nil, err
	}
	w.use(peak, .55)
	return w, nil
}

// use lets gangs come and go at the peak use, then only end until the use is down to busy.
func (w *lendWorld) use(peak, busy float64) {
	var jobs [][]int
	nodes := float64(w.load.M.Nodes)
	endTo := func(limit float64) {
		for len(jobs) > 0 && float64(w.load.Busy) > limit {
			i := w.rng.IntN(len(jobs))
			w.load.End(jobs[i])
			w.railmap.Changed(jobs[i], false)
			jobs = slices.Delete(jobs, i, i+1)
		}
	}
	for range 4000 {
		k := drawSize(w.rng, 64)
		endTo(peak*nodes - float64(k))
		if set := w.railmap.Choose(w.load, k); set != nil {
			w.load.Start(set)
			w.railmap.Changed(set, true)
			jobs = append(jobs, set)
		}
	}
	endTo(busy * nodes)
}

func (w *lendWorld) lend(rule string, n int) ([]int, error) {
	l := w.load
	switch rule {
	case "nothing":
		return nil, nil
	case "spread":
		return (&random{rng: rand.New(rand.NewPCG(1, 17))}).Choose(l, n), nil
	case "first-by-name":
		return firstFit(l, n), nil
	case "emptiest-leaf":
		leaves := make([]int, len(l.LeafFree))
		for i := range leaves {
			leaves[i] = i
		}
		slices.SortStableFunc(leaves, func(a, b int) int { return cmp.Compare(l.LeafFree[b], l.LeafFree[a]) })
		counts := map[int]int{}
		for _, i := range leaves {
			counts[i] = min(n, l.LeafFree[i])
			n -= counts[i]
		}
		return l.take(counts), nil
	}
	lending, err := w.railmap.engine.Snapshot().Lend(n, "")
	if err != nil {
		return nil, err
	}
	return w.railmap.positions(&placer.Placement{Nodes: lending.Nodes}), nil
}

// left is what gangs can still have: nodes at 0.9 of nominal and more, pods only through leaves whose uplink gives that too.
func (w *lendWorld) left(lent []int) (g32, g16, pod int) {
	l := w.load.clone()
	for _, i := range lent {
		l.mark(i, false)
	}
	m := l.M
	pods := make([]int, m.Pods())
	for leaf := range l.LeafFree {
		usable := 0
		for i := leaf * m.LeafNodes; i < (leaf+1)*m.LeafNodes; i++ {
			if l.Free[i] && m.Share[i] >= drainLimit {
				usable++
			}
		}
		g32 += usable / 32
		g16 += usable / 16
		if m.LeafUp[leaf]/float64(1+l.LeafX[leaf]) >= drainLimit {
			pods[leaf/m.PodLeaves] += usable
		}
	}
	return g32, g16, slices.Max(pods)
}
