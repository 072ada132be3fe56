package bench

import (
	"container/heap"
	"fmt"
	"math"
	"slices"

	"github.com/railmap/railmap/placer"
)

// ReplayOptions say what to replay on what.
type ReplayOptions struct {
	Jobs      []Job
	Synthetic int    // in place of Jobs: draw that many for every seed
	Half      string // first or second half of the jobs by arrival; anything else = all
	Nodes     int
	LeafNodes int
	PodNodes  int
	Degraded  float64
	Load      float64 // share of the cluster that the jobs use at ideal speed
	Comm      float64 // communication fraction of every job; 0 = 0.3
	Seeds     []uint64
	Policies  []string // of NewPolicy, and railmap+floor, railmap+wait, railmap+wait@IDLESHARE
}

// ReplayReport is the answer.
type ReplayReport struct {
	Jobs     int            `json:"jobs" yaml:"jobs"`
	Nodes    int            `json:"nodes" yaml:"nodes"`
	Load     float64        `json:"load" yaml:"load"`
	Degraded float64        `json:"degraded" yaml:"degraded"`
	Seeds    []uint64       `json:"seeds" yaml:"seeds,flow"`
	Policies []PolicyReplay `json:"policies" yaml:"policies"`
}

// PolicyReplay is one policy over all seeds; times are means over jobs, in seconds.
type PolicyReplay struct {
	Policy            string    `json:"policy" yaml:"policy"`
	CompletionSeconds float64   `json:"completionSeconds" yaml:"completionSeconds"`
	Spread            float64   `json:"standardDeviation" yaml:"standardDeviation"` // of the seeds' means
	WaitSeconds       float64   `json:"waitSeconds" yaml:"waitSeconds"`
	Bandwidth         float64   `json:"bandwidth" yaml:"bandwidth"` // ÷ ideal, weighted by node-seconds
	Declined          int       `json:"declined" yaml:"declined"`   // starts that the policy put off though enough nodes were free
	Seeds             []float64 `json:"bySeed" yaml:"bySeed,flow"`  // completion
}

// Replay runs a trace under first come first served with EASY backfill over the first 100 of the queue; end times are known
// to every policy. A gang at bandwidth B runs duration × (1 - c + c × ideal/B).
func Replay(o ReplayOptions) (*ReplayReport, error) {
	if o.Comm == 0 {
		o.Comm = placer.DefaultCommunicationFraction
	}
	rep := &ReplayReport{Nodes: o.Nodes, Load: o.Load, Degraded: o.Degraded, Seeds: o.Seeds}
	for _, name := range o.Policies {
		out := PolicyReplay{Policy: name}
		for _, seed := range o.Seeds {
			jobs := o.jobsOf(seed)
			rep.Jobs = len(jobs)
			r, err := newReplay(&o, name, seed, jobs)
			if err != nil {
				return nil, err
			}
			if err := r.run(); err != nil {
				return nil, fmt.Errorf("%s, seed %d: %w", name, seed, err)
			}
			n, seeds := float64(len(jobs)), float64(len(o.Seeds))
			out.Seeds = append(out.Seeds, r.completion/n)
			out.WaitSeconds += r.waited / n / seeds
			out.Bandwidth += r.ratio / r.work / seeds
			out.Declined += r.declined
		}
		out.CompletionSeconds, out.Spread = meanSpread(out.Seeds)
		rep.Policies = append(rep.Policies, out)
	}
	return rep, nil
}

// jobsOf is the part of the trace that is asked for, stretched to the load.
func (o *ReplayOptions) jobsOf(seed uint64) []Job {
	jobs := o.Jobs
	if o.Synthetic > 0 {
		jobs = SynthTrace(o.Synthetic, seed)
	}
	switch half := len(jobs) / 2; o.Half {
	case "first":
		jobs = jobs[:half]
	case "second":
		jobs = jobs[half:]
	}
	return scaleTo(jobs, o.Nodes, o.Load)
}

// replay is one run.
type replay struct {
	o       *ReplayOptions
	jobs    []Job
	load    *Load
	gate    gate
	ideals  *ideals
	now     float64
	queue   []int // of jobs
	running endHeap

	completion, waited, ratio, work float64
	declined, done                  int
}

// gate decides about a start: a set of nodes, or nil to decline.
type gate interface {
	Policy
	choose(r *replay, k int, duration float64) []int
}

// running is a gang under way.
type running struct {
	end float64
	job int
	set []int
}

type endHeap []running

func (h endHeap) Len() int { return len(h) }
func (h endHeap) Less(i, j int) bool {
	return h[i].end < h[j].end || h[i].end == h[j].end && h[i].job < h[j].job
}
func (h endHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is for container/heap.
func (h *endHeap) Push(x any) { *h = append(*h, x.(running)) }

// Pop is for container/heap.
func (h *endHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

func newReplay(o *ReplayOptions, name string, seed uint64, jobs []Job) (*replay, error) {
	m := NewModel(ModelSpec{Nodes: o.Nodes, LeafNodes: o.LeafNodes, PodNodes: o.PodNodes, Degraded: o.Degraded, Seed: seed})
	cluster, err := placer.NewCluster(m.Topology(), placer.Options{})
	if err != nil {
		return nil, err
	}
	r := &replay{o: o, jobs: jobs, load: NewLoad(m), ideals: newIdeals(cluster)}
	r.gate, err = newGate(name, r.load, cluster, seed)
	return r, err
}

// run handles arrivals and ends in order of time until every job is done.
func (r *replay) run() error {
	next := 0
	for r.done < len(r.jobs) {
		switch {
		case next < len(r.jobs) && (len(r.running) == 0 || r.jobs[next].Arrival <= r.running[0].end):
			r.now = r.jobs[next].Arrival
			r.queue = append(r.queue, next)
			next++
		case len(r.running) > 0:
			g := heap.Pop(&r.running).(running)
			r.now = g.end
			r.load.End(g.set)
			r.gate.Changed(g.set, false)
			r.done++
			r.completion += g.end - r.jobs[g.job].Arrival
			if len(r.running) > 0 && r.running[0].end == g.end {
				continue
			}
		default:
			return fmt.Errorf("job of %d nodes can never start", r.jobs[r.queue[0]].Nodes)
		}
		r.schedule()
	}
	return nil
}

// backfillDepth is how far down the queue backfill looks.
const backfillDepth = 100

// schedule starts jobs from the head of the queue, then backfills what does not delay the head.
func (r *replay) schedule() {
	for len(r.queue) > 0 && r.try(0) {
	}
	if len(r.queue) < 2 {
		return
	}
	shadow, spare := r.reservation(r.jobs[r.queue[0]].Nodes)
	for i := 1; i < len(r.queue) && i <= backfillDepth; {
		j := r.jobs[r.queue[i]]
		fits := j.Nodes <= spare || r.now+j.Duration*(1+r.o.Comm) <= shadow
		before := r.freeNodes()
		if !fits || !r.try(i) {
			i++
			continue
		}
		if r.now+j.Duration > shadow {
			spare -= before - r.freeNodes()
		}
	}
}

func (r *replay) freeNodes() int {
	n := 0
	for _, f := range r.load.PodFree {
		n += f
	}
	return n
}

// reservation is when the head can start by count, and how many nodes are spare then. A head that put its start off though
// enough nodes are free keeps them until the next end.
func (r *replay) reservation(k int) (shadow float64, spare int) {
	free := r.freeNodes()
	ends := slices.Clone(r.running)
	slices.SortFunc(ends, func(a, b running) int {
		if a.end < b.end {
			return -1
		}
		return 1
	})
	if free >= k && len(ends) > 0 {
		return ends[0].end, free - k
	}
	for _, g := range ends {
		if free += len(g.set); free >= k {
			return g.end, free - k
		}
	}
	return math.Inf(1), 0
}

// try starts the i-th job of the queue if the gate gives it nodes.
func (r *replay) try(i int) bool {
	id := r.queue[i]
	j := r.jobs[id]
	if r.freeNodes() < j.Nodes {
		return false
	}
	set := r.gate.choose(r, j.Nodes, j.Duration)
	if set == nil {
		r.declined++
		return false
	}
	b, ideal := r.load.Ring(set), r.ideals.of(j.Nodes)
	run := placer.RunSeconds(j.Duration, r.o.Comm, ideal, b)
	r.load.Start(set)
	r.gate.Changed(set, true)
	heap.Push(&r.running, running{end: r.now + run, job: id, set: set})
	r.queue = slices.Delete(r.queue, i, i+1)
	r.waited += r.now - j.Arrival
	r.ratio += b / ideal * float64(j.Nodes) * run
	r.work += float64(j.Nodes) * run
	return true
}
