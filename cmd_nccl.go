package main

import "github.com/spf13/cobra"

// newNCCLCmd holds the commands about NCCL.
func newNCCLCmd(e *env) *cobra.Command {
	return newGroup("nccl", "What NCCL will make of a machine and a job",
		newNCCLPredictCmd(e),
		newNCCLXMLCmd(e),
		newNCCLHintsCmd(e),
		newNCCLOrderCmd(e),
		newNCCLCalibrateCmd(e),
	)
}
