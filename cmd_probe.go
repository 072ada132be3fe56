package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/probe"
	"github.com/railmap/railmap/topology"
)

// probeOptions are the flags of railmap probe.
type probeOptions struct {
	root, driverDir, nodeName string
	stage                     string
	measure                   bool
	dryRun, force, progress   bool
	timeout                   time.Duration
	expect, peers             string
	textfile, nfd             string
	submit, spool, token      string
	output                    output
}

// newProbeCmd looks at this node, or at a recorded tree of one; its subcommands look elsewhere.
func newProbeCmd(e *env) *cobra.Command {
	var o probeOptions
	c := &cobra.Command{
		Use:   "probe",
		Short: "Look at this node: what is there, how it is connected, how fast it is",
		Long: `Probe reads processors, NUMA nodes, the PCI tree, RDMA ports, network devices and GPUs, tells how far they are from
each other, measures memory, GPUs and NICs, compares with what this hardware should deliver, and names what is wrong.

Stages: static (always), host (memory copies, loopback), copy (between host and GPUs), p2p (between GPUs), latency (GPU
accesses), nic (perftest of each port against itself), nccl (all-reduce over the GPUs; only when asked for).

A node that runs a job, or a GPU that somebody uses, is not measured (--force). With --root a recorded tree is read (a
folder that holds sys/ and proc/) and nothing is measured: the same tree gives the same bytes.

Exit code 6 when the verdict is fail, 8 when something could not be measured, 0 otherwise.`,
		Example: `  railmap probe
  railmap probe --measure=false -o yaml > node.yaml
  railmap probe --stage copy,p2p --dry-run
  railmap probe --root ./recorded -o json`,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	f := c.Flags()
	f.StringVar(&o.root, "root", "/", "folder that holds sys/ and proc/")
	f.StringVar(&o.driverDir, "driver-dir", "", "folder where the GPU driver's libraries are looked for first")
	f.StringVar(&o.nodeName, "node-name", "", "name of the node in the report (default: its host name)")
	f.StringVar(&o.stage, "stage", "", "stages to run, with commas (default: all but nccl)")
	f.BoolVar(&o.measure, "measure", true, "measure; false is the same as --stage static")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would be measured and how long it takes")
	f.BoolVar(&o.force, "force", false, "measure although a job or another process uses the node")
	f.BoolVar(&o.progress, "progress", false, "show progress on a terminal")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "end the measurements after this time")
	f.StringVar(&o.expect, "expect", "", "file with expectations that go before the built-in ones")
	f.StringVar(&o.peers, "peers", "", "folder with reports of other nodes to compare with, or the URL of a railmap server")
	f.StringVar(&o.textfile, "textfile", "", "write Prometheus metrics to this file (for node_exporter's textfile collector)")
	f.StringVar(&o.nfd, "nfd", "", "write a feature file for Node Feature Discovery")
	f.StringVar(&o.submit, "submit", "", "send the report to this railmap server")
	f.StringVar(&o.spool, "spool", "/var/lib/railmap/spool", "where reports wait while the server is away")
	f.StringVar(&o.token, "token-file", "", "file with the token for --submit and --peers")
	addOutput(c, &o.output, formatTable, formatYAML, formatJSON)
	c.AddCommand(newProbeFabricCmd(e), newProbeImportCmd(e), newProbeMatrixCmd(e), newProbeBlameCmd(e), newProbePairsCmd(e), newProbeWorkerCmd(e))
	return c
}

// newProbeWorkerCmd is the process in which GPUs are measured; probe starts it.
func newProbeWorkerCmd(e *env) *cobra.Command {
	return &cobra.Command{Use: "worker", Short: "Measure GPUs as told on stdin", Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error { return probe.Worker(c.Context(), e.stdin, e.stdout) }}
}

func (o *probeOptions) run(ctx context.Context, e *env) error {
	opts, err := o.complete(ctx, e)
	if err != nil {
		return err
	}
	if o.dryRun {
		return o.printPlan(ctx, e, opts)
	}
	r, err := probe.Run(ctx, opts)
	if o.progress && e.isTTY {
		fmt.Fprint(e.stderr, "\r\033[K")
	}
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return usagef("%w", err)
	}
	if err := r.Validate(); err != nil {
		return fmt.Errorf("probe of %s gave an impossible report, nothing written: %w", o.root, err)
	}
	if err := o.write(e, r); err != nil {
		return err
	}
	return errors.Join(o.deliver(ctx, e, r), gate(r))
}

// complete turns flags into options of the probe.
func (o *probeOptions) complete(ctx context.Context, e *env) (probe.Options, error) {
	opts := probe.Options{Root: o.root, DriverDir: o.driverDir, NodeName: o.nodeName, ToolVersion: toolVersion(), Now: e.now(), Force: o.force,
		Timeout: o.timeout, Stages: probe.DefaultStages()}
	var err error
	if o.stage != "" {
		if opts.Stages, err = probe.ParseStages(o.stage); err != nil {
			return opts, usagef("--stage: %w", err)
		}
	}
	if recorded := filepath.Clean(o.root) != "/" && o.driverDir == ""; !o.measure || recorded {
		opts.Stages = []probe.Stage{probe.StageStatic}
	}
	self, err := os.Executable()
	if err != nil {
		return opts, err
	}
	opts.Worker = []string{self, "probe", "worker"}
	if opts.Expect, err = o.expectations(); err != nil {
		return opts, usagef("--expect: %w", err)
	}
	if opts.Peers, err = o.readPeers(ctx, e); err != nil {
		return opts, usagef("--peers: %w", err)
	}
	if o.progress && e.isTTY {
		opts.Progress = func(n, of int, what string) { fmt.Fprintf(e.stderr, "\r\033[K[%d/%d] %.60s", n, of, what) }
	}
	return opts, nil
}

func (o *probeOptions) expectations() (*probe.Expectations, error) {
	table, err := probe.DefaultExpectations()
	if err != nil || o.expect == "" {
		return table, err
	}
	f, err := os.Open(o.expect)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	own, err := probe.ReadExpectations(f, o.expect)
	if err != nil {
		return nil, err
	}
	return table.Extend(own), nil
}

// readPeers reads every report of a folder, or asks a server. A server that is away leaves the fixed expectations.
func (o *probeOptions) readPeers(ctx context.Context, e *env) ([]*topology.NodeReport, error) {
	if strings.HasPrefix(o.peers, "http://") || strings.HasPrefix(o.peers, "https://") {
		peers, err := probe.FetchPeers(ctx, o.peers, o.token)
		if err != nil {
			fmt.Fprintf(e.stderr, "no comparison with other nodes: %v\n", err)
		}
		return peers, nil
	}
	return readReports(o.peers)
}

func readReports(dir string) ([]*topology.NodeReport, error) {
	if dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var peers []*topology.NodeReport
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		r := new(topology.NodeReport)
		if err := topology.ReadFile(filepath.Join(dir, entry.Name()), r); err != nil {
			return nil, err
		}
		peers = append(peers, r)
	}
	return peers, nil
}

func (o *probeOptions) printPlan(ctx context.Context, e *env, opts probe.Options) error {
	items, seconds, err := probe.Plan(ctx, opts)
	if err != nil {
		return usagef("%w", err)
	}
	t := newTable("STAGE", ">SECONDS", "WHAT", "NOTE")
	for _, i := range items {
		note := ""
		if i.Skip != "" {
			note = "not done: " + i.Skip
		}
		t.add(string(i.Stage), i.Seconds, i.What, note)
	}
	if err := t.write(e.stdout, &o.output); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "\nexpected time: %.0f s\n", seconds)
	return err
}

func (o *probeOptions) write(e *env, r *topology.NodeReport) error {
	if done, err := o.output.document(e, r); done {
		return err
	}
	return writeProbeTable(e.stdout, r, &o.output)
}

// deliver writes and sends what others asked for. The node is not blamed when that fails.
func (o *probeOptions) deliver(ctx context.Context, e *env, r *topology.NodeReport) error {
	if o.textfile != "" {
		if err := writeFile(e, o.textfile, func(w io.Writer) error { return probe.WriteMetrics(w, r) }); err != nil {
			return err
		}
	}
	if o.nfd != "" {
		if err := writeFile(e, o.nfd, func(w io.Writer) error { return probe.WriteFeatures(w, r) }); err != nil {
			return err
		}
	}
	if o.submit == "" {
		return nil
	}
	if r.Time == nil { // the server orders reports by time; a file of the same node stays the same without one
		stamped, now := *r, e.now().UTC().Truncate(time.Second)
		stamped.Time = &now
		r = &stamped
	}
	s := probe.Submitter{URL: o.submit, Spool: o.spool, TokenFile: o.token}
	waiting, err := s.Submit(ctx, r)
	if err != nil {
		return withCode(exitUnavailable, err)
	}
	if waiting > 0 {
		fmt.Fprintf(e.stderr, "the server is away: %d reports wait in %s\n", waiting, o.spool)
	}
	return nil
}

// gate is the exit code that decides whether the node may work.
func gate(r *topology.NodeReport) error {
	if r.Verdict == topology.VerdictFail {
		return &exitError{code: exitBelow}
	}
	for _, s := range r.Stages {
		if s.Status == topology.StageFailed {
			return &exitError{code: exitPartial}
		}
	}
	return nil
}
