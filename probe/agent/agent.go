// Package agent is the small daemon of a node: it looks at the node again and again without load, serves the figures as
// metrics, sends reports, and takes part in sweeps of pairs while the node is idle.
//
// It never loads a node that holds a lease, runs a job or has a process on a GPU. What it does is a few reads of sysfs each
// interval; between them it sleeps.
//
//	err := agent.Run(ctx, listener, agent.Options{Probe: probe.Options{Root: "/"}, Interval: time.Minute, Log: log})
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/railmap/railmap/probe"
	"github.com/railmap/railmap/probe/pair"
	"github.com/railmap/railmap/topology"
)

// Options say what an agent does.
type Options struct {
	Probe    probe.Options // the static stage is run, whatever it asks for
	Interval time.Duration // between two looks; a minute when 0
	// Submit sends each report, and what waits in the spool; nil sends none.
	Submit *probe.Submitter
	// Pairs is how the node joins sweeps; nil joins none. The agent sets Busy and Patience.
	Pairs *pair.JoinOptions
	// PairsEvery is the pause between looks for a coordinator; 10 s when 0.
	PairsEvery time.Duration
	Log        *slog.Logger
}

// agent is one running agent.
type agent struct {
	o      Options
	report atomic.Pointer[topology.NodeReport]
}

// Run works until the context ends. The listener is closed then.
func Run(ctx context.Context, l net.Listener, o Options) error {
	if o.Interval == 0 {
		o.Interval = time.Minute
	}
	if o.PairsEvery == 0 {
		o.PairsEvery = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Probe.Stages = []probe.Stage{probe.StageStatic}
	a := &agent{o: o}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{Handler: a.handler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { a.every(ctx, o.Interval, a.look) })
	if o.Pairs != nil {
		wg.Go(func() { a.every(ctx, o.PairsEvery, a.join) })
	}
	err := server.Serve(l)
	cancel()
	wg.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// every runs f now and then until the context ends.
func (a *agent) every(ctx context.Context, pause time.Duration, f func(context.Context)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			f(ctx)
			timer.Reset(pause)
		}
	}
}

// look reads the node without load and sends the report.
func (a *agent) look(ctx context.Context) {
	o := a.o.Probe
	o.Now = time.Now().UTC().Truncate(time.Second)
	r, err := probe.Run(ctx, o)
	if err != nil {
		if ctx.Err() == nil {
			a.o.Log.Warn("node not read", "err", err)
		}
		return
	}
	a.report.Store(r)
	if a.o.Submit == nil {
		return
	}
	if waiting, err := a.o.Submit.Submit(ctx, r); err != nil {
		a.o.Log.Warn("report not sent", "err", err)
	} else if waiting > 0 {
		a.o.Log.Info("server away", "waiting", waiting)
	}
}

// busy says why the node must not be loaded, "" when it is idle: a lease or a job, or a process on a GPU.
func (a *agent) busy() string {
	if why := probe.Busy(a.o.Probe.Root, ""); why != "" {
		return why
	}
	r := a.report.Load()
	if r == nil {
		return "the node has not been read yet"
	}
	for _, g := range r.GPUs {
		if g.ProcessCount != nil && *g.ProcessCount > 0 {
			return fmt.Sprintf("%d processes use GPU %d", *g.ProcessCount, g.Index)
		}
	}
	return ""
}

// join takes part in a sweep when somebody coordinates one and the node is idle. When it becomes busy meanwhile, it leaves:
// that costs its own pairs only.
func (a *agent) join(ctx context.Context) {
	if a.busy() != "" {
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.every(ctx, time.Second, func(context.Context) {
			if why := a.busy(); why != "" {
				cancel(fmt.Errorf("%w: %s", pair.ErrBusy, why))
			}
		})
	}()
	o := *a.o.Pairs
	o.Patience = time.Second
	err := pair.Join(ctx, o)
	cancel(nil)
	<-done
	switch {
	case err == nil:
		a.o.Log.Info("sweep of pairs has ended", "coordinator", o.Coordinator)
	case errors.Is(err, pair.ErrBusy), errors.Is(err, pair.ErrToken):
		a.o.Log.Warn("sweep of pairs left", "coordinator", o.Coordinator, "err", err)
	default: // nobody coordinates now
		a.o.Log.Debug("no sweep", "coordinator", o.Coordinator, "err", err)
	}
}

// handler serves /metrics (Prometheus text), /report (the last NodeReport in JSON) and /healthz.
func (a *agent) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	serve := func(kind string, write func(http.ResponseWriter, *topology.NodeReport) error) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			r := a.report.Load()
			if r == nil {
				http.Error(w, "the node has not been read yet", http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Content-Type", kind)
			if err := write(w, r); err != nil {
				a.o.Log.Debug("answer not written", "err", err)
			}
		}
	}
	mux.HandleFunc("GET /metrics", serve("text/plain; version=0.0.4", func(w http.ResponseWriter, r *topology.NodeReport) error { return probe.WriteMetrics(w, r) }))
	mux.HandleFunc("GET /report", serve("application/json", func(w http.ResponseWriter, r *topology.NodeReport) error { return topology.Write(w, r, topology.JSON) }))
	return mux
}
