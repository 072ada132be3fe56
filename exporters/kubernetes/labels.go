package kubernetes

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// LabelsName and KustomizationName are the files that Labels renders.
const (
	LabelsName        = "node-labels.yaml"
	KustomizationName = "kustomization.yaml"
)

// Options is how node labels are rendered.
type Options struct {
	// Preset is the name of a preset, "" for railmap's own, or "keys=KEY,KEY,..." (see FindPreset).
	Preset string
	// TierPrefix replaces the prefix of a preset that numbers its tiers: soperator reads it from TOPOLOGY_LABEL_PREFIX.
	TierPrefix string
	// Previous are the labels that are in force (node -> key -> value, see ReadLabels): a measured value moves only when it
	// leaves its bucket. nil = none.
	Previous map[string]map[string]string
	// Nodes are the nodes of the cluster (kubectl get nodes): others are left out, because server-side apply would make a node
	// that is not there, and those that the map does not know get values that no other node has. nil = the nodes of the map.
	// See exporters.Flat.Known for the warnings.
	Nodes []string
	// Name is the name of the fabric, "" = DefaultName: the value of FabricKey and the name of topology objects.
	Name string
	// Flavor is the name of Kueue's ResourceFlavor, "" = DefaultFlavor; FlavorLabels select its nodes, each "KEY=VALUE"; none =
	// the nodes that carry FabricKey.
	Flavor       string
	FlavorLabels []string
	// SkipOrder leaves the ring order out of Kueue's levels: Kueue then orders the nodes of a leaf by host name.
	SkipOrder bool
	// KeepTiers gives a degraded group the Volcano tier of the healthy ones instead of the next slower one.
	KeepTiers bool
}

// Names that are used when Options give none.
const (
	DefaultName   = "fabric"
	DefaultFlavor = "gpu"
)

// FabricKey marks the nodes that are in the fabric's tree, with the name of the fabric as value. A node outside has every level
// (with values of its own) but not this label, so a flavor that selects it takes no node that the fabric does not reach.
const FabricKey = "railmap.dev/fabric"

// complete checks the options and fills in what they leave open.
func (o Options) complete() (Options, Preset, error) {
	if o.Name == "" {
		o.Name = DefaultName
	}
	if o.Flavor == "" {
		o.Flavor = DefaultFlavor
	}
	for _, name := range []string{o.Name, o.Flavor} {
		if !isSubdomain(name) || len(name) > maxLabelValue {
			return o, Preset{}, fmt.Errorf("name %q: must be a DNS name of at most %d lower-case letters, digits, '-' and '.'", name, maxLabelValue)
		}
	}
	preset, err := FindPreset(o.Preset)
	if err == nil && o.TierPrefix != "" {
		preset, err = preset.withPrefix(o.TierPrefix)
	}
	return o, preset, err
}

// Labels gives one document per node that holds the labels of all levels, the ring order and the measured integers, for
// server-side apply, and a kustomization. Every node of the map is there and has every key of the preset: a node outside the
// fabric gets values that no other node has ("unk-NODE"). Nodes are sorted by name, labels by key.
func Labels(t *topology.Topology, opts Options) ([]exporters.File, error) {
	flat, err := exporters.Flatten(t)
	if err != nil {
		return nil, err
	}
	flat, _ = flat.Known(opts.Nodes, "kubernetes", true)
	if len(flat.Nodes) == 0 {
		return nil, errors.New("the map has no nodes of the cluster: must have at least one")
	}
	rows, err := labelRows(flat, opts)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.Grow(len(rows) * 400)
	b.WriteString("# Labels of the nodes, written by railmap. Apply with a field manager of their own:\n" +
		"#   kubectl apply --server-side --field-manager=railmap-topology -f " + LabelsName + "\n")
	for _, r := range rows {
		writeNode(&b, r.node, r.labels)
	}
	return []exporters.File{
		{Name: LabelsName, Data: []byte(b.String()), Nodes: len(rows)},
		{Name: KustomizationName, Data: kustomization([]string{LabelsName})},
	}, nil
}

// row is the labels of one node, sorted by key.
type row struct {
	node   string
	labels []label
}

// labelRows computes the labels of all nodes, sorted by node name.
func labelRows(flat exporters.Flat, opts Options) ([]row, error) {
	opts, preset, err := opts.complete()
	if err != nil {
		return nil, err
	}
	tab, err := newTable(flat, preset)
	if err != nil {
		return nil, err
	}
	width := max(5, len(strconv.Itoa(len(flat.Nodes)-1)))
	rows := make([]row, 0, len(flat.Nodes))
	seen := make(map[string]string, len(flat.Nodes))
	var errs []error
	for i, n := range flat.Nodes {
		name, err := nodeName(n.Name)
		if err == nil && seen[name] != "" {
			err = fmt.Errorf("nodes %q and %q are one node for Kubernetes: must differ in more than case", seen[name], n.Name)
		}
		seen[name] = n.Name
		errs = append(errs, err)
		labels := tab.labels(n, name)
		labels = append(labels, label{OrderKey, fmt.Sprintf("%0*d", width, i)})
		if n.Attached() {
			labels = append(labels, label{FabricKey, opts.Name})
		}
		labels = append(labels, measuredLabels(n.Node, opts.Previous[name])...)
		slices.SortFunc(labels, func(a, b label) int { return strings.Compare(a.key, b.key) })
		rows = append(rows, row{name, labels})
	}
	slices.SortFunc(rows, func(a, b row) int { return topology.CompareNames(a.node, b.node) })
	return rows, errors.Join(errs...)
}

// withPrefix puts another prefix before the numbered tiers, and before the domain when it is one of them.
func (p Preset) withPrefix(prefix string) (Preset, error) {
	if p.Tier == "" {
		return p, fmt.Errorf("preset %s has fixed keys: must be one with numbered tiers (soperator, topograph-v1) to take the prefix %q", p.Name, prefix)
	}
	if err := checkLabelKey(prefix + "/tier-0"); err != nil {
		return p, err
	}
	old := p.Tier
	p.Tier = prefix + "/tier-"
	if n, ok := strings.CutPrefix(p.Domain, old); ok {
		p.Domain = p.Tier + n
	}
	return p, nil
}

// table turns the groups of a node into label values.
type table struct {
	keys   []KeyLevel
	column []int               // in FlatNode.Groups; -1 = not in this tree
	values []map[string]string // by key: group name -> label value
	domain string              // key of the NVLink domain, when the nodes know domains and the tree has no level for them
}

func newTable(flat exporters.Flat, preset Preset) (*table, error) {
	t := &table{keys: preset.KeyLevels(flat.Levels)}
	for _, k := range t.keys {
		if err := checkLabelKey(k.Key); err != nil {
			return nil, err
		}
		c := slices.Index(flat.Levels, k.Level)
		t.column = append(t.column, c)
		values := map[string]string{}
		if c >= 0 {
			var err error
			if values, err = levelValues(column(flat, c)); err != nil {
				return nil, fmt.Errorf("level %s: %w", k.Level, err)
			}
		}
		t.values = append(t.values, values)
	}
	known := slices.ContainsFunc(flat.Nodes, func(n exporters.FlatNode) bool { return n.NVLinkDomain != "" })
	if preset.Domain != "" && known && !slices.Contains(flat.Levels, topology.DomainLevel) {
		t.domain = preset.Domain
	}
	return t, nil
}

// column lists the groups that stand in one column, each once.
func column(flat exporters.Flat, c int) []string {
	var names []string
	for _, n := range flat.Nodes {
		if g := n.Groups[c]; g != "" && (len(names) == 0 || names[len(names)-1] != g) {
			names = append(names, g)
		}
	}
	slices.SortFunc(names, topology.CompareNames)
	return slices.Compact(names)
}

func (t *table) labels(n exporters.FlatNode, name string) []label {
	labels := make([]label, 0, len(t.keys)+6)
	for i, k := range t.keys {
		value := labelValue(exporters.Placeholder + name)
		switch {
		case k.Level == "":
			value = labelValue(name)
		case t.column[i] >= 0 && n.Groups[t.column[i]] != "":
			value = t.values[i][n.Groups[t.column[i]]]
		}
		labels = append(labels, label{k.Key, value})
	}
	if t.domain != "" {
		value := labelValue(exporters.Placeholder + name)
		if n.NVLinkDomain != "" {
			value = labelValue(n.NVLinkDomain)
		}
		labels = append(labels, label{t.domain, value})
	}
	return labels
}

// kustomization lists the files of a folder for kustomize and GitOps tools.
func kustomization(resources []string) []byte {
	var b strings.Builder
	b.WriteString("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n")
	for _, r := range resources {
		b.WriteString("- " + plain(r) + "\n")
	}
	return []byte(b.String())
}
