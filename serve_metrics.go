package main

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sys/unix"

	"github.com/railmap/railmap/exporters/prometheus"
	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/placer/server"
)

// serveMetrics connects the server with its metrics: neither package knows the other.
type serveMetrics struct {
	registry    *client.Registry
	counts      *prometheus.Service
	server      atomic.Pointer[server.Server]
	store       ledger.Store
	maxSwitches atomic.Int64
	reload      atomic.Pointer[prometheus.Reload]
}

func newServeMetrics(store ledger.Store, cfg *config) *serveMetrics {
	m := &serveMetrics{registry: client.NewRegistry(), store: store}
	m.maxSwitches.Store(int64(cfg.Metrics.MaxSwitches))
	m.reloaded(time.Now(), true)
	v := readVersion()
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewMap(m.status, prometheus.Build{Version: v.Version, Revision: v.Commit, Go: v.Go}))
	m.counts = prometheus.NewService(m.registry)
	return m
}

func (m *serveMetrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// status is what a scrape shows.
func (m *serveMetrics) status() prometheus.Status {
	out := prometheus.Status{Reload: m.reload.Load(), MaxSwitches: int(m.maxSwitches.Load())}
	if sized, ok := m.store.(interface{ Size() (int64, error) }); ok {
		if n, err := sized.Size(); err == nil {
			out.StoreBytes = &n
		}
	}
	s := m.server.Load()
	if s == nil {
		return out
	}
	st := s.Status()
	out.Topology, out.LastChange, out.OldestReport, out.Quarantined = st.Topology, st.LastChange, st.OldestReport, st.Quarantined
	out.Leases = map[string]int{}
	for phase, n := range st.Leases {
		out.Leases[string(phase)] = n
	}
	if st.Topology != nil {
		out.GPUs = &prometheus.GPUs{Free: st.FreeGPUs, Reserved: st.ReservedGPUs, Unavailable: st.OtherGPUs}
	}
	return out
}

func (m *serveMetrics) reloaded(now time.Time, ok bool) {
	r := prometheus.Reload{OK: ok, Success: now}
	if old := m.reload.Load(); !ok && old != nil {
		r.Success = old.Success
	}
	m.reload.Store(&r)
}

func (m *serveMetrics) commit(d time.Duration, _ int, err error) {
	if err == nil {
		m.counts.Commit(d)
	}
}

// Placement counts a request for nodes.
func (m *serveMetrics) Placement(outcome string, d time.Duration, resp *server.PlaceResponse) {
	p := prometheus.Placed{Outcome: outcome, Duration: d}
	if resp != nil && resp.Placement != nil {
		p.Nodes, p.Leased = len(resp.Placement.Nodes), resp.Lease != nil
		if ideal := resp.Placement.IdealShare; ideal > 0 {
			p.Quality = resp.Placement.Share / ideal
		}
		if s := m.server.Load(); s != nil {
			p.Leaves = s.Leaves(resp.Placement.Nodes)
		}
	}
	m.counts.Placement(p)
	if p.Leased {
		m.counts.Lease(1, 0)
	}
}

// Report counts a report.
func (m *serveMetrics) Report(_, rejected string) { m.counts.Report(rejected) }

// Request counts a request.
func (m *serveMetrics) Request(pattern, method string, status int, d time.Duration) {
	m.counts.Request(pattern, method, status, d)
}

// InFlight counts requests being answered.
func (m *serveMetrics) InFlight(delta int) { m.counts.InFlight(delta) }

// Expired counts leases that nobody renewed.
func (m *serveMetrics) Expired(n int) { m.counts.Lease(0, n) }

// Export counts renderings of the live map.
func (m *serveMetrics) Export(target string, err error) { m.counts.Export(target, time.Now(), err) }

// monotonicMicroseconds is CLOCK_MONOTONIC as the service manager wants it with RELOADING=1.
func monotonicMicroseconds() string {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return "0"
	}
	return strconv.FormatInt(ts.Nano()/1000, 10)
}
