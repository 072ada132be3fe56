package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newExportSlurmCmd is a place holder.
func newExportSlurmCmd(e *env) *cobra.Command {
	return &cobra.Command{Use: "slurm", Short: "Write topology.conf or topology.yaml", RunE: func(*cobra.Command, []string) error {
		return errors.New("slurm: not built yet")
	}}
}
