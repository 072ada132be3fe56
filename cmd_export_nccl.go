package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/exporters"
	ncclfiles "github.com/railmap/railmap/exporters/nccl"
	"github.com/railmap/railmap/topology"
	"github.com/railmap/railmap/topology/nccl"
)

// oldestNCCL is what files for all jobs of a cluster are written for: every release reads them.
const oldestNCCL = "2.27"

// newExportNCCLCmd writes NCCL's settings of the nodes.
func newExportNCCLCmd(e *env) *cobra.Command {
	var o exportOptions
	var version string
	c := &cobra.Command{
		Use:   "nccl",
		Short: "Write NCCL's settings for the nodes",
		Long: `Nccl writes nccl.conf, the settings that most nodes share, and nodes/NODE.conf for each node that differs. NCCL reads
/etc/nccl.conf; the environment of a job wins over it. The settings of one job, with reasons, come from railmap nccl hints.`,
		Example: `  railmap export nccl -t map.yaml --out nccl`,
		RunE: func(*cobra.Command, []string) error {
			t, err := o.read(e)
			if err != nil {
				return err
			}
			files, err := renderNCCL(e, t, version)
			if err != nil {
				return withCode(exitUsage, err)
			}
			return o.deliver(e, "nccl", files)
		},
	}
	c.Flags().StringVar(&version, "nccl-version", oldestNCCL, "oldest NCCL release of the jobs")
	o.addFlags(c)
	return c
}

// renderNCCL tells on standard error which NICs are left out.
func renderNCCL(e *env, t *topology.Topology, version string) ([]exporters.File, error) {
	v, err := nccl.ParseVersion(version)
	if err != nil {
		return nil, fmt.Errorf("--nccl-version: %w", err)
	}
	files, findings, err := ncclfiles.Export(t, v)
	const most = 10
	for i, f := range findings {
		if i == most {
			fmt.Fprintf(e.stderr, "and %d more findings: railmap nccl hints shows those of a job\n", len(findings)-most)
			break
		}
		fmt.Fprintf(e.stderr, "%s: %s: %s\n", f.Severity, f.Subject, f.Message)
	}
	return files, err
}
