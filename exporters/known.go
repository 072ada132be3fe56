package exporters

import (
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// Known fits the table to the nodes that a scheduler knows; nil = those of the map. Nodes of the map that it does not know are
// left out, because it refuses them, or makes them up. Nodes that the map does not know are added without a group, because the
// scheduler would not see them, or not in time, without any. Both are warnings; scheduler is its name in them. lower
// tells that the scheduler has all names in lower case.
func (f Flat) Known(nodes []string, scheduler string, lower bool) (Flat, []Problem) {
	if nodes == nil {
		return f, nil
	}
	missing := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		missing[n] = true
	}
	out := Flat{Levels: f.Levels}
	var foreign []string
	for _, n := range f.Nodes {
		name := n.Name
		if lower {
			name = strings.ToLower(name)
		}
		if !missing[name] {
			foreign = append(foreign, n.Name)
			continue
		}
		delete(missing, name)
		out.Nodes = append(out.Nodes, n)
	}
	var problems Problems
	if len(foreign) > 0 {
		problems.Warnf(0, "not-in-"+scheduler, "%d nodes of the map are not known to the scheduler and are left out: %s", len(foreign), topology.SortedHostlist(foreign))
	}
	var added []string
	for n := range missing {
		added = append(added, n)
	}
	if len(added) == 0 {
		return out, problems
	}
	list := topology.SortedHostlist(added)
	problems.Warnf(0, "not-in-map", "%d nodes of the scheduler are not in the map and are in no group: %s", len(added), list)
	slices.SortFunc(added, topology.CompareNames)
	for _, n := range added {
		out.Nodes = append(out.Nodes, FlatNode{Node: &topology.Node{Name: n}, Groups: make([]string, len(f.Levels))})
	}
	return out, problems
}
