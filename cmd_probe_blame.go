package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/probe/pair"
	"github.com/railmap/railmap/topology"
)

// newProbeBlameCmd names the culprits behind slow pairs.
func newProbeBlameCmd(e *env) *cobra.Command {
	var o pair.BlameOptions
	var out output
	c := &cobra.Command{
		Use:   "blame PAIRREPORT",
		Short: "Name the node, NIC, uplink or path behind slow pairs",
		Long: `Blame reads a report of measured pairs and finds the fewest things that explain the slow ones: a node, one rail of a node,
the uplink of a group, or a single path. A pair names two nodes; only a third partner tells which one: whoever has a single
partner is never accused alone.

Each culprit comes with the share of its peers' bandwidth that it reaches, the probability that this explanation is right
rather than the next best one, and the measurements that speak loudest. Nobody is named for a loss below --min-loss, nor for
one wild measurement.`,
		Example: `  railmap probe blame pairs.json
  railmap probe blame pairs.json -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if o.MinLoss <= 0 || o.MinLoss >= 1 {
				return usagef("--min-loss must be between 0 and 1")
			}
			r := &topology.PairReport{}
			if err := readDocument(e, args[0], r); err != nil {
				return err
			}
			res := pair.Blame(r, o)
			if done, err := out.document(e, res); done {
				return err
			}
			return writeCulprits(e, res, &out)
		},
	}
	c.Flags().Float64Var(&o.MinLoss, "min-loss", 0.07, "smallest loss that counts, a ratio")
	c.Flags().IntVar(&o.MaxEvidence, "evidence", 6, "measurements to list for each culprit")
	addOutput(c, &out, formatTable, formatWide, formatJSON, formatYAML)
	return c
}

func writeCulprits(e *env, res *pair.BlameResult, out *output) error {
	if len(res.Culprits) == 0 {
		_, err := fmt.Fprintf(e.stderr, "no culprit in %d measurements (noise %.1f %%)\n", res.Measurements, 100*res.Noise)
		return err
	}
	t := newTable("KIND", "CULPRIT", "HOW", ">RATIO", ">CONFIDENCE", ">SLOW", ">OF", "WORST", "INSTEAD+")
	for i := range res.Culprits {
		c := &res.Culprits[i]
		how := "steady"
		if c.Unsteady {
			how = "unsteady"
		}
		if c.Direction != "" {
			how += " " + c.Direction
		}
		worst := ""
		if len(c.Evidence) > 0 {
			w := c.Evidence[0]
			worst = w.A + " - " + w.B
			if w.BandwidthBytesPerSecond != nil {
				worst += fmt.Sprintf(" %s of %s GB/s", significant(*w.BandwidthBytesPerSecond/1e9), significant(w.ExpectedBytesPerSecond/1e9))
			}
		}
		t.add(c.Kind, c.Subject(), how, c.Ratio, strconv.FormatFloat(c.Confidence, 'f', 3, 64), c.SlowPairs, c.Pairs, worst, c.Instead)
	}
	return t.write(e.stdout, out)
}
