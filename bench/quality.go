package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/railmap/railmap/placer"
)

// QualityOptions say what to compare.
type QualityOptions struct {
	Nodes    int
	Degraded float64
	Seeds    []uint64
	Policies []string
	Steps    int  // placements per seed after the warm-up; 0 = 20,000
	States   bool // ask all policies on the same states, against the exact optimum, instead of letting each live with its own
}

// QualityReport is the answer.
type QualityReport struct {
	Mode     string          `json:"mode" yaml:"mode"` // churn or states
	Nodes    int             `json:"nodes" yaml:"nodes"`
	Degraded float64         `json:"degraded" yaml:"degraded"`
	Seeds    []uint64        `json:"seeds" yaml:"seeds,flow"`
	Policies []PolicyQuality `json:"policies" yaml:"policies"`
}

// PolicyQuality is one policy over all seeds.
type PolicyQuality struct {
	Policy string    `json:"policy" yaml:"policy"`
	Mean   float64   `json:"mean" yaml:"mean"` // bandwidth ÷ optimum; churn: against the empty cluster, weighted by nodes
	Spread float64   `json:"standardDeviation" yaml:"standardDeviation"`
	Worst  float64   `json:"worst" yaml:"worst"` // of a single placement
	Seeds  []float64 `json:"bySeed" yaml:"bySeed,flow"`
	// Declined counts requests that the policy refused though nodes were free; they are not in Mean, so means of policies
	// that decline differently do not compare.
	Declined int `json:"declined" yaml:"declined"`
	Placed   int `json:"placed" yaml:"placed"`
	// OneLeaf is the share of gangs that fit one leaf and got one.
	OneLeaf float64    `json:"oneLeaf" yaml:"oneLeaf"`
	Sizes   []SizeMean `json:"sizes,omitempty" yaml:"sizes,omitempty"` // states: per gang size
}

// SizeMean is the quality at one gang size.
type SizeMean struct {
	Gang     int     `json:"gang" yaml:"gang"`
	Mean     float64 `json:"mean" yaml:"mean"`
	Worst    float64 `json:"worst" yaml:"worst"`
	Placed   int     `json:"placed" yaml:"placed"`
	Declined int     `json:"declined" yaml:"declined"`
}

// Quality compares policies. It fails when any policy beats an exact optimum: then the model or the bench is wrong.
func Quality(o QualityOptions) (*QualityReport, error) {
	if o.Steps == 0 {
		o.Steps = 20000
	}
	rep := &QualityReport{Mode: "churn", Nodes: o.Nodes, Degraded: o.Degraded, Seeds: o.Seeds}
	run := churn
	if o.States {
		rep.Mode, run = "states", sameStates
	}
	tallies := make([]*tally, len(o.Policies))
	for i, name := range o.Policies {
		tallies[i] = &tally{name: name, sizes: map[int]*sizeTally{}}
	}
	for _, seed := range o.Seeds {
		if err := run(&o, seed, tallies); err != nil {
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	for _, t := range tallies {
		rep.Policies = append(rep.Policies, t.result(o.States))
	}
	return rep, nil
}

// occupancy is the share of nodes in use and the largest gang of the churn runs.
func occupancy(nodes int) (busy float64, largest int) {
	if nodes < 5000 {
		return .85, 64
	}
	return .9, 256
}

// churn lets every policy live with its own fragmentation: random jobs end, the next one of the mix starts.
func churn(o *QualityOptions, seed uint64, tallies []*tally) error {
	m := NewModel(ModelSpec{Nodes: o.Nodes, LeafNodes: 32, PodNodes: 512, Degraded: o.Degraded, Seed: seed})
	cluster, err := placer.NewCluster(m.Topology(), placer.Options{})
	if err != nil {
		return err
	}
	ideals := newIdeals(cluster)
	for _, t := range tallies {
		if err := churnOne(o, seed, t, m, cluster, ideals); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

func churnOne(o *QualityOptions, seed uint64, t *tally, m *Model, cluster *placer.Cluster, ideals *ideals) error {
	busy, largest := occupancy(o.Nodes)
	load := NewLoad(m)
	policy, err := NewPolicy(t.name, load, cluster, seed)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 5))
	var jobs [][]int
	t.begin()
	warm := o.Steps / 4
	for step := range warm + o.Steps {
		k := drawSize(rng, largest)
		for len(jobs) > 0 && float64(load.Busy+k) > busy*float64(o.Nodes) {
			i := rng.IntN(len(jobs))
			load.End(jobs[i])
			policy.Changed(jobs[i], false)
			jobs[i] = jobs[len(jobs)-1]
			jobs = jobs[:len(jobs)-1]
		}
		set := policy.Choose(load, k)
		if set == nil {
			if step >= warm {
				t.declined(k)
			}
			continue
		}
		if step >= warm {
			if err := t.placed(k, load.Ring(set), ideals.of(k), m, set, float64(k)); err != nil {
				return err
			}
		}
		load.Start(set)
		policy.Changed(set, true)
		jobs = append(jobs, set)
	}
	t.end()
	return nil
}

// ideals are the optima on the empty cluster.
type ideals struct {
	s     *placer.Snapshot
	value map[int]float64
}

func newIdeals(c *placer.Cluster) *ideals {
	s, err := c.Snapshot(placer.State{})
	if err != nil {
		panic(err) // nothing in the state can be wrong
	}
	return &ideals{s: s, value: map[int]float64{}}
}

func (d *ideals) of(k int) float64 {
	if v, ok := d.value[k]; ok {
		return v
	}
	v := 0.0
	if p, err := placer.Place(d.s, &placer.Request{Nodes: k, Brief: true}); err == nil {
		v = p.Share
	}
	d.value[k] = v
	return v
}

// tally gathers one policy's results.
type tally struct {
	name             string
	seeds            []float64
	sum, weight      float64 // of the running seed
	worst            float64
	placedN, refused int
	small, oneLeaf   int
	sizes            map[int]*sizeTally
}

type sizeTally struct {
	sum, worst       float64
	placed, declined int
}

func (t *tally) begin() {
	t.sum, t.weight = 0, 0
	if t.seeds == nil {
		t.worst = math.Inf(1)
	}
}

func (t *tally) end() { t.seeds = append(t.seeds, t.sum/t.weight) }

func (t *tally) size(k int) *sizeTally {
	s := t.sizes[k]
	if s == nil {
		s = &sizeTally{worst: math.Inf(1)}
		t.sizes[k] = s
	}
	return s
}

func (t *tally) declined(k int) {
	t.refused++
	t.size(k).declined++
}

// placed counts a placement. A ratio above an exact optimum is an error of the bench, not a success of the policy.
func (t *tally) placed(k int, got, optimum float64, m *Model, set []int, weight float64) error {
	ratio := got / optimum
	if ratio > 1+1e-9 || math.IsNaN(ratio) {
		return fmt.Errorf("gang of %d reaches %v of an exact optimum of %v: must not exceed it", k, got, optimum)
	}
	t.sum += weight * ratio
	t.weight += weight
	t.placedN++
	t.worst = min(t.worst, ratio)
	s := t.size(k)
	s.sum += ratio
	s.worst = min(s.worst, ratio)
	s.placed++
	if k <= m.LeafNodes && k > 1 {
		t.small++
		if m.Leaf(set[0]) == m.Leaf(set[k-1]) {
			t.oneLeaf++
		}
	}
	return nil
}

func (t *tally) result(sizes bool) PolicyQuality {
	q := PolicyQuality{Policy: t.name, Seeds: t.seeds, Worst: t.worst, Declined: t.refused, Placed: t.placedN, OneLeaf: float64(t.oneLeaf) / float64(max(1, t.small))}
	q.Mean, q.Spread = meanSpread(t.seeds)
	if !sizes {
		return q
	}
	var ks []int
	for k := range t.sizes {
		ks = append(ks, k)
	}
	slices.Sort(ks)
	for _, k := range ks {
		s := t.sizes[k]
		row := SizeMean{Gang: k, Worst: s.worst, Placed: s.placed, Declined: s.declined}
		if s.placed > 0 {
			row.Mean = s.sum / float64(s.placed)
		} else {
			row.Worst = 0
		}
		q.Sizes = append(q.Sizes, row)
	}
	return q
}

// meanSpread is the mean and the standard deviation (n-1).
func meanSpread(a []float64) (mean, spread float64) {
	for _, v := range a {
		mean += v / float64(len(a))
	}
	for _, v := range a {
		spread += (v - mean) * (v - mean)
	}
	if len(a) > 1 {
		spread = math.Sqrt(spread / float64(len(a)-1))
	}
	return mean, spread
}
