package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology"
)

func newTopologyDiffCmd(e *env) *cobra.Command {
	var out output
	c := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say what changed between two maps; exit 9 when anything did",
		Long: `Diff lists what changed: levels, groups, switches, nodes, links. Times, versions and the generation do not count.
It exits 0 when the two maps say the same and 9 when they differ.`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error { return runDiff(e, args[0], args[1], &out) },
	}
	addOutput(c, &out, formatTable, formatJSON, formatYAML)
	return c
}

func runDiff(e *env, oldPath, newPath string, out *output) error {
	if oldPath == "-" && newPath == "-" {
		return usagef("standard input can be one side only")
	}
	before, err := readTopology(e, oldPath)
	if err != nil {
		return err
	}
	after, err := readTopology(e, newPath)
	if err != nil {
		return err
	}
	changes := append([]topology.Change{}, topology.Diff(before, after)...)
	if done, err := out.document(e, changes); err != nil {
		return err
	} else if !done && len(changes) > 0 {
		t := newTable("CHANGE", "WHAT", "SUBJECT", "MESSAGE")
		for _, c := range changes {
			t.add(c.Kind, c.What, c.Subject, c.Message)
		}
		if err := t.write(e.stdout, out); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		return withCode(exitDiffers, fmt.Errorf("%s and %s differ: %d changes", oldPath, newPath, len(changes)))
	}
	return nil
}
