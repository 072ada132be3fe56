package ledger

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMutants builds the package with faults and runs the tests on each: tests that let a fault pass prove nothing.
func TestMutants(t *testing.T) {
	if testing.Short() || mutant != "" {
		t.Skip("short, or a mutant itself")
	}
	binary := filepath.Join(t.TempDir(), "mutant.test")
	if out, err := exec.Command("go", "test", "-c", "-tags", "mutant", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(name string) (string, error) {
		cmd := exec.Command(binary, "-test.run", "^(TestModel|TestLifeOfALease|TestCommitIsSynced)$", "-rapid.checks", "60", "-rapid.nofailfile", "-rapid.shrinktime", "0s")
		cmd.Env = append(os.Environ(), "RAILMAP_MUTANT="+name)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(""); err != nil {
		t.Fatalf("without a fault: %v\n%s", err, out)
	}
	for _, name := range []string{"no-sync", "no-conflict-check", "same-token", "no-token-check", "answer-before-commit", "half-gang", "no-expiry", "no-reload"} {
		out, err := run(name)
		if err == nil {
			t.Errorf("%s is not caught", name)
			continue
		}
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "--- FAIL") || strings.HasPrefix(line, "panic") {
				t.Logf("%s: caught by %s", name, strings.TrimSpace(line))
				break
			}
		}
	}
}

// TestCommitIsSynced looks at the options that make a commit durable: what a kill cannot show, because the kernel keeps the
// pages of a dead process, and only a power cut would.
func TestCommitIsSynced(t *testing.T) {
	s, err := OpenBolt(filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.db.NoSync || s.db.NoGrowSync {
		t.Error("commits are not synced to the disk")
	}
}
