package slurm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// cloudNodes are placed at once without a slurmd: jobs on them stay configuring.
func cloudNodes(names []string) string {
	return `ResumeProgram=/bin/true
SuspendProgram=/bin/true
SuspendTime=86400
ResumeTimeout=3600
PrivateData=cloud
NodeName=` + topology.FoldHostlist(names) + " NodeAddr=127.0.0.1 CPUs=1 State=CLOUD"
}

// wouldStart reads the nodes from what sbatch --test-only says.
var wouldStart = regexp.MustCompile(`to start at .* on nodes (\S+) in partition`)

// TestRealJobOptions asks real schedulers which nodes a job with our options would get: exactly the placed ones.
func TestRealJobOptions(t *testing.T) {
	topo := fatTree(2, 4, 8, 1)
	all := newScope(topo, nil).nodes
	for _, s := range realSlurms(t) {
		for _, kind := range []Kind{TreeKind, BlockKind} {
			if kind == BlockKind && s.version.Before(v2405) {
				continue
			}
			t.Run(s.release+"/"+string(kind), func(t *testing.T) {
				files, _, err := Render(topo, kind, Options{Version: s.version})
				if err != nil {
					t.Fatal(err)
				}
				beside := map[string][]byte{"job.sh": []byte("#!/bin/sh\n")}
				for _, f := range files {
					beside[f.Name] = f.Data
				}
				c, err := s.start(t, beside, "include "+FragmentFile+"\n"+cloudNodes(all))
				if err != nil {
					t.Fatal(err)
				}
				c.run(t, "scontrol", "ping")
				rng := rand.New(rand.NewPCG(11, 5))
				for range 12 {
					want := drawNodes(rng, all)
					options, err := JobOptions(topo, want, kind, Options{Version: s.version})
					if err != nil {
						t.Fatal(err)
					}
					args := append([]string{"sbatch", "--test-only", "--exclusive"}, options...)
					out := c.run(t, append(args, s.seen(c.work)+"/job.sh")...)
					m := wouldStart.FindStringSubmatch(out)
					if m == nil {
						t.Errorf("%v: %s", options, out)
						continue
					}
					if d := cmp.Diff(sortedNames(want), sortedNames(expandForTest(t, m[1]))); d != "" {
						t.Errorf("%v (-placed +Slurm's):\n%s", options, d)
					}
				}
			})
		}
	}
}

// drawNodes draws a set as placements look: some groups whole, some in part.
func drawNodes(rng *rand.Rand, all []string) []string {
	var out []string
	for first := 0; first < len(all); first += 8 {
		switch rng.IntN(4) {
		case 0:
			out = append(out, all[first:first+8]...)
		case 1:
			out = append(out, all[first:first+1+rng.IntN(7)]...)
		}
	}
	if len(out) == 0 {
		out = all[:1+rng.IntN(8)]
	}
	return out
}

// TestRealRanks runs real jobs on eight slurmd and looks where each rank starts: in the order of the host file, whatever the
// node names are.
func TestRealRanks(t *testing.T) {
	var f fabric
	f.group("core", topology.CoreLevel, "")
	f.group("leaf0", topology.LeafLevel, "core", "n1", "n3", "n5", "n7")
	f.group("leaf1", topology.LeafLevel, "core", "n2", "n4", "n6", "n8")
	order := strings.Fields("n3 n1 n7 n5 n8 n2 n4 n6") // as a placement may order them: ring order, not by name
	for _, s := range realSlurms(t) {
		if s.version.Before(v2311) && s.Root != "" {
			t.Logf("Slurm %s of a chroot runs no slurmd: it wants the cgroups of a host", s.release)
			continue
		}
		for _, kind := range []Kind{TreeKind, BlockKind} {
			if kind == BlockKind && s.version.Before(v2405) {
				continue
			}
			t.Run(s.release+"/"+string(kind), func(t *testing.T) {
				for try := 1; realRanks(t, s, &f.topo, kind, order, try); try++ {
				}
			})
		}
	}
}

// realRanks is one try of TestRealRanks; it asks for another when srun died of itself.
func realRanks(t *testing.T, s realSlurm, topo *topology.Topology, kind Kind, order []string, try int) (again bool) {
	t.Helper()
	c := startNodes(t, s, topo, kind, map[string][]byte{"hosts": HostFile(order, 1)})
	script := "SLURM_HOSTFILE=" + s.seen(c.work) + "/hosts srun -n 8 -m arbitrary sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME'"
	out, died := c.attempt(t, try, "salloc", "-Q", "-N8", "-n8", "--exclusive", "sh", "-c", script)
	if died {
		return true
	}
	if d := cmp.Diff(order, ranks(t, out)); d != "" {
		t.Errorf("ranks (-host file +Slurm's):\n%s", d)
	}
	if kind != TreeKind || s.version.Before(v2311) { // SwitchAsNodeRank: leaf by leaf without a host file
		return false
	}
	if out, died = c.attempt(t, try, "srun", "-Q", "-N8", "-n8", "--exclusive", "sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME"); died {
		return true
	}
	if d := cmp.Diff(strings.Fields("n1 n3 n5 n7 n2 n4 n6 n8"), ranks(t, out)); d != "" {
		t.Errorf("ranks (-by leaf +Slurm's):\n%s", d)
	}
	return false
}

// startNodes starts a controller and one slurmd per node, all on loopback, and waits until they are idle.
func startNodes(t *testing.T, s realSlurm, topo *topology.Topology, kind Kind, beside map[string][]byte) testController {
	t.Helper()
	return startNodesIn(t, s, topo, kind, t.TempDir(), beside, "")
}

// startNodesIn does so in a folder that may hold other files of the test, with more lines in slurm.conf.
func startNodesIn(t *testing.T, s realSlurm, topo *topology.Topology, kind Kind, work string, beside map[string][]byte, more string) testController {
	t.Helper()
	files, _, err := Render(topo, kind, Options{Version: s.version})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		beside[f.Name] = f.Data
	}
	names := newScope(topo, nil).nodes
	slices.SortFunc(names, byName)
	var lines strings.Builder
	fmt.Fprintf(&lines, "include %s\n%s", FragmentFile, more)
	for _, n := range names {
		port, err := freePorts()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "NodeName=%s NodeHostname=localhost NodeAddr=127.0.0.1 Port=%d CPUs=1\n", n, port)
	}
	c, err := s.startIn(t, work, beside, lines.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if err := os.Mkdir(filepath.Join(c.work, "spool", n), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := c.install.command(context.WithoutCancel(t.Context()), c.work, "slurmd", "-D", "-N", n, "-f", c.install.Conf)
		p, err := startProcess(cmd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.stop)
	}
	waitIdle(t, c, names)
	return c
}

// waitIdle waits for the state idle without a star: idle* is a node that has not registered.
func waitIdle(t *testing.T, c testController, names []string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out := c.run(t, "sinfo", "-h", "-N", "-o", "%N %t")
		if strings.Count(out, " idle\n") == len(names) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not all nodes are idle:\n%s\n%s", out, c.log)
		}
	}
}

// ranks turns lines of "rank node" into nodes by rank.
func ranks(t *testing.T, out string) []string {
	t.Helper()
	lines := strings.Fields(out)
	nodes := make([]string, len(lines)/2)
	for i := 0; i+1 < len(lines); i += 2 {
		n, ok := number(lines[i])
		if !ok || int(n) >= len(nodes) {
			t.Fatalf("ranks: %s", out)
		}
		nodes[n] = lines[i+1]
	}
	return nodes
}
