package topology

import (
	"errors"
	"fmt"
)

// maxProblems bounds how many problems of one document are listed.
const maxProblems = 20

// Validate checks a topology document: unique names, a tree whose parts know each other, sane numbers.
func (t *Topology) Validate() error {
	var errs []error
	bad := func(err error) {
		if err != nil && len(errs) < maxProblems {
			errs = append(errs, err)
		}
	}
	nodes := make(map[string]bool, len(t.Nodes))
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Name == "" || nodes[n.Name] {
			bad(fmt.Errorf("nodes[%d].name is %q: must be unique and not empty", i, n.Name))
		}
		nodes[n.Name] = true
		if n.Share != nil {
			bad(checkNumber(fmt.Sprintf("nodes[%d].share", i), *n.Share, 1e3))
		}
		bad(checkNumber(fmt.Sprintf("nodes[%d].nominalBandwidthBytesPerSecond", i), n.NominalBandwidthBytesPerSecond, maxBandwidth))
	}
	t.Tree.check(nodes, bad)
	return errors.Join(errs...)
}

// check reports what is wrong in the tree.
func (t *Tree) check(nodes map[string]bool, bad func(error)) {
	levels, groups := map[string]bool{}, map[string]bool{}
	for i, l := range t.Levels {
		if l.Name == "" || levels[l.Name] {
			bad(fmt.Errorf("tree.levels[%d].name is %q: must be unique and not empty", i, l.Name))
		}
		levels[l.Name] = true
		bad(checkNumber(fmt.Sprintf("tree.levels[%d].efficiency", i), l.Efficiency, 1e3))
	}
	for i := range t.Groups {
		g := &t.Groups[i]
		where := fmt.Sprintf("tree.groups[%d]", i)
		if g.Name == "" || groups[g.Name] {
			bad(fmt.Errorf("%s.name is %q: must be unique and not empty", where, g.Name))
		}
		if !levels[g.Level] {
			bad(fmt.Errorf("%s.level is %q: must be one of tree.levels", where, g.Level))
		}
		if g.Parent != "" && !groups[g.Parent] {
			bad(fmt.Errorf("%s.parent is %q: must be a group that stands before it", where, g.Parent))
		}
		groups[g.Name] = true
		for _, n := range g.Nodes {
			if !nodes[n] {
				bad(fmt.Errorf("%s.nodes names %q: must be one of nodes, and in one group only", where, n))
			}
			delete(nodes, n)
		}
		if g.Uplink != nil {
			bad(checkNumber(where+".uplink", *g.Uplink, 1e9))
		}
	}
}
