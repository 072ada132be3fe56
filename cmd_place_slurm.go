package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/exporters/slurm"
	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/topology"
)

// formatHostfile lists each node once per task in rank order, for SLURM_HOSTFILE and mpirun.
const formatHostfile = "hostfile"

// slurmJobOptions say how Slurm is set up, for -o sbatch and -o hostfile.
type slurmJobOptions struct {
	plugin  string
	version string
	tasks   int
}

func (s *slurmJobOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.plugin, "slurm-plugin", string(slurm.TreeKind), "with -o sbatch: the topology plugin of the cluster, tree or block")
	f.StringVar(&s.version, "slurm-version", "", "with -o sbatch: the Slurm release, for example 24.11")
	f.IntVar(&s.tasks, "tasks-per-node", 1, "with -o hostfile, rankfile, pbs and lsf: tasks of a node")
}

// printSbatch prints the options that give a job exactly the nodes of a placement.
func (s *slurmJobOptions) printSbatch(w io.Writer, t *topology.Topology, p *placer.Placement) error {
	v, err := slurm.ParseVersion(s.version)
	if err != nil {
		return usagef("--slurm-version: %w", err)
	}
	options, err := slurm.JobOptions(t, p.Nodes, slurm.Kind(s.plugin), slurm.Options{Version: v})
	if err != nil {
		return usagef("-o sbatch: %w", err)
	}
	_, err = fmt.Fprintln(w, strings.Join(options, " "))
	return err
}

// printHostfile prints the file for "SLURM_HOSTFILE=FILE srun -m arbitrary -n TASKS".
func (s *slurmJobOptions) printHostfile(w io.Writer, p *placer.Placement) error {
	if s.tasks < 1 {
		return usagef("--tasks-per-node %d: must be at least 1", s.tasks)
	}
	_, err := w.Write(slurm.HostFile(p.Nodes, s.tasks))
	return err
}
