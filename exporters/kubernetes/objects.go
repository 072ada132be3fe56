package kubernetes

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// Names of the files that the functions below render.
const (
	KueueName       = "kueue.yaml"
	KAIName         = "kai.yaml"
	KoordinatorName = "koordinator.yaml"
	VolcanoName     = "hypernodes.yaml"
)

// maxLevels is the limit of Kueue and KAI for the levels of a topology, the host name among them.
const maxLevels = 16

// prepared is what all objects start from.
type prepared struct {
	Options
	flat   exporters.Flat
	preset Preset
	levels []KeyLevel // coarse to fine, without the host
}

func prepare(t *topology.Topology, opts Options) (*prepared, error) {
	flat, err := exporters.Flatten(t)
	if err != nil {
		return nil, err
	}
	if len(flat.Nodes) == 0 {
		return nil, errors.New("the map has no nodes: must have at least one")
	}
	p := &prepared{flat: flat}
	var errs []error
	for _, n := range flat.Nodes {
		_, err := nodeName(n.Name)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if p.Options, p.preset, err = opts.complete(); err != nil {
		return nil, err
	}
	for _, k := range p.preset.KeyLevels(flat.Levels) {
		if len(k.Key) > maxWholeKey {
			return nil, fmt.Errorf("label key %s has %d characters: must have at most %d to be a level of a topology", k.Key, len(k.Key), maxWholeKey)
		}
		if k.Level != "" {
			p.levels = append(p.levels, k)
		}
	}
	return p, nil
}

// bundle is one file of objects and its kustomization.
func (p *prepared) bundle(name, text string) []exporters.File {
	return []exporters.File{
		{Name: name, Data: []byte(text), Nodes: len(p.flat.Nodes)},
		{Name: KustomizationName, Data: kustomization([]string{name})},
	}
}

// Kueue renders the Topology and the ResourceFlavor of kueue.x-k8s.io/v1beta2: the levels of the preset, then the ring order
// (each node alone, so that Kueue assigns rank i to the i-th node of the ring), then the host name.
func Kueue(t *topology.Topology, opts Options) ([]exporters.File, error) {
	p, err := prepare(t, opts)
	if err != nil {
		return nil, err
	}
	labels, err := p.flavorLabels()
	if err != nil {
		return nil, err
	}
	keys := p.keys()
	if !p.SkipOrder {
		keys = append(keys, OrderKey)
	}
	keys = append(keys, HostnameKey)
	if len(keys) > maxLevels {
		return nil, fmt.Errorf("a Kueue topology would have %d levels: must have at most %d", len(keys), maxLevels)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# The fabric for Kueue, written by railmap. Levels may only change while %s stays the last one.\n", HostnameKey)
	fmt.Fprintf(&b, "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Topology\nmetadata:\n  name: %s\nspec:\n  levels:\n", plain(p.Name))
	for _, k := range keys {
		fmt.Fprintf(&b, "  - nodeLabel: %s\n", plain(k))
	}
	fmt.Fprintf(&b, "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata:\n  name: %s\nspec:\n  nodeLabels:\n", plain(p.Flavor))
	for _, l := range labels {
		fmt.Fprintf(&b, "    %s: %s\n", plain(l.key), quoted(l.value))
	}
	fmt.Fprintf(&b, "  topologyName: %s\n", plain(p.Name))
	return p.bundle(KueueName, b.String()), nil
}

// keys are the level keys, each once.
func (p *prepared) keys() []string {
	keys := make([]string, 0, len(p.levels)+2)
	for _, k := range p.levels {
		keys = append(keys, k.Key)
	}
	return keys
}

// flavorLabels parses the labels that select the nodes of the flavor. Kueue takes 1 to 8.
func (p *prepared) flavorLabels() ([]label, error) {
	if len(p.FlavorLabels) == 0 {
		return []label{{FabricKey, p.Name}}, nil
	}
	var labels []label
	for _, s := range p.FlavorLabels {
		key, value, ok := strings.Cut(s, "=")
		if err := errors.Join(checkLabelKey(key), checkLabelValue(value)); err != nil || !ok {
			return nil, fmt.Errorf("node label %q: must be KEY=VALUE: %w", s, err)
		}
		labels = append(labels, label{key, value})
	}
	slices.SortFunc(labels, func(a, b label) int { return strings.Compare(a.key, b.key) })
	unique := slices.CompactFunc(slices.Clone(labels), func(a, b label) bool { return a.key == b.key })
	if len(unique) < len(labels) || len(labels) > 8 {
		return nil, fmt.Errorf("a flavor has the node labels %s: must be 1 to 8 with different keys", strings.Join(p.FlavorLabels, ", "))
	}
	return labels, nil
}

// KAI renders the Topology of kai.scheduler/v1alpha1, with the levels of the map as aliases.
func KAI(t *topology.Topology, opts Options) ([]exporters.File, error) {
	p, err := prepare(t, opts)
	if err != nil {
		return nil, err
	}
	if len(p.levels)+1 > maxLevels {
		return nil, fmt.Errorf("a KAI topology would have %d levels: must have at most %d", len(p.levels)+1, maxLevels)
	}
	var b strings.Builder
	b.WriteString("# The fabric for KAI, written by railmap. The list of node labels is immutable: a change needs a new object.\n")
	fmt.Fprintf(&b, "apiVersion: kai.scheduler/v1alpha1\nkind: Topology\nmetadata:\n  name: %s\nspec:\n  levels:\n", plain(p.Name))
	used := map[string]bool{}
	for i, k := range p.levels {
		fmt.Fprintf(&b, "  - nodeLabel: %s\n", plain(k.Key))
		if last := !slices.ContainsFunc(p.levels[i+1:], func(o KeyLevel) bool { return o.Level == k.Level }); last && !used[k.Level] {
			fmt.Fprintf(&b, "    alias: %s\n", plain(k.Level))
			used[k.Level] = true
		}
	}
	fmt.Fprintf(&b, "  - nodeLabel: %s\n", HostnameKey)
	return p.bundle(KAIName, b.String()), nil
}

// Koordinator renders the ClusterNetworkTopology of scheduling.koordinator.sh/v1alpha1: one chain of layers down to the built-in
// layer of nodes. Koordinator reads no object but the one named default.
func Koordinator(t *topology.Topology, opts Options) ([]exporters.File, error) {
	p, err := prepare(t, opts)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("# The fabric for Koordinator, written by railmap. The object must be named default.\n")
	b.WriteString("apiVersion: scheduling.koordinator.sh/v1alpha1\nkind: ClusterNetworkTopology\nmetadata:\n  name: default\nspec:\n  networkTopologySpec:\n")
	parent := ""
	used := map[string]bool{}
	for _, k := range p.levels {
		name := layerName(k.Level)
		for n := 2; used[name]; n++ {
			name = fmt.Sprintf("%s%d", layerName(k.Level), n)
		}
		used[name] = true
		fmt.Fprintf(&b, "  - topologyLayer: %s\n    labelKey:\n    - %s\n", plain(name), plain(k.Key))
		if parent != "" {
			fmt.Fprintf(&b, "    parentTopologyLayer: %s\n", plain(parent))
		}
		parent = name
	}
	fmt.Fprintf(&b, "  - topologyLayer: %s\n    parentTopologyLayer: %s\n", nodeLayer, plain(parent))
	return p.bundle(KoordinatorName, b.String()), nil
}

// nodeLayer is Koordinator's built-in layer of nodes.
const nodeLayer = "NodeTopologyLayer"

// layerName names a layer as Koordinator's documents do where they have a word for it.
func layerName(level string) string {
	switch level {
	case topology.DomainLevel:
		return "AcceleratorLayer"
	case topology.LeafLevel:
		return "BlockLayer"
	case topology.PodLevel:
		return "SpineLayer"
	case topology.CoreLevel:
		return "DatacenterLayer"
	}
	return strings.ToUpper(level[:1]) + level[1:] + "Layer"
}

// objectNames gives the groups of a tree names for cluster-scoped objects: DNS names, numbers padded per level, unique.
func objectNames(groups []*topology.Group) map[string]string {
	byLevel := map[string][]string{}
	for _, g := range groups {
		byLevel[g.Level] = append(byLevel[g.Level], g.Name)
	}
	names := make(map[string]string, len(groups))
	for _, list := range byLevel {
		slices.SortFunc(list, topology.CompareNames)
		for i, padded := range padNumbers(list) {
			names[list[i]] = dnsName(padded)
		}
	}
	count := make(map[string]int, len(names))
	for _, n := range names {
		count[n]++
	}
	for group, n := range names {
		if count[n] > 1 {
			names[group] = hashed(n, group)
		}
	}
	return names
}

// dnsName makes a DNS name of at most 63 characters; what had to change carries a hash of the whole name.
func dnsName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && (isAlnum(byte(r)) || r == '-' || r == '.') {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	if clean == strings.ToLower(name) && isSubdomain(clean) && len(clean) <= maxLabelValue {
		return clean
	}
	return hashed(clean, name)
}

// hashed puts the FNV-64a hash of a name behind as much of its readable form as fits.
func hashed(clean, name string) string {
	h := fnv.New64a()
	h.Write([]byte(name))
	sum := fmt.Sprintf("x%x", h.Sum64())
	clean = strings.Trim(strings.ReplaceAll(clean, ".", "-"), "-")
	clean = strings.Trim(clean[:min(len(clean), maxLabelValue-len(sum)-1)], "-")
	if clean == "" {
		return sum
	}
	return clean + "-" + sum
}
