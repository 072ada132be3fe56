package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newProbeImportCmd is a place holder.
func newProbeImportCmd(e *env) *cobra.Command {
	return &cobra.Command{Use: "import", Short: "Read what other tools measured", RunE: func(*cobra.Command, []string) error {
		return errors.New("import: not built yet")
	}}
}
