package prometheus

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/railmap/railmap/topology"
)

// Build says which railmap this is.
type Build struct {
	Version, Revision, Go string
}

// Map is a collector of the current map.
type Map struct {
	current func() *topology.Topology
	build   Build
	desc    map[string]*prometheus.Desc
}

// NewMap makes a collector. Current gives the map to show, nil when there is none yet.
func NewMap(current func() *topology.Topology, build Build) *Map {
	m := &Map{current: current, build: build, desc: map[string]*prometheus.Desc{}}
	for _, row := range Table() {
		m.desc[row.Name] = prometheus.NewDesc(row.Name, row.Help, row.Labels, nil)
	}
	return m
}

// Describe sends the descriptions of all metrics.
func (m *Map) Describe(ch chan<- *prometheus.Desc) {
	for _, row := range Table() {
		ch <- m.desc[row.Name]
	}
}

// Collect sends the figures of the current map.
func (m *Map) Collect(ch chan<- prometheus.Metric) {
	m.send(ch, buildInfo, 1, m.build.Version, m.build.Revision, m.build.Go)
	t := m.current()
	if t == nil {
		return
	}
	m.send(ch, generation, float64(t.Generation))
	m.collectNodes(ch, t)
	m.collectLinks(ch, t)
	severities := map[topology.Severity]int{topology.Info: 0, topology.Warning: 0, topology.Error: 0}
	for _, f := range t.Findings {
		severities[f.Severity]++
	}
	for s, n := range severities {
		m.send(ch, findings, float64(n), string(s))
	}
}

func (m *Map) collectNodes(ch chan<- prometheus.Metric, t *topology.Topology) {
	states := map[topology.State]int{}
	known, total := false, 0
	for i := range t.Nodes {
		states[t.Nodes[i].State]++
		known = known || t.Nodes[i].GPUCount > 0
		total += t.Nodes[i].GPUCount
	}
	for _, s := range allStates() {
		m.send(ch, nodes, float64(states[s]), string(s))
	}
	if known {
		m.send(ch, gpus, float64(total))
	}
}

func (m *Map) collectLinks(ch chan<- prometheus.Metric, t *topology.Topology) {
	tiers := map[string]int{}
	for i := range t.Switches {
		tiers[t.Switches[i].Name] = t.Switches[i].Tier
	}
	type key struct {
		tier  string
		state topology.State
	}
	count := map[key]int{}
	worst := map[string]float64{}
	for i := range t.Links {
		l := &t.Links[i]
		tier := tierName(l, tiers)
		for _, s := range allStates() {
			count[key{tier, s}] += 0
		}
		count[key{tier, l.State}]++
		if h := l.Health; h != nil {
			if w, ok := worst[tier]; !ok || *h < w {
				worst[tier] = *h
			}
		}
	}
	for k, n := range count {
		m.send(ch, links, float64(n), k.tier, string(k.state))
	}
	for tier, h := range worst {
		m.send(ch, healthMin, h, tier)
	}
}

// maxTier keeps the label bounded whatever a map says.
const maxTier = 5

// tierName is "host" for the link of a node, otherwise the tier of the lower switch: tier0 is a leaf's uplink.
func tierName(l *topology.Link, tiers map[string]int) string {
	if l.A.Node != "" {
		return "host"
	}
	return fmt.Sprintf("tier%d", min(max(tiers[l.A.Switch], 0), maxTier))
}

func allStates() []topology.State {
	return []topology.State{topology.OK, topology.Degraded, topology.Down, topology.Unmeasured, topology.Stale}
}

func (m *Map) send(ch chan<- prometheus.Metric, name string, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(m.desc[name], prometheus.GaugeValue, value, labels...)
}
