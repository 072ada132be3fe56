package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fillFile makes a ledger of n leases of two nodes each and returns its file's bytes and the ids.
func fillFile(t *testing.T, n int) (data []byte, ids map[string]bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := openTest(t, path, Options{})
	ids = map[string]bool{}
	for i := range n {
		lease, err := reserve(l, fmt.Sprintf("node%04d", 2*i), fmt.Sprintf("node%04d", 2*i+1))
		if err != nil {
			t.Fatal(err)
		}
		ids[lease.ID] = true
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data, ids
}

// openDamaged opens a damaged file: it must be refused with its path and a remedy, or hold nothing but whole, true leases.
func openDamaged(t *testing.T, dir string, data []byte, ids map[string]bool) (refused bool) {
	t.Helper()
	path := filepath.Join(dir, "damaged.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := OpenBolt(path)
	if err != nil {
		if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore") {
			t.Errorf("error %q: must name the file and the remedy", err)
		}
		return true
	}
	defer store.Close()
	snap, err := store.Load(context.Background())
	if err != nil {
		t.Errorf("opened, but then: %v", err)
	}
	for _, l := range snap.Leases {
		if !ids[l.ID] || len(l.Claims) != 2 || !strings.HasPrefix(l.Claims[0].Node, "node") {
			t.Errorf("a lease that nobody made: %+v", l)
		}
	}
	return false
}

// TestTornFile cuts the file at many lengths, and at every byte of the last 4 KiB in use.
func TestTornFile(t *testing.T) {
	data, ids := fillFile(t, 20)
	dir := t.TempDir()
	last := lastUsed(data)
	refused, tried := 0, 0
	for n := 1; n <= last; n++ {
		if n > 64 && n < last-4096 && n%509 != 0 {
			continue
		}
		tried++
		if openDamaged(t, dir, data[:n], ids) {
			refused++
		}
	}
	t.Logf("%d of %d cuts refused", refused, tried)
	if refused < tried {
		t.Errorf("only %d of %d cuts were noticed", refused, tried)
	}
}

// TestFlippedByte flips bytes of both meta pages and of every page that the last commit refers to.
func TestFlippedByte(t *testing.T) {
	data, ids := fillFile(t, 20)
	dir := t.TempDir()
	path := filepath.Join(dir, "whole.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, root, err := readBoltFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.walk(root, func(_, v []byte, _ bool) error { return f.bucket(v, func(_, _ []byte, _ bool) error { return nil }) }); err != nil {
		t.Fatal(err)
	}
	f.seen[0], f.seen[1] = true, true
	refused, tried := 0, 0
	for page := range f.seen {
		for i := uint64(0); i < f.pageSize; i += 1 + 2*(i/256) {
			at := page*f.pageSize + i
			bad := append([]byte(nil), data...)
			bad[at] ^= 0x41
			tried++
			if openDamaged(t, dir, bad, ids) {
				refused++
			}
		}
	}
	t.Logf("%d of %d flips refused in %d pages; the others hit unused bytes or the older meta page", refused, tried, len(f.seen))
	if refused < tried/20 {
		t.Error("hardly any flip was noticed")
	}
}

func lastUsed(data []byte) int {
	for i := len(data) - 1; i >= 0; i-- {
		if data[i] != 0 {
			return i
		}
	}
	return 0
}

// TestNoSpace fills a small file system: the request that does not fit is told so, nothing acknowledged is lost, and the
// ledger works again when there is room.
func TestNoSpace(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a small tmpfs needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=400k"); err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatalf("no tmpfs here: %v", err)
		}
		t.Skipf("no tmpfs here: %v", err)
	}
	defer syscall.Unmount(dir, 0)
	path := filepath.Join(dir, "ledger.db")
	l := openTest(t, path, Options{})
	var kept []*Lease
	var full error
	for i := range 5000 {
		lease, err := reserve(l, fmt.Sprintf("node%04d-%s", i, strings.Repeat("x", 200)))
		if err != nil {
			full = err
			break
		}
		kept = append(kept, lease)
	}
	if !errors.Is(full, ErrUnavailable) {
		t.Fatalf("on a full disk: %v, want ErrUnavailable", full)
	}
	for _, lease := range kept {
		l.View(func(s *State) {
			if now, ok := s.Get(lease.ID); !ok || !now.Live() {
				t.Fatalf("lease %s was acknowledged and is lost", lease.ID)
			}
		})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := CheckFile(path); err != nil || n != len(kept) {
		t.Fatalf("%d leases in the file (%v), %d were acknowledged", n, err, len(kept))
	}
}

func TestRestore(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	store, err := OpenBolt(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	before, err := reserve(l, "n1")
	if err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(dir, "backup.db")
	f, err := os.Create(backup)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Backup(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := reserve(l, "n2"); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := RestoreFile(backup, path); err != nil {
		t.Fatal(err)
	}
	l = openTest(t, path, Options{})
	defer l.Close()
	l.View(func(s *State) {
		if _, ok := s.Get(before.ID); !ok || s.HeldGPUs("n2") != 0 {
			t.Error("the restored ledger must hold n1 and not n2")
		}
	})
	if err := os.WriteFile(backup, []byte("no ledger"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := RestoreFile(backup, path); err == nil {
		t.Error("a broken backup was restored")
	}
}

// TestNewerLayout refuses a file of a newer railmap instead of guessing.
func TestNewerLayout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	store, err := OpenBolt(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.setSchema(schemaVersion + 1); err != nil {
		t.Fatal(err)
	}
	store.Close()
	if _, err := OpenBolt(path); err == nil || !strings.Contains(err.Error(), "newer railmap") {
		t.Errorf("error %v: must say that a newer railmap wrote the file", err)
	}
}

// TestSecondProcess refuses a file that is open.
func TestSecondProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	store, err := OpenBolt(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := OpenBolt(path); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("error %v: must say that another process has it", err)
	}
}

// TestWallClockJumps: the wall clock decides nothing.
func TestWallClockJumps(t *testing.T) {
	jump := time.Duration(0)
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"), Options{Wall: func() time.Time { return time.Now().Add(jump) }})
	defer l.Close()
	lease, err := reserve(l, "n1")
	if err != nil {
		t.Fatal(err)
	}
	for _, jump = range []time.Duration{-time.Hour, time.Hour, 10 * 365 * 24 * time.Hour} {
		if _, err := reserve(l, "n1"); !errors.Is(err, ErrHeld) {
			t.Errorf("clock moved by %s: %v, want ErrHeld", jump, err)
		}
		if _, err := Do(t.Context(), l, func(tx *Tx) (*Lease, error) { return tx.Renew(lease.ID, lease.Token, 0) }); err != nil {
			t.Errorf("clock moved by %s: renewal: %v", jump, err)
		}
	}
}
