package slurm

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// wrapperTest is a real Slurm with our filter, prolog and epilog, and a real placement service.
type wrapperTest struct {
	testController
	work    string
	server  *exec.Cmd
	url     string
	railmap string
}

// TestRealWrappers submits gangs through the command-line filter: no node is given twice, ranks start in the order of the
// lease, leases end with their jobs, and without an answering service jobs are submitted all the same. RAILMAP_TEST_GANGS=50
// makes it larger: that many gangs of two nodes at once, on as many nodes as they need.
func TestRealWrappers(t *testing.T) {
	gangs, _ := strconv.Atoi(os.Getenv("RAILMAP_TEST_GANGS"))
	gangs = max(gangs, 6)
	railmap := filepath.Join(t.TempDir(), "railmap")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", railmap, "../..").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	for _, s := range realSlurms(t) {
		if s.version.Before(v2311) && s.Root != "" {
			t.Logf("Slurm %s of a chroot runs no slurmd: it wants the cgroups of a host", s.release)
			continue
		}
		t.Run(s.release, func(t *testing.T) {
			w := startWrappers(t, s, railmap, 2*gangs)
			for try := 1; !w.ranks(t, try); try++ {
				w = startWrappers(t, s, railmap, 2*gangs)
			}
			w.together(t, gangs)
			w.script(t)
			w.pending(t)
			w.choosy(t)
			w.hung(t)
			w.dead(t)
		})
	}
}

// startWrappers starts it all on count nodes in two leaf groups, one with the odd names and one with the even ones.
func startWrappers(t *testing.T, s realSlurm, railmap string, count int) *wrapperTest {
	t.Helper()
	var f fabric
	f.topo.APIVersion, f.topo.Kind = topology.APIVersion, topology.KindTopology
	f.topo.Tree.Levels = []topology.Level{{Name: topology.LeafLevel, Efficiency: 1}, {Name: topology.CoreLevel, Efficiency: 0.9}}
	f.group("core", topology.CoreLevel, "")
	for leaf := range 2 {
		var names []string
		for i := 1 + leaf; i <= count; i += 2 {
			names = append(names, fmt.Sprintf("n%d", i))
		}
		f.group(fmt.Sprintf("leaf%d", leaf), topology.LeafLevel, "core", names...)
	}
	for i := range f.topo.Nodes {
		f.topo.Nodes[i].State = topology.OK
	}
	w := &wrapperTest{work: t.TempDir()}
	w.serve(t, railmap, &f.topo)
	at := s.seen(w.work)
	w.railmap = railmap
	settings := fmt.Sprintf("RAILMAP=%s/railmap\nRAILMAP_SERVER=%s\nRAILMAP_ALL_JOBS=1\n", at, w.url)
	w.file(t, "settings", settings, 0o644)
	w.copy(t, railmap, "railmap")
	own := fmt.Sprintf("export RAILMAP_SLURM_CONF=%[1]s/settings RAILMAP_SLURM_HELPER=%[1]s/railmap-slurm RAILMAP_RUN=%[1]s/run\n", at)
	for _, name := range []string{"railmap-slurm", "railmap-sbatch", "cli_filter.lua", "prolog", "task-prolog", "epilog", "epilog-slurmctld"} {
		w.copy(t, filepath.Join("../../deploy/wrappers/slurm", name), name)
		w.file(t, "site-"+name, "#!/bin/sh\n"+own+"exec "+at+"/"+name+"\n", 0o755)
	}
	w.file(t, "job.sh", "#!/bin/sh\n#SBATCH -o /dev/null\nwhile [ ! -e "+at+"/go ]; do sleep 0.1; done\nexit 0\n", 0o755)
	t.Setenv("RAILMAP_SLURM_CONF", at+"/settings")
	t.Setenv("RAILMAP_SLURM_HELPER", at+"/railmap-slurm")
	t.Setenv("RAILMAP_SERVER", "")
	w.testController = startNodesIn(t, s, &f.topo, TreeKind, w.work, map[string][]byte{}, fmt.Sprintf(`CliFilterPlugins=cli_filter/lua
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
MinJobAge=2
PrologFlags=Alloc
Prolog=%[1]s/site-prolog
TaskProlog=%[1]s/site-task-prolog
Epilog=%[1]s/site-epilog
EpilogSlurmctld=%[1]s/site-epilog-slurmctld
`, at))
	return w
}

func (w *wrapperTest) file(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.work, name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func (w *wrapperTest) copy(t *testing.T, from, name string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	w.file(t, name, string(data), 0o755)
}

// serve starts the placement service on the map.
func (w *wrapperTest) serve(t *testing.T, railmap string, m *topology.Topology) {
	t.Helper()
	f, err := os.Create(filepath.Join(w.work, "map.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := topology.Write(f, m, topology.JSON); err != nil {
		t.Fatal(err)
	}
	f.Close()
	w.server = exec.Command(railmap, "serve", "--log-format", "json", "--listen", "127.0.0.1:0", "--topology", f.Name(), "--data", t.TempDir())
	out, err := w.server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			w.url = "http://" + line.Address
			break
		}
	}
	if w.url == "" {
		t.Fatal("railmap serve does not serve")
	}
	go func() {
		for lines.Scan() {
		}
	}()
}

func (w *wrapperTest) kill() {
	if w.server.ProcessState == nil {
		_ = w.server.Process.Kill()
		_ = w.server.Wait()
	}
}

// placedOn reads the nodes from what the filter says.
var placedOn = regexp.MustCompile(`railmap: placed on (\S+)`)

// lines are what railmap said, without what Slurm says.
func railmapLines(out string) []string {
	var said []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, "railmap") {
			said = append(said, strings.TrimSpace(line))
		}
	}
	return said
}

// ranks runs one gang over both leaf groups and looks where each rank starts; false when srun died of itself.
func (w *wrapperTest) ranks(t *testing.T, try int) bool {
	at := w.install.seen(w.work)
	w.file(t, "ranks.sh", "#!/bin/sh\n#SBATCH -o "+at+"/ranks.out\nSLURM_HOSTFILE=$RAILMAP_HOSTFILE srun -m arbitrary -n \"$SLURM_JOB_NUM_NODES\" sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME'\n", 0o755)
	out, died := w.attempt(t, try, "sbatch", "-W", "-N", "9", "--exclusive", at+"/ranks.sh")
	if died {
		return false
	}
	m := placedOn.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("not placed: %s", out)
	}
	data, err := os.ReadFile(filepath.Join(w.work, "ranks.out"))
	if err != nil {
		t.Fatal(err)
	}
	want := expandForTest(t, m[1])
	if slices.IsSorted(want) {
		t.Errorf("%v: a test of the order needs an order that is not the names'", want)
	}
	if d := cmp.Diff(want, ranks(t, string(data))); d != "" {
		t.Errorf("ranks (-lease +Slurm's): %s\n%s", d, data)
	}
	w.noLeases(t)
	return true
}

// together submits gangs of two at the same moment and one more, for which nothing is left.
func (w *wrapperTest) together(t *testing.T, gangs int) {
	job := w.install.seen(w.work) + "/job.sh"
	out := make([]string, gangs)
	var all sync.WaitGroup
	for i := range out {
		all.Go(func() { out[i] = w.run(t, "sbatch", "-N", "2", "--exclusive", job) })
	}
	all.Wait()
	given := map[string]int{}
	for _, text := range out {
		m := placedOn.FindStringSubmatch(text)
		if m == nil {
			t.Errorf("not placed: %s", text)
			continue
		}
		for _, n := range expandForTest(t, m[1]) {
			if given[n]++; given[n] > 1 {
				t.Errorf("%s was given %d times", n, given[n])
			}
		}
	}
	if len(given) != 2*gangs {
		t.Errorf("%d nodes were given, want %d", len(given), 2*gangs)
	}
	if said := railmapLines(w.run(t, "sbatch", "-N", "2", "--exclusive", job)); len(said) != 1 || !strings.Contains(said[0], "not placed") {
		t.Errorf("a gang without room: %q, want one line that it was not placed", said)
	}
	leases := w.leases(t)
	jobs := strings.Fields(w.run(t, "squeue", "-h", "-o", "%A"))
	for _, l := range leases {
		if !slices.Contains(jobs, l.Job) || l.Phase != "bound" {
			t.Errorf("lease %s is %s, job %q; squeue knows %v", l.ID, l.Phase, l.Job, jobs)
		}
	}
	if len(leases) != gangs {
		t.Errorf("%d leases, want one for each of %d gangs", len(leases), gangs)
	}
	w.finish(t)
}

// script submits by railmap-sbatch, with the filter off.
func (w *wrapperTest) script(t *testing.T) {
	at := w.install.seen(w.work)
	out := w.run(t, "bash", "-c", at+"/railmap-sbatch --exclusive -N 2 --comment='a b' "+at+"/job.sh")
	if said := railmapLines(out); len(said) != 1 || placedOn.FindString(said[0]) == "" {
		t.Errorf("railmap-sbatch: %s", out)
	}
	if n := len(w.leases(t)); n != 1 {
		t.Errorf("railmap-sbatch: %d leases, want 1", n)
	}
	w.finish(t)
}

// pending cancels a job that never ran, which no epilog sees: sync releases its lease.
func (w *wrapperTest) pending(t *testing.T) {
	at := w.install.seen(w.work)
	out := w.run(t, "sbatch", "-H", "-N", "2", "--exclusive", at+"/job.sh")
	held := w.run(t, "sbatch", "-H", "-N", "2", "--exclusive", at+"/job.sh")
	w.run(t, "scancel", lastWord(out))
	w.run(t, at+"/railmap-slurm", "sync")
	leases := w.leases(t)
	if len(leases) != 1 || leases[0].Job != lastWord(held) {
		t.Errorf("after sync: %+v, want the lease of job %s alone", leases, lastWord(held))
	}
	w.run(t, "scancel", lastWord(held))
	w.run(t, at+"/railmap-slurm", "sync")
	w.noLeases(t)
}

// choosy looks which jobs the filter takes when it is for GPU jobs only. These nodes have none, so Slurm refuses some of the jobs:
// what the filter said before counts.
func (w *wrapperTest) choosy(t *testing.T) {
	path := filepath.Join(w.work, "settings")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w.file(t, "settings", strings.Replace(string(before), "RAILMAP_ALL_JOBS=1\n", "", 1), 0o644)
	job := w.install.seen(w.work) + "/job.sh"
	for _, tc := range []struct {
		options string
		placed  bool
	}{
		{"-H -N2", false},
		{"-H -N2 --gpus-per-node=8", true},
		{"-H -N2-2 --gres=gpu:h100:8", true},
		{"-H -N2 --gpus=16", true},
		{"-H -N2-4 --gpus-per-node=8", false},
		{"-H -N1 --gpus-per-node=8", false},
		{"-H -N2 --gpus-per-node=8 --array=1-2", false},
		{"-H -N2 --gpus-per-node=8 -w n1", false},
		{"-H -N2 --gpus-per-node=8 --test-only", false},
	} {
		args := append(append([]string{"sbatch"}, strings.Fields(tc.options)...), job)
		out, _ := w.install.run(t.Context(), w.work, args...)
		if got := placedOn.FindString(out) != ""; got != tc.placed || (!tc.placed && len(railmapLines(out)) > 0) {
			t.Errorf("sbatch %s: placed %v, want %v: %s", tc.options, got, tc.placed, out)
		}
	}
	w.file(t, "settings", string(before), 0o644)
	w.run(t, "scancel", "-u", "root")
	for _, l := range w.leases(t) {
		if out, err := exec.CommandContext(t.Context(), w.railmap, "lease", "release", l.ID, "--server", w.url).CombinedOutput(); err != nil {
			t.Errorf("release: %v: %s", err, out)
		}
	}
}

func lastWord(s string) string {
	words := strings.Fields(s)
	return words[len(words)-1]
}

// dead submits while nothing listens.
func (w *wrapperTest) dead(t *testing.T) {
	w.kill()
	w.unanswered(t, "killed")
}

// hung submits while something takes the connection and never answers.
func (w *wrapperTest) hung(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	path := filepath.Join(w.work, "settings")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w.file(t, "settings", strings.Replace(string(before), w.url, "http://"+l.Addr().String(), 1), 0o644)
	w.unanswered(t, "hung")
	w.file(t, "settings", string(before), 0o644)
}

func (w *wrapperTest) unanswered(t *testing.T, how string) {
	job := w.install.seen(w.work) + "/job.sh"
	took := func(env string) (string, time.Duration) {
		t.Setenv("RAILMAP_SLURM", env)
		start := time.Now()
		out := w.run(t, "sbatch", "-N", "2", "--exclusive", job)
		return out, time.Since(start)
	}
	for range 2 {
		_, plain := took("off")
		out, filtered := took("on")
		t.Logf("service %s: %.2f s more than without the filter", how, (filtered - plain).Seconds())
		if said := railmapLines(out); len(said) != 1 || strings.Contains(out, "placed on") || !strings.Contains(out, "Submitted") {
			t.Errorf("service %s: %q", how, out)
		}
	}
	w.file(t, "go", "", 0o644)
	w.drained(t)
	os.Remove(filepath.Join(w.work, "go"))
}

// finish lets all jobs end and wants all leases released.
func (w *wrapperTest) finish(t *testing.T) {
	t.Helper()
	w.file(t, "go", "", 0o644)
	w.drained(t)
	os.Remove(filepath.Join(w.work, "go"))
	w.noLeases(t)
}

// drained waits until squeue is empty.
func (w *wrapperTest) drained(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(4 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out := w.run(t, "squeue", "-h")
		if strings.TrimSpace(out) == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("jobs do not end: %s\n%s", out, w.log)
		}
	}
}

type leaseLine struct{ ID, Phase, Job string }

func (w *wrapperTest) leases(t *testing.T) []leaseLine {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), w.railmap, "lease", "list", "--server", w.url, "-o", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []leaseLine
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return list
}

// noLeases waits until the last epilog has released its lease.
func (w *wrapperTest) noLeases(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		left := w.leases(t)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("leases outlive their jobs: %+v\n%s", left, w.log)
		}
	}
}
