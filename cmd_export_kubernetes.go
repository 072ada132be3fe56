package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/exporters/kubernetes"
	"github.com/railmap/railmap/topology"
)

// kubernetesOptions are the flags of the exporters for Kubernetes. Each command shows those that its target reads.
type kubernetesOptions struct {
	exportOptions
	kubernetes.Options
	clusterNodes string
	namespace    string
	node         string
	expiry       string
}

// addPreset adds the flags that choose the label keys.
func (o *kubernetesOptions) addPreset(c *cobra.Command) {
	var names []string
	for _, p := range kubernetes.Presets() {
		names = append(names, p.Name)
	}
	f := c.Flags()
	f.StringVar(&o.Preset, "preset", kubernetes.DefaultPreset, "label keys: "+strings.Join(names, ", ")+", or keys=KEY,KEY,... from coarse to fine")
	f.StringVar(&o.TierPrefix, "tier-prefix", "", "prefix of the keys of a preset with numbered tiers (soperator, topograph-v1)")
	f.StringVar(&o.Name, "name", kubernetes.DefaultName, "name of the fabric in labels and objects")
}

// addNodes adds the flag for the nodes that the cluster has.
func (o *kubernetesOptions) addNodes(c *cobra.Command) {
	c.Flags().StringVar(&o.clusterNodes, "nodes", "", "hostlist of the nodes of the cluster (default: the nodes of the map)")
}

// completeNodes expands --nodes and warns of nodes that only one side knows.
func (o *kubernetesOptions) completeNodes(e *env, t *topology.Topology) error {
	var err error
	if o.Nodes, err = hostlistFlag("nodes", o.clusterNodes); err != nil || o.Nodes == nil {
		return err
	}
	flat, err := exporters.Flatten(t)
	if err != nil {
		return err
	}
	_, warnings := flat.Known(o.Nodes, "kubernetes", true)
	for _, w := range warnings {
		fmt.Fprintln(e.stderr, w)
	}
	return nil
}

// newExportKubernetesCmd writes node labels.
func newExportKubernetesCmd(e *env) *cobra.Command {
	var o kubernetesOptions
	var place placementOptions
	c := &cobra.Command{
		Use:   "kubernetes",
		Short: "Write the labels of the nodes",
		Long: `Kubernetes writes one document per node with its labels: every level of the map under the keys of a preset, the place in
ring order, and what was measured as integers for nodeAffinity with Gt. Every node has every level, because schedulers do not
see a node that lacks one; a node outside the fabric gets values that no other node has. Measured values move in steps of 5 %
with hysteresis against the file that is there.`,
		Example: `  railmap export kubernetes -t map.yaml --preset topograph-v1 --out gitops/nodes
  railmap export kubernetes -t map.yaml --nodes "$(kubectl get nodes -o name | sed s,node/,, | paste -sd,)" --out - | kubectl apply --server-side --field-manager=railmap-topology -f -
  railmap export kubernetes -t map.yaml --out gitops/nodes --check`,
		RunE: func(*cobra.Command, []string) error {
			if place.placement != "" {
				return place.deliver(e, &o.exportOptions, "kubernetes", place.kubernetesPlacement()...)
			}
			return o.run(e, "kubernetes", func(t *topology.Topology) ([]exporters.File, error) {
				if err := o.completeNodes(e, t); err != nil {
					return nil, err
				}
				o.Previous = o.previous(e, kubernetes.LabelsName)
				return kubernetes.Labels(t, o.Options)
			})
		},
	}
	o.addPreset(c)
	o.addNodes(c)
	o.addFlags(c)
	place.addFlags(c)
	place.jobs.addKubernetesFlags(c)
	return c
}

// newExportKueueCmd writes Kueue's objects.
func newExportKueueCmd(e *env) *cobra.Command {
	var o kubernetesOptions
	c := &cobra.Command{
		Use:   "kueue",
		Short: "Write Kueue's Topology and ResourceFlavor",
		RunE: func(*cobra.Command, []string) error {
			return o.run(e, "kueue", func(t *topology.Topology) ([]exporters.File, error) { return kubernetes.Kueue(t, o.Options) })
		},
	}
	o.addPreset(c)
	f := c.Flags()
	f.StringVar(&o.Flavor, "flavor", kubernetes.DefaultFlavor, "name of the ResourceFlavor")
	f.StringArrayVar(&o.FlavorLabels, "node-label", nil, "KEY=VALUE that selects the nodes of the flavor; may be repeated (default: the nodes of the fabric)")
	f.BoolVar(&o.SkipOrder, "skip-order", false, "leave the ring order out of the levels")
	o.addFlags(c)
	return c
}

// newExportVolcanoCmd writes Volcano's objects.
func newExportVolcanoCmd(e *env) *cobra.Command {
	var o kubernetesOptions
	c := &cobra.Command{
		Use:   "volcano",
		Short: "Write Volcano's HyperNodes",
		RunE: func(*cobra.Command, []string) error {
			return o.run(e, "volcano", func(t *topology.Topology) ([]exporters.File, error) { return kubernetes.Volcano(t, o.Options) })
		},
	}
	o.addPreset(c)
	c.Flags().BoolVar(&o.KeepTiers, "keep-tiers", false, "give degraded groups the tier of healthy ones")
	o.addFlags(c)
	return c
}

// newExportKAICmd writes KAI's object.
func newExportKAICmd(e *env) *cobra.Command {
	var o kubernetesOptions
	c := &cobra.Command{
		Use:   "kai",
		Short: "Write KAI's Topology",
		RunE: func(*cobra.Command, []string) error {
			return o.run(e, "kai", func(t *topology.Topology) ([]exporters.File, error) { return kubernetes.KAI(t, o.Options) })
		},
	}
	o.addPreset(c)
	o.addFlags(c)
	return c
}

// newExportKoordinatorCmd writes Koordinator's object.
func newExportKoordinatorCmd(e *env) *cobra.Command {
	var o kubernetesOptions
	c := &cobra.Command{
		Use:   "koordinator",
		Short: "Write Koordinator's ClusterNetworkTopology",
		RunE: func(*cobra.Command, []string) error {
			return o.run(e, "koordinator", func(t *topology.Topology) ([]exporters.File, error) {
				return kubernetes.Koordinator(t, o.Options)
			})
		},
	}
	o.addPreset(c)
	o.addFlags(c)
	return c
}

// newExportNFDCmd writes what node feature discovery reads.
func newExportNFDCmd(e *env) *cobra.Command {
	var o kubernetesOptions
	c := &cobra.Command{
		Use:   "nfd",
		Short: "Write features for node feature discovery",
		Long: `Nfd writes one NodeFeature object per node; nfd-master turns them into labels. With --node it writes the feature file of
that node instead, for /etc/kubernetes/node-feature-discovery/features.d, which needs no right on the API server.`,
		RunE: func(*cobra.Command, []string) error {
			target := "nfd"
			if o.node != "" {
				target = "nfd-node" // one folder may hold both: they do not replace each other
			}
			return o.run(e, target, func(t *topology.Topology) ([]exporters.File, error) { return o.renderNFD(e, t) })
		},
	}
	o.addPreset(c)
	o.addNodes(c)
	f := c.Flags()
	f.StringVar(&o.namespace, "namespace", nfdNamespace, "namespace of NFD")
	f.StringVar(&o.node, "node", "", "write the feature file of this node")
	f.StringVar(&o.expiry, "expiry", "", "with --node: time after which NFD drops the features, for example 2026-12-01T10:00:00Z")
	o.addFlags(c)
	return c
}

func (o *kubernetesOptions) renderNFD(e *env, t *topology.Topology) ([]exporters.File, error) {
	if err := o.completeNodes(e, t); err != nil {
		return nil, err
	}
	if o.node == "" {
		if o.expiry != "" {
			return nil, errors.New("--expiry goes with --node: NodeFeature objects do not expire")
		}
		o.Previous = o.previous(e, kubernetes.NFDObjectsName)
		return kubernetes.NFDObjects(t, o.namespace, o.Options)
	}
	var expiry time.Time
	if o.expiry != "" {
		var err error
		if expiry, err = time.Parse(time.RFC3339, o.expiry); err != nil {
			return nil, fmt.Errorf("--expiry %q: must look like 2026-12-01T10:00:00Z", o.expiry)
		}
	}
	return kubernetes.NFDFile(t, o.node, expiry, o.Options)
}

// run reads the map, renders and delivers.
func (o *kubernetesOptions) run(e *env, target string, render func(*topology.Topology) ([]exporters.File, error)) error {
	t, err := o.read(e)
	if err != nil {
		return err
	}
	files, err := render(t)
	if err != nil {
		return withCode(exitUsage, err)
	}
	return o.deliver(e, target, withoutKustomization(o.out, files))
}

// withoutKustomization keeps what kubectl reads when the files go to standard output.
func withoutKustomization(out string, files []exporters.File) []exporters.File {
	if out != "-" {
		return files
	}
	return slices.DeleteFunc(files, func(f exporters.File) bool { return f.Name == kubernetes.KustomizationName })
}

// nfdNamespace is where NFD's Helm chart and manifests put it.
const nfdNamespace = "node-feature-discovery"

// previous reads the labels that are in force from the file that will be replaced. Without a readable one, measured values
// start anew.
func (o *kubernetesOptions) previous(e *env, name string) map[string]map[string]string {
	data, ok := present(e, o.out, name)
	if !ok {
		return nil
	}
	labels, err := kubernetes.ReadLabels(data)
	if err != nil {
		fmt.Fprintf(e.stderr, "%s: %v: measured values are rounded without the present ones\n", filepath.Join(o.out, name), err)
	}
	return labels
}
