package slurm

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/railmap/railmap/topology"
)

// controller is a slurmctld of our own on loopback: without slurmd, munge or database, in a folder of its own. No release
// has a mode that only checks files, so this is how to ask it.
type controller struct {
	install Install
	work    string
	process *process
	log     *logWatch
}

// refusal says how a controller ended that did not come up.
type refusal struct {
	state *os.ProcessState
	log   string
}

func (r *refusal) Error() string { return fmt.Sprintf("slurmctld: %s\n%s", r.state, r.log) }

// startTimeout bounds the start; 1,000 switches take one to two seconds.
const startTimeout = 2 * time.Minute

// startController runs slurmctld in the foreground with files beside its slurm.conf, in the folder work, and waits until it
// serves or ends; the error is then a *refusal. Lines are added to slurm.conf. The caller stops it.
func startController(ctx context.Context, i Install, v Version, work string, files map[string][]byte, lines string) (*controller, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	conf, err := controllerConf(i.seen(work), lines)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{"slurm.conf": conf}
	if !v.Before(v2311) {
		all["cgroup.conf"] = []byte("CgroupPlugin=disabled\n")
	}
	for name, data := range files {
		all[name] = data
	}
	for _, d := range []string{"state", "spool"} {
		if err := os.Mkdir(filepath.Join(work, d), 0o755); err != nil {
			return nil, err
		}
	}
	for name, data := range all {
		if err := os.WriteFile(filepath.Join(work, name), data, 0o644); err != nil {
			return nil, err
		}
	}
	i.Conf = i.seen(work) + "/slurm.conf"
	c := &controller{install: i, work: work, log: newLogWatch("Running as primary controller")}
	cmd := i.command(context.WithoutCancel(ctx), work, "slurmctld", "-D", "-c", "-f", i.Conf)
	cmd.Stderr = c.log
	if c.process, err = startProcess(cmd); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSlurm, err)
	}
	select {
	case <-c.log.seen:
		return c, nil
	case <-c.process.done:
		return nil, &refusal{cmd.ProcessState, c.log.String()}
	case <-ctx.Done():
		c.process.stop()
		return nil, fmt.Errorf("slurmctld: %w\n%s", context.Cause(ctx), c.log)
	}
}

// controllerConf is the least slurm.conf that loads a topology.
func controllerConf(dir, lines string) ([]byte, error) {
	port, err := freePorts()
	if err != nil {
		return nil, err
	}
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `ClusterName=railmap
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=%[4]s
SlurmdUser=%[4]s
SlurmctldPort=%[1]d
SlurmdPort=%[2]d
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
%[5]s
PartitionName=p Nodes=ALL Default=YES OverSubscribe=EXCLUSIVE
`, port, port+1, dir, me.Username, lines), nil
}

// futureNodes is a NodeName line for nodes that need no slurmd: a controller loads its topology for them all the same.
func futureNodes(names []string) string {
	return "NodeName=" + topology.FoldHostlist(names) + " NodeAddr=127.0.0.1 CPUs=1 State=FUTURE"
}

// ask runs a client until it succeeds, at most 30 seconds: just after its start a controller may not answer yet.
func (c *controller) ask(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		out, err := c.install.run(ctx, c.work, args...)
		if err == nil {
			return out, nil
		}
		select {
		case <-c.process.done:
			return "", fmt.Errorf("the controller ended: %w", err)
		case <-ctx.Done():
			return "", err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// noise are lines about missing state files, the optional MPI plugin and a busy machine, which have nothing to do with the
// topology.
var noise = regexp.MustCompile(`Could not open (job|reservation|trigger|node|part) state file|NOTE: Trying backup state save file|mpi/pmix|MPI: Cannot create context|High latency for [0-9]+ calls to gettimeofday`)

// complaint matches the lines in which a controller complains.
var complaint = regexp.MustCompile(`(?i)error|warning|fatal`)

// complaints are the warnings and errors of a controller's log.
func complaints(log string) []string {
	var out []string
	for line := range strings.Lines(log) {
		if complaint.MatchString(line) && !noise.MatchString(line) {
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

// Write keeps p.
func (w *logWatch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.buf.Write(p)
	if bytes.Contains(w.buf.Bytes(), []byte(w.text)) {
		w.once.Do(func() { close(w.seen) })
	}
	return n, err
}

// String is everything written so far.
func (w *logWatch) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// freePorts finds two neighbouring free ports on loopback and returns the first.
func freePorts() (int, error) {
	for range 100 {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		port := l.Addr().(*net.TCPAddr).Port
		next, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port+1))
		l.Close()
		if err == nil {
			next.Close()
			return port, nil
		}
	}
	return 0, fmt.Errorf("no two neighbouring free ports on loopback")
}
