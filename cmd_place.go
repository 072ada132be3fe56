package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newPlaceCmd is a place holder.
func newPlaceCmd(e *env) *cobra.Command {
	return &cobra.Command{Use: "place", Short: "Choose nodes for a gang", RunE: func(*cobra.Command, []string) error {
		return errors.New("place: not built yet")
	}}
}
