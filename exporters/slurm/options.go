package slurm

import (
	"fmt"
	"slices"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// Options say for whom the files are rendered. The zero value writes for every supported release and for the nodes of the map.
type Options struct {
	Version Version
	// Nodes are the nodes of slurm.conf. Nodes of the map that are not among them are left out, with a warning that names
	// them; nodes that the map does not know go to the "unknown" leaf. Nil: the nodes of the map.
	Nodes        []string
	ManySwitches bool // write more than 1,000 switches
	BaseSize     int  // base of BlockSizes in nodes; 0: chosen from the blocks
}

// Names of the rendered files.
const (
	ConfFile     = "topology.conf"
	YAMLFile     = "topology.yaml"
	FragmentFile = "slurm-topology.conf"
)

// Render writes the files for a plugin: Tree, Block or YAML by kind.
func Render(t *topology.Topology, kind Kind, o Options) ([]exporters.File, []exporters.Problem, error) {
	switch kind {
	case TreeKind:
		return Tree(t, o)
	case BlockKind:
		return Block(t, o)
	case YAMLKind:
		return YAML(t, o)
	}
	return nil, nil, fmt.Errorf("slurm plugin %q: must be %s, %s or %s", kind, TreeKind, BlockKind, YAMLKind)
}

// finish lints what was rendered and adds the slurm.conf fragment. Warnings of the projection and of the lint are returned;
// an error of the lint means that no file is. Asked is the release that the caller named, if any.
func finish(file exporters.File, kind Kind, p *projection, o Options, asked Version) ([]exporters.File, []exporters.Problem, error) {
	problems := Lint(file.Data, kind, LintOptions{Version: o.Version, Nodes: p.nodes, ManySwitches: o.ManySwitches})
	if err := asError(file.Name, problems); err != nil {
		return nil, problems, err
	}
	fragment := exporters.File{Name: FragmentFile, Data: Fragment(kind, asked)}
	return []exporters.File{file, fragment}, append(p.warnings, problems...).Sorted(), nil
}

// scope is which nodes are written: those of the map that Slurm knows, and those that only Slurm knows.
type scope struct {
	wanted  map[string]bool // nil: every node of the map
	nodes   []string        // every node that must be written
	foreign []string        // in the map, not in slurm.conf

	unusable []string // in the map, with names that no slurm.conf can hold
}

func newScope(t *topology.Topology, known []string) scope {
	var s scope
	if known == nil {
		if known, s.unusable = nodeNames(t); len(s.unusable) == 0 {
			s.nodes = known
			return s
		}
	}
	s.wanted = make(map[string]bool, len(known))
	for _, n := range known {
		if !s.wanted[n] {
			s.wanted[n] = true
			s.nodes = append(s.nodes, n)
		}
	}
	if len(s.unusable) > 0 {
		return s
	}
	for i := range t.Nodes {
		if n := t.Nodes[i].Name; !s.wanted[n] {
			s.foreign = append(s.foreign, n)
		}
	}
	slices.SortFunc(s.foreign, byName)
	return s
}

// nodeNames lists the nodes of the map, and apart from them those whose names no slurm.conf can hold.
func nodeNames(t *topology.Topology) (names, unusable []string) {
	names = make([]string, 0, len(t.Nodes))
	for i := range t.Nodes {
		if n := t.Nodes[i].Name; nodeName(n) {
			names = append(names, n)
		} else {
			unusable = append(unusable, n)
		}
	}
	slices.SortFunc(unusable, byName)
	return names, unusable
}

// keep returns the names that are in scope. It copies only when something is left out.
func (s *scope) keep(names []string) []string {
	if s.wanted == nil || !slices.ContainsFunc(names, func(n string) bool { return !s.wanted[n] }) {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !s.wanted[n] })
}
