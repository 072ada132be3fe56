package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// realSlurm is one installed Slurm: on this host, or unpacked by .ci/install-slurm and entered by chroot.
type realSlurm struct {
	root    string // "" = this host
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
	find := func(roots ...string) realSlurm {
		var errs []error
		for _, root := range roots {
			s := realSlurm{root: root}
			out, err := s.command(t.Context(), "", "slurmctld", "-V").Output()
			if err == nil {
				s.release = strings.TrimPrefix(strings.TrimSpace(string(out)), "slurm-wlm ")
				s.version, err = ParseVersion(s.release)
			}
			if err == nil && (root != "" || s.version == v2205) {
				return s
			}
			errs = append(errs, fmt.Errorf("%q: %s %w", root, s.release, err))
		}
		requireReal(t, "no Slurm: run .ci/install-slurm: %v", errors.Join(errs...))
		return realSlurm{}
	}
	suite := func(name string) string { return filepath.Join(cache, "slurm", name) }
	return []realSlurm{find("", suite("bookworm")), find(suite("trixie")), find(suite("forky"))}
}

// command runs a program of this Slurm with work as its folder, which the program sees as dir. In a chroot, /proc and the
// folder are mounted in a name space of the one process, so nothing stays behind.
func (s realSlurm) command(ctx context.Context, work string, args ...string) *exec.Cmd {
	if s.root == "" {
		return exec.CommandContext(ctx, args[0], args[1:]...)
	}
	script := `mount -t proc proc "$0/proc" && { [ -z "$1" ] || mount --bind "$1" "$0/mnt"; } && root=$0 && shift && exec chroot "$root" "$@"`
	return exec.CommandContext(ctx, "unshare", append([]string{"--mount", "--propagation", "private", "sh", "-c", script, s.root, work}, args...)...)
}

// dir is the work folder as the programs see it.
func (s realSlurm) dir(work string) string {
	if s.root == "" {
		return work
	}
	return "/mnt"
}

// controller is a slurmctld that has loaded its files.
type controller struct {
	slurm realSlurm
	work  string
	cmd   *exec.Cmd
	log   *logWatch
	done  chan struct{} // closed when the process has ended
}

// refusal says how a controller ended that did not come up.
type refusal struct {
	state *os.ProcessState
	log   string
}

func (r *refusal) Error() string { return fmt.Sprintf("slurmctld: %s\n%s", r.state, r.log) }

// slurmConf is what a controller needs to load a topology: no slurmd, munge or database. Nodes in state FUTURE are enough.
func slurmConf(dir string, port int, extra string) string {
	return fmt.Sprintf(`ClusterName=railmap
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=%d
SlurmdPort=%d
AuthType=auth/none
CredType=cred/none
StateSaveLocation=%[3]s/state
SlurmdSpoolDir=%[3]s/spool/%%n
SlurmctldPidFile=%[3]s/slurmctld.pid
SlurmdPidFile=%[3]s/slurmd.%%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
SlurmctldDebug=info
SlurmdParameters=config_overrides
%s
PartitionName=p Nodes=ALL Default=YES OverSubscribe=EXCLUSIVE
`, port, port+1, dir, extra)
}

// start runs slurmctld in the foreground with files beside slurm.conf and waits until it serves or ends; the error is then a
// *refusal. The controller is stopped when the test ends.
func (s realSlurm) start(t *testing.T, files map[string][]byte, extra string) (*controller, error) {
	t.Helper()
	work := t.TempDir()
	for _, d := range []string{"state", "spool"} {
		if err := os.Mkdir(filepath.Join(work, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(work, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("slurm.conf", []byte(slurmConf(s.dir(work), freePort(t), extra)))
	if !s.version.Before(v2311) {
		put("cgroup.conf", []byte("CgroupPlugin=disabled\n"))
	}
	for name, data := range files {
		put(name, data)
	}
	c := &controller{slurm: s, work: work, done: make(chan struct{}), log: newLogWatch("Running as primary controller")}
	c.cmd = s.command(context.Background(), work, "slurmctld", "-D", "-c", "-f", s.dir(work)+"/slurm.conf")
	c.cmd.Stderr, c.cmd.Dir = c.log, "/"
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait()
	}()
	t.Cleanup(c.stop)
	select {
	case <-c.log.seen:
		return c, nil
	case <-c.done:
		return nil, &refusal{c.cmd.ProcessState, c.log.String()}
	case <-time.After(2 * time.Minute):
		return nil, fmt.Errorf("slurmctld %s is not up after two minutes\n%s", s.release, c.log)
	}
}

// stop ends the controller: by SIGTERM, after ten seconds by SIGKILL.
func (c *controller) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.done:
	case <-time.After(10 * time.Second):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

// run runs a client program against the controller until it succeeds: just after its start a controller may not answer yet.
func (c *controller) run(t *testing.T, args ...string) string {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		out, err := c.try(t, args...)
		if err == nil {
			return out
		}
		select {
		case <-c.done:
			t.Fatalf("%v: the controller ended: %v\n%s", args, err, c.log)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
}

func (c *controller) try(t *testing.T, args ...string) (string, error) {
	cmd := c.slurm.command(t.Context(), c.work, args...)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+c.slurm.dir(c.work)+"/slurm.conf")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// noise are lines about missing state files and the optional MPI plugin, which have nothing to do with the topology.
var noise = regexp.MustCompile(`Could not open (job|reservation|trigger|node|part) state file|NOTE: Trying backup state save file|mpi/pmix|MPI: Cannot create context`)

// complaints are the warnings and errors of a controller's log.
func complaints(log string) []string {
	var out []string
	for line := range strings.Lines(log) {
		l := strings.ToLower(line)
		if (strings.Contains(l, "error") || strings.Contains(l, "warning") || strings.Contains(l, "fatal")) && !noise.MatchString(line) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// logWatch keeps what a process writes and tells when a text was in it.
type logWatch struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	text string
	seen chan struct{}
	once sync.Once
}

func newLogWatch(text string) *logWatch { return &logWatch{text: text, seen: make(chan struct{})} }

func (w *logWatch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.buf.Write(p)
	if bytes.Contains(w.buf.Bytes(), []byte(w.text)) {
		w.once.Do(func() { close(w.seen) })
	}
	return n, err
}

func (w *logWatch) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// freePort finds two neighbouring free ports on loopback and returns the first.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		next, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port+1))
		l.Close()
		if err == nil {
			next.Close()
			return port
		}
	}
	t.Fatal("no two neighbouring free ports on loopback")
	return 0
}
