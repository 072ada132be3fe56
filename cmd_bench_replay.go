package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/bench"
)

// benchReplayOptions are the flags of railmap bench replay.
type benchReplayOptions struct {
	r        bench.ReplayOptions
	trace    string
	half     string
	seeds    string
	policies string
	output   output
}

// newBenchReplayCmd replays traces of gangs.
func newBenchReplayCmd(e *env) *cobra.Command {
	o := &benchReplayOptions{}
	c := &cobra.Command{
		Use:   "replay",
		Short: "Replay a trace of gangs under placement policies",
		Long: `Replay a trace on a simulated cluster: first come first served with EASY backfill, end times known to every policy. A gang
at bandwidth B runs duration × (1 - c + c × ideal/B). The file is CSV with the columns arrival_s, nodes and duration_s;
synthetic:N draws N jobs instead, anew for every seed.

Besides the policies of bench quality there are railmap+floor (declines below 0.9 of nominal) and railmap+wait (the
start-or-wait rule; @X sets the share of kept nodes that nobody else can use).`,
		Example: `  railmap bench replay --trace gangs.csv --load 0.7 --nodes 320 --leaf 16 --pod 80 --half second`,
		RunE:    func(*cobra.Command, []string) error { return o.run(e) },
	}
	f := c.Flags()
	f.StringVar(&o.trace, "trace", "", "CSV file, or synthetic:N (required)")
	f.Float64Var(&o.r.Load, "load", .7, "share of the cluster that the jobs use at ideal speed; arrivals are stretched to it")
	f.IntVar(&o.r.Nodes, "nodes", 320, "nodes of the cluster")
	f.IntVar(&o.r.LeafNodes, "leaf", 16, "nodes of a leaf")
	f.IntVar(&o.r.PodNodes, "pod", 80, "nodes of a pod")
	f.Float64Var(&o.r.Degraded, "degraded", .02, "probability that a node is slow")
	f.Float64Var(&o.r.Comm, "communication", .3, "share of the run time that is communication at ideal bandwidth")
	f.StringVar(&o.half, "half", "all", "part of the trace: all, first (for tuning) or second (held back)")
	f.StringVar(&o.seeds, "seeds", "21-26", "seeds, as 1,2,5-9; one cluster each")
	f.StringVar(&o.policies, "policies", "kueue+drain,railmap,railmap+floor,railmap+wait", "policies, separated by commas")
	addOutput(c, &o.output, formatTable, formatWide, formatJSON, formatYAML)
	return c
}

func (o *benchReplayOptions) run(e *env) error {
	var err error
	if o.r.Seeds, err = parseSeeds(o.seeds); err != nil {
		return usagef("--seeds: %v", err)
	}
	if err := o.readTrace(); err != nil {
		return err
	}
	if o.r.Nodes < 2 || o.r.LeafNodes < 1 || o.r.PodNodes < o.r.LeafNodes || o.r.PodNodes%o.r.LeafNodes != 0 || !(o.r.Load > 0) {
		return usagef("--pod must be a multiple of --leaf, --nodes at least 2 and --load above 0")
	}
	o.r.Policies = strings.Split(o.policies, ",")
	rep, err := bench.Replay(o.r)
	if err != nil {
		return err
	}
	if done, err := o.output.document(e, rep); done {
		return err
	}
	t := newTable("POLICY", ">COMPLETION(h)", ">SD", ">WAIT(h)", ">BANDWIDTH", ">PUT-OFF", "BY-SEED(h)+")
	for _, p := range rep.Policies {
		var seeds []string
		for _, v := range p.Seeds {
			seeds = append(seeds, fmt.Sprintf("%.3f", v/3600))
		}
		t.add(p.Policy, fmt.Sprintf("%.3f", p.CompletionSeconds/3600), fmt.Sprintf("%.3f", p.Spread/3600), fmt.Sprintf("%.3f", p.WaitSeconds/3600),
			fmt.Sprintf("%.4f", p.Bandwidth), p.Declined, strings.Join(seeds, " "))
	}
	return t.write(e.stdout, &o.output)
}

// readTrace reads the file and cuts it to the asked half.
func (o *benchReplayOptions) readTrace() error {
	if n, ok := strings.CutPrefix(o.trace, "synthetic:"); ok {
		jobs, err := strconv.Atoi(n)
		if err != nil || jobs < 2 || jobs > 1e6 {
			return usagef("--trace %s: must be synthetic:N with N between 2 and 1000000", o.trace)
		}
		o.r.Synthetic, o.r.Half = jobs, o.half
	} else {
		if o.trace == "" {
			return usagef("--trace: must name a CSV file, or synthetic:N")
		}
		jobs, err := bench.ReadTrace(o.trace)
		if err != nil {
			return usagef("--trace: %v", err)
		}
		o.r.Jobs, o.r.Half = jobs, o.half
	}
	if o.half != "all" && o.half != "first" && o.half != "second" {
		return usagef("--half is %q: must be all, first or second", o.half)
	}
	return nil
}
