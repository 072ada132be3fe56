package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/railmap/railmap/placer"
)

// LatencyOptions say what to measure.
type LatencyOptions struct {
	Nodes     int
	Sizes     []int // gang sizes; nil = 4, 64, 256, 1024 and, from 50,000 nodes on, 4096
	Runs      int   // 0 = 5; the median of the runs is reported
	Queries   int   // per size and run; 0 = 2000
	Busy      float64
	Tolerance float64 // 0 = placer.DefaultTolerance
	Full      bool    // with levels, alternatives and reasons
	Seed      uint64
}

// LatencyReport is the answer; times are thread CPU time, so they leave out waiting for a processor.
type LatencyReport struct {
	Nodes               int          `json:"nodes" yaml:"nodes"`
	Busy                float64      `json:"busy" yaml:"busy"`
	Tolerance           float64      `json:"tolerance" yaml:"tolerance"`
	Full                bool         `json:"full" yaml:"full"`
	Runs                int          `json:"runs" yaml:"runs"`
	Sizes               []LatencyRow `json:"sizes" yaml:"sizes"`
	ReadSeconds         float64      `json:"readSeconds" yaml:"readSeconds"`   // topology to cluster
	IndexSeconds        float64      `json:"indexSeconds" yaml:"indexSeconds"` // cluster to engine
	BytesOverTopology   int64        `json:"bytesOverTopology" yaml:"bytesOverTopology"`
	UpdateSecondsPerOne float64      `json:"updateSecondsPerNodeSingle" yaml:"updateSecondsPerNodeSingle"` // a generation for every node
}

// LatencyRow is one gang size.
type LatencyRow struct {
	Gang                 int     `json:"gang" yaml:"gang"`
	P50Seconds           float64 `json:"p50Seconds" yaml:"p50Seconds"`
	P99Seconds           float64 `json:"p99Seconds" yaml:"p99Seconds"`
	P99LowSeconds        float64 `json:"p99LowSeconds" yaml:"p99LowSeconds"` // of the runs
	P99HighSeconds       float64 `json:"p99HighSeconds" yaml:"p99HighSeconds"`
	UpdateSecondsPerNode float64 `json:"updateSecondsPerNode" yaml:"updateSecondsPerNode"` // start and end of a gang, generation published
	Declined             int     `json:"declined" yaml:"declined"`
}

func (o *LatencyOptions) complete() {
	if o.Nodes == 0 {
		o.Nodes = 10240
	}
	if o.Sizes == nil {
		o.Sizes = []int{4, 64, 256, 1024}
		if o.Nodes >= 50000 {
			o.Sizes = append(o.Sizes, 4096)
		}
	}
	if o.Runs == 0 {
		o.Runs = 5
	}
	if o.Queries == 0 {
		o.Queries = 2000
	}
	if o.Busy == 0 {
		o.Busy = .85
	}
	if o.Tolerance == 0 {
		o.Tolerance = placer.DefaultTolerance
	}
}

// Latency measures answers on a cluster in use. Between queries small jobs end and start, so that the state keeps moving.
func Latency(o LatencyOptions) (*LatencyReport, error) {
	o.complete()
	defer lockThread()()
	rep := &LatencyReport{Nodes: o.Nodes, Busy: o.Busy, Tolerance: o.Tolerance, Full: o.Full, Runs: o.Runs}
	w, err := newLatencyWorld(&o, rep)
	if err != nil {
		return nil, err
	}
	for _, k := range o.Sizes {
		row, err := w.measure(k)
		if err != nil {
			return nil, err
		}
		rep.Sizes = append(rep.Sizes, *row)
	}
	rep.UpdateSecondsPerOne = w.singleUpdates()
	return rep, nil
}

// latencyWorld is an engine under churn.
type latencyWorld struct {
	o      *LatencyOptions
	engine *placer.Engine
	model  *Model
	load   *Load
	names  []string
	rng    *rand.Rand
	jobs   [][]int
}

func newLatencyWorld(o *LatencyOptions, rep *LatencyReport) (*latencyWorld, error) {
	w := &latencyWorld{o: o, rng: rand.New(rand.NewPCG(o.Seed, 1)), model: NewModel(ModelSpec{Nodes: o.Nodes, LeafNodes: 32, PodNodes: 512, Degraded: .02, Seed: o.Seed})}
	topo := w.model.Topology()
	before := heapInUse()
	start := threadCPU()
	cluster, err := placer.NewCluster(topo, placer.Options{})
	if err != nil {
		return nil, err
	}
	rep.ReadSeconds = (threadCPU() - start).Seconds()
	start = threadCPU()
	if w.engine, err = placer.NewEngine(cluster, placer.State{}); err != nil {
		return nil, err
	}
	rep.IndexSeconds = (threadCPU() - start).Seconds()
	rep.BytesOverTopology = heapInUse() - before
	runtime.KeepAlive(topo)
	w.load = NewLoad(w.model)
	for i := range o.Nodes {
		w.names = append(w.names, w.model.Name(i))
	}
	for float64(w.load.Busy) < o.Busy*float64(o.Nodes) {
		w.step()
	}
	for range o.Nodes / 4 {
		w.step()
	}
	return w, nil
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// step lets random jobs end until there is room, then starts one by first fit.
func (w *latencyWorld) step() {
	k := drawSize(w.rng, 64)
	for float64(w.load.Busy+k) > w.o.Busy*float64(w.o.Nodes)+1 && len(w.jobs) > 0 {
		i := w.rng.IntN(len(w.jobs))
		w.load.End(w.jobs[i])
		w.change(w.jobs[i], (*placer.Tx).End)
		w.jobs[i] = w.jobs[len(w.jobs)-1]
		w.jobs = w.jobs[:len(w.jobs)-1]
	}
	set := firstFit(w.load, k)
	if set == nil {
		return
	}
	w.load.Start(set)
	w.change(set, (*placer.Tx).Start)
	w.jobs = append(w.jobs, set)
}

func (w *latencyWorld) change(set []int, f func(*placer.Tx, ...string) error) {
	names := make([]string, len(set))
	for i, v := range set {
		names[i] = w.names[v]
	}
	if err := w.engine.Update(func(tx *placer.Tx) error { return f(tx, names...) }); err != nil {
		panic(err) // the bench's own bookkeeping is wrong
	}
}

// measure asks for gangs of k nodes; each answer is started and ended again, which gives the cost of updates.
func (w *latencyWorld) measure(k int) (*LatencyRow, error) {
	row := &LatencyRow{Gang: k}
	var p50s, p99s, updates []float64
	req := &placer.Request{Nodes: k, Tolerance: w.o.Tolerance, Brief: !w.o.Full}
	if _, err := placer.Place(w.engine.Snapshot(), req); err != nil { // warms the ideal of this size
		return nil, fmt.Errorf("gang of %d: %w", k, err)
	}
	for range w.o.Runs {
		times := make([]float64, 0, w.o.Queries)
		var spent time.Duration
		nodes := 0
		for range w.o.Queries {
			w.step()
			start := threadCPU()
			p, err := placer.Place(w.engine.Snapshot(), req)
			times = append(times, (threadCPU() - start).Seconds())
			if err != nil {
				row.Declined++
				continue
			}
			start = threadCPU()
			err1 := w.engine.Update(func(tx *placer.Tx) error { return tx.Start(p.Nodes...) })
			err2 := w.engine.Update(func(tx *placer.Tx) error { return tx.End(p.Nodes...) })
			spent += threadCPU() - start
			nodes += 2 * k
			if err1 != nil || err2 != nil {
				return nil, fmt.Errorf("gang of %d: %v %v", k, err1, err2)
			}
		}
		slices.Sort(times)
		p50s, p99s = append(p50s, times[len(times)/2]), append(p99s, times[len(times)*99/100])
		updates = append(updates, spent.Seconds()/float64(max(1, nodes)))
	}
	row.P50Seconds, row.P99Seconds, row.UpdateSecondsPerNode = median(p50s), median(p99s), median(updates)
	row.P99LowSeconds, row.P99HighSeconds = slices.Min(p99s), slices.Max(p99s)
	return row, nil
}

// singleUpdates is the cost of a generation that changes one node.
func (w *latencyWorld) singleUpdates() float64 {
	var free []string
	for i, f := range w.load.Free {
		if f {
			free = append(free, w.names[i])
		}
	}
	var all []float64
	for range w.o.Runs {
		const n = 2000
		start := threadCPU()
		for range n / 2 {
			name := free[w.rng.IntN(len(free))]
			err1 := w.engine.Update(func(tx *placer.Tx) error { return tx.Start(name) })
			err2 := w.engine.Update(func(tx *placer.Tx) error { return tx.End(name) })
			if err1 != nil || err2 != nil {
				panic(fmt.Sprint(err1, err2)) // the bench's own bookkeeping is wrong
			}
		}
		all = append(all, (threadCPU()-start).Seconds()/n)
	}
	return median(all)
}

func median(a []float64) float64 {
	b := slices.Clone(a)
	slices.Sort(b)
	return b[len(b)/2]
}
