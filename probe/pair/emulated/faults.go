package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/railmap/railmap/probe/pair"
)

// fault is something slow in the cluster, with the culprit that must be named.
type fault struct {
	kind, name string
	begin, end func() error
}

// blame draws faults (every fourth case two at once, every fifth a flapping host) and prints who is blamed.
func (s *stage) blame(ctx context.Context, w io.Writer, cases int, seed uint64) error {
	right := 0
	for i := range cases {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		faults := []fault{s.draw(rng, i%5 == 4, -1)}
		if i%4 == 3 {
			faults = append(faults, s.draw(rng, false, hostOf(faults[0].name)))
		}
		var said []pair.Culprit
		err := s.with(faults, func() error {
			r, _, err := s.measure(ctx, "faults.json", wide, "--tiers", "leaf,group", "--window", "300ms", "--budget", "30s")
			if err == nil {
				said = pair.Blame(r, pair.BlameOptions{}).Culprits
			}
			return err
		})
		if err != nil {
			return err
		}
		ok := named(faults, said)
		if ok {
			right++
		}
		for _, f := range faults {
			fmt.Fprintf(w, "case %2d: %s %-6s ", i, f.kind, f.name)
		}
		fmt.Fprintf(w, "right %v, said", ok)
		for _, c := range said {
			fmt.Fprintf(w, " %s %s %.2f;", c.Kind, c.Subject(), c.Ratio)
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "first culprit right in %d of %d cases\n", right, cases)
	return err
}

func named(faults []fault, said []pair.Culprit) bool {
	for _, f := range faults {
		if len(said) > 0 && said[0].Kind == f.kind && said[0].Name == f.name {
			return true
		}
	}
	return false
}

func hostOf(name string) int {
	h := -1
	fmt.Sscanf(name, "h%d", &h)
	return h
}

// with makes the faults, runs f and takes them back.
func (s *stage) with(faults []fault, f func() error) error {
	var err error
	for _, x := range faults {
		err = errors.Join(err, x.begin())
	}
	if err == nil {
		err = f()
	}
	for _, x := range faults {
		err = errors.Join(err, x.end())
	}
	return err
}

// draw makes a slow host, a flapping one or a slow uplink; not the host given.
func (s *stage) draw(rng *rand.Rand, flapping bool, not int) fault {
	h := rng.IntN(hosts)
	for h == not {
		h = rng.IntN(hosts)
	}
	slow := 15 + rng.IntN(25)
	if l := h / perLeaf; !flapping && rng.IntN(3) == 0 {
		t, err := wide.topology()
		name := fmt.Sprint("leaf", l)
		if err == nil {
			name = t.Nodes[h].Group
		}
		return fault{pair.UplinkCulprit, name, func() error { return s.c.shapeLeaf(l, slow) }, func() error { return s.c.shapeLeaf(l, wide.leaf) }}
	}
	f := fault{kind: pair.NodeCulprit, name: fmt.Sprintf("h%02d", h), begin: func() error { return s.c.shapeHost(h, slow, slow) }, end: func() error { return s.c.shapeHost(h, hostRate, hostRate) }}
	if flapping {
		s.flap(&f, h)
	}
	return f
}

// flap switches a host between full speed and a fifth of it while the fault lasts.
func (s *stage) flap(f *fault, h int) {
	stop, done := make(chan struct{}), make(chan error, 1)
	normal := f.end
	f.begin = func() error {
		go func() {
			var err error
			for i := 0; ; i++ {
				select {
				case <-stop:
					done <- err
					return
				case <-time.After(900 * time.Millisecond):
				}
				rate := hostRate
				if i%2 == 0 {
					rate = hostRate / 5
				}
				err = errors.Join(err, s.c.shapeHost(h, rate, rate))
			}
		}()
		return nil
	}
	f.end = func() error {
		close(stop)
		return errors.Join(<-done, normal())
	}
}
