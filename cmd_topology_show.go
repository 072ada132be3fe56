package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology"
)

// Formats of "topology show" beyond the common ones.
const (
	formatTree = "tree"
	formatSVG  = "svg"
)

func newTopologyShowCmd(e *env) *cobra.Command {
	var path string
	var out output
	c := &cobra.Command{
		Use:   "show",
		Short: "Draw the map: as text, as a picture for a ticket, or as a document",
		Example: `  railmap topology show -t topology.yaml
  railmap topology show -t topology.yaml -o svg > map.svg`,
		RunE: func(*cobra.Command, []string) error {
			t, err := readTopology(e, path)
			if err != nil {
				return err
			}
			switch out.format {
			case formatTree:
				return topology.RenderTree(e.stdout, t)
			case formatSVG:
				return topology.RenderSVG(e.stdout, t)
			}
			_, err = out.document(e, t)
			return err
		},
	}
	addTopologyFlag(c, &path)
	addOutput(c, &out, formatTree, formatSVG, formatJSON, formatYAML)
	return c
}

func newTopologyFindingsCmd(e *env) *cobra.Command {
	var path string
	var out output
	c := &cobra.Command{
		Use:   "findings",
		Short: "List what an operator should look at",
		RunE: func(*cobra.Command, []string) error {
			t, err := readTopology(e, path)
			if err != nil {
				return err
			}
			findings := append([]topology.Finding{}, t.Findings...) // [] and not null when there are none
			if done, err := out.document(e, findings); done {
				return err
			}
			if len(findings) == 0 {
				_, err := fmt.Fprintln(e.stdout, "no findings")
				return err
			}
			return findingTable(findings).write(e.stdout, &out)
		},
	}
	addTopologyFlag(c, &path)
	addOutput(c, &out, formatTable, formatJSON, formatYAML)
	return c
}

func newTopologyValidateCmd(e *env) *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "validate",
		Short: "Check a map for what every reader relies on; exit 2 when something is wrong",
		RunE: func(*cobra.Command, []string) error {
			t, err := readTopology(e, path)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(e.stdout, "%s: valid: generation %d, %d nodes, %d switches, %d links, %d groups, %d findings\n",
				path, t.Generation, len(t.Nodes), len(t.Switches), len(t.Links), len(t.Tree.Groups), len(t.Findings))
			return err
		},
	}
	addTopologyFlag(c, &path)
	return c
}
