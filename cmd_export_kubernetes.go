package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newExportKubernetesCmd is a place holder.
func newExportKubernetesCmd(e *env) *cobra.Command {
	return &cobra.Command{Use: "kubernetes", Short: "Write node label patches and affinities", RunE: func(*cobra.Command, []string) error {
		return errors.New("kubernetes: not built yet")
	}}
}
