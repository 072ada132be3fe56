package pair

import (
	"slices"
	"time"

	"github.com/railmap/railmap/topology"
)

// sampleKey is one line of the report. Loaded rounds are told apart: their sums count.
type sampleKey struct {
	a, b  string
	rail  int // -1 = all rails
	round int // of loaded pairs; 0 otherwise
	level string
}

// sample collects what was measured of one key.
type sample struct {
	deviceA, deviceB string
	rates, latencies []float64
	failed           string
	at               time.Time
}

// keep stores one measurement: each rail, and all of them together.
func (s *sweep) keep(from, to *member, r Round, number int, rates, latencies []float64, err error) {
	k := sampleKey{a: from.node, b: to.node}
	if r.Tier == Loaded {
		k.round, k.level = number, r.Level
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := 0.0
	for i, v := range rates {
		sum += v
		if len(rates) > 1 {
			k.rail = i
			x := s.sample(k)
			x.deviceA, x.deviceB = from.nics[i].Device, to.nics[i].Device
			x.add(v, i, latencies, s.o.Now())
		}
	}
	k.rail = -1
	x := s.sample(k)
	if len(from.nics) == 1 && len(to.nics) == 1 {
		x.deviceA, x.deviceB = from.nics[0].Device, to.nics[0].Device
	}
	if err != nil {
		x.failed = err.Error()
		return
	}
	x.add(sum, 0, latencies, s.o.Now())
}

func (s *sweep) sample(k sampleKey) *sample {
	x := s.samples[k]
	if x == nil {
		x = &sample{}
		s.samples[k] = x
	}
	return x
}

func (x *sample) add(rate float64, rail int, latencies []float64, now time.Time) {
	x.rates = append(x.rates, rate)
	if rail < len(latencies) && latencies[rail] > 0 {
		x.latencies = append(x.latencies, latencies[rail])
	}
	x.at = now.UTC().Truncate(time.Second)
}

// summary is the median of the samples and how far they spread.
func (x *sample) summary(v []float64, method string) *topology.Measurement {
	if len(v) == 0 {
		return nil
	}
	v = slices.Clone(v)
	m := topology.Measurement{Value: median(v), Samples: len(v), Method: method, Time: &x.at}
	if m.Value > 0 {
		m.Spread = (v[len(v)-1] - v[0]) / m.Value
	}
	return &m
}

// report is what has been measured so far.
func (s *sweep) report() *topology.PairReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now().UTC().Truncate(time.Second)
	r := &topology.PairReport{Header: topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindPairReport, Source: "pairs", Time: &now, ToolVersion: s.o.ToolVersion},
		Partial: s.partial, Pairs: []topology.Pair{}}
	if s.site != nil {
		r.Nodes = s.site.pairNodes()
	}
	for k, x := range s.samples {
		p := topology.Pair{A: k.a, B: k.b, DeviceA: x.deviceA, DeviceB: x.deviceB, Loaded: k.round > 0, LoadedLevel: k.level, Round: k.round}
		if k.rail >= 0 {
			p.Rail = new(k.rail)
		}
		p.BandwidthBytesPerSecond = x.summary(x.rates, s.o.Method)
		p.LatencySeconds = x.summary(x.latencies, s.o.Method)
		if p.BandwidthBytesPerSecond == nil {
			p.Failed = x.failed
		}
		r.Pairs = append(r.Pairs, p)
	}
	slices.SortFunc(r.Pairs, comparePairs)
	r.Findings = slices.Clone(s.findings)
	for _, m := range s.members {
		if err := m.trouble(); err != nil && s.site != nil {
			r.Findings = append(r.Findings, topology.Finding{Code: CodeNodeLost, Severity: topology.Warning, Subject: m.node,
				Message: "left or fell silent while pairs were measured: what its pairs lack is not measured", Remedy: "look at the node, then measure again"})
		}
	}
	r.Findings = topology.SortFindings(r.Findings)
	return r
}

func (s *Site) pairNodes() []topology.PairNode {
	paths := s.paths()
	var nodes []topology.PairNode
	for _, n := range s.Nodes {
		p := topology.PairNode{Name: n.Name, NominalBandwidthBytesPerSecond: n.NominalBytesPerSecond}
		if n.Group >= 0 {
			for _, g := range paths[n.Group] {
				p.Groups = append(p.Groups, s.Groups[g].Name)
			}
		}
		nodes = append(nodes, p)
	}
	return nodes
}

func comparePairs(x, y topology.Pair) int {
	if x.Round != y.Round { // unloaded first
		return x.Round - y.Round
	}
	if c := topology.CompareNames(x.A, y.A); c != 0 {
		return c
	}
	if c := topology.CompareNames(x.B, y.B); c != 0 {
		return c
	}
	rail := func(p *int) int {
		if p == nil {
			return -1
		}
		return *p
	}
	return rail(x.Rail) - rail(y.Rail)
}
