package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newNCCLCmd is a place holder.
func newNCCLCmd(e *env) *cobra.Command {
	return &cobra.Command{Use: "nccl", Short: "What NCCL will make of a node", RunE: func(*cobra.Command, []string) error {
		return errors.New("nccl: not built yet")
	}}
}
