package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology"
	"github.com/railmap/railmap/topology/nccl"
)

// formatRankfile is Open MPI's "rank N=host slot=N"; formatTorchrun is "host node-rank" a line, for torchrun's static rendezvous.
const (
	formatRankfile = "rankfile"
	formatTorchrun = "torchrun"
)

// ncclOrderOptions are the flags of railmap nccl order.
type ncclOrderOptions struct {
	topology string
	hosts    string
	best     bool
	tasks    int
	output   output
}

// newNCCLOrderCmd checks and writes rank orders.
func newNCCLOrderCmd(e *env) *cobra.Command {
	var o ncclOrderOptions
	c := &cobra.Command{
		Use:   "order",
		Short: "Check a rank order against the map, or write the best one",
		Long: `NCCL's rings follow rank order: node n sends to n+1 and the last to the first. Count the ring edges that leave a leaf
group for the given order, for the best one, and for sorted names (torchrun's dynamic rendezvous sorts by name).

Other outputs write an order, the given one or with --best the best one: name (one a line), hostlist (as Slurm folds it),
hostfile (once a rank, for SLURM_HOSTFILE with srun --distribution=arbitrary), rankfile (Open MPI) and torchrun (host
and --node-rank).`,
		Example: `  railmap nccl order -t map.yaml --hosts 'gpu-[001-016]'
  railmap nccl order -t map.yaml --hosts "$SLURM_JOB_NODELIST" --best --tasks-per-node 8 -o hostfile`,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	addTopologyFlag(c, &o.topology)
	f := c.Flags()
	f.StringVar(&o.hosts, "hosts", "", "host list in rank order (required)")
	f.BoolVar(&o.best, "best", false, "write the best order in place of the given one")
	f.IntVar(&o.tasks, "tasks-per-node", 8, "ranks of a node, for hostfile and rankfile")
	addOutput(c, &o.output, formatTable, formatWide, formatJSON, formatName, formatHostlist, formatHostfile, formatRankfile, formatTorchrun)
	return c
}

func (o *ncclOrderOptions) run(e *env) error {
	hosts, err := hostlistFlag("hosts", o.hosts)
	if err != nil {
		return err
	}
	if len(hosts) == 0 {
		return usagef("--hosts must be given: the nodes in rank order")
	}
	if o.tasks < 1 || o.tasks > 1024 {
		return usagef("--tasks-per-node %d: must be between 1 and 1024", o.tasks)
	}
	t, err := readTopology(e, o.topology)
	if err != nil {
		return err
	}
	fabric, err := nccl.NewFabric(t)
	if err != nil {
		return withCode(exitUsage, fmt.Errorf("%s: %w", o.topology, err))
	}
	r := nccl.CheckOrder(fabric, hosts)
	if done, err := o.output.document(e, r); done {
		return err
	}
	for _, f := range r.Findings {
		fmt.Fprintf(e.stderr, "%s: %s: %s; %s\n", f.Severity, f.Subject, f.Message, f.Remedy)
	}
	return o.print(e, r)
}

func (o *ncclOrderOptions) print(e *env, r nccl.OrderReport) error {
	names := r.Nodes
	if o.best {
		names = r.Best
	}
	text := ""
	switch o.output.format {
	case formatName:
		text = nccl.HostList(names)
	case formatHostlist:
		text = topology.FoldHostlist(names) + "\n"
	case formatHostfile:
		text = nccl.SlurmHostfile(names, o.tasks)
	case formatRankfile:
		text = nccl.Rankfile(names, o.tasks)
	case formatTorchrun:
		text = nccl.TorchrunMap(names)
	default:
		return o.printTable(e, r)
	}
	_, err := io.WriteString(e.stdout, text)
	return err
}

func (o *ncclOrderOptions) printTable(e *env, r nccl.OrderReport) error {
	t := newTable("EDGES-MEET-AT", ">GIVEN", ">BEST", ">SORTED-NAMES")
	for _, l := range r.Levels {
		level := l.Level
		if level == "" {
			level = unknown
		}
		t.add(level, l.Given, l.Best, l.Sorted)
	}
	t.add("leaving a leaf", r.Leaving.Given, r.Leaving.Best, r.Leaving.Sorted)
	return t.write(e.stdout, &o.output)
}
