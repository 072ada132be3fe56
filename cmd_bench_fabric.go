package main

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/bench"
)

// benchFabricOptions are the flags of railmap bench fabric.
type benchFabricOptions struct {
	sizes   []string
	repeats int
	trees   []bench.FatTree
	output  output
}

func newBenchFabricCmd(e *env) *cobra.Command {
	var o benchFabricOptions
	c := &cobra.Command{
		Use:   "fabric",
		Short: "Measure reading a fabric, building the map and writing it for Slurm",
		Long: `Fabric writes ibnetdiscover dumps of healthy fat trees of 64-port switches into a temporary folder and measures, each in
a fresh process on one processor: reading the dump; reading it and building the map; and that and writing topology.conf.
Times are processor time, the least of --repeat runs. Memory is the resident memory of the whole process at its highest.`,
		Example: `  railmap bench fabric
  railmap bench fabric --size 4096x8 --repeat 5 -o json`,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.sizes, "size", []string{"1024x1", "16384x1", "16384x8"}, "hosts x rails (repeatable)")
	f.IntVar(&o.repeats, "repeat", 3, "runs of each measurement")
	addOutput(c, &o.output, formatTable, formatJSON, formatYAML)
	c.AddCommand(newBenchFabricStageCmd(e))
	return c
}

// newBenchFabricStageCmd is one measurement in a process of its own; bench fabric runs it.
func newBenchFabricStageCmd(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "stage NAME FILE", Short: "Run one stage on one dump and print what it cost", Hidden: true, Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			run, err := bench.RunFabric(args[1], bench.FabricStage(args[0]))
			if err != nil {
				return withCode(exitUsage, err)
			}
			return json.NewEncoder(e.stdout).Encode(run)
		},
	}
}

func (o *benchFabricOptions) run(ctx context.Context, e *env) error {
	if err := o.complete(); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "railmap-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	results, err := bench.MeasureFabrics(ctx, bench.FabricOptions{Trees: o.trees, Repeats: o.repeats, Dir: dir,
		Program: program, Args: []string{"bench", "fabric", "stage"}})
	if err != nil {
		return err
	}
	if done, err := o.output.document(e, results); done {
		return err
	}
	t := newTable(">HOSTS", ">RAILS", ">SWITCHES", ">ADAPTERS", ">DUMP(MB)", ">PARSE(MB/s)", ">PARSE(s)", ">+BUILD(s)", ">+SLURM(s)", ">PARSE-PEAK(MB)", ">PEAK/DUMP", ">PEAK(MB)")
	for _, r := range results {
		t.add(r.Hosts, r.Rails, r.Switches, r.Adapters, float64(r.Bytes)/1e6, r.ParseBytesPerCPUSecond/1e6, seconds(r.ParseCPUSeconds), seconds(r.BuildCPUSeconds),
			seconds(r.SlurmCPUSeconds), float64(r.ParsePeakBytes)/1e6, r.ParsePeakOverFile, float64(r.SlurmPeakBytes)/1e6)
	}
	return t.write(e.stdout, &o.output)
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }

// complete reads the sizes.
func (o *benchFabricOptions) complete() error {
	if o.repeats < 1 || o.repeats > 100 {
		return usagef("--repeat is %d: must be between 1 and 100", o.repeats)
	}
	for _, s := range o.sizes {
		t := bench.FatTree{Radix: 64, Speed: "NDR"}
		hosts, rails, ok := strings.Cut(s, "x")
		var err1, err2 error
		t.Hosts, err1 = strconv.Atoi(hosts)
		t.Rails, err2 = strconv.Atoi(rails)
		if !ok || err1 != nil || err2 != nil || t.Hosts < 1 || t.Rails < 1 || t.Hosts > 1<<17 || t.Rails > 16 {
			return usagef("--size %s: must be hosts x rails, such as 4096x8, at most 131072x16", s)
		}
		t.Levels = t.LevelsNeeded()
		if t.Levels == 0 {
			return usagef("--size %s: must fit in three levels of 64-port switches: at most %d adapters", s, 65536*32/16)
		}
		o.trees = append(o.trees, t)
	}
	if len(o.trees) == 0 {
		return usagef("--size: must be given at least once")
	}
	return nil
}
