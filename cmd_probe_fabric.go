package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newProbeFabricCmd is a place holder.
func newProbeFabricCmd(e *env) *cobra.Command {
	return &cobra.Command{Use: "fabric", Short: "Read the fabric: ibnetdiscover, iblinkinfo, static files, labels", RunE: func(*cobra.Command, []string) error {
		return errors.New("fabric: not built yet")
	}}
}
