package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// realSlurm is one installed Slurm: on this host, or unpacked by .ci/install-slurm and entered by chroot.
type realSlurm struct {
	Install
	release string // "24.11.5"
	version Version
}

// requireReal skips a test that lacks a real program, or fails it where the real ones are required.
func requireReal(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// realSlurms finds 22.05, 24.11 and 26.05.
func realSlurms(t *testing.T) []realSlurm {
	t.Helper()
	if os.Geteuid() != 0 {
		requireReal(t, "slurmctld is started as root in these tests: run as root")
	}
	cache := os.Getenv("RAILMAP_CACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, ".cache", "railmap")
	}
	find := func(want string, roots ...string) realSlurm {
		var errs []error
		for _, root := range roots {
			s := realSlurm{Install: Install{Root: root}}
			var err error
			s.release, s.version, err = s.Release(t.Context())
			if err == nil && s.version.String() == want {
				return s
			}
			errs = append(errs, fmt.Errorf("%q: %s %w", root, s.release, err))
		}
		requireReal(t, "no Slurm %s: run .ci/install-slurm: %v", want, errors.Join(errs...))
		return realSlurm{}
	}
	suite := func(name string) string { return filepath.Join(cache, "slurm", name) }
	return []realSlurm{find("22.05", "", suite("bookworm")), find("24.11", suite("trixie")), find("26.05", suite("forky"))}
}

// testController is a running controller of a test.
type testController struct{ *controller }

// start starts a controller that is stopped when the test ends; the error is a *refusal when it does not come up.
func (s realSlurm) start(t *testing.T, files map[string][]byte, lines string) (testController, error) {
	t.Helper()
	return s.startIn(t, t.TempDir(), files, lines)
}

// startIn starts it in a folder that may hold other files of the test.
func (s realSlurm) startIn(t *testing.T, work string, files map[string][]byte, lines string) (testController, error) {
	t.Helper()
	c, err := startController(t.Context(), s.Install, s.version, work, files, lines)
	if err == nil {
		t.Cleanup(c.process.stop)
	}
	return testController{c}, err
}

// attempt is run for jobs, and tells when srun died of itself on the way: the srun of 26.05.5 now and then ends by SIGSEGV
// (exit status 139 of the job's script) on a busy machine, and the nodes then hang until KillWait is over. That is no answer
// of Slurm to what we wrote: the caller starts everything anew, at most twice.
func (c testController) attempt(t *testing.T, try int, args ...string) (out string, died bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	out, err := c.ask(ctx, args...)
	if err == nil {
		return out, false
	}
	if try < 3 && strings.Contains(c.log.String(), "WEXITSTATUS 139") {
		t.Logf("srun died by SIGSEGV, try %d: %v", try, err)
		return "", true
	}
	t.Fatalf("%v\n%s", err, c.log)
	return "", false
}

// run asks the controller by a client program until that succeeds.
func (c testController) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.ask(t.Context(), args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, c.log)
	}
	return out
}
