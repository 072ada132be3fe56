package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology"
)

// lendOptions are the flags of "railmap lend".
type lendOptions struct {
	topology string
	nodes    int
	to       string
	back     int
	within   string
	state    stateOptions
	output   output
}

// newLendCmd chooses nodes to lend to another scheduler, and which to ask back.
func newLendCmd(e *env) *cobra.Command {
	o := &lendOptions{}
	cmd := &cobra.Command{
		Use:   "lend",
		Short: "Choose nodes to lend to the other scheduler, or to ask back",
		Long: `Choose free nodes to lend to the other scheduler so that large gangs stay possible: slow nodes first, then leaf groups that
are broken already, whole ones and the best pod last. With --back K: the fewest lent nodes to ask back so that a gang of K
fits below one group.`,
		Example: `  railmap lend -t topology.yaml -N 40 --to kubernetes --busy 'node[001-080]'
  railmap lend -t topology.yaml --back 64 --within pod --lent 'node[100-139]' --busy 'node[001-080]'`,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.topology, "topology", "t", "", "topology document, - for standard input (required)")
	f.IntVarP(&o.nodes, "nodes", "N", 0, "nodes to lend")
	f.StringVar(&o.to, "to", "", "who borrows: kubernetes, slurm, ...")
	f.IntVar(&o.back, "back", 0, "in place of --nodes: ask back so that a gang of this many nodes fits")
	f.StringVar(&o.within, "within", "", "with --back: below one group of this level")
	o.state.addFlags(cmd)
	addOutput(cmd, &o.output, formatTable, formatJSON, formatYAML, formatName, formatHostlist)
	return cmd
}

// reclaim is the answer to --back.
type reclaim struct {
	Nodes []string `json:"nodes" yaml:"nodes"` // to ask back; empty when the gang fits already
	Group string   `json:"group" yaml:"group"` // where the gang then fits
}

func (o *lendOptions) run(e *env) error {
	if o.topology == "" {
		return usagef("--topology: must name a topology document (make one with railmap topology build)")
	}
	if (o.nodes > 0) == (o.back > 0) {
		return usagef("must be given either --nodes (to lend) or --back (to ask back), above 0")
	}
	_, snapshot, err := readSnapshot(e, o.topology, &o.state)
	if err != nil {
		return err
	}
	if o.back > 0 {
		names, group, err := snapshot.Reclaim(o.back, o.within)
		if err != nil {
			return placeError(err)
		}
		r := &reclaim{Nodes: names, Group: group}
		return o.print(e, r, names, []string{fmt.Sprintf("a gang of %d then fits below %s", o.back, group)})
	}
	l, err := snapshot.Lend(o.nodes, o.to)
	if err != nil {
		return placeError(err)
	}
	return o.print(e, l, l.Nodes, l.Reasons)
}

func (o *lendOptions) print(e *env, doc any, names, reasons []string) error {
	if done, err := o.output.document(e, doc); done {
		return err
	}
	text := topology.FoldHostlist(names) + "\n"
	switch {
	case len(names) == 0:
		text = ""
	case o.output.format == formatName:
		text = strings.Join(names, "\n") + "\n"
	}
	if o.output.format == formatTable {
		text += strings.Map(keepLines, strings.Join(reasons, "\n")) + "\n"
	}
	_, err := io.WriteString(e.stdout, text)
	return err
}

func keepLines(r rune) rune {
	if r == '\n' {
		return r
	}
	return printable(r)
}
