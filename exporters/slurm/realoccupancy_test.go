package slurm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/placer/occupancy"
	"github.com/railmap/railmap/topology"
)

// TestRealOccupancy reads the state of real clusters with a gang on two nodes, a drained node, a waiting and a held job.
func TestRealOccupancy(t *testing.T) {
	topo := fatTree(1, 2, 4, 1)
	names := newScope(topo, nil).nodes
	slices.SortFunc(names, byName)
	for _, s := range realSlurms(t) {
		if s.version.Before(v2311) && s.Root != "" {
			t.Logf("Slurm %s of a chroot runs no slurmd: it wants the cgroups of a host", s.release)
			continue
		}
		t.Run(s.release, func(t *testing.T) {
			c := startNodes(t, s, topo, TreeKind, map[string][]byte{})
			t.Cleanup(func() { endJobs(t, c) })
			c.run(t, "scontrol", "update", "NodeName="+names[0], "State=DRAIN", "Reason=NIC slow")
			submit := func(args ...string) {
				c.run(t, append([]string{"sbatch", "-D", "/", "-o", "/dev/null", "--wrap", "exec sleep 300"}, args...)...)
			}
			submit("-J", "gang", "-N2", "-w", names[2]+","+names[3], "-t", "60", "--comment=railmap:l-5f3c")
			submit("-J", "endless", "-N1", "-w", names[4])
			submit("-J", "waits", "-N1", "-w", names[0])
			submit("-J", "held", "-N1", "-H")
			nodes := []string{"scontrol", "show", "nodes", "--json"}
			if s.version.String() == "22.05" {
				nodes = []string{"sinfo", "--json"}
			}
			var o *topology.Occupancy
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
				jobs := strings.NewReader(c.run(t, "squeue", "--json")) // before the nodes, which then show them
				var err error
				if o, err = occupancy.FromSlurm(strings.NewReader(c.run(t, nodes...)), jobs); err != nil {
					t.Fatal(err)
				}
				if len(o.Jobs) == 2 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("the jobs do not run: %+v\n%s", o, c.log)
				}
			}
			checkOccupancy(t, o, names)
		})
	}
}

// endJobs ends all jobs before the daemons stop: their processes would outlive them.
func endJobs(t *testing.T, c testController) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	for {
		_, err := c.ask(ctx, "scancel", "--state=RUNNING")
		out, err2 := c.ask(ctx, "squeue", "-h", "-t", "RUNNING,COMPLETING")
		if err = errors.Join(err, err2); err == nil && out == "" {
			return
		}
		select {
		case <-ctx.Done():
			t.Errorf("jobs do not end: %v\n%s", err, out)
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func checkOccupancy(t *testing.T, o *topology.Occupancy, names []string) {
	t.Helper()
	uses, want := map[string]topology.NodeUse{}, map[string]topology.NodeUse{}
	for _, n := range names {
		want[n] = topology.UseFree
	}
	want[names[0]] = topology.UseDrained
	want[names[2]], want[names[3]], want[names[4]] = topology.UseBusy, topology.UseBusy, topology.UseBusy
	for _, n := range o.Nodes {
		uses[n.Name] = n.Use
		if n.Use == topology.UseDrained && n.Reason != "NIC slow" {
			t.Errorf("reason of %s is %q", n.Name, n.Reason)
		}
	}
	if diff := cmp.Diff(want, uses); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	gang, endless := o.Jobs[0], o.Jobs[1]
	if gang.Name != "gang" || !slices.Equal(gang.Nodes, names[2:4]) || gang.Lease != "l-5f3c" || gang.StartedAt == nil || gang.EndsAt == nil ||
		gang.EndsAt.Sub(*gang.StartedAt) != time.Hour {
		t.Errorf("gang: %+v", gang)
	}
	if endless.Name != "endless" || endless.EndsAt != nil {
		t.Errorf("job without a limit: %+v", endless)
	}
	if o.Findings != nil {
		t.Errorf("findings: %v", o.Findings)
	}
}
