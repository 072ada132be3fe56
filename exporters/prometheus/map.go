package prometheus

import (
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/railmap/railmap/topology"
)

// Build says which railmap this is.
type Build struct {
	Version, Revision, Go string
}

// Status is what one scrape shows. Pointers and zero times are left out: what nobody knows has no series.
type Status struct {
	Topology     *topology.Topology // nil = no map yet
	LastChange   time.Time
	OldestReport time.Time
	Quarantined  map[string]bool // nodes whose reports are not believed
	GPUs         *GPUs           // nil: those of the map count as free
	Leases       map[string]int  // by phase
	StoreBytes   *int64
	Reload       *Reload
	MaxSwitches  int // more switches than this are not shown one by one
}

// GPUs counts GPUs by what may be done with them.
type GPUs struct{ Free, Reserved, Unavailable int }

// Reload is how the last reload of the configuration went.
type Reload struct {
	OK      bool
	Success time.Time // of the last one that was taken
}

// Map is a collector of the current map and what is on it.
type Map struct {
	current func() Status
	build   Build
	desc    map[string]*prometheus.Desc
}

// mapMetrics are the rows of the table that Map collects.
func mapMetrics() []string {
	return []string{buildInfo, generation, lastChange, oldestReport, nodes, gpus, links, healthMin, healthMedian, findings, uplinkHealth, droppedSeries,
		leases, storeSize, reloadOK, reloadTime}
}

// NewMap makes a collector. Current gives what to show at a scrape.
func NewMap(current func() Status, build Build) *Map {
	m := &Map{current: current, build: build, desc: map[string]*prometheus.Desc{}}
	for _, name := range mapMetrics() {
		r := row(name)
		m.desc[name] = prometheus.NewDesc(r.Name, r.Help, r.Labels, nil)
	}
	return m
}

// Describe sends the descriptions of all metrics.
func (m *Map) Describe(ch chan<- *prometheus.Desc) {
	for _, name := range mapMetrics() {
		ch <- m.desc[name]
	}
}

// Collect sends the figures of the current map.
func (m *Map) Collect(ch chan<- prometheus.Metric) {
	m.send(ch, buildInfo, 1, m.build.Version, m.build.Revision, m.build.Go)
	st := m.current()
	m.collectService(ch, &st)
	t := st.Topology
	if t == nil {
		return
	}
	m.send(ch, generation, float64(t.Generation))
	m.collectNodes(ch, &st)
	m.collectLinks(ch, &st)
	severities := map[topology.Severity]int{topology.Info: 0, topology.Warning: 0, topology.Error: 0}
	for _, f := range t.Findings {
		severities[f.Severity]++
	}
	for s, n := range severities {
		m.send(ch, findings, float64(n), string(s))
	}
}

// collectService sends what does not come from the map.
func (m *Map) collectService(ch chan<- prometheus.Metric, st *Status) {
	for phase, n := range st.Leases {
		m.send(ch, leases, float64(n), phase)
	}
	if st.StoreBytes != nil {
		m.send(ch, storeSize, float64(*st.StoreBytes))
	}
	if r := st.Reload; r != nil {
		ok := 0.0
		if r.OK {
			ok = 1
		}
		m.send(ch, reloadOK, ok)
		m.sendTime(ch, reloadTime, r.Success)
	}
	m.sendTime(ch, lastChange, st.LastChange)
	m.sendTime(ch, oldestReport, st.OldestReport)
}

func (m *Map) collectNodes(ch chan<- prometheus.Metric, st *Status) {
	states := map[string]int{"ready": 0, "stale": 0, "quarantined": 0, "missing": 0}
	total := 0
	for i := range st.Topology.Nodes {
		n := &st.Topology.Nodes[i]
		total += n.GPUCount
		switch {
		case st.Quarantined[n.Name]:
			states["quarantined"]++
		case n.State == topology.Down:
			states["missing"]++
		case n.State == topology.Stale:
			states["stale"]++
		default:
			states["ready"]++
		}
	}
	for s, n := range states {
		m.send(ch, nodes, float64(n), s)
	}
	use := st.GPUs
	if use == nil && total > 0 {
		use = &GPUs{Free: total}
	}
	if use != nil {
		m.send(ch, gpus, float64(use.Free), "free")
		m.send(ch, gpus, float64(use.Reserved), "reserved")
		m.send(ch, gpus, float64(use.Unavailable), "unavailable")
	}
}

func (m *Map) collectLinks(ch chan<- prometheus.Metric, st *Status) {
	tiers := map[string]int{}
	for i := range st.Topology.Switches {
		tiers[st.Topology.Switches[i].Name] = st.Topology.Switches[i].Tier
	}
	type key struct {
		tier  string
		state topology.State
	}
	count := map[key]int{}
	health := map[string][]float64{}
	uplink := map[string]float64{}
	for i := range st.Topology.Links {
		l := &st.Topology.Links[i]
		tier := tierName(l, tiers)
		for _, s := range allStates() {
			count[key{tier, s}] += 0
		}
		count[key{tier, l.State}]++
		if l.Health == nil {
			continue
		}
		health[tier] = append(health[tier], *l.Health)
		if name := l.A.Switch; name != "" {
			if w, ok := uplink[name]; !ok || *l.Health < w {
				uplink[name] = *l.Health
			}
		}
	}
	for k, n := range count {
		m.send(ch, links, float64(n), k.tier, string(k.state))
	}
	for tier, values := range health {
		slices.Sort(values)
		m.send(ch, healthMin, values[0], tier)
		m.send(ch, healthMedian, values[len(values)/2], tier)
	}
	if len(uplink) > st.MaxSwitches {
		m.send(ch, droppedSeries, float64(len(uplink)), uplinkHealth)
		return
	}
	for name, h := range uplink {
		m.send(ch, uplinkHealth, h, name)
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

func (m *Map) sendTime(ch chan<- prometheus.Metric, name string, t time.Time) {
	if !t.IsZero() {
		m.send(ch, name, float64(t.UnixMilli())/1000)
	}
}
