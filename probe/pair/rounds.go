package pair

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/railmap/railmap/topology"
)

// doubtful is how far from its peers a measurement may be before it is repeated, a ratio.
const doubtful = 0.02

// run measures the plan, then repeats what is doubtful. An interrupt and the end of the budget are no errors: the report
// says so.
func (s *sweep) run(ctx context.Context) error {
	if ctx.Err() != nil {
		s.ended(context.Cause(ctx), 0)
		return nil
	}
	var names []string
	for _, m := range s.everybody() {
		names = append(names, m.node)
	}
	s.site = SiteOf(s.o.Topology, names)
	s.unplaced()
	plan, err := NewPlan(s.site, PlanOptions{Tiers: s.tiers(), Samples: s.o.Samples, RoundSeconds: s.o.RoundSeconds(), Budget: s.o.Budget})
	if err != nil {
		return err
	}
	if s.o.Planned != nil {
		s.o.Planned(plan)
	}
	end := time.Now().Add(s.o.Budget)
	// A round that hangs may not take the sweep far beyond its budget.
	ctx, cancel := context.WithDeadlineCause(ctx, end.Add(5*time.Second), errBudget)
	defer cancel()
	length := time.Duration(plan.RoundSeconds * float64(time.Second))
	for i, r := range plan.Rounds {
		if time.Now().Add(length).After(end.Add(length / 2)) {
			s.ended(errBudget, len(plan.Rounds)-i)
			return nil
		}
		s.round(ctx, r, i+1)
		if ctx.Err() != nil {
			s.ended(context.Cause(ctx), len(plan.Rounds)-i-1)
			return nil
		}
		if s.o.Progress != nil {
			s.o.Progress(i+1, len(plan.Rounds))
		}
	}
	for _, n := range plan.Notes {
		s.find(CodePartial, topology.Info, "sweep", "raise --budget", "%s", n)
	}
	s.repeat(ctx, len(plan.Rounds), end, length)
	return nil
}

// tiers falls back on all pairs when the map knows none of the nodes.
func (s *sweep) tiers() []Tier {
	for _, n := range s.site.Nodes {
		if n.Group >= 0 {
			return s.o.Tiers
		}
	}
	return []Tier{All}
}

func (s *sweep) unplaced() {
	if s.o.Topology == nil {
		return
	}
	for _, n := range s.site.Nodes {
		if n.Group < 0 {
			s.find(CodeUnplaced, topology.Info, n.Name, "build the map with this host, or check its --node-name", "is measured but stands in no leaf group of the map")
		}
	}
}

func (s *sweep) ended(why error, left int) {
	s.partial = true
	reason := "interrupted"
	if errors.Is(why, errBudget) {
		reason = errBudget.Error()
	}
	s.find(CodePartial, topology.Warning, "sweep", "measure again with more time", "%s: %d rounds were not run", reason, left)
}

// round measures its pairs one way, all at the same time, then the other way.
func (s *sweep) round(ctx context.Context, r Round, number int) {
	for way := range 2 {
		var wg sync.WaitGroup
		for _, run := range r.Runs {
			a, b := s.site.Nodes[run.A].Name, s.site.Nodes[run.B].Name
			if way == 1 {
				a, b = b, a
			}
			wg.Go(func() { s.measure(ctx, a, b, r, number) })
		}
		wg.Wait()
	}
}

// measure runs one pair one way and keeps what came of it.
func (s *sweep) measure(ctx context.Context, a, b string, r Round, number int) {
	s.mu.Lock()
	from, to := s.members[a], s.members[b]
	s.lastID++
	id := s.lastID
	s.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	rates, latencies, err := s.transfer(ctx, from, to, id, r.Tier == Loaded)
	if ctx.Err() != nil && err != nil {
		return // not this pair's fault
	}
	s.keep(from, to, r, number, rates, latencies, err)
}

// transfer makes one node send to another: the receiver gets ready, the sender sends, the receiver tells what came.
func (s *sweep) transfer(ctx context.Context, from, to *member, id int64, loaded bool) (rates, latencies []float64, err error) {
	if from == to {
		return nil, nil, errSelf
	}
	if err := errors.Join(from.trouble(), to.trouble()); err != nil {
		return nil, nil, err
	}
	window := s.o.Window.Seconds()
	o := &order{Method: s.o.Method, Rails: min(len(from.nics), len(to.nics)), Streams: s.o.Streams, Warm: window / 3, Window: window, Pings: s.o.Pings, Congestion: s.o.Congestion}
	if loaded {
		o.Tail = min(1, window/2)
	}
	key := newNonce()
	if err := to.w.write(&message{Type: msgReceive, ID: id, Key: key, Order: o}); err != nil {
		return nil, nil, err
	}
	if _, err := to.await(ctx, id, msgReady, answerTime, from); err != nil {
		return nil, nil, err
	}
	peers := make([]string, o.Rails)
	for r := range peers {
		peers[r] = to.nics[r].Address
	}
	if err := from.w.write(&message{Type: msgSend, ID: id, Key: key, Order: o, Peers: peers}); err != nil {
		return nil, nil, err
	}
	return s.results(ctx, from, to, id, o)
}

// results waits for what both ends say. When nothing came, the end that is silent is to blame, not both.
func (s *sweep) results(ctx context.Context, from, to *member, id int64, o *order) (rates, latencies []float64, err error) {
	limit := o.length() + resultGrace
	if o.Method == MethodPerftest {
		limit += 5 * time.Second // starting the program and its connection
		sent, err := from.await(ctx, id, msgSent, limit, to)
		if err != nil {
			return nil, nil, err
		}
		return sent.Rates, nil, nil
	}
	sent := make(chan error, 1)
	go func() {
		m, err := from.await(ctx, id, msgSent, limit+drainTime, to)
		if err == nil {
			latencies = m.Latencies
		}
		sent <- err
	}()
	result, err := to.await(ctx, id, msgResult, limit, from)
	if sendErr := <-sent; sendErr != nil {
		err = sendErr // says more than that nothing came
	}
	if err != nil {
		return nil, nil, err
	}
	return result.Rates, latencies, nil
}

// repeat measures doubtful pairs again, and suspects against good partners, as long as there is time. The median counts.
func (s *sweep) repeat(ctx context.Context, done int, end time.Time, length time.Duration) {
	for range s.o.Repeats {
		rounds := RepeatRounds(s.site, s.doubts())
		for i, r := range rounds {
			if ctx.Err() != nil || time.Now().Add(length).After(end) {
				return
			}
			s.round(ctx, r, done+1)
			done++
			if s.o.Progress != nil {
				s.o.Progress(i+1, len(rounds))
			}
		}
	}
}

// doubts lists pairs that are far from their peers (worst first, at most a quarter of all), and each suspect with two
// partners that nobody suspects: a node is not reported for what its partners do.
func (s *sweep) doubts() []Run {
	report := s.report()
	index := map[string]int32{}
	for i, n := range s.site.Nodes {
		index[n.Name] = int32(i)
	}
	x := newSuspicion(report, BlameOptions{MinLoss: .07, MaxEvidence: 1})
	if len(x.obs) == 0 {
		return nil
	}
	x.solve()
	worst := map[Run]float64{}
	for i, o := range x.obs {
		d := math.Abs(x.ratio(int32(i)))
		r := run(index[x.nodes[o.a]], index[x.nodes[o.b]])
		if bad := errors.Join(s.member(x.nodes[o.a]).trouble(), s.member(x.nodes[o.b]).trouble()); d > doubtful && bad == nil {
			worst[r] = max(worst[r], d)
		}
	}
	runs := make([]Run, 0, len(worst))
	for r := range worst {
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b Run) int {
		if worst[a] != worst[b] {
			if worst[a] > worst[b] {
				return -1
			}
			return 1
		}
		return int(a.A-b.A)<<16 + int(a.B-b.B)
	})
	runs = runs[:min(len(runs), max(4, len(x.obs)/8))]
	return append(runs, s.suspects(x, index)...)
}

func (s *sweep) suspects(x *suspicion, index map[string]int32) []Run {
	accused := map[string]bool{}
	for _, a := range x.chosen {
		if c := x.candidates[a.candidate]; c.kind == NodeCulprit || c.kind == NICCulprit {
			accused[c.name] = true
		}
	}
	var runs []Run
	for i, n := range s.site.Nodes {
		if !accused[n.Name] || s.member(n.Name).trouble() != nil {
			continue
		}
		partners := 0
		for j, p := range s.site.Nodes {
			if partners < 2 && !accused[p.Name] && p.Group == n.Group && s.member(p.Name).trouble() == nil {
				runs = append(runs, run(int32(i), int32(j)))
				partners++
			}
		}
	}
	return runs
}
