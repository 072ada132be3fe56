package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// VolcanoSource is the value of the label that tells whose HyperNodes these are. Volcano's own discoverers delete HyperNodes of
// their sources (ufm, roce, label) that they do not find.
const VolcanoSource = "railmap"

// Volcano renders one HyperNode of topology.volcano.sh/v1alpha1 per group. Tiers are odd, from 1 at the finest level up; a
// degraded group gets the next even one, because the tier is the only distance that Volcano knows. So a job that allows tier 1
// stays in a healthy leaf, and one that allows tier 2 in any leaf. Nodes outside the fabric are in no HyperNode.
func Volcano(t *topology.Topology, opts Options) ([]exporters.File, error) {
	p, err := prepare(t, opts)
	if err != nil {
		return nil, err
	}
	tab, err := newTable(p.flat, p.preset)
	if err != nil {
		return nil, err
	}
	v := newHyperNodes(t, p, tab)
	if len(v.groups) == 0 {
		return nil, fmt.Errorf("the map has no groups: must have a fabric for HyperNodes")
	}
	var b strings.Builder
	b.WriteString("# The fabric for Volcano, written by railmap.\n")
	for _, g := range v.groups {
		if err := v.write(&b, g); err != nil {
			return nil, err
		}
	}
	files := p.bundle(VolcanoName, b.String())
	files[0].Nodes = v.nodes
	return files, nil
}

// hyperNodes holds the groups that have nodes below them, finest level first, then by name.
type hyperNodes struct {
	prepared
	table    *table
	groups   []*topology.Group
	names    map[string]string
	children map[string][]*topology.Group
	tier     map[string]int // by level
	slow     map[string]bool
	nodes    int
}

func newHyperNodes(t *topology.Topology, p *prepared, tab *table) *hyperNodes {
	v := &hyperNodes{prepared: *p, table: tab, children: map[string][]*topology.Group{}, tier: map[string]int{}, slow: slowGroups(t)}
	for i, l := range slices.Backward(p.flat.Levels) {
		v.tier[l] = 2*(len(p.flat.Levels)-1-i) + 1
	}
	direct := map[string][]string{}
	used := map[string]bool{}
	for _, n := range p.flat.Nodes {
		if home := homeOf(n); home != "" {
			direct[home] = append(direct[home], n.Name)
			v.nodes++
		}
		for _, g := range n.Groups {
			used[g] = true
		}
	}
	for i := range t.Tree.Groups {
		if g := t.Tree.Groups[i]; used[g.Name] {
			g.Nodes = direct[g.Name]
			v.groups = append(v.groups, &g)
		}
	}
	v.names = objectNames(v.groups)
	slices.SortFunc(v.groups, func(a, b *topology.Group) int {
		if c := v.tier[a.Level] - v.tier[b.Level]; c != 0 {
			return c
		}
		return topology.CompareNames(v.names[a.Name], v.names[b.Name])
	})
	for _, g := range v.groups {
		v.children[g.Parent] = append(v.children[g.Parent], g)
	}
	return v
}

// homeOf is the finest group of a node.
func homeOf(n exporters.FlatNode) string {
	for _, g := range slices.Backward(n.Groups) {
		if g != "" {
			return g
		}
	}
	return ""
}

func (v *hyperNodes) write(b *strings.Builder, g *topology.Group) error {
	tier, tierName := v.tier[g.Level], g.Level
	if v.slow[g.Name] && !v.KeepTiers {
		tier, tierName = tier+1, g.Level+"-degraded"
	}
	fmt.Fprintf(b, "---\napiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata:\n  name: %s\n  labels:\n    volcano.sh/network-topology-source: %s\n",
		plain(v.names[g.Name]), VolcanoSource)
	fmt.Fprintf(b, "spec:\n  tier: %d\n  tierName: %s\n  members:\n", tier, plain(tierName))
	children := v.children[g.Name]
	if key, value := v.match(g); key != "" && len(children) == 0 {
		fmt.Fprintf(b, "  - type: Node\n    selector:\n      labelMatch:\n        matchLabels:\n          %s: %s\n", plain(key), quoted(value))
		return nil
	}
	for _, c := range children {
		writeMember(b, "HyperNode", v.names[c.Name])
	}
	for _, n := range g.Nodes {
		if err := checkMemberName(strings.ToLower(n)); err != nil {
			return fmt.Errorf("node %s: as the member of a HyperNode its name %w", n, err)
		}
		writeMember(b, "Node", strings.ToLower(n))
	}
	return nil
}

func writeMember(b *strings.Builder, kind, name string) {
	fmt.Fprintf(b, "  - type: %s\n    selector:\n      exactMatch:\n        name: %s\n", kind, plain(name))
}

// match gives the label that selects the nodes of a group; key is "" when the preset has no key for its level.
func (v *hyperNodes) match(g *topology.Group) (key, value string) {
	for i, k := range slices.Backward(v.table.keys) {
		if k.Level == g.Level && v.table.column[i] >= 0 {
			return k.Key, v.table.values[i][g.Name]
		}
	}
	return "", ""
}
