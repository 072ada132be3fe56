package bench

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestQualitySmall runs every policy on a small cluster: nobody beats the exact optimum (Quality fails then), railmap is
// ahead of the peers that do not see slow nodes, and the same seeds give the same figures.
func TestQualitySmall(t *testing.T) {
	o := QualityOptions{Nodes: 1024, Degraded: .02, Seeds: []uint64{1}, Policies: PolicyNames(), Steps: 400}
	for _, o.States = range []bool{false, true} {
		rep, err := Quality(o)
		if err != nil {
			t.Fatal(err)
		}
		mean := map[string]float64{}
		for _, p := range rep.Policies {
			mean[p.Policy] = p.Mean
		}
		for _, peer := range []string{"random", "first-fit", "slurm-tree", "kueue", "volcano"} {
			if mean["railmap"] <= mean[peer] {
				t.Errorf("states %v: railmap %v, %s %v", o.States, mean["railmap"], peer, mean[peer])
			}
		}
		if o.States && (mean["railmap-exact"] < 1-1e-9 || mean["railmap"] < .985) {
			t.Errorf("railmap-exact %v: must be 1; railmap %v: must be at least 0.985", mean["railmap-exact"], mean["railmap"])
		}
		again, err := Quality(o)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(rep, again); d != "" {
			t.Errorf("the same seed differs:\n%s", d)
		}
	}
}

// TestAboveOptimumIsAnError keeps the bench honest.
func TestAboveOptimumIsAnError(t *testing.T) {
	m := NewModel(ModelSpec{Nodes: 64, LeafNodes: 32, PodNodes: 64, Seed: 1})
	if err := (&tally{sizes: map[int]*sizeTally{}}).placed(2, .9, .8, m, []int{0, 1}, 1); err == nil {
		t.Fatal("a ratio above 1 was counted")
	}
}

// TestRecordedStates: on recorded states of Slurm every choice is optimal and never worse than Slurm's.
func TestRecordedStates(t *testing.T) {
	const dir = "../../shared/corpus/slurm/perf"
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no recordings: %v", err)
	}
	rows, err := Recorded(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !r.Optimal || !r.NotWorse {
			t.Errorf("%s, %d nodes, %d %% busy, gang %d: %d:%d, Slurm %d:%d, optimum %s", r.File, r.Nodes, r.Busy, r.Gang, r.Pods, r.Leaves, r.SlurmPods, r.SlurmLeaves, r.Optimum)
		}
	}
	t.Logf("%d states", len(rows))
}

// TestLatencySmall only checks that the report is filled in; speed is for railmap bench latency.
func TestLatencySmall(t *testing.T) {
	rep, err := Latency(LatencyOptions{Nodes: 1024, Sizes: []int{4, 64}, Runs: 2, Queries: 20, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Sizes {
		if r.P99Seconds < r.P50Seconds || r.UpdateSecondsPerNode < 0 || r.Declined > 0 {
			t.Errorf("%+v", r)
		}
	}
}
