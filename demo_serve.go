package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/railmap/railmap/exporters/prometheus"
	"github.com/railmap/railmap/topology"
)

// serveMap serves a map until ctx ends, which is no error.
func serveMap(ctx context.Context, e *env, address string, t *topology.Topology) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return withCode(exitUsage, err)
	}
	server := &http.Server{Handler: mapHandler(t), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Fprintf(e.stdout, "\nServing http://%[1]s/ (the map), http://%[1]s/metrics and http://%[1]s/healthz until Ctrl-C.\n", listener.Addr())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = server.Shutdown(drain)
	if closed := <-served; !errors.Is(closed, http.ErrServerClosed) {
		err = errors.Join(err, closed)
	}
	return err
}

// mapHandler shows the map as a picture, its figures as metrics, and that the process is alive.
func mapHandler(t *topology.Topology) http.Handler {
	v := readVersion()
	registry := client.NewRegistry()
	registry.MustRegister(prometheus.NewMap(func() prometheus.Status { return prometheus.Status{Topology: t, MaxSwitches: 4096} }, prometheus.Build{Version: v.Version, Revision: v.Commit, Go: v.Go}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/svg+xml")
		_ = topology.RenderSVG(w, t) // an error is a client that went away
	})
	return mux
}
