package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/exporters/slurm"
)

// exportSlurmOptions are the flags of railmap export slurm.
type exportSlurmOptions struct {
	exportOptions
	plugin  string
	version string
	nodes   string
	base    int
}

// newExportSlurmCmd writes the topology files of Slurm.
func newExportSlurmCmd(e *env) *cobra.Command {
	var o exportSlurmOptions
	c := &cobra.Command{
		Use:   "slurm",
		Short: "Write topology.conf or topology.yaml",
		Long: `Slurm writes the map as topology.conf (plugins tree and block) or topology.yaml (Slurm 25.05 and newer), and beside it
slurm-topology.conf, which slurm.conf can include. Every file is checked first by rules stricter than Slurm's, because a
bad one stops slurmctld at its next reconfigure; what an operator should know is told on standard error.

Give the nodes of slurm.conf with --nodes (sinfo -h -o %N prints them): nodes that Slurm does not know are then left out,
and nodes that the map does not know go to a leaf named unknown, so that no job loses its nodes.`,
		Example: `  railmap export slurm -t map.yaml --out /etc/slurm --slurm-version 24.11
  railmap export slurm -t map.yaml --plugin block --out - --nodes "$(sinfo -h -o %N)"
  railmap export slurm -t map.yaml --out gitops/slurm --check`,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	f := c.Flags()
	f.StringVar(&o.plugin, "plugin", string(slurm.TreeKind), "tree, block or yaml")
	f.StringVar(&o.version, "slurm-version", "", "release that reads the file, for example 24.11 (default: what all releases with the plugin read)")
	f.StringVar(&o.nodes, "nodes", "", "hostlist of the nodes of slurm.conf (default: the nodes of the map)")
	f.IntVar(&o.base, "base-size", 0, "nodes of a base block (default: the smallest usable block)")
	o.addFlags(c)
	return c
}

func (o *exportSlurmOptions) run(e *env) error {
	version, err := slurm.ParseVersion(o.version)
	if err != nil {
		return usagef("--slurm-version: %w", err)
	}
	if o.base < 0 || o.base > 0 && o.plugin == string(slurm.TreeKind) {
		return usagef("--base-size %d: must be above 0, and goes with --plugin block or yaml", o.base)
	}
	nodes, err := hostlistFlag("nodes", o.nodes)
	if err != nil {
		return err
	}
	options := slurm.Options{Version: version, Nodes: nodes, ManySwitches: o.force, BaseSize: o.base}
	topo, err := o.read(e)
	if err != nil {
		return err
	}
	files, warnings, err := slurm.Render(topo, slurm.Kind(o.plugin), options)
	if err != nil {
		return withCode(exitUsage, err)
	}
	for _, w := range warnings {
		fmt.Fprintln(e.stderr, w)
	}
	return o.deliver(e, "slurm", files)
}
