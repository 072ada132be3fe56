package prometheus

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Service counts what happens in the placement service. Its methods are safe for concurrent use.
type Service struct {
	collectors        []prometheus.Collector
	reports           prometheus.Counter
	rejected          *prometheus.CounterVec
	placements        *prometheus.CounterVec
	placementDuration *prometheus.HistogramVec
	placementNodes    prometheus.Histogram
	placementQuality  prometheus.Histogram
	placementLeaves   prometheus.Histogram
	granted           prometheus.Counter
	expired           prometheus.Counter
	conflicts         prometheus.Counter
	commit            prometheus.Histogram
	requests          *prometheus.CounterVec
	duration          *prometheus.HistogramVec
	inFlight          prometheus.Gauge
	exportSuccess     *prometheus.GaugeVec
	exportFailures    *prometheus.CounterVec
}

// NewService makes the counters and registers them. Counters whose labels are known start at 0, so that the first event is
// seen as a rise.
func NewService(r prometheus.Registerer) *Service {
	s := &Service{}
	s.reports, s.granted = s.counter(reports), s.counter(leasesGranted)
	s.expired, s.conflicts = s.counter(leasesExpired), s.counter(leasesConflicts)
	s.rejected, s.placements = s.counters(reportsRejected), s.counters(placements)
	s.requests, s.exportFailures = s.counters(httpRequests), s.counters(exportFailures)
	fast, wide := prometheus.ExponentialBuckets(0.0005, 2.5, 11), prometheus.ExponentialBuckets(1, 2, 11)
	s.placementDuration, s.duration = s.histograms(placementDuration, fast), s.histograms(httpDuration, fast)
	s.commit = s.histogram(commitDuration, fast)
	s.placementNodes, s.placementLeaves = s.histogram(placementNodes, wide), s.histogram(placementLeaves, wide)
	s.placementQuality = s.histogram(placementQuality, []float64{.1, .2, .3, .4, .5, .6, .7, .8, .9, .95, 1})
	s.inFlight = prometheus.NewGauge(prometheus.GaugeOpts{Name: httpInFlight, Help: row(httpInFlight).Help})
	s.exportSuccess = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: exportSuccess, Help: row(exportSuccess).Help}, row(exportSuccess).Labels)
	s.collectors = append(s.collectors, s.inFlight, s.exportSuccess)
	for _, reason := range []string{"stale", "invalid", "implausible", "unauthorized", "too_large", "rate_limited"} {
		s.rejected.WithLabelValues(reason)
	}
	for _, outcome := range []string{"placed", "infeasible", "conflict", "error"} {
		s.placements.WithLabelValues(outcome)
	}
	r.MustRegister(s.collectors...)
	return s
}

// Report counts a report that came in; rejected is why it was not taken, or "".
func (s *Service) Report(rejected string) {
	s.reports.Inc()
	if rejected != "" {
		s.rejected.WithLabelValues(rejected).Inc()
	}
}

// Placed is one placement as the metrics see it.
type Placed struct {
	Outcome       string // placed, infeasible, conflict, error
	Duration      time.Duration
	Nodes, Leaves int
	Quality       float64 // share ÷ ideal share; 0 = unknown
	Leased        bool
}

// Placement counts one request for nodes.
func (s *Service) Placement(p Placed) {
	s.placements.WithLabelValues(p.Outcome).Inc()
	if p.Outcome == "conflict" {
		s.conflicts.Inc()
	}
	if p.Outcome != "placed" {
		return
	}
	if !p.Leased { // with a lease the time is mostly the commit's, which is counted there
		s.placementDuration.WithLabelValues("search").Observe(p.Duration.Seconds())
	}
	s.placementNodes.Observe(float64(p.Nodes))
	if p.Leaves > 0 {
		s.placementLeaves.Observe(float64(p.Leaves))
	}
	if p.Quality > 0 {
		s.placementQuality.Observe(p.Quality)
	}
}

// Lease counts leases granted and expired.
func (s *Service) Lease(granted, expired int) {
	s.granted.Add(float64(granted))
	s.expired.Add(float64(expired))
}

// Commit observes one commit of the ledger.
func (s *Service) Commit(d time.Duration) {
	s.commit.Observe(d.Seconds())
	s.placementDuration.WithLabelValues("commit").Observe(d.Seconds())
}

// Request counts one HTTP request. Pattern is the route, never a path as sent: its values are few.
func (s *Service) Request(pattern, method string, status int, d time.Duration) {
	class := "1xx"
	if status >= 200 && status < 600 {
		class = string(rune('0'+status/100)) + "xx"
	}
	s.requests.WithLabelValues(pattern, method, class).Inc()
	s.duration.WithLabelValues(pattern, method).Observe(d.Seconds())
}

// InFlight adds to the requests being answered.
func (s *Service) InFlight(delta int) { s.inFlight.Add(float64(delta)) }

// Export counts one rendering of the live map for a target.
func (s *Service) Export(target string, now time.Time, err error) {
	if err != nil {
		s.exportFailures.WithLabelValues(target).Inc()
		return
	}
	s.exportSuccess.WithLabelValues(target).Set(float64(now.Unix()))
}

func (s *Service) counter(name string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: row(name).Help})
	s.collectors = append(s.collectors, c)
	return c
}

func (s *Service) counters(name string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: row(name).Help}, row(name).Labels)
	s.collectors = append(s.collectors, c)
	return c
}

func (s *Service) histogram(name string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: row(name).Help, Buckets: buckets})
	s.collectors = append(s.collectors, h)
	return h
}

func (s *Service) histograms(name string, buckets []float64) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: row(name).Help, Buckets: buckets}, row(name).Labels)
	s.collectors = append(s.collectors, h)
	return h
}
