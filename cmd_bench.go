package main

import "github.com/spf13/cobra"

// newBenchCmd holds the commands that measure railmap itself: one line for each.
func newBenchCmd(e *env) *cobra.Command {
	return newGroup("bench", "Measure railmap itself",
		newBenchBlameCmd(e),
		newBenchFabricCmd(e),
		newBenchNCCLCmd(e),
		newBenchQualityCmd(e),
		newBenchReplayCmd(e),
		newBenchServeCmd(e),
		newBenchLendCmd(e),
		newBenchLatencyCmd(e),
		newBenchStatesCmd(e),
	)
}
