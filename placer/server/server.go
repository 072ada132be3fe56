package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/topology"
)

// File is one file of an export, rendered from the live map.
type File struct {
	Name string `json:"name"`
	Data string `json:"data"`
}

// Observer is told what happens, for metrics. The zero observer of Options drops everything.
type Observer interface {
	Placement(outcome string, d time.Duration, resp *PlaceResponse)
	Report(kind, rejected string) // rejected: "" or the reason
	Request(pattern, method string, status int, d time.Duration)
	InFlight(delta int)
	Expired(leases int)                   // by this server or another one
	Export(target string, rejected error) // of the live map
}

// Options of a server. Store and Log must be set.
type Options struct {
	Store       ledger.Store
	Log         *slog.Logger
	Topology    *topology.Topology                               // a map to start with, until reports make a newer one; nil = none
	DataDir     string                                           // history of reports; "" = none is kept
	Placer      func(*topology.Topology) (placer.Options, error) // of a map; nil = the zero options
	Build       topology.BuildOptions
	Auth        Auth
	TLS         *tls.Config                                         // of the listener; nil = plain
	Metrics     http.Handler                                        // GET /metrics; nil = not served
	Observe     Observer                                            // nil = nobody watches
	OnCommit    func(d time.Duration, leases int, err error)        // of the ledger
	Exports     map[string]func(*topology.Topology) ([]File, error) // GET /v1/exports/{target}
	SVG         func(*topology.Topology) ([]byte, error)            // GET /v1/topology.svg
	Reload      func() error                                        // POST /-/reload
	ToolVersion string
	Rebuild     time.Duration // how long reports are collected before the map is made anew; 0 = 500 ms
}

// Server is the placement service.
type Server struct {
	opts   Options
	log    *slog.Logger
	ledger *ledger.Ledger
	worlds worlds
	intake *intake
	events *events
	limits *limiter
	ready  atomic.Bool
	stop   context.CancelFunc
	tasks  sync.WaitGroup
}

// New opens the ledger, loads the map and starts the intake. Close it when done.
func New(ctx context.Context, opts Options) (*Server, error) {
	if opts.Observe == nil {
		opts.Observe = nobody{}
	}
	if opts.Rebuild == 0 {
		opts.Rebuild = 500 * time.Millisecond
	}
	s := &Server{opts: opts, log: opts.Log, events: newEvents(), limits: newLimiter()}
	var err error
	s.ledger, err = ledger.Open(ctx, opts.Store, ledger.Options{ToolVersion: opts.ToolVersion, OnCommit: opts.OnCommit, OnChange: s.leaseChanged})
	if err != nil {
		return nil, err
	}
	if s.intake, err = newIntake(opts, s.log); err != nil {
		return nil, errors.Join(err, s.ledger.Close())
	}
	if err := s.firstMap(ctx); err != nil {
		return nil, errors.Join(err, s.ledger.Close())
	}
	run, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.tasks.Go(func() { s.rebuildLoop(run) })
	s.tasks.Go(s.intake.recall)
	s.ready.Store(true)
	return s, nil
}

// firstMap is the map given, or the one that the kept documents make; none is no error.
func (s *Server) firstMap(ctx context.Context) error {
	t := s.opts.Topology
	if t == nil {
		if len(s.intake.fabrics) == 0 {
			return nil
		}
		var err error
		if t, err = s.buildNow(); err != nil {
			s.log.Error("no map from the kept documents", "err", err)
			return nil
		}
	}
	if last := s.intake.keep.generation(); last >= t.Generation {
		next := *t
		next.Generation = last + 1
		t = &next
	}
	if err := s.adopt(ctx, t); err != nil {
		return err
	}
	s.intake.remember(t)
	return nil
}

// Close stops the tasks and closes the ledger. Requests in flight are the caller's to drain first (Serve does).
func (s *Server) Close() error {
	s.ready.Store(false)
	s.stop()
	s.tasks.Wait()
	s.events.close()
	return s.ledger.Close()
}

// Ledger is the server's ledger, for backups and tests.
func (s *Server) Ledger() *ledger.Ledger { return s.ledger }

// adopt makes a map the current one: engines with every live lease and the last occupancy of each side. It runs at the
// ledger's serial point, so no lease is missed and none is counted twice.
func (s *Server) adopt(ctx context.Context, t *topology.Topology) error {
	var opts placer.Options
	if s.opts.Placer != nil {
		var err error
		if opts, err = s.opts.Placer(t); err != nil {
			return err
		}
	}
	w, err := newWorld(t, opts)
	if err != nil {
		return err
	}
	_, err = ledger.Do(ctx, s.ledger, func(tx *ledger.Tx) (struct{}, error) {
		for _, l := range tx.State().List() {
			if l.Live() {
				w.hold(l, true)
			}
		}
		if reports := s.intake.occupancies(); len(reports) > 0 {
			w.occupy(reports, leasedJobs(tx.State()))
		}
		s.worlds.cur.Store(w)
		return struct{}{}, nil
	})
	if err != nil {
		return err
	}
	s.events.publish(Event{Type: "topology", Generation: t.Generation})
	s.log.Info("map adopted", "generation", t.Generation, "nodes", len(t.Nodes), "findings", len(t.Findings))
	return nil
}

// leaseChanged follows the ledger: called by its committing goroutine for every change, also those of other servers.
func (s *Server) leaseChanged(before, after *ledger.Lease) {
	l := after
	if l == nil {
		l = before
	}
	if w := s.worlds.cur.Load(); w != nil {
		w.hold(l, after != nil && after.Live())
	}
	if after == nil {
		return
	}
	if after.Phase == ledger.Expired && before != nil && before.Live() {
		s.opts.Observe.Expired(1)
	}
	s.log.Info("lease", "audit", true, "lease", l.ID, "phase", string(l.Phase), "holder", l.Holder, "token", l.Token, "nodes", len(l.Claims), "side", l.Side, "job", l.Job, "renewals", l.Renewals)
	s.events.publish(Event{Type: "lease", Lease: l.ID, Phase: string(l.Phase)})
}

// Serve answers on a plain listener until ctx ends, then drains for ten seconds. TLS goes on top of the limit of connections:
// net/http sees a client's certificate only on a connection that is TLS's own.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	hs := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	l = netutil.LimitListener(l, maxConnections)
	if s.opts.TLS != nil {
		l = tls.NewListener(l, s.opts.TLS)
	}
	failed := make(chan error, 1)
	go func() { failed <- hs.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	s.ready.Store(false)
	s.events.close()
	drain, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := hs.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		err = hs.Close()
	}
	return err
}

// nobody watches.
type nobody struct{}

func (nobody) Placement(string, time.Duration, *PlaceResponse) {}
func (nobody) Report(string, string)                           {}
func (nobody) Request(string, string, int, time.Duration)      {}
func (nobody) InFlight(int)                                    {}
func (nobody) Expired(int)                                     {}
func (nobody) Export(string, error)                            {}
