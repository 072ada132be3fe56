package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology/nccl"
)

// formatEnv prints settings as NAME=VALUE lines.
const formatEnv = "env"

// ncclHintsOptions are the flags of railmap nccl hints.
type ncclHintsOptions struct {
	topology string
	hosts    string
	reports  []string
	node     string
	topoFile string
	version  string
	output   output
}

// newNCCLHintsCmd derives settings for NCCL from the map.
func newNCCLHintsCmd(e *env) *cobra.Command {
	var o ncclHintsOptions
	c := &cobra.Command{
		Use:   "hints",
		Short: "Derive NCCL's environment variables for a job",
		Long: `Derive settings that NCCL cannot find out by itself, with the reason for each:

  NCCL_IB_HCA         the compute NICs that are up, without those whose absence costs less than their slowness; with rail
                      ids from NCCL 2.30.7
  NCCL_CROSS_NIC      0 where rings that change NIC would change to a rail without a path, or over the spine
  NCCL_SOCKET_IFNAME  an interface that is up on every node (needs node reports)
  NCCL_TOPO_FILE      where the PCI tree is hidden (needs node reports and --topo-file)

-o env prints NAME=VALUE lines: those common to all nodes, or with --for those of one node.`,
		Example: `  railmap nccl hints -t map.yaml --hosts 'gpu-[001-016]'
  export $(railmap nccl hints -t map.yaml --hosts "$HOSTS" --for "$(hostname -s)" -o env)`,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	addTopologyFlag(c, &o.topology)
	f := c.Flags()
	f.StringVar(&o.hosts, "hosts", "", "host list of the job in rank order (required)")
	f.StringArrayVar(&o.reports, "node", nil, "node report of railmap probe (repeatable)")
	f.StringVar(&o.node, "for", "", "only the settings of this node")
	f.StringVar(&o.topoFile, "topo-file", "", "path that NCCL_TOPO_FILE should have when a PCI tree is hidden")
	f.StringVar(&o.version, "nccl-version", "", "NCCL release, 2.27 to 2.30 (default: the newest known)")
	addOutput(c, &o.output, formatTable, formatWide, formatJSON, formatEnv)
	return c
}

func (o *ncclHintsOptions) run(e *env) error {
	hosts, err := hostlistFlag("hosts", o.hosts)
	if err != nil {
		return err
	}
	if len(hosts) == 0 {
		return usagef("--hosts must be given: the nodes of the job in rank order")
	}
	version, err := nccl.ParseVersion(o.version)
	if err != nil {
		return usagef("--nccl-version: %w", err)
	}
	machine := ncclMachineOptions{topology: o.topology, reports: o.reports}
	c, reports, err := machine.cluster(e, nccl.Options{Version: version})
	if err != nil {
		return err
	}
	h, err := c.HintsFor(hosts, nccl.HintOptions{Version: version, Reports: reports, TopoFile: o.topoFile})
	if err != nil {
		return withCode(exitUsage, err)
	}
	if o.node != "" {
		h = nccl.Hints{Common: h.For(o.node), Findings: h.Findings}
	}
	return o.print(e, h)
}

func (o *ncclHintsOptions) print(e *env, h nccl.Hints) error {
	if done, err := o.output.document(e, h); done {
		return err
	}
	for _, f := range h.Findings {
		fmt.Fprintf(e.stderr, "%s: %s: %s; %s\n", f.Severity, f.Subject, f.Message, f.Remedy)
	}
	if o.output.format == formatEnv {
		var b strings.Builder
		for _, v := range h.Common {
			fmt.Fprintf(&b, "%s=%s\n", v.Name, v.Value)
		}
		if len(h.Nodes) > 0 {
			fmt.Fprintf(e.stderr, "%d nodes have settings of their own: ask for each with --for NODE\n", len(h.Nodes))
		}
		_, err := e.stdout.Write([]byte(b.String()))
		return err
	}
	t := newTable("NODE", "VARIABLE", "VALUE", "WHY")
	for _, v := range h.Common {
		t.add("all", v.Name, v.Value, v.Why)
	}
	for _, n := range h.Nodes {
		for _, v := range n.Env {
			t.add(n.Node, v.Name, v.Value, v.Why)
		}
	}
	return t.write(e.stdout, &o.output)
}
