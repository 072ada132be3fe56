package ledger

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func openTest(t *testing.T, path string, opts Options) *Ledger {
	t.Helper()
	store, err := OpenBolt(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), store, opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func reserve(l *Ledger, nodes ...string) (*Lease, error) {
	var claims []Claim
	for _, n := range nodes {
		claims = append(claims, Claim{Node: n})
	}
	return Do(context.Background(), l, func(tx *Tx) (*Lease, error) {
		return tx.Reserve(Grant{Holder: "test", Claims: claims, TTL: time.Minute})
	})
}

func TestLifeOfALease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path, Options{})
	a, err := reserve(l, "n1", "n2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reserve(l, "n3", "n2"); !errors.Is(err, ErrHeld) {
		t.Fatalf("second holder of n2: %v, want ErrHeld", err)
	}
	l.View(func(s *State) {
		if s.HeldGPUs("n3") != 0 {
			t.Error("half a gang is held")
		}
	})
	if _, err := Do(t.Context(), l, func(tx *Tx) (*Lease, error) { return tx.Renew(a.ID, a.Token+1, 0) }); !errors.Is(err, ErrStaleToken) {
		t.Errorf("renewal with another token: %v", err)
	}
	if _, err := Do(t.Context(), l, func(tx *Tx) (*Lease, error) { return tx.Bind(a.ID, a.Token, "slurm", "17", time.Hour) }); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := CheckFile(path); err != nil || n != 1 {
		t.Fatalf("check: %d leases, %v", n, err)
	}
	l = openTest(t, path, Options{})
	defer l.Close()
	if _, err := reserve(l, "n1"); !errors.Is(err, ErrHeld) {
		t.Errorf("after a restart: %v, want ErrHeld", err)
	}
	if _, err := Do(t.Context(), l, func(tx *Tx) (*Lease, error) { return tx.Release(a.ID, a.Token) }); err != nil {
		t.Fatal(err)
	}
	b, err := reserve(l, "n1")
	if err != nil || b.Token <= a.Token {
		t.Errorf("grant after release: %+v, %v: the token must grow beyond %d", b, err, a.Token)
	}
}
