package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/exporters/slurm"
)

// exportSlurmOptions are the flags of railmap export slurm.
type exportSlurmOptions struct {
	exportOptions
	plugin  string
	version string
	nodes   string
	base    int
	verify  bool
	apply   bool
	root    string
	drain   float64
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
and nodes that the map does not know go to a leaf named unknown, so that no job loses its nodes.

With --verify the installed slurmctld loads the files in a folder of its own first. With --apply the running controller
is told to read them; when it does not take them, the old files come back.`,
		Example: `  railmap export slurm -t map.yaml --out /etc/slurm --slurm-version 24.11
  railmap export slurm -t map.yaml --plugin block --out - --nodes "$(sinfo -h -o %N)"
  railmap export slurm -t map.yaml --out /etc/slurm --apply
  railmap export slurm -t map.yaml --out gitops/slurm --check`,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	f := c.Flags()
	f.StringVar(&o.plugin, "plugin", string(slurm.TreeKind), "tree, block or yaml")
	f.StringVar(&o.version, "slurm-version", "", "release that reads the file, for example 24.11 (default: what all releases with the plugin read; with --verify or --apply the installed one)")
	f.StringVar(&o.nodes, "nodes", "", "hostlist of the nodes of slurm.conf (default: the nodes of the map; with --apply those of the running controller)")
	f.IntVar(&o.base, "base-size", 0, "nodes of a base block (default: the smallest usable block)")
	f.BoolVar(&o.verify, "verify", false, "let the installed slurmctld load the files before they are written")
	f.BoolVar(&o.apply, "apply", false, "verify, write to --out, the folder of slurm.conf, and reconfigure the running controller")
	f.StringVar(&o.root, "slurm-root", "", "folder with an unpacked Slurm to verify with, entered by chroot (default: the one of this host)")
	f.Float64Var(&o.drain, "drain-below", 0, "write slurm-drain.sh too: scontrol lines for nodes that are down, unattached or below this share of their bandwidth, as 0.5")
	o.addFlags(c)
	return c
}

// validate refuses flags that do not go together.
func (o *exportSlurmOptions) validate() error {
	switch {
	case o.base < 0 || o.base > 0 && o.plugin == string(slurm.TreeKind):
		return usagef("--base-size %d: must be above 0, and goes with --plugin block or yaml", o.base)
	case o.apply && (o.check || o.out == "-"):
		return usagef("--apply writes to the folder of slurm.conf: --out must be that folder, without --check")
	case !(o.drain >= 0 && o.drain <= 1):
		return usagef("--drain-below %v: must be between 0 and 1", o.drain)
	case o.apply && o.root != "":
		return usagef("--apply talks to the controller of this host: --slurm-root goes with --verify only")
	}
	return nil
}

func (o *exportSlurmOptions) run(ctx context.Context, e *env) error {
	if err := o.validate(); err != nil {
		return err
	}
	version, err := o.release(ctx)
	if err != nil {
		return err
	}
	nodes, err := o.slurmNodes(ctx)
	if err != nil {
		return err
	}
	topo, err := o.read(e)
	if err != nil {
		return err
	}
	options := slurm.Options{Version: version, Nodes: nodes, ManySwitches: o.force, BaseSize: o.base}
	files, warnings, err := slurm.Render(topo, slurm.Kind(o.plugin), options)
	if err != nil {
		return withCode(exitUsage, err)
	}
	printProblems(e, warnings)
	if o.drain > 0 {
		files = append(files, slurm.Drains(topo, o.drain, options))
	}
	switch {
	case o.apply:
		return o.applyFiles(ctx, e, files, nodes)
	case o.verify:
		if err := o.verifyFiles(ctx, e, files); err != nil {
			return err
		}
	}
	return o.deliver(e, "slurm", files)
}

// slurmNodes are the nodes of slurm.conf: those given, or with --apply those that the running controller lists.
func (o *exportSlurmOptions) slurmNodes(ctx context.Context) ([]string, error) {
	if o.nodes == "" && o.apply {
		names, err := slurm.Nodes(ctx, slurm.Install{})
		return names, withCode(exitUnavailable, err)
	}
	return hostlistFlag("nodes", o.nodes)
}

// release is the version to write for: the one asked for, else the installed one when it has a part in this.
func (o *exportSlurmOptions) release(ctx context.Context) (slurm.Version, error) {
	if o.version == "" && (o.verify || o.apply) {
		_, v, err := slurm.Install{Root: o.root}.Release(ctx)
		return v, withCode(exitUnavailable, err)
	}
	v, err := slurm.ParseVersion(o.version)
	if err != nil {
		return v, usagef("--slurm-version: %w", err)
	}
	return v, nil
}

func (o *exportSlurmOptions) verifyFiles(ctx context.Context, e *env, files []exporters.File) error {
	problems, err := slurm.Verify(ctx, slurm.Install{Root: o.root}, slurm.Kind(o.plugin), files)
	if errors.Is(err, slurm.ErrNoSlurm) {
		return withCode(exitUnavailable, err)
	}
	if err != nil {
		return err
	}
	printProblems(e, problems)
	if exporters.Refused(problems) {
		return withCode(exitUsage, errors.New("slurmctld refuses the files: nothing was written"))
	}
	return nil
}

func (o *exportSlurmOptions) applyFiles(ctx context.Context, e *env, files []exporters.File, nodes []string) error {
	changes, err := slurm.Apply(ctx, o.out, files, slurm.ApplyOptions{Kind: slurm.Kind(o.plugin), Nodes: nodes, Write: o.writeOptions("slurm")})
	switch {
	case errors.Is(err, slurm.ErrNoController), errors.Is(err, slurm.ErrNoSlurm):
		return withCode(exitUnavailable, err)
	case errors.Is(err, slurm.ErrBadFile), errors.Is(err, exporters.ErrRefused):
		return withCode(exitUsage, err)
	case err != nil:
		return err
	}
	printChanges(e, changes)
	return nil
}

// printProblems tells on standard error what a lint or a controller says.
func printProblems(e *env, problems []exporters.Problem) {
	for _, p := range problems {
		fmt.Fprintln(e.stderr, p)
	}
}
