package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/bench"
)

// newBenchLendCmd compares rules of lending.
func newBenchLendCmd(e *env) *cobra.Command {
	var seedList string
	var shares []float64
	var peak float64
	var out output
	c := &cobra.Command{
		Use:   "lend",
		Short: "Compare rules of lending nodes to another scheduler",
		Long: `Lend a share of a cluster of 2,048 nodes, 2 % of them slow, 55 % in use by gangs that railmap placed, and count what gangs
can still have: gangs of 32 and 16 inside leaves, and the largest gang inside a pod. "nothing" is the state before, which
bounds every rule. With --peak the use was higher and then only fell, which leaves more broken leaves.`,
		Example: `  railmap bench lend --seeds 21-30
  railmap bench lend --seeds 21-30 --peak 0.9`,
		RunE: func(*cobra.Command, []string) error {
			seeds, err := parseSeeds(seedList)
			if err != nil {
				return usagef("--seeds: %v", err)
			}
			if peak < .55 || peak > 1 {
				return usagef("--peak must be between 0.55 and 1")
			}
			rows, err := bench.Lend(shares, seeds, peak)
			if err != nil {
				return err
			}
			if done, err := out.document(e, rows); done {
				return err
			}
			t := newTable(">LENT", "POLICY", ">LEAF-GANGS-32", ">LEAF-GANGS-16", ">LARGEST-POD")
			for _, r := range rows {
				t.add(fmt.Sprintf("%.0f%%", 100*r.Lent), r.Policy, fmt.Sprintf("%.1f", r.LeafGangs32), fmt.Sprintf("%.1f", r.LeafGangs16), fmt.Sprintf("%.0f", r.LargestPod))
			}
			return t.write(e.stdout, &out)
		},
	}
	c.Flags().StringVar(&seedList, "seeds", "21-30", "seeds, as 1,2,5-9; one cluster each")
	c.Flags().Float64SliceVar(&shares, "lent", []float64{.1, .2, .3}, "shares of all nodes to lend")
	c.Flags().Float64Var(&peak, "peak", .55, "highest use before")
	addOutput(c, &out, formatTable, formatJSON, formatYAML)
	return c
}
