package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/probe"
	"github.com/railmap/railmap/probe/agent"
	"github.com/railmap/railmap/probe/pair"
)

// agentOptions are the flags of railmap agent.
type agentOptions struct {
	listen, root, nodeName     string
	interval                   time.Duration
	submit, spool, submitToken string
	coordinator, pairsToken    string
	nics, devices              []string
	dataPort                   int
}

// newAgentCmd is the daemon of a node.
func newAgentCmd(e *env) *cobra.Command {
	var o agentOptions
	c := &cobra.Command{
		Use:   "agent",
		Short: "Watch this node: metrics, reports, and pairs while it is idle",
		Long: `Agent reads the node again and again without load, serves the figures at /metrics and the report at /report, sends it to a
server (--submit, with a spool while that is away), and joins sweeps of railmap probe pairs (--coordinator) only while the
node is idle: no lease, no job, no process on a GPU. When the node gets work in the middle of a sweep, it leaves.`,
		Example: `  railmap agent --listen 127.0.0.1:9750
  railmap agent --listen :9750 --submit https://railmap.example --coordinator head:7900 --pairs-token-file /etc/railmap/pairs-token`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:9750", "address of the metrics")
	f.StringVar(&o.root, "root", "/", "folder that holds sys/ and proc/")
	f.StringVar(&o.nodeName, "node-name", "", "name of this node (default: its host name)")
	f.DurationVar(&o.interval, "interval", time.Minute, "time between two looks at the node")
	f.StringVar(&o.submit, "submit", "", "send reports to this railmap server")
	f.StringVar(&o.spool, "spool", "/var/lib/railmap/spool", "where reports wait while the server is away")
	f.StringVar(&o.submitToken, "token-file", "", "file with the token for --submit")
	f.StringVar(&o.coordinator, "coordinator", "", "join sweeps of pairs of this coordinator, host:port")
	f.StringVar(&o.pairsToken, "pairs-token-file", "", "file with the token of the sweeps")
	f.StringSliceVar(&o.nics, "nics", nil, "rails of this node in order: interfaces or addresses")
	f.StringSliceVar(&o.devices, "devices", nil, "RDMA devices of the rails (perftest)")
	f.IntVar(&o.dataPort, "data-port", 0, "port for data of the first rail, the next ones count up (default: any free ones)")
	return c
}

func (o *agentOptions) run(ctx context.Context, e *env) error {
	if o.interval < time.Second {
		return usagef("--interval is %s: must be at least 1s", o.interval)
	}
	if o.nodeName == "" {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		o.nodeName = name
	}
	a := agent.Options{Interval: o.interval, Log: slog.New(slog.NewTextHandler(e.stderr, nil)),
		Probe: probe.Options{Root: o.root, NodeName: o.nodeName, ToolVersion: toolVersion()}}
	if o.submit != "" {
		a.Submit = &probe.Submitter{URL: o.submit, Spool: o.spool, TokenFile: o.submitToken}
	}
	if o.coordinator != "" {
		token, err := pair.ReadToken(o.pairsToken)
		if err != nil {
			return usagef("--pairs-token-file: %w", err)
		}
		a.Pairs = &pair.JoinOptions{Coordinator: o.coordinator, Token: token, Node: o.nodeName, NICs: o.nics, Devices: o.devices, DataPort: o.dataPort}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return withCode(exitUnavailable, err)
	}
	return agent.Run(ctx, l, a)
}
