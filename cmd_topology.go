package main

import "github.com/spf13/cobra"

// newTopologyCmd groups what makes and reads the map.
func newTopologyCmd(e *env) *cobra.Command {
	return newGroup("topology", "Build and read the map of the cluster",
		newTopologyBuildCmd(e),
		newTopologyShowCmd(e),
		newTopologyMatrixCmd(e),
		newTopologyLinksCmd(e),
		newTopologyFindingsCmd(e),
		newTopologyDiffCmd(e),
		newTopologyValidateCmd(e),
		newTopologySynthCmd(e),
	)
}
