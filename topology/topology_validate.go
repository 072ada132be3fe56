package topology

import (
	"errors"
	"fmt"
)

// Validate checks what every reader of a map relies on: unique names, a forest in which parents come before children and
// levels rise, every node in exactly the group that it names, links between known ends, numbers that can be.
func (t *Topology) Validate() error {
	v := &validator{t: t}
	v.nodes()
	v.switches()
	v.tree()
	v.links()
	return errors.Join(v.errs...)
}

// maxProblems bounds the errors of one document; a broken file would otherwise print a line for every node.
const maxProblems = 20

type validator struct {
	t     *Topology
	errs  []error
	node  map[string]*Node
	sw    map[string]bool
	place map[string]string // node -> group that lists it
}

func (v *validator) fail(format string, args ...any) {
	if len(v.errs) < maxProblems {
		v.errs = append(v.errs, fmt.Errorf(format, args...))
	}
}

func (v *validator) check(err error) {
	if err != nil {
		v.fail("%w", err)
	}
}

func (v *validator) nodes() {
	v.node = make(map[string]*Node, len(v.t.Nodes))
	for i := range v.t.Nodes {
		n := &v.t.Nodes[i]
		if n.Name == "" || v.node[n.Name] != nil {
			v.fail("nodes[%d].name is %q: must be unique and not empty", i, n.Name)
		}
		v.node[n.Name] = n
		if checkNumber("", n.NominalBandwidthBytesPerSecond, maxBandwidth) != nil {
			v.fail("nodes[%d].nominalBandwidthBytesPerSecond is %v: must be between 0 and %g", i, n.NominalBandwidthBytesPerSecond, maxBandwidth)
		}
		if n.MeasuredBandwidthBytesPerSecond != nil {
			v.check(checkMeasurement(fmt.Sprintf("nodes[%d].measuredBandwidthBytesPerSecond", i), n.MeasuredBandwidthBytesPerSecond, maxBandwidth))
		}
		if n.Share != nil && checkNumber("", *n.Share, 1) != nil {
			v.fail("nodes[%d].share is %v: must be between 0 and 1", i, *n.Share)
		}
	}
}

func (v *validator) switches() {
	v.sw = make(map[string]bool, len(v.t.Switches))
	for i := range v.t.Switches {
		s := &v.t.Switches[i]
		if s.Name == "" || v.sw[s.Name] {
			v.fail("switches[%d].name is %q: must be unique and not empty", i, s.Name)
		}
		v.sw[s.Name] = true
		if s.Tier < 0 {
			v.fail("switches[%d].tier is %d: must not be negative", i, s.Tier)
		}
	}
}

func (v *validator) tree() {
	rank := make(map[string]int, len(v.t.Tree.Levels))
	for i, l := range v.t.Tree.Levels {
		if _, twice := rank[l.Name]; l.Name == "" || twice {
			v.fail("tree.levels[%d].name is %q: must be unique and not empty", i, l.Name)
		}
		rank[l.Name] = i
		v.check(checkNumber(fmt.Sprintf("tree.levels[%d].efficiency", i), l.Efficiency, 1))
	}
	v.place = make(map[string]string, len(v.t.Nodes))
	level := make(map[string]int, len(v.t.Tree.Groups))
	for i := range v.t.Tree.Groups {
		v.group(i, rank, level)
	}
	for i := range v.t.Nodes {
		n := &v.t.Nodes[i]
		if n.Group != "" && v.place[n.Name] == "" {
			v.fail("nodes[%d] (%s) names group %q: the group must list it", i, n.Name, n.Group)
		}
	}
}

// group checks one group; level maps the groups seen so far to the rank of their level.
func (v *validator) group(i int, rank, level map[string]int) {
	g := &v.t.Tree.Groups[i]
	where := fmt.Sprintf("tree.groups[%d] (%s)", i, g.Name)
	r, known := rank[g.Level]
	if !known {
		v.fail("%s: level %q must be one of tree.levels", where, g.Level)
	}
	if _, twice := level[g.Name]; g.Name == "" || twice {
		v.fail("%s: name must be unique and not empty", where)
	}
	level[g.Name] = r
	if g.Parent != "" {
		p, seen := level[g.Parent]
		if !seen || g.Parent == g.Name {
			v.fail("%s: parent %q must be a group listed before it", where, g.Parent)
		} else if p <= r {
			v.fail("%s: parent %q must be of a higher level than %s", where, g.Parent, g.Level)
		}
	}
	for _, s := range g.Switches {
		if !v.sw[s] {
			v.fail("%s: switch %q must be one of switches", where, s)
		}
	}
	if g.Uplink != nil {
		v.check(checkNumber(where+".uplink", *g.Uplink, 1e9))
	}
	if g.Efficiency != nil {
		v.check(checkNumber(where+".efficiency", *g.Efficiency, 1))
	}
	for _, name := range g.Nodes {
		n := v.node[name]
		switch {
		case n == nil:
			v.fail("%s: node %q must be one of nodes", where, name)
		case v.place[name] != "":
			v.fail("%s: node %q is in group %q already: must be in one", where, name, v.place[name])
		case n.Group != g.Name && !(g.Level == DomainLevel && n.Group == g.Parent):
			v.fail("%s: lists node %q, whose group is %q", where, name, n.Group)
		}
		v.place[name] = g.Name
	}
}

func (v *validator) links() {
	for i := range v.t.Links {
		l := &v.t.Links[i]
		for _, e := range []LinkEnd{l.A, l.B} {
			if (e.Node == "") == (e.Switch == "") {
				v.fail("links[%d]: each end must name a node or a switch", i)
			} else if e.Node != "" && v.node[e.Node] == nil || e.Switch != "" && !v.sw[e.Switch] {
				v.fail("links[%d]: end %q must be one of nodes or switches", i, e)
			}
		}
		if checkNumber("", l.NominalBandwidthBytesPerSecond, maxBandwidth) != nil {
			v.fail("links[%d].nominalBandwidthBytesPerSecond is %v: must be between 0 and %g", i, l.NominalBandwidthBytesPerSecond, maxBandwidth)
		}
		if l.MeasuredBandwidthBytesPerSecond != nil {
			v.check(checkMeasurement(fmt.Sprintf("links[%d].measuredBandwidthBytesPerSecond", i), l.MeasuredBandwidthBytesPerSecond, maxBandwidth))
		}
	}
}
