package ledger

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// step is one thing that happens to the ledger.
type step struct {
	Kind   string // reserve, renew, bind, release, restart, sleep
	Claims []Claim
	Lease  int // which of the leases granted so far
	Stale  bool
	Fault  string // "", "before", "after": what the store does
	Sleep  time.Duration
}

func drawSteps(t *rapid.T) []step {
	claim := rapid.Custom(func(t *rapid.T) Claim {
		c := Claim{Node: fmt.Sprintf("n%d", rapid.IntRange(0, 5).Draw(t, "node"))}
		if rapid.Bool().Draw(t, "some GPUs") {
			first := rapid.IntRange(0, 3).Draw(t, "first")
			for g := first; g <= rapid.IntRange(first, 3).Draw(t, "last"); g++ {
				c.GPUs = append(c.GPUs, g)
			}
		}
		return c
	})
	one := rapid.Custom(func(t *rapid.T) step {
		return step{
			Kind:   rapid.SampledFrom([]string{"reserve", "reserve", "reserve", "renew", "bind", "release", "release", "restart", "sleep"}).Draw(t, "kind"),
			Claims: rapid.SliceOfNDistinct(claim, 1, 3, func(c Claim) string { return c.Node }).Draw(t, "claims"),
			Lease:  rapid.IntRange(0, 20).Draw(t, "lease"),
			Stale:  rapid.IntRange(0, 5).Draw(t, "stale") == 0,
			Fault:  rapid.SampledFrom([]string{"", "", "", "", "before", "after"}).Draw(t, "fault"),
			Sleep:  time.Duration(rapid.IntRange(1, 90).Draw(t, "sleep")) * time.Second,
		}
	})
	return rapid.SliceOfN(one, 100, 100).Draw(t, "steps")
}

// TestModel runs random histories, faults of the store and restarts included, and holds the ledger against its promises.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := drawSteps(rt)
		var err error
		synctest.Test(t, func(t *testing.T) { err = runModel(t, steps) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// granted is what a holder was told.
type granted struct {
	lease  *Lease
	until  time.Time // promised at least until then
	latest time.Time // over by then, and a second for the ledger to notice
	over   bool      // given back by its holder, or the answer to that is unknown
}

const modelTTL = time.Minute

func runModel(t *testing.T, steps []step) error {
	store := newMemStore()
	l, err := Open(t.Context(), store, Options{Retention: time.Hour})
	if err != nil {
		return err
	}
	defer func() { l.Close() }()
	var all []*granted
	for i, s := range steps {
		time.Sleep(2 * time.Millisecond) // let leases end whose time is over, before the store fails
		synctest.Wait()
		if s.Fault != "" {
			store.fail = []string{s.Fault}
		}
		switch s.Kind {
		case "restart":
			l.Close()
			store.fail = nil
			if l, err = Open(t.Context(), store, Options{Retention: time.Hour}); err != nil {
				return fmt.Errorf("step %d: restart: %w", i, err)
			}
			for _, g := range all { // nobody knows how long it was away: full time again
				g.latest = time.Now().Add(modelTTL)
			}
		case "sleep":
			time.Sleep(s.Sleep)
			synctest.Wait()
		default:
			if all, err = request1(t, l, all, s); err != nil {
				return fmt.Errorf("step %d (%+v): %w", i, s, err)
			}
		}
		store.fail = nil
		if s.Fault != "" {
			time.Sleep(time.Second) // the ledger reads the store again by itself
		}
		if err := holdPromises(l, all); err != nil {
			return fmt.Errorf("after step %d (%+v): %w", i, s, err)
		}
	}
	return nil
}

// request1 makes one request and checks its answer against what was promised before.
func request1(t *testing.T, l *Ledger, all []*granted, s step) ([]*granted, error) {
	if s.Kind == "reserve" {
		var free bool
		l.View(func(st *State) { free = st.conflict(s.Claims) == nil })
		lease, err := Do(t.Context(), l, func(tx *Tx) (*Lease, error) {
			return tx.Reserve(Grant{Holder: "model", Claims: s.Claims, TTL: modelTTL})
		})
		switch {
		case err == nil && !free:
			return all, errors.New("granted what was taken")
		case errors.Is(err, ErrHeld) && free:
			return all, errors.New("refused what was free")
		case err == nil:
			all = append(all, &granted{lease: lease, until: time.Now().Add(modelTTL), latest: time.Now().Add(modelTTL)})
		case !errors.Is(err, ErrHeld) && !errors.Is(err, ErrUnavailable):
			return all, fmt.Errorf("unexpected: %w", err)
		}
		return all, nil
	}
	if len(all) == 0 {
		return all, nil
	}
	g := all[s.Lease%len(all)]
	token := g.lease.Token
	if s.Stale {
		token--
	}
	live := false
	l.View(func(st *State) {
		now, ok := st.Get(g.lease.ID)
		live = ok && now.Live()
	})
	_, err := Do(t.Context(), l, func(tx *Tx) (*Lease, error) {
		switch s.Kind {
		case "renew":
			return tx.Renew(g.lease.ID, token, 0)
		case "bind":
			return tx.Bind(g.lease.ID, token, "slurm", "17", modelTTL)
		}
		return tx.Release(g.lease.ID, token)
	})
	switch {
	case errors.Is(err, ErrUnavailable):
		g.latest = time.Now().Add(modelTTL) // it may be renewed
		g.over = g.over || s.Kind == "release" && !s.Stale
	case s.Stale && err == nil:
		return all, errors.New("a wrong token was accepted")
	case err == nil && s.Kind == "release":
		g.over = true
	case err == nil && !live:
		return all, errors.New("a lease that had ended came back")
	case err == nil:
		g.until = time.Now().Add(modelTTL)
		g.latest = g.until
	case errors.Is(err, ErrStaleToken) && !s.Stale:
		return all, errors.New("the right token was refused as stale")
	}
	return all, nil
}

// holdPromises: no GPU twice, gangs whole, no acknowledged lease lost, cut short or held after its time.
func holdPromises(l *Ledger, all []*granted) error {
	var err error
	l.View(func(st *State) {
		err = st.check()
		for _, g := range all {
			now, ok := st.Get(g.lease.ID)
			if ok && now.Live() && time.Since(g.latest) > time.Second {
				err = errors.Join(err, fmt.Errorf("lease %s is held %s after its time", g.lease.ID, time.Since(g.latest)))
			}
			if g.over || !time.Now().Before(g.until) {
				continue
			}
			if !ok || !now.Live() {
				err = errors.Join(err, fmt.Errorf("lease %s ended %s before its time", g.lease.ID, time.Until(g.until)))
				continue
			}
			for _, c := range g.lease.Claims {
				if st.HeldGPUs(c.Node)&c.mask() != c.mask() {
					err = errors.Join(err, fmt.Errorf("lease %s: half a gang is held: %s is not", g.lease.ID, c.Node))
				}
			}
		}
	})
	return err
}
