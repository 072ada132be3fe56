package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/railmap/railmap/topology"
)

func main() {
	faults := flag.Int("faults", 0, "draw so many faults instead, and say who is blamed")
	seed := flag.Uint64("seed", 1, "seed of the faults")
	keep := flag.String("keep", "", "folder for the reports (default: none is kept)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *faults, *seed, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "emulated cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, faults int, seed uint64, keep string) error {
	s, err := start(keep)
	if err != nil {
		return err
	}
	defer s.stop()
	if faults > 0 {
		return s.blame(ctx, w, faults, seed)
	}
	all, err := s.sweepAll(ctx)
	if err != nil {
		return err
	}
	loaded, err := s.sweepLoaded(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s", all, loaded)
	return err
}

// stage is a cluster that is up, and what the hosts need.
type stage struct {
	c   cluster
	dir string
	tmp bool
}

// start compiles railmap and brings the cluster up.
func start(keep string) (*stage, error) {
	if p := missing(); p != "" {
		return nil, fmt.Errorf("%s must be installed (package iproute2)", p)
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("must run as root: it makes network namespaces")
	}
	s := &stage{c: cluster{prefix: fmt.Sprint("rm", os.Getpid())}, dir: keep}
	if keep == "" {
		dir, err := os.MkdirTemp("", "railmap-emulated-")
		if err != nil {
			return nil, err
		}
		s.dir, s.tmp = dir, true
	}
	if err := s.prepare(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *stage) prepare() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "token"), []byte("a token of one emulated cluster\n"), 0o600); err != nil {
		return err
	}
	if err := compile(filepath.Join(s.dir, "railmap")); err != nil {
		return err
	}
	return s.c.up()
}

func (s *stage) stop() {
	if err := s.c.down(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if s.tmp {
		os.RemoveAll(s.dir)
	}
}

// measure runs railmap probe pairs on all hosts and reads the report of rank 0.
func (s *stage) measure(ctx context.Context, name string, r rates, args ...string) (*topology.PairReport, time.Duration, error) {
	t, err := r.topology()
	if err != nil {
		return nil, 0, err
	}
	file := func(n string) string { return filepath.Join(s.dir, n) }
	f, err := os.Create(file("map.yaml"))
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if err := topology.Write(f, t, topology.YAML); err != nil {
		return nil, 0, err
	}
	var namespaces []string
	for h := range hosts {
		namespaces = append(namespaces, s.c.hostNS(h))
	}
	began := time.Now()
	err = onHosts(ctx, namespaces, func(h int) []string {
		argv := []string{file("railmap"), "probe", "pairs", "--coordinator", address(0) + ":7900", "--token-file", file("token"),
			"--rank", fmt.Sprint(h), "--of", fmt.Sprint(hosts), "--node-name", fmt.Sprintf("h%02d", h), "--nics", "eth0", "--force",
			"--streams", "1", "--congestion", "cubic", "--pings", "20"}
		if h == 0 {
			argv = append(argv, "-t", file("map.yaml"), "-o", file(name))
		}
		return append(argv, args...)
	})
	if err != nil {
		return nil, 0, err
	}
	report := &topology.PairReport{}
	return report, time.Since(began), topology.ReadFile(file(name), report)
}
