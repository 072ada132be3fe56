package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newBenchCmd is a place holder.
func newBenchCmd(e *env) *cobra.Command {
	return &cobra.Command{Use: "bench", Short: "Measure railmap itself", RunE: func(*cobra.Command, []string) error {
		return errors.New("bench: not built yet")
	}}
}
