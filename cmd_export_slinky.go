package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/exporters/kubernetes"
	"github.com/railmap/railmap/exporters/slurm"
	"github.com/railmap/railmap/topology"
)

// newExportSlinkyCmd writes the annotations that Slurm on Kubernetes reads.
func newExportSlinkyCmd(e *env) *cobra.Command {
	var o exportOptions
	var nodes string
	c := &cobra.Command{
		Use:   "slinky",
		Short: "Write node annotations for Slurm on Kubernetes",
		Long: `Slinky writes the annotation that gives each node its place in Slurm's topology.yaml, for slurm-operator and slurm-bridge.
The names are those that railmap export slurm --plugin yaml writes from the same map with the same --nodes.`,
		RunE: func(*cobra.Command, []string) error {
			names, err := hostlistFlag("nodes", nodes)
			if err != nil {
				return err
			}
			t, err := o.read(e)
			if err != nil {
				return err
			}
			files, err := renderSlinky(e, t, slurm.Options{Nodes: names})
			if err != nil {
				return withCode(exitUsage, err)
			}
			return o.deliver(e, "slinky", withoutKustomization(o.out, files))
		},
	}
	c.Flags().StringVar(&nodes, "nodes", "", "hostlist of the nodes of slurm.conf (default: the nodes of the map)")
	o.addFlags(c)
	return c
}

// renderSlinky reads the places back from the topology.yaml that the map gives.
func renderSlinky(e *env, t *topology.Topology, o slurm.Options) ([]exporters.File, error) {
	files, warnings, err := slurm.YAML(t, o)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		fmt.Fprintln(e.stderr, w)
	}
	entries, problems := slurm.ParseYAML(files[0].Data, o.Version)
	if exporters.Refused(problems) {
		return nil, fmt.Errorf("%s: %s", files[0].Name, problems[0])
	}
	units := map[string][]kubernetes.Membership{}
	for _, entry := range entries {
		for _, s := range entry.Config.Switches {
			for _, n := range s.Nodes {
				units[n] = append(units[n], kubernetes.Membership{Topology: entry.Name, Unit: s.Name})
			}
		}
		for _, b := range entry.Config.Blocks {
			for _, n := range b.Nodes {
				units[n] = append(units[n], kubernetes.Membership{Topology: entry.Name, Unit: b.Name})
			}
		}
	}
	return kubernetes.Slinky(units)
}
