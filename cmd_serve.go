package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/placer/server"
	"github.com/railmap/railmap/topology"
)

// serveOptions are the flags of "railmap serve". What is not given comes from RAILMAP_* variables, then from the file.
type serveOptions struct {
	file  string
	flags config
}

func newServeCmd(e *env) *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the placement service: one map and one ledger for all schedulers",
		Long: `Serve holds the current map, takes reports in, answers placements and grants leases over HTTP. The API is described at /docs.

Without TLS and tokens it listens on loopback only, where every caller is an administrator. On any other address it needs
--tls-cert and --tls-key, and --tokens or --client-ca, unless --insecure is given.

SIGHUP reads the configuration, certificates and tokens again; certificates and tokens are also taken when their files change.
Every flag can be set by a variable: --tls-cert by RAILMAP_TLS_CERT.`,
		Example: `  railmap serve --topology topology.yaml --data /var/lib/railmap
  railmap serve --listen :7070 --tls-cert server.pem --tls-key server.key --tokens tokens.yaml
  railmap serve --store 'etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379?prefix=/railmap'`,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := o.config(c)
			if err != nil {
				return err
			}
			return serve(c.Context(), e, cfg, func() (*config, error) { return o.config(c) })
		},
	}
	o.addFlags(c)
	return c
}

func (o *serveOptions) addFlags(c *cobra.Command) {
	f, d := c.Flags(), defaultConfig()
	f.StringVar(&o.file, "config", "", "configuration file (YAML); flags override it")
	f.StringVar(&o.flags.Listen, "listen", d.Listen, "address to listen on")
	f.StringVar(&o.flags.Data, "data", d.Data, "folder for the ledger and the history of reports")
	f.StringVar(&o.flags.Store, "store", "", "etcd://HOST:PORT,...?prefix=/railmap to share the ledger with other servers (default: a file in --data)")
	f.StringVar(&o.flags.Topology, "topology", "", "map to start with, until reports make a newer one")
	f.StringVar(&o.flags.TLS.Cert, "tls-cert", "", "certificate (PEM)")
	f.StringVar(&o.flags.TLS.Key, "tls-key", "", "its key (PEM)")
	f.StringVar(&o.flags.TLS.ClientCA, "client-ca", "", "certificates (PEM) that sign those of clients; a client's SAN is its node name")
	f.StringVar(&o.flags.Tokens, "tokens", "", "file of bearer tokens (railmap token create)")
	f.BoolVar(&o.flags.Insecure, "insecure", false, "serve other addresses than loopback without TLS or without authentication")
	f.StringVar(&o.flags.Log.Level, "log-level", d.Log.Level, "debug, info, warn or error")
	f.StringVar(&o.flags.Log.Format, "log-format", d.Log.Format, "auto (text on a terminal, else JSON), text or json")
}

// config puts flags over environment over file over defaults.
func (o *serveOptions) config(c *cobra.Command) (*config, error) {
	if o.file == "" {
		o.file = os.Getenv("RAILMAP_CONFIG")
	}
	cfg, err := readConfig(o.file)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	for name, set := range map[string]func(v config){
		"listen": func(v config) { cfg.Listen = v.Listen }, "data": func(v config) { cfg.Data = v.Data }, "store": func(v config) { cfg.Store = v.Store },
		"topology": func(v config) { cfg.Topology = v.Topology }, "tls-cert": func(v config) { cfg.TLS.Cert = v.TLS.Cert }, "tls-key": func(v config) { cfg.TLS.Key = v.TLS.Key },
		"client-ca": func(v config) { cfg.TLS.ClientCA = v.TLS.ClientCA }, "tokens": func(v config) { cfg.Tokens = v.Tokens },
		"insecure": func(v config) { cfg.Insecure = v.Insecure }, "log-level": func(v config) { cfg.Log.Level = v.Log.Level }, "log-format": func(v config) { cfg.Log.Format = v.Log.Format },
	} {
		flag := c.Flags().Lookup(name)
		value, ok := os.LookupEnv("RAILMAP_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
		if !flag.Changed && ok {
			if err := flag.Value.Set(value); err != nil {
				return nil, usagef("RAILMAP_%s: %w", strings.ToUpper(name), err)
			}
		}
		if flag.Changed || ok {
			set(o.flags)
		}
	}
	if err := cfg.validate(); err != nil {
		return nil, withCode(exitUsage, err)
	}
	return &cfg, withCode(exitUsage, checkExposure(&cfg))
}

// checkExposure refuses to serve other hosts in the clear or without knowing who they are.
func checkExposure(c *config) error {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("listen is %q: must be HOST:PORT", c.Listen)
	}
	ip := net.ParseIP(host)
	if c.Insecure || host == "localhost" || (ip != nil && ip.IsLoopback()) {
		return nil
	}
	if c.TLS.Cert == "" {
		return fmt.Errorf("listen is %s, which other hosts reach: needs --tls-cert and --tls-key (or --insecure, or a loopback address)", c.Listen)
	}
	if c.Tokens == "" && c.TLS.ClientCA == "" {
		return fmt.Errorf("listen is %s, which other hosts reach: needs --tokens or --client-ca (or --insecure)", c.Listen)
	}
	return nil
}

// serve runs the service until ctx ends. Again gives the configuration anew for a reload.
func serve(ctx context.Context, e *env, cfg *config, again func() (*config, error)) error {
	level := &slog.LevelVar{}
	log := newLogger(e, cfg, level)
	files, err := openFiles(cfg, log)
	if err != nil {
		return withCode(exitUsage, err)
	}
	var topo *topology.Topology
	if cfg.Topology != "" {
		if topo, err = readTopology(e, cfg.Topology); err != nil {
			return err
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return withCode(exitUsage, err)
	}
	defer listener.Close()
	store, err := openStore(ctx, cfg)
	if err != nil {
		return withCode(exitUnavailable, err)
	}
	m := newServeMetrics(store, cfg)
	reload := &reloader{cfg: cfg, again: again, files: files, level: level, metrics: m, log: log}
	s, err := server.New(ctx, server.Options{Store: store, Log: log, Topology: topo, DataDir: cfg.Data, Placer: placerOptions, TLS: files.tlsServer(),
		Auth:    server.Auth{Required: cfg.Tokens != "" || cfg.TLS.ClientCA != "", Tokens: files.tokenList, AdminNames: cfg.TLS.Admins, RequesterNames: cfg.TLS.Requesters},
		Metrics: m.handler(), Observe: m, OnCommit: m.commit, Exports: liveExports(e.now), Reload: reload.reload, ToolVersion: toolVersion()})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	m.server.Store(s)
	debug.FreeOSMemory() // reading a large map leaves more behind than the service needs
	err = tend(ctx, s, listener, reload)
	log.Info("stopped")
	return errors.Join(err, s.Close())
}

// tend serves, with what has to happen beside: reloads, the watchdog, files that change.
func tend(ctx context.Context, s *server.Server, l net.Listener, r *reloader) error {
	side, stop := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	tasks.Go(func() { r.onSignal(side, hup) })
	tasks.Go(func() { r.files.watch(side) })
	tasks.Go(func() { feedWatchdog(side, s.Alive) })
	r.log.Info("serving", "address", l.Addr().String(), "tls", r.files.cfg.Cert != "", "version", toolVersion())
	notifySystemd("READY=1")
	err := s.Serve(ctx, l)
	notifySystemd("STOPPING=1")
	stop()
	tasks.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// newLogger writes text on a terminal and JSON elsewhere, to stderr.
func newLogger(e *env, cfg *config, level *slog.LevelVar) *slog.Logger {
	_ = level.UnmarshalText([]byte(cfg.Log.Level)) // validated
	opts := &slog.HandlerOptions{Level: level}
	f, ok := e.stderr.(*os.File)
	if cfg.Log.Format == "text" || cfg.Log.Format == "auto" && ok && term.IsTerminal(int(f.Fd())) {
		return slog.New(slog.NewTextHandler(e.stderr, opts))
	}
	return slog.New(slog.NewJSONHandler(e.stderr, opts))
}

// reloader takes a new configuration whole or not at all.
type reloader struct {
	mu      sync.Mutex
	cfg     *config
	again   func() (*config, error)
	files   *liveFiles
	level   *slog.LevelVar
	metrics *serveMetrics
	log     *slog.Logger
}

func (r *reloader) onSignal(ctx context.Context, hup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			notifySystemd("RELOADING=1\nMONOTONIC_USEC=" + monotonicMicroseconds())
			if err := r.reload(); err != nil {
				r.log.Error("configuration not taken, the last good one stays", "err", err)
			}
			notifySystemd("READY=1")
		}
	}
}

// reload reads file, certificates and tokens. What needs a restart is named in the log.
func (r *reloader) reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	cfg, err := r.again()
	if err == nil {
		err = r.files.load()
	}
	r.metrics.reloaded(time.Now(), err == nil)
	if err != nil {
		return err
	}
	if keys := r.cfg.needRestart(cfg); len(keys) > 0 {
		r.log.Warn("some changes need a restart", "keys", keys)
	}
	_ = r.level.UnmarshalText([]byte(cfg.Log.Level))
	r.metrics.maxSwitches.Store(int64(cfg.Metrics.MaxSwitches))
	r.log.Info("configuration read again")
	return nil
}

// ledgerFile is the embedded store in the data folder.
const ledgerFile = "ledger.db"

// openStore opens what the configuration names.
func openStore(ctx context.Context, c *config) (ledger.Store, error) {
	if c.Store == "" {
		return ledger.OpenBolt(filepath.Join(c.Data, ledgerFile))
	}
	a, err := ledger.ParseAddress(c.Store)
	if err != nil {
		return nil, err
	}
	return a.Open(ctx)
}
