package slurm

import (
	"fmt"
	"slices"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// Names for what the map has no group for.
const (
	unknownName = "unknown" // the leaf of nodes that are in no group
	topName     = "top"     // the root over the unknown leaf and the only other leaf
	directTail  = "-direct" // the leaf of nodes that hang on a switch with other switches below
)

// vertex is a group of the map that has nodes below it.
type vertex struct {
	group    *topology.Group
	nodes    []string // directly below, in physical order
	children []*vertex
}

// projection is the tree of the map cut down to what Slurm can use.
type projection struct {
	roots    []*vertex
	names    map[string]string // group -> name for Slurm
	unknown  []string          // nodes in no group, by name
	nodes    []string          // all nodes that must be written
	warnings exporters.Problems
}

// project keeps groups that have nodes in scope and drops a root with nothing but one group below it: it tells nothing.
// Every node in scope ends up in a leaf or in unknown.
func project(t *topology.Topology, o Options) projection {
	s := newScope(t, o.Nodes)
	p := projection{nodes: s.nodes}
	if len(s.foreign) > 0 {
		p.warnings.Warnf(0, "not-in-slurm", "%d nodes of the map are not in slurm.conf and are left out: %s", len(s.foreign), listSome(s.foreign))
	}
	if len(s.unusable) > 0 {
		p.warnings.Warnf(0, "name-unusable", "%d nodes of the map have names that Slurm cannot have and are left out: %s; give them names in the alias file",
			len(s.unusable), clip(fmt.Sprintf("%q", s.unusable)))
	}
	p.roots = vertices(t.Tree.Groups, &s)
	placed := make(map[string]bool, len(s.nodes))
	var walk func(v *vertex)
	walk = func(v *vertex) {
		for _, n := range v.nodes {
			placed[n] = true
		}
		for _, c := range v.children {
			walk(c)
		}
	}
	for i, r := range p.roots {
		for len(r.children) == 1 && len(r.nodes) == 0 {
			r = r.children[0]
		}
		p.roots[i] = r
		walk(r)
	}
	for _, n := range s.nodes {
		if !placed[n] {
			p.unknown = append(p.unknown, n)
		}
	}
	if len(p.unknown) > 0 {
		slices.SortFunc(p.unknown, byName)
		p.warnings.Warnf(0, "unknown-nodes", "%d nodes are in no group of the map and go to the leaf %q: %s", len(p.unknown), unknownName, listSome(p.unknown))
	}
	p.names = groupNames(t.Tree.Groups)
	return p
}

// vertices links the groups and drops those without nodes. Groups stand parents first.
func vertices(groups []topology.Group, s *scope) []*vertex {
	all := make([]vertex, len(groups))
	index := make(map[string]*vertex, len(groups))
	for i := range groups {
		g := &groups[i]
		all[i] = vertex{group: g, nodes: s.keep(g.Nodes)}
		index[g.Name] = &all[i]
	}
	var roots []*vertex
	for i := len(all) - 1; i >= 0; i-- { // children stand behind their parents: a group is complete when its turn comes
		v := &all[i]
		slices.Reverse(v.children)
		if len(v.nodes) == 0 && len(v.children) == 0 {
			continue
		}
		if parent := index[v.group.Parent]; parent != nil && parent != v {
			parent.children = append(parent.children, v)
		} else {
			roots = append(roots, v)
		}
	}
	slices.Reverse(roots)
	return roots
}

// groupNames gives all groups their names, also those that are not written, so that names do not depend on what is. The
// leaves for direct nodes are named beside their group.
func groupNames(groups []topology.Group) map[string]string {
	raw := make([]string, 0, len(groups))
	for i := range groups {
		raw = append(raw, groups[i].Name)
		if len(groups[i].Nodes) > 0 && i+1 < len(groups) && groups[i+1].Parent == groups[i].Name {
			raw = append(raw, groups[i].Name+directTail)
		}
	}
	return safeNames(raw, unknownName, topName)
}
