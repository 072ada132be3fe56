package nccl

import (
	"fmt"
	"math"
	"slices"
)

// VectorScore sums up rows of one machine and node count word, or of all.
type VectorScore struct {
	Machine string `json:"machine"`
	Nodes   string `json:"nodes"` // one, several or all
	Rows    int    `json:"rows"`
	// ExactTupleShare is the share of rows whose graphs our own search finds exactly: channels, speeds, path types, crossNic
	// and the pattern of the tree.
	ExactTupleShare float64 `json:"exactTupleShare"`
	// ChoiceShare is the share of rows with the same algorithm and protocol, from our own graphs.
	ChoiceShare float64 `json:"choiceShare"`
	// Errors of time and bus bandwidth as ratios, from our own graphs; compared at the precision that the file was written with.
	// Those of time are absent where the file has no times.
	MedianTimeError *float64 `json:"medianTimeError,omitempty"`
	MaxTimeError    *float64 `json:"maxTimeError,omitempty"`
	MedianBusError  float64  `json:"medianBusError"`
	MaxBusError     float64  `json:"maxBusError"`
	// The same with the graphs of the file: the tuning arithmetic alone.
	GivenChoiceShare  float64  `json:"givenChoiceShare"`
	GivenMaxTimeError *float64 `json:"givenMaxTimeError,omitempty"`
	GivenMaxBusError  float64  `json:"givenMaxBusError"`
	// Wrong names the first differing row, for whoever looks into it.
	Wrong string `json:"wrong,omitempty"`
}

// scored is what one row came to.
type scored struct {
	exact, choice, givenChoice bool
	timed                      bool // the file has a time
	time, bus                  float64
	givenTime, givenBus        float64
	wrong                      string
}

// scoreTable collects rows by machine and node count word, in order of appearance.
type scoreTable struct {
	keys []VectorScore
	rows [][]scored
}

func (t *scoreTable) add(machine, nodes string, s scored) {
	at := slices.IndexFunc(t.keys, func(k VectorScore) bool { return k.Machine == machine && k.Nodes == nodes })
	if at < 0 {
		at = len(t.keys)
		t.keys = append(t.keys, VectorScore{Machine: machine, Nodes: nodes})
		t.rows = append(t.rows, nil)
	}
	t.rows[at] = append(t.rows[at], s)
}

func (t *scoreTable) scores() []VectorScore {
	for i := range t.keys {
		t.keys[i].sum(t.rows[i])
	}
	return t.keys
}

func (v *VectorScore) sum(rows []scored) {
	var times, buses, givenTimes, givenBuses []float64
	exact, choice, given := 0, 0, 0
	for _, r := range rows {
		if r.timed {
			times, givenTimes = append(times, r.time), append(givenTimes, r.givenTime)
		}
		buses, givenBuses = append(buses, r.bus), append(givenBuses, r.givenBus)
		exact, choice, given = exact+count(r.exact), choice+count(r.choice), given+count(r.givenChoice)
		if v.Wrong == "" {
			v.Wrong = r.wrong
		}
	}
	n := float64(len(rows))
	v.Rows, v.ExactTupleShare, v.ChoiceShare, v.GivenChoiceShare = len(rows), float64(exact)/n, float64(choice)/n, float64(given)/n
	v.MedianBusError, v.MaxBusError = roundTo(quantile(buses, .5), 6), roundTo(slices.Max(buses), 6)
	v.GivenMaxBusError = roundTo(slices.Max(givenBuses), 6)
	if len(times) > 0 {
		median, most, given := roundTo(quantile(times, .5), 6), roundTo(slices.Max(times), 6), roundTo(slices.Max(givenTimes), 6)
		v.MedianTimeError, v.MaxTimeError, v.GivenMaxTimeError = &median, &most, &given
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// allMachines is the row of a score that takes everything together.
const allMachines = "all"

// Scorer scores files of vectors. Load returns the topology document of a name in the file; Options are those of the search.
type Scorer struct {
	Options Options
	Load    func(name string) (*XML, error)

	models map[string]*NodeModel
}

// Vectors scores rows of identical nodes: per machine with one node and with several, and all together.
func (s *Scorer) Vectors(rows []Vector) ([]VectorScore, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("no rows: must have one or more")
	}
	var t scoreTable
	for i := range rows {
		v := &rows[i]
		m, err := s.model(v.XML, v.Env, NoFault)
		if err != nil {
			return nil, err
		}
		own := m.graphs(v.Nodes)
		r, err := s.row(v, m, own, v.Graphs)
		if err != nil {
			return nil, fmt.Errorf("%s, %d nodes: %w", v.Machine, v.Nodes, err)
		}
		t.add(v.Machine, nodesWord(v.Nodes), r)
	}
	return withTotals(&t, rows), nil
}

// withTotals appends the rows over all machines.
func withTotals(t *scoreTable, rows []Vector) []VectorScore {
	total := scoreTable{}
	for i, k := range t.keys {
		for _, r := range t.rows[i] {
			total.add(allMachines, k.Nodes, r)
		}
	}
	for i := range t.rows {
		for _, r := range t.rows[i] {
			total.add(allMachines, "all", r)
		}
	}
	return append(t.scores(), total.scores()...)
}

// BadNodes scores rows of one faulty node among good ones; xml and env describe the good machine.
func (s *Scorer) BadNodes(rows []Vector, xml, env string) ([]VectorScore, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("no rows: must have one or more")
	}
	good, err := s.model(xml, env, NoFault)
	if err != nil {
		return nil, err
	}
	var t scoreTable
	for i := range rows {
		v := &rows[i]
		bad, err := s.model(xml, env, Fault(v.BadNode))
		if err != nil {
			return nil, err
		}
		r, err := s.row(v, bad, Combine(good.graphs(v.Nodes), bad.graphs(v.Nodes)), Combine(v.GoodGraphs, v.Graphs))
		if err != nil {
			return nil, fmt.Errorf("%s, %d nodes: %w", v.BadNode, v.Nodes, err)
		}
		t.add(v.BadNode, nodesWord(v.Nodes), r)
	}
	return withTotals(&t, rows), nil
}

// model searches a machine once.
func (s *Scorer) model(name, env string, f Fault) (*NodeModel, error) {
	key := name + "\x00" + env + "\x00" + string(f)
	if m, ok := s.models[key]; ok {
		return m, nil
	}
	m, err := s.search(name, env, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if s.models == nil {
		s.models = make(map[string]*NodeModel)
	}
	s.models[key] = m
	return m, nil
}

func (s *Scorer) search(name, env string, f Fault) (*NodeModel, error) {
	fill, err := ParseFill(env)
	if err != nil {
		return nil, err
	}
	x, err := s.Load(name)
	if err != nil {
		return nil, err
	}
	if x, err = Fill(x, fill); err != nil {
		return nil, err
	}
	if x, err = WithFault(x, f, faultDevice); err != nil {
		return nil, err
	}
	return NewNodeModel(name, x, s.Options)
}

// row compares one row: m is the machine in question, own and given are the graphs of the job. What the row does not say of
// the machine (compute capability, processor, latency of the network) comes from its document.
func (s *Scorer) row(v *Vector, m *NodeModel, own, given Graphs) (scored, error) {
	found := m.graphs(v.Nodes)
	r := scored{exact: found.Tuple() == v.Graphs.Tuple() && (found.Tree.Pattern == v.Graphs.Tree.Pattern || v.BadNode != "")}
	comm := Comm{Version: s.Options.Version, Nodes: v.Nodes, Ranks: v.Nodes * v.GPUsPerNode, MinSM: m.SM, MaxSM: m.highest(), CPU: m.CPU,
		Graphs: own, NVSwitch: m.NVSwitch, LatencyInter: m.LatencyInter}
	best, err := bestOf(comm, v)
	if err != nil {
		return r, err
	}
	comm.Graphs = given
	givenBest, err := bestOf(comm, v)
	if err != nil {
		return r, err
	}
	r.choice, r.givenChoice = v.sameChoice(best), v.sameChoice(givenBest)
	r.timed = v.Best.TimeSeconds > 0
	r.time, r.bus = v.errors(best)
	r.givenTime, r.givenBus = v.errors(givenBest)
	if !r.exact || !r.choice {
		r.wrong = fmt.Sprintf("%d nodes, %s of %d bytes: graphs %s, file %s; %s %s, file %s %s", v.Nodes, v.Collective, v.SizeBytes,
			found.Tuple(), v.Graphs.Tuple(), best.Algorithm, best.Protocol, v.Best.Algorithm, v.Best.Protocol)
	}
	return r, nil
}

func bestOf(c Comm, v *Vector) (Estimate, error) {
	t, err := NewTuning(c, v.Collective)
	if err != nil {
		return Estimate{}, err
	}
	return t.Best(v.SizeBytes), nil
}

// sameChoice: bad-node files do not say the protocol.
func (v *Vector) sameChoice(e Estimate) bool {
	return e.Algorithm == v.Best.Algorithm && (e.Protocol == v.Best.Protocol || v.Best.Protocol == "")
}

// errors compares time (0.1 us) and bus bandwidth (0.01 GB/s) at the precision of the file; 0 time = not in the file.
func (v *Vector) errors(e Estimate) (time, bus float64) {
	if want := v.Best.TimeSeconds * 1e6; want > 0 {
		time = math.Abs(roundTo(e.TimeSeconds*1e6, 1)-want) / want
	}
	if want := v.Best.BusBandwidthBytesPerSecond / 1e9; want > 0 {
		bus = math.Abs(roundTo(e.BusBandwidthBytesPerSecond/1e9, 2)-want) / want
	}
	return time, bus
}
