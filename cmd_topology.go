package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newTopologyCmd is a place holder.
func newTopologyCmd(e *env) *cobra.Command {
	return &cobra.Command{Use: "topology", Short: "Build and read the map", RunE: func(*cobra.Command, []string) error {
		return errors.New("topology: not built yet")
	}}
}
