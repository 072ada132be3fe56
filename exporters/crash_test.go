package exporters

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// faultyDisk fails the n-th operation that changes something, as a full disk does, or dies there.
type faultyDisk struct {
	disk
	n    *int
	dies bool
}

var errDisk = fmt.Errorf("test: %w", syscall.ENOSPC)

type died struct{}

func (d faultyDisk) fail() error {
	*d.n--
	if *d.n != 0 {
		return nil
	}
	if d.dies {
		panic(died{})
	}
	return errDisk
}

func (d faultyDisk) Rename(a, b string) error {
	if err := d.fail(); err != nil {
		return err
	}
	return d.disk.Rename(a, b)
}

func (d faultyDisk) Remove(a string) error {
	if err := d.fail(); err != nil {
		return err
	}
	return d.disk.Remove(a)
}

func (d faultyDisk) SyncDir(a string) error {
	if err := d.fail(); err != nil {
		return err
	}
	return d.disk.SyncDir(a)
}

func (d faultyDisk) MkdirAll(a string) error {
	if err := d.fail(); err != nil {
		return err
	}
	return d.disk.MkdirAll(a)
}

func (d faultyDisk) Create(a string, m fs.FileMode) (diskFile, error) {
	if err := d.fail(); err != nil {
		return nil, err
	}
	f, err := d.disk.Create(a, m)
	return faultyFile{f, d}, err
}

type faultyFile struct {
	diskFile
	d faultyDisk
}

func (f faultyFile) Write(p []byte) (int, error) {
	if *f.d.n == 1 { // the half that still fitted
		if _, err := f.diskFile.Write(p[:len(p)/2]); err != nil {
			return 0, err
		}
	}
	if err := f.d.fail(); err != nil {
		return len(p) / 2, err
	}
	return f.diskFile.Write(p)
}

func (f faultyFile) Sync() error {
	if err := f.d.fail(); err != nil {
		return err
	}
	return f.diskFile.Sync()
}

func (f faultyFile) Close() error {
	return errors.Join(f.d.fail(), f.diskFile.Close())
}

// before is a directory with two generations; the change under test updates a, creates sub/new, retires old and keeps same.
func before(t *testing.T) string {
	dir := t.TempDir()
	opts := WriteOptions{Target: "x"}
	mustWrite(t, dir, opts, file("a", "a one\n", 9), file("old", "old one\n", 9), file("same", "same\n", 1))
	mustWrite(t, dir, opts, file("a", "a two\n", 9), file("old", "old two\n", 9), file("same", "same\n", 1))
	return dir
}

var (
	next      = []File{file("a", "a three\n", 9), file("same", "same\n", 1), file("sub/new", "new\n", 9)}
	wantAfter = map[string]string{
		"a": "a three\n", "a.last-good": "a two\n", "old.last-good": "old two\n", "same": "same\n", "sub/new": "new\n",
	}
)

// attempt writes next with the n-th operation failing; ok tells that no operation was left to fail.
func attempt(t *testing.T, dir string, n int, dies bool) (crashed, ok bool, err error) {
	t.Helper()
	d, done, err := openDisk(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	defer func() {
		if r := recover(); r != nil {
			if _, is := r.(died); !is {
				panic(r)
			}
			crashed = true
		}
	}()
	_, err = write(faultyDisk{disk: d, n: &n, dies: dies}, next, WriteOptions{Target: "x"})
	return false, n > 0, err
}

// TestWriteSurvivesEveryError fails each single operation of a write in turn: a full disk, a lost server, a vanished folder.
func TestWriteSurvivesEveryError(t *testing.T) {
	for n := 1; ; n++ {
		dir := before(t)
		was := tree(t, dir)
		_, ok, err := attempt(t, dir, n, false)
		if ok {
			if n < 20 {
				t.Fatalf("only %d operations: the write under test does too little", n)
			}
			if d := cmp.Diff(wantAfter, tree(t, dir)); err != nil || d != "" {
				t.Fatalf("without an error: %v\n%s", err, d)
			}
			t.Logf("failed each of %d operations", n-1)
			return
		}
		if err == nil {
			t.Fatalf("operation %d failed and nobody says so", n)
		}
		got := tree(t, dir)
		if strings.Contains(err.Error(), "the new files are in place") {
			for name, want := range map[string]string{"a": "a three\n", "same": "same\n", "sub/new": "new\n"} {
				if got[name] != want {
					t.Errorf("operation %d: %s = %q, want %q", n, name, got[name], want)
				}
			}
		} else {
			if d := cmp.Diff(was, got); d != "" {
				t.Errorf("operation %d (%v): the directory changed\n%s", n, err, d)
			}
		}
		finish(t, dir, n)
	}
}

// TestWriteSurvivesEveryCrash ends the program before each single operation of a write in turn.
func TestWriteSurvivesEveryCrash(t *testing.T) {
	for n := 1; ; n++ {
		dir := before(t)
		crashed, ok, err := attempt(t, dir, n, true)
		if ok {
			return
		}
		if !crashed {
			t.Fatalf("operation %d: %v, want a crash", n, err)
		}
		got := tree(t, dir)
		for name, bodies := range map[string][]string{
			"a": {"a two\n", "a three\n"}, "same": {"same\n"}, "old": {"old two\n", ""}, "sub/new": {"", "new\n"},
			"a.last-good": {"a one\n", "a two\n"}, "old.last-good": {"old one\n", "old two\n"},
		} {
			if got[name] != bodies[0] && got[name] != bodies[len(bodies)-1] {
				t.Errorf("operation %d: %s = %q, want one of %q", n, name, got[name], bodies)
			}
		}
		finish(t, dir, n)
	}
}

// finish writes again without faults: the result is the same as if nothing had happened, and nothing hidden is left.
func finish(t *testing.T, dir string, n int) {
	t.Helper()
	mustWrite(t, dir, WriteOptions{Target: "x"}, next...)
	if d := cmp.Diff(wantAfter, tree(t, dir)); d != "" {
		t.Errorf("after operation %d and a second write:\n%s", n, d)
	}
}

// TestWriteOnAFullDisk is the same with a real limit: the kernel refuses to let the file grow.
func TestWriteOnAFullDisk(t *testing.T) {
	dir := os.Getenv("RAILMAP_TEST_FULL_DISK")
	big := file("a", strings.Repeat("x\n", 100_000), 9)
	if dir != "" {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}); err != nil {
			t.Fatal(err)
		}
		if _, err := Write(dir, []File{big}, WriteOptions{}); !errors.Is(err, syscall.EFBIG) {
			t.Fatalf("err = %v, want EFBIG", err)
		}
		return
	}
	dir = t.TempDir()
	mustWrite(t, dir, WriteOptions{}, file("a", "good\n", 9))
	was := tree(t, dir)
	child := exec.Command(os.Args[0], "-test.run=^TestWriteOnAFullDisk$")
	child.Env = append(os.Environ(), "RAILMAP_TEST_FULL_DISK="+dir)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if d := cmp.Diff(was, tree(t, dir)); d != "" {
		t.Error(d)
	}
}

func TestWriteToAnUnwritableDirectory(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, WriteOptions{}, file("a", "good\n", 9))
	if _, err := Write(filepath.Join(dir, "a"), []File{file("b", "x\n", 1)}, WriteOptions{}); err == nil {
		t.Error("wrote below a file")
	}
	if os.Geteuid() == 0 {
		t.Skip("runs as root, whom no mode stops")
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	was := tree(t, dir)
	if _, err := Write(dir, []File{file("a", "new\n", 9)}, WriteOptions{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("err = %v, want permission denied", err)
	}
	if d := cmp.Diff(was, tree(t, dir)); d != "" {
		t.Error(d)
	}
}
