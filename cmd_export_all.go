package main

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/exporters/clearml"
	"github.com/railmap/railmap/exporters/kubernetes"
	"github.com/railmap/railmap/exporters/lsf"
	"github.com/railmap/railmap/exporters/pbs"
	"github.com/railmap/railmap/exporters/slurm"
	"github.com/railmap/railmap/topology"
)

// exportAllOptions are the flags of railmap export all.
type exportAllOptions struct {
	kubernetesOptions
	targets []string
	plugin  string
	version string
}

// newExportAllCmd writes every target into a folder of its own, for a Git repository.
func newExportAllCmd(e *env) *cobra.Command {
	var o exportAllOptions
	c := &cobra.Command{
		Use:   "all",
		Short: "Write all targets, each into a folder of its own",
		Long: `All writes the files of all targets below one folder, for a Git repository that schedulers are fed from. Either all of them
are written or none. The folders for Kubernetes hold a kustomization each.`,
		Example: `  railmap export all -t map.yaml --out gitops --check || railmap export all -t map.yaml --out gitops
  railmap export all -t map.yaml --out gitops --targets slurm,kubernetes,kueue --preset topograph-v1`,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	o.addPreset(c)
	f := c.Flags()
	f.StringSliceVar(&o.targets, "targets", allTargets(), "targets to write")
	f.StringVar(&o.plugin, "plugin", string(slurm.TreeKind), "topology plugin of Slurm: tree, block or yaml")
	f.StringVar(&o.version, "slurm-version", "", "Slurm release that reads the files")
	o.addFlags(c)
	return c
}

func allTargets() []string {
	return []string{"slurm", "kubernetes", "kueue", "volcano", "kai", "koordinator", "nfd", "slinky", "pbs", "lsf", "clearml", "nccl"}
}

func (o *exportAllOptions) run(e *env) error {
	for i, target := range o.targets {
		if !slices.Contains(allTargets(), target) || slices.Contains(o.targets[:i], target) {
			return usagef("--targets: %q: must be some of %s, each once", target, strings.Join(allTargets(), ", "))
		}
	}
	if o.out == "-" {
		return usagef("--out: must be a folder: the targets have files of the same names")
	}
	t, err := o.read(e)
	if err != nil {
		return err
	}
	var all []exporters.File
	var errs []error
	for _, target := range o.targets {
		files, err := o.render(e, t, target)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", target, err))
			continue
		}
		for _, f := range files {
			f.Name = path.Join(target, f.Name)
			all = append(all, f)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return withCode(exitUsage, err)
	}
	return o.deliver(e, "all", all)
}

// render gives the files of one target, with what its own command does when no flag is given.
func (o *exportAllOptions) render(e *env, t *topology.Topology, target string) ([]exporters.File, error) {
	dir := filepath.Join(o.out, target)
	k := o.kubernetesOptions
	k.out = dir
	switch target {
	case "slurm":
		return o.renderSlurm(e, t)
	case "kubernetes":
		k.Previous = k.previous(e, kubernetes.LabelsName)
		return kubernetes.Labels(t, k.Options)
	case "kueue":
		return kubernetes.Kueue(t, k.Options)
	case "volcano":
		return kubernetes.Volcano(t, k.Options)
	case "kai":
		return kubernetes.KAI(t, k.Options)
	case "koordinator":
		return kubernetes.Koordinator(t, k.Options)
	case "nfd":
		k.Previous = k.previous(e, kubernetes.NFDObjectsName)
		return kubernetes.NFDObjects(t, nfdNamespace, k.Options)
	case "slinky":
		return renderSlinky(e, t, slurm.Options{})
	case "pbs":
		return renderPBS(e, t, dir, pbs.Options{})
	case "lsf":
		return lsf.Export(t)
	case "nccl":
		return renderNCCL(e, t, oldestNCCL)
	}
	return renderClearML(e, t, dir, clearml.Options{})
}

func (o *exportAllOptions) renderSlurm(e *env, t *topology.Topology) ([]exporters.File, error) {
	v, err := slurm.ParseVersion(o.version)
	if err != nil {
		return nil, fmt.Errorf("--slurm-version: %w", err)
	}
	files, warnings, err := slurm.Render(t, slurm.Kind(o.plugin), slurm.Options{Version: v, ManySwitches: o.force})
	for _, w := range warnings {
		fmt.Fprintln(e.stderr, w)
	}
	return files, err
}
