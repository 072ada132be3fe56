package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newProbeCmd is a place holder.
func newProbeCmd(e *env) *cobra.Command {
	c := &cobra.Command{Use: "probe", Short: "Look at this node", RunE: func(*cobra.Command, []string) error {
		return errors.New("probe: not built yet")
	}}
	c.AddCommand(newProbeFabricCmd(e))
	return c
}
