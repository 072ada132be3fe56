package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newDemoCmd is a place holder.
func newDemoCmd(e *env) *cobra.Command {
	return &cobra.Command{Use: "demo", Short: "Run the main job on this machine and a bundled fabric", RunE: func(*cobra.Command, []string) error {
		return errors.New("demo: not built yet")
	}}
}
