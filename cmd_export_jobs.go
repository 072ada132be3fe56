package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/exporters/clearml"
	"github.com/railmap/railmap/exporters/lsf"
	"github.com/railmap/railmap/exporters/pbs"
	"github.com/railmap/railmap/topology"
)

// exportPBSOptions are the flags of railmap export pbs.
type exportPBSOptions struct {
	exportOptions
	pbs.Options
	nodes string
	vnode string
	hook  string
	place placementOptions
}

// newExportPBSCmd writes what PBS Pro and OpenPBS read.
func newExportPBSCmd(e *env) *cobra.Command {
	var o exportPBSOptions
	c := &cobra.Command{
		Use:   "pbs",
		Short: "Write qmgr files for PBS Pro and OpenPBS",
		Long: `Pbs writes resources.qmgr (load it once), nodes.qmgr (load it after every change of the map) and server.qmgr (placement sets).
With --vnode it writes the vnode file of one node instead, for pbs_mom -s insert on that node.`,
		Example: `  railmap export pbs -t map.yaml --out pbs && qmgr < pbs/nodes.qmgr
  railmap export pbs -t map.yaml --out pbs --nodes "$(pbsnodes -a | awk '/^[^ ]/ {printf s $1; s=","}')"`,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	f := c.Flags()
	f.StringVar(&o.Prefix, "prefix", "", "put this before the names of the resources (core, pod, leaf, domain)")
	f.StringVar(&o.nodes, "nodes", "", "hostlist of the nodes that the server knows (default: the nodes of the map)")
	f.BoolVar(&o.NeverSpan, "never-span", false, "hold back jobs that fit in no placement set")
	f.StringVar(&o.vnode, "vnode", "", "write the vnode file of this node")
	f.StringVar(&o.hook, "hook", "", "write also a MOM hook that publishes measured values from this feature file on the host")
	o.addFlags(c)
	o.place.addFlags(c)
	o.place.addTasks(c)
	o.place.jobs.addPBSFlags(c)
	return c
}

func (o *exportPBSOptions) run(e *env) error {
	if o.place.placement != "" {
		return o.place.deliver(e, &o.exportOptions, "pbs", placementFile{"qsub.args", formatPBS})
	}
	nodes, err := hostlistFlag("nodes", o.nodes)
	if err != nil {
		return err
	}
	t, err := o.read(e)
	if err != nil {
		return err
	}
	o.Nodes = nodes
	if o.vnode != "" {
		files, err := pbs.VnodeFile(t, o.vnode, o.Options)
		if err != nil {
			return withCode(exitUsage, err)
		}
		return o.deliver(e, "pbs-vnode", files)
	}
	files, err := renderPBS(e, t, o.out, o.Options)
	if err == nil && o.hook != "" {
		var hook []exporters.File
		hook, err = pbs.Hook(o.hook)
		files = append(files, hook...)
	}
	if err != nil {
		return withCode(exitUsage, err)
	}
	return o.deliver(e, "pbs", files)
}

// renderPBS tells on standard error what was left out.
func renderPBS(e *env, t *topology.Topology, dir string, o pbs.Options) ([]exporters.File, error) {
	if data, ok := present(e, dir, pbs.NodesName); ok {
		o.Previous = pbs.ReadNodes(data)
	}
	files, warnings, err := pbs.Export(t, o)
	for _, w := range warnings {
		fmt.Fprintln(e.stderr, w)
	}
	return files, err
}

// newExportLSFCmd writes what LSF reads.
func newExportLSFCmd(e *env) *cobra.Command {
	var o exportOptions
	var elim string
	var place placementOptions
	c := &cobra.Command{
		Use:   "lsf",
		Short: "Write compute units for LSF",
		Long: `Lsf writes railmap.computeunits, which lsb.hosts includes, and the lines for lsb.params and lsf.shared. Check with
badmin ckconfig, load with badmin reconfig.`,
		Example: `  railmap export lsf -t map.yaml --out "$LSF_ENVDIR/lsbatch/cluster1/configdir"`,
		RunE: func(*cobra.Command, []string) error {
			if place.placement != "" {
				return place.deliver(e, &o, "lsf", placementFile{"hostfile", formatLSF})
			}
			t, err := o.read(e)
			if err != nil {
				return err
			}
			files, err := lsf.Export(t)
			if err == nil && elim != "" {
				var scripts []exporters.File
				scripts, err = lsf.Scripts(elim)
				files = append(files, scripts...)
			}
			if err != nil {
				return withCode(exitUsage, err)
			}
			return o.deliver(e, "lsf", files)
		},
	}
	c.Flags().StringVar(&elim, "scripts", "", "write also an elim that reports measured values from this feature file on the host, and an esub that keeps jobs in compute units")
	o.addFlags(c)
	place.addFlags(c)
	place.addTasks(c)
	return c
}

// exportClearMLOptions are the flags of railmap export clearml.
type exportClearMLOptions struct {
	exportOptions
	clearml.Options
}

// newExportClearMLCmd writes what a ClearML server is told.
func newExportClearMLCmd(e *env) *cobra.Command {
	var o exportClearMLOptions
	var place placementOptions
	c := &cobra.Command{
		Use:   "clearml",
		Short: "Write queues and agent commands for ClearML",
		Long: `Clearml writes queues.json, the bodies for queues.create and queues.add_or_update_metadata of one queue per side and leaf
group, and agents.txt, the command that starts the agent of each node.`,
		Example: `  railmap export clearml -t map.yaml --side hpc --side k8s --out clearml`,
		RunE: func(*cobra.Command, []string) error {
			if place.placement != "" {
				place.jobs.side = append(o.Sides, "any")[0]
				return place.deliver(e, &o.exportOptions, "clearml", placementFile{"enqueue.json", formatClearML})
			}
			t, err := o.read(e)
			if err != nil {
				return err
			}
			files, err := renderClearML(e, t, o.out, o.Options)
			if err != nil {
				return withCode(exitUsage, err)
			}
			return o.deliver(e, "clearml", files)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.Sides, "side", nil, "scheduler whose agents pull; may be repeated (default: any)")
	f.StringVar(&o.Fallback, "fallback", "", "queue that every agent also pulls from (default: SIDE-any)")
	o.addFlags(c)
	place.addFlags(c)
	place.jobs.addClearMLFlags(c)
	return c
}

func renderClearML(e *env, t *topology.Topology, dir string, o clearml.Options) ([]exporters.File, error) {
	if data, ok := present(e, dir, clearml.QueuesName); ok {
		var err error
		if o.Previous, err = clearml.ReadShares(data); err != nil {
			fmt.Fprintf(e.stderr, "%s: %v: measured values are rounded without the present ones\n", filepath.Join(dir, clearml.QueuesName), err)
		}
	}
	return clearml.Queues(t, o)
}

// present reads the file that an export will replace: measured values move with hysteresis against it.
func present(e *env, dir, name string) ([]byte, bool) {
	if dir == "-" {
		return nil, false
	}
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(e.stderr, "%s: %v: measured values are rounded without the present ones\n", path, err)
	}
	return data, err == nil
}
