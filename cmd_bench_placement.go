package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/bench"
)

// benchQualityOptions are the flags of railmap bench quality.
type benchQualityOptions struct {
	q        bench.QualityOptions
	seeds    string
	policies string
	output   output
}

// newBenchQualityCmd compares placement policies on simulated clusters.
func newBenchQualityCmd(e *env) *cobra.Command {
	o := &benchQualityOptions{}
	c := &cobra.Command{
		Use:   "quality",
		Short: "Compare placement policies with the exact optimum",
		Long: `Compare placement policies on simulated clusters with measured links. Peers are re-implementations of their selection
rules: they stand for the quality of the choice only.

Without --states every policy lives with its own fragmentation while gangs come and go; bandwidth is given against the best
on the empty cluster, weighted by nodes. With --states all policies are asked on the same states; bandwidth is given
against the exact optimum of each state. Requests that a policy declines are counted apart and never scored. A ratio above
an exact optimum is an error: then the model or the bench is wrong.`,
		Example: `  railmap bench quality --nodes 10240 --degraded 0.02 --seeds 21-30
  railmap bench quality --states --seeds 21-23 -o json`,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	f := c.Flags()
	f.IntVar(&o.q.Nodes, "nodes", 10240, "nodes of the cluster, in leaves of 32 and pods of 512")
	f.Float64Var(&o.q.Degraded, "degraded", .02, "probability that a node is slow")
	f.StringVar(&o.seeds, "seeds", "21-30", "seeds, as 1,2,5-9; one cluster each")
	f.StringVar(&o.policies, "policies", "slurm-tree+drain,kueue+drain,volcano+drain,railmap", "of "+strings.Join(bench.PolicyNames(), ", ")+", railmap@TOLERANCE")
	f.IntVar(&o.q.Steps, "steps", 20000, "placements per seed after the warm-up")
	f.BoolVar(&o.q.States, "states", false, "ask all policies on the same states, against each state's exact optimum")
	addOutput(c, &o.output, formatTable, formatWide, formatJSON, formatYAML)
	return c
}

func (o *benchQualityOptions) run(e *env) error {
	var err error
	if o.q.Seeds, err = parseSeeds(o.seeds); err != nil {
		return usagef("--seeds: %v", err)
	}
	o.q.Policies = strings.Split(o.policies, ",")
	rep, err := bench.Quality(o.q)
	if err != nil {
		return err
	}
	if done, err := o.output.document(e, rep); done {
		return err
	}
	t := newTable("POLICY", ">MEAN", ">SD", ">WORST", ">PLACED", ">DECLINED", ">ONE-LEAF", "BY-SEED+")
	for _, p := range rep.Policies {
		var seeds []string
		for _, v := range p.Seeds {
			seeds = append(seeds, fmt.Sprintf("%.4f", v))
		}
		t.add(p.Policy, fmt.Sprintf("%.4f", p.Mean), fmt.Sprintf("%.4f", p.Spread), fmt.Sprintf("%.4f", p.Worst), p.Placed, p.Declined,
			fmt.Sprintf("%.3f", p.OneLeaf), strings.Join(seeds, " "))
	}
	if err := t.write(e.stdout, &o.output); err != nil || !o.q.States {
		return err
	}
	fmt.Fprintln(e.stdout, "\nBy gang size:")
	t = newTable("POLICY", ">GANG", ">MEAN", ">WORST", ">PLACED", ">DECLINED")
	for _, p := range rep.Policies {
		for _, s := range p.Sizes {
			t.add(p.Policy, s.Gang, fmt.Sprintf("%.4f", s.Mean), fmt.Sprintf("%.4f", s.Worst), s.Placed, s.Declined)
		}
	}
	return t.write(e.stdout, &o.output)
}

// maxSeeds bounds a seed list.
const maxSeeds = 1000

// parseSeeds reads "1,2,5-9".
func parseSeeds(s string) ([]uint64, error) {
	var out []uint64
	for _, part := range strings.Split(s, ",") {
		low, high, ranged := strings.Cut(part, "-")
		a, err := strconv.ParseUint(low, 10, 32)
		b := a
		if err == nil && ranged {
			b, err = strconv.ParseUint(high, 10, 32)
		}
		if err != nil || b < a || b-a >= maxSeeds || len(out) >= maxSeeds {
			return nil, fmt.Errorf("%q: must be numbers and ranges such as 1,2,5-9, at most %d", s, maxSeeds)
		}
		for ; a <= b; a++ {
			out = append(out, a)
		}
	}
	return out, nil
}

// newBenchLatencyCmd measures how fast the engine answers.
func newBenchLatencyCmd(e *env) *cobra.Command {
	var o bench.LatencyOptions
	var out output
	c := &cobra.Command{
		Use:   "latency",
		Short: "Measure how fast placements are answered in process",
		Long: `Measure answers of the placement engine on a cluster in use, in thread CPU time: it leaves out waiting for a processor, so
it is right on a busy machine too. p99 is the median of the runs' p99.`,
		Example: `  railmap bench latency --nodes 100000 -o json`,
		RunE: func(*cobra.Command, []string) error {
			rep, err := bench.Latency(o)
			if err != nil {
				return err
			}
			if done, err := out.document(e, rep); done {
				return err
			}
			return printLatency(e, rep, &out)
		},
	}
	f := c.Flags()
	f.IntVar(&o.Nodes, "nodes", 10240, "nodes of the cluster, in leaves of 32 and pods of 512")
	f.IntSliceVar(&o.Sizes, "gang", nil, "gang sizes (default 4,64,256,1024 and from 50,000 nodes on 4096)")
	f.IntVar(&o.Runs, "runs", 5, "runs")
	f.IntVar(&o.Queries, "queries", 2000, "queries per gang size and run")
	f.Float64Var(&o.Busy, "busy", .85, "share of nodes in use")
	f.Float64Var(&o.Tolerance, "tolerance", 0, "tolerance of the requests (default: the engine's)")
	f.BoolVar(&o.Full, "full", false, "with levels, alternatives and all reasons")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the cluster and its use")
	addOutput(c, &out, formatTable, formatJSON, formatYAML)
	return c
}

func printLatency(e *env, rep *bench.LatencyReport, out *output) error {
	us := func(s float64) string { return significant(s * 1e6) }
	fmt.Fprintf(e.stdout, "%d nodes, %.0f %% busy, tolerance %.3f, %d runs: read %s ms, index %s ms, %s MB over the topology, one-node generation %s us\n\n",
		rep.Nodes, 100*rep.Busy, rep.Tolerance, rep.Runs, significant(rep.ReadSeconds*1e3), significant(rep.IndexSeconds*1e3), significant(float64(rep.BytesOverTopology)/1e6), us(rep.UpdateSecondsPerOne))
	t := newTable(">GANG", ">P50(us)", ">P99(us)", ">P99-LOW", ">P99-HIGH", ">UPDATE(us/node)", ">DECLINED")
	for _, r := range rep.Sizes {
		t.add(r.Gang, us(r.P50Seconds), us(r.P99Seconds), us(r.P99LowSeconds), us(r.P99HighSeconds), us(r.UpdateSecondsPerNode), r.Declined)
	}
	return t.write(e.stdout, out)
}

// newBenchStatesCmd compares with what a real slurmctld chose.
func newBenchStatesCmd(e *env) *cobra.Command {
	var dir string
	var out output
	c := &cobra.Command{
		Use:   "states",
		Short: "Compare with recorded choices of Slurm",
		Long: `Ask the engine for the gangs of recorded Slurm states (JSON files with the busy nodes, what slurmctld chose and the exact
optimum). POINTS are pods:leaves; a choice is optimal when no other is better in one and as good in the other.`,
		Example: `  railmap bench states --dir recordings`,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return usagef("--dir: must name the folder of the recordings")
			}
			rows, err := bench.Recorded(dir)
			if err != nil {
				return usagef("%v", err)
			}
			if done, err := out.document(e, rows); done {
				return err
			}
			return printStates(e, rows, &out)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "folder of the recordings (required)")
	addOutput(c, &out, formatTable, formatJSON, formatYAML)
	return c
}

func printStates(e *env, rows []bench.RecordedRow, out *output) error {
	t := newTable("PLUGIN", "SLURM", ">NODES", ">BUSY", ">GANG", ">SLURM-CHOSE", ">WE-CHOSE", "OPTIMUM", "OPTIMAL", "NOT-WORSE", ">SLURM(us)", ">WE(us)", ">RATIO")
	count := func(ok func(bench.RecordedRow) bool) int {
		return len(rows) - len(slices.DeleteFunc(slices.Clone(rows), ok))
	}
	for _, r := range rows {
		slurm := "refused"
		if r.SlurmPods > 0 {
			slurm = fmt.Sprintf("%d:%d", r.SlurmPods, r.SlurmLeaves)
		}
		t.add(r.Plugin, r.Slurm, r.Nodes, fmt.Sprintf("%d%%", r.Busy), r.Gang, slurm, fmt.Sprintf("%d:%d", r.Pods, r.Leaves), r.Optimum, r.Optimal, r.NotWorse,
			significant(r.SlurmSeconds*1e6), significant(r.Seconds*1e6), significant(r.SlurmSeconds/r.Seconds))
	}
	if err := t.write(e.stdout, out); err != nil {
		return err
	}
	_, err := fmt.Fprintf(e.stdout, "\n%d states: optimal %d, not worse than Slurm %d\n", len(rows), count(func(r bench.RecordedRow) bool { return r.Optimal }), count(func(r bench.RecordedRow) bool { return r.NotWorse }))
	return err
}
