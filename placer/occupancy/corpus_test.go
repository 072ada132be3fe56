package occupancy

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// corpus opens recordings of real schedulers that do not stand in this repository.
func corpus(t *testing.T, names ...string) []Source {
	t.Helper()
	var out []Source
	for _, n := range names {
		data, err := os.ReadFile(filepath.Join("../../../shared/corpus/slurm", n))
		if err != nil {
			t.Skipf("recordings are not here: %v", err)
		}
		out = append(out, Source{n, bytes.NewReader(data)})
	}
	return out
}

// brief is one line per node and job.
func brief(o *topology.Occupancy) []string {
	var out []string
	for _, n := range o.Nodes {
		s := fmt.Sprintf("%s %s", n.Name, n.Use)
		if n.GPUCount > 0 {
			s += fmt.Sprintf(" of %d", n.GPUCount)
		}
		if n.GPUsUsed != nil {
			s += fmt.Sprintf(" %v", n.GPUsUsed)
		}
		if n.GPUsUsedCount > 0 {
			s += fmt.Sprintf(" used %d", n.GPUsUsedCount)
		}
		if n.Reason != "" {
			s += ": " + n.Reason
		}
		out = append(out, s)
	}
	for _, j := range o.Jobs {
		s := fmt.Sprintf("job %s %q on %s", j.ID, j.Name, strings.Join(j.Nodes, ","))
		if j.GPUsPerNode > 0 {
			s += fmt.Sprintf(" x%d", j.GPUsPerNode)
		}
		if j.StartedAt != nil {
			s += " from " + j.StartedAt.Format("15:04:05")
		}
		if j.EndsAt != nil {
			s += " to " + j.EndsAt.Format("02T15:04:05")
		}
		if j.Lease != "" {
			s += " lease " + j.Lease
		}
		out = append(out, s)
	}
	for _, f := range o.Findings {
		out = append(out, fmt.Sprintf("%s %s %s: %s", f.Severity, f.Code, f.Subject, f.Message))
	}
	return out
}

func check(t *testing.T, o *topology.Occupancy, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, brief(o)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// One cluster of eight nodes as three releases of Slurm print it.
func TestCorpusSlurm(t *testing.T) {
	for _, c := range []struct{ version, nodes, starts, ends string }{
		{"22.05.8", "sinfo.json", "16:01:06", "01:06"},
		{"24.11.5", "scontrol-show-nodes.json", "16:01:34", "01:34"},
		{"26.05.5", "scontrol-show-nodes.json", "16:02:01", "02:01"},
	} {
		t.Run(c.version, func(t *testing.T) {
			in := corpus(t, "fixtures/"+c.version+"/"+c.nodes, "fixtures/"+c.version+"/squeue.json")
			o, err := FromSlurm(in[0], in[1])
			if err != nil {
				t.Fatal(err)
			}
			check(t, o, []string{
				"gpu001 busy of 8 [0 1 2 3]", "gpu002 free of 8", "gpu003 free of 8", "gpu004 drained of 8: railmap: NIC mlx5_3 at 100 of 400 Gb/s",
				"gpu005 busy of 8 [0 1 2 3 4 5 6 7]", "gpu006 drained of 8 [0 1 2 3 4 5 6 7]: Kernel update", "gpu007 free of 8", "gpu008 down of 8: no power",
				`job 1 "pretrain" on gpu005,gpu006 x8 from ` + c.starts + " to 03T16:" + c.ends + " lease lease-1",
				`job 2 "notebook" on gpu001 x4 from ` + c.starts + " to 01T17:" + c.ends,
			})
			if o.Source != "slurm "+c.version {
				t.Errorf("source is %q", o.Source)
			}
		})
	}
}

func TestCorpusGroupedSinfo(t *testing.T) {
	for _, version := range []string{"24.11.5", "26.05.5"} {
		in := corpus(t, "fixtures/"+version+"/sinfo.json")
		if _, err := ReadAll(in...); err == nil || !strings.Contains(err.Error(), "scontrol show nodes --json") {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestCorpusPBS(t *testing.T) {
	in := corpus(t, "pbs/pbsnodes-av.json", "pbs/qstat-t-f.json")
	o, err := FromPBS(in[0], in[1])
	if err != nil {
		t.Fatal(err)
	}
	var free []string
	for _, n := range o.Nodes {
		if n.Use == topology.UseFree {
			free = append(free, n.Name)
		}
		if (n.Use == topology.UseDrained) != (n.Name == "n08") {
			t.Errorf("%s is %s", n.Name, n.Use)
		}
	}
	if want := []string{"n30", "n31", "n32", "pbs1"}; !slices.Equal(free, want) {
		t.Errorf("free: %v, want %v", free, want)
	}
	gangs := map[string]string{}
	for _, j := range o.Jobs {
		gangs[j.ID] = topology.FoldHostlist(j.Nodes)
	}
	want := map[string]string{"13.pbs1": "n[01-06]", "14.pbs1": "n[09-16]", "15.pbs1": "n[27,19]", "17.pbs1": "n[07-08,17-18,20-24]",
		"18[0].pbs1": "n25", "18[1].pbs1": "n26", "18[2].pbs1": "n28", "18[3].pbs1": "n29"}
	if diff := cmp.Diff(want, gangs); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, j := range o.Jobs {
		if j.ID == "15.pbs1" && !slices.Equal(j.Nodes, []string{"n27", "n19"}) {
			t.Errorf("rank order lost: %v", j.Nodes)
		}
	}
}
