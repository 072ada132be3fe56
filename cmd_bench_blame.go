package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/bench"
)

// newBenchBlameCmd measures how often the search for culprits is right.
func newBenchBlameCmd(e *env) *cobra.Command {
	o := bench.BlameOptions{}
	below := 0.0
	var out output
	c := &cobra.Command{
		Use:   "blame",
		Short: "Count how often the culprit for slow pairs is the right one",
		Long: `Blame draws faults in clusters of several shapes (slow and unsteady nodes, slow NICs, uplinks and paths, two at once),
simulates what the default plan of railmap probe pairs would measure, with noise, and asks for the culprit. Healthy cases
must name nobody. The same seed draws the same cases.`,
		Example: `  railmap bench blame --cases 1000 --seed 1 -o json`,
		RunE: func(*cobra.Command, []string) error {
			if o.Cases < 0 || o.Healthy < 0 || o.Cases+o.Healthy < 1 || o.Noise < 0 || o.Noise > .3 {
				return usagef("--cases and --healthy must hold at least one case, --noise must be between 0 and 0.3")
			}
			rows, err := bench.Blame(o)
			if err != nil {
				return err
			}
			if done, err := out.document(e, rows); done {
				if err != nil {
					return err
				}
				return blameGate(rows, below)
			}
			t := newTable("FAULTS", ">CASES", ">FIRST-RIGHT", ">ALL-RIGHT", "FIRST-WRONG")
			for _, r := range rows {
				t.add(r.Faults, r.Cases, fmt.Sprintf("%.2f%%", 100*r.FirstRight), fmt.Sprintf("%.2f%%", 100*r.AllRight), r.Wrong)
			}
			if err := t.write(e.stdout, &out); err != nil {
				return err
			}
			return blameGate(rows, below)
		},
	}
	f := c.Flags()
	f.IntVar(&o.Cases, "cases", 1000, "cases with one fault; half as many with two come on top")
	f.IntVar(&o.Healthy, "healthy", 200, "cases without a fault")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the cases")
	f.Float64Var(&o.Noise, "noise", .03, "relative standard deviation of a measurement")
	f.Float64Var(&below, "fail-below", 0, "exit 6 when the share of right first culprits is below this, for one fault, two or none")
	addOutput(c, &out, formatTable, formatJSON, formatYAML)
	return c
}

func blameGate(rows []bench.BlameRow, below float64) error {
	for _, r := range rows {
		if (r.Faults == "single" || r.Faults == "two" || r.Faults == "healthy") && r.Cases > 0 && r.FirstRight < below {
			return withCode(exitBelow, fmt.Errorf("firstRight of %s is %.4f: must be at least %g", r.Faults, r.FirstRight, below))
		}
	}
	return nil
}
