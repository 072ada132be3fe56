package main

import "github.com/spf13/cobra"

// newExportCmd groups the exporters, one per target.
func newExportCmd(e *env) *cobra.Command {
	return newGroup("export", "Write what schedulers and NCCL read",
		newExportSlurmCmd(e),
		newExportKubernetesCmd(e),
	)
}
