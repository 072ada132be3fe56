package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology"
)

// synthOptions are the flags of "railmap topology synth".
type synthOptions struct {
	seed   uint64
	faults []string
	report bool
	out    string
}

func newTopologySynthCmd(e *env) *cobra.Command {
	var o synthOptions
	c := &cobra.Command{
		Use:   "synth SPEC",
		Short: "Make the map of a cluster that does not exist, of any size, with seeded faults",
		Long: `Synth makes a rail-optimised fat tree: every leaf group has one leaf switch for each rail, every pod has spines for each
rail. SPEC is words like "core:1 pod:4 leaf:8 node:32 rail:8 gpu:8", with spine:N and uplink:N where the defaults do not fit.

Kinds of fault:
` + faultHelp(),
		Example: `  railmap topology synth "core:1 pod:4 leaf:8 node:32 rail:8 gpu:8" -o topology.json.gz
  railmap topology synth pod:2 leaf:4 node:16 rail:8 --seed 7 --fault cable=2 --fault slow=1 -o topology.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(e, strings.Join(args, " ")) },
	}
	f := c.Flags()
	f.Uint64Var(&o.seed, "seed", 1, "seed of the faults: the same seed gives the same bytes")
	f.StringArrayVar(&o.faults, "fault", nil, "KIND=COUNT (repeatable)")
	f.BoolVar(&o.report, "report", false, "write the fabric report in place of the map")
	f.StringVarP(&o.out, "output", "o", "-", "file to write, - for standard output in YAML; .json and .gz are understood")
	return c
}

func (o *synthOptions) run(e *env, words string) error {
	spec, err := topology.ParseSynthSpec(words)
	if err != nil {
		return withCode(exitUsage, err)
	}
	faults, err := parseFaults(o.faults)
	if err != nil {
		return err
	}
	if o.report {
		r, err := topology.Synth(spec, o.seed, faults)
		if err != nil {
			return withCode(exitUsage, err)
		}
		return writeDocumentFile(e, o.out, r)
	}
	t, err := topology.SynthTopology(spec, o.seed, faults, topology.BuildOptions{ToolVersion: toolVersion()})
	if err != nil {
		return withCode(exitUsage, err)
	}
	if err := writeDocumentFile(e, o.out, t); err != nil {
		return err
	}
	return printFindings(e, t.Findings, o.out)
}

func parseFaults(args []string) ([]topology.Fault, error) {
	var out []topology.Fault
	for _, a := range args {
		kind, count, ok := strings.Cut(a, "=")
		n, err := strconv.Atoi(count)
		if !ok || err != nil || n < 0 {
			return nil, usagef("--fault: %q must be KIND=COUNT, as cable=2", a)
		}
		out = append(out, topology.Fault{Kind: kind, Count: n})
	}
	return out, nil
}

func faultHelp() string {
	var b strings.Builder
	for _, f := range topology.SynthFaults {
		b.WriteString("  " + f.Kind + strings.Repeat(" ", max(1, 14-len(f.Kind))) + f.Help + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
