package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/probe"
)

// probeOptions are the flags of railmap probe.
type probeOptions struct {
	root      string
	driverDir string
	nodeName  string
	measure   bool
	output    output
}

// newProbeCmd looks at this node, or at a recorded tree of one; its subcommands look elsewhere.
func newProbeCmd(e *env) *cobra.Command {
	var o probeOptions
	c := &cobra.Command{
		Use:   "probe",
		Short: "Look at this node: what is there, how it is connected, how fast it is",
		Long: `Probe reads processors, NUMA nodes, the PCI tree, RDMA ports, network devices and GPUs, and tells how far they are
from each other and what looks wrong. It also measures memory copies on each NUMA node and TCP over loopback.

With --root it reads a recorded tree (a folder that holds sys/ and proc/) and measures nothing: the same tree gives the
same bytes.`,
		Example: `  railmap probe
  railmap probe --measure=false -o yaml > node.yaml
  railmap probe --root ./recorded -o json`,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	f := c.Flags()
	f.StringVar(&o.root, "root", "/", "folder that holds sys/ and proc/")
	f.StringVar(&o.driverDir, "driver-dir", "", "folder where the GPU driver's libraries are looked for first")
	f.StringVar(&o.nodeName, "node-name", "", "name of the node in the report (default: its host name)")
	f.BoolVar(&o.measure, "measure", true, "measure memory and loopback bandwidth too")
	addOutput(c, &o.output, formatTable, formatYAML, formatJSON)
	c.AddCommand(newProbeFabricCmd(e))
	return c
}

func (o *probeOptions) run(ctx context.Context, e *env) error {
	r, err := probe.Run(ctx, probe.Options{
		Root: o.root, DriverDir: o.driverDir, NodeName: o.nodeName, Measure: o.measure, ToolVersion: toolVersion(), Now: e.now(),
	})
	if err != nil {
		return usagef("%w", err)
	}
	if err := r.Validate(); err != nil {
		return fmt.Errorf("probe of %s gave an impossible report, nothing written: %w", o.root, err)
	}
	if done, err := o.output.document(e, r); done {
		return err
	}
	return writeProbeTable(e.stdout, r, &o.output)
}
