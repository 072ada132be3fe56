package exporters

import (
	"errors"
	"fmt"
	"slices"

	"github.com/railmap/railmap/topology"
)

// Flat is the tree as readers of labels see it: a table of nodes by levels, without gaps that would make nodes equal that are
// not.
type Flat struct {
	// Levels are the names of the tree's levels, coarse to fine, for example core, pod, leaf.
	Levels []string
	// Nodes stand in ring order: depth first through the tree, groups and nodes in name order; nodes outside the fabric last.
	Nodes []FlatNode
}

// FlatNode is one row of the table.
type FlatNode struct {
	*topology.Node
	// Groups holds the group at each of Flat.Levels. Where the tree skips a level above a group (a leaf cabled to the core, a
	// part of a broken fabric without a core) the next finer group stands for itself. A level below which the node is not
	// in any group is "": the node is alone there, and an exporter gives it a placeholder that no other node has.
	Groups []string
}

// Placeholder stands before the node's name where a node is in no group: no other node has this value, so nobody takes the node
// for a neighbour, and it stays visible to schedulers that want every level.
const Placeholder = "unk-"

// Attached tells whether the node is in the fabric's tree.
func (n FlatNode) Attached() bool {
	return slices.ContainsFunc(n.Groups, func(g string) bool { return g != "" })
}

// maxDepth bounds the levels of a tree; real fabrics have at most five.
const maxDepth = 16

// Flatten reads the tree of a topology. It trusts no order in t. Errors name a group or node that the tree does not hold
// together: unknown parents and levels, circles, names that are used twice, nodes in two groups.
func Flatten(t *topology.Topology) (Flat, error) {
	f := &flattener{level: map[string]int{}, group: map[string]*topology.Group{}, home: map[string]string{}, node: map[string]*topology.Node{}}
	if err := errors.Join(f.readLevels(t), f.readGroups(t), f.readNodes(t)); err != nil {
		return Flat{}, err
	}
	chains := make(map[string][]string, len(f.group)+1)
	chains[""] = make([]string, len(f.levels))
	for _, g := range f.order() {
		chain, err := f.chain(g)
		if err != nil {
			return Flat{}, err
		}
		chains[g.Name] = chain
	}
	flat := Flat{Levels: f.levels}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		flat.Nodes = append(flat.Nodes, FlatNode{Node: n, Groups: chains[f.home[n.Name]]})
	}
	slices.SortFunc(flat.Nodes, compareRing)
	return flat, nil
}

// compareRing orders rows by their groups from coarse to fine, then by name; rows without a group come after the others.
func compareRing(a, b FlatNode) int {
	if at, bt := a.Attached(), b.Attached(); at != bt {
		if at {
			return -1
		}
		return 1
	}
	for i := range a.Groups {
		if a.Groups[i] == b.Groups[i] {
			continue
		}
		if (a.Groups[i] == "") != (b.Groups[i] == "") {
			if a.Groups[i] == "" {
				return 1
			}
			return -1
		}
		return topology.CompareNames(a.Groups[i], b.Groups[i])
	}
	return topology.CompareNames(a.Name, b.Name)
}

type flattener struct {
	levels []string       // coarse to fine
	level  map[string]int // index in levels
	group  map[string]*topology.Group
	home   map[string]string // node -> the group it is directly in
	node   map[string]*topology.Node
}

func (f *flattener) readLevels(t *topology.Topology) error {
	if len(t.Tree.Levels) > maxDepth {
		return fmt.Errorf("tree has %d levels: must have at most %d", len(t.Tree.Levels), maxDepth)
	}
	for _, l := range slices.Backward(t.Tree.Levels) {
		if _, ok := f.level[l.Name]; ok || l.Name == "" {
			return fmt.Errorf("tree level %q: must have a name of its own", l.Name)
		}
		f.level[l.Name] = len(f.levels)
		f.levels = append(f.levels, l.Name)
	}
	return nil
}

func (f *flattener) readGroups(t *topology.Topology) error {
	var errs []error
	for i := range t.Tree.Groups {
		g := &t.Tree.Groups[i]
		if _, ok := f.level[g.Level]; !ok {
			errs = append(errs, fmt.Errorf("group %s: level %q is not among the levels of the tree", g.Name, g.Level))
		}
		if f.group[g.Name] != nil || g.Name == "" {
			errs = append(errs, fmt.Errorf("group %q: must have a name of its own", g.Name))
		}
		f.group[g.Name] = g
	}
	return errors.Join(errs...)
}

func (f *flattener) readNodes(t *topology.Topology) error {
	var errs []error
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if f.node[n.Name] != nil || n.Name == "" {
			errs = append(errs, fmt.Errorf("node %q: must have a name of its own", n.Name))
		}
		f.node[n.Name] = n
	}
	for i := range t.Tree.Groups {
		g := &t.Tree.Groups[i]
		for _, name := range g.Nodes {
			if f.node[name] == nil {
				errs = append(errs, fmt.Errorf("group %s: node %q is not among the nodes of the map", g.Name, name))
			}
			if other, ok := f.home[name]; ok {
				errs = append(errs, fmt.Errorf("node %s: is in the groups %s and %s: must be in one", name, other, g.Name))
			}
			f.home[name] = g.Name
		}
	}
	for name, n := range f.node {
		if _, ok := f.home[name]; !ok && f.group[n.Group] != nil {
			f.home[name] = n.Group
		}
	}
	return errors.Join(errs...)
}

// order gives the groups in a fixed order, so that the first error is always the same one.
func (f *flattener) order() []*topology.Group {
	groups := make([]*topology.Group, 0, len(f.group))
	for _, g := range f.group {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *topology.Group) int { return topology.CompareNames(a.Name, b.Name) })
	return groups
}

// chain gives the groups from a group up to its root, spread over the levels, with gaps above filled from below. A parent must
// be on a coarser level than its child, so a circle cannot pass.
func (f *flattener) chain(g *topology.Group) ([]string, error) {
	chain := make([]string, len(f.levels))
	lowest, last := f.level[g.Level], len(f.levels)
	for {
		l := f.level[g.Level]
		if l >= last {
			return nil, fmt.Errorf("group %s: its level %s must be above the levels of its children", g.Name, g.Level)
		}
		chain[l], last = g.Name, l
		if g.Parent == "" {
			break
		}
		parent := f.group[g.Parent]
		if parent == nil {
			return nil, fmt.Errorf("group %s: its parent %q is not among the groups of the tree", g.Name, g.Parent)
		}
		g = parent
	}
	for i := lowest - 1; i >= 0; i-- {
		if chain[i] == "" {
			chain[i] = chain[i+1]
		}
	}
	return chain, nil
}
