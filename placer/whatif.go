package placer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/railmap/railmap/topology"
)

// Change is a supposed change of the map: what if a node were repaired, or a link went down?
type Change struct {
	Repair  []string           // nodes at full nominal bandwidth
	Down    []string           // nodes that are gone
	Uplinks map[string]float64 // group -> capacity of its uplink in node-worths; 0 = cut
}

// Apply returns the topology as it would be; t stays as it is.
func (ch *Change) Apply(t *topology.Topology) (*topology.Topology, error) {
	out := *t
	out.Nodes, out.Tree.Groups = slices.Clone(t.Nodes), slices.Clone(t.Tree.Groups)
	index := newNames(nil)
	index.index = make(map[string]int32, len(out.Nodes))
	index.nodes = make([]node, len(out.Nodes))
	for i := range out.Nodes {
		index.index[out.Nodes[i].Name], index.nodes[i].name = int32(i), out.Nodes[i].Name
	}
	repair, err := index.positions("repair", ch.Repair)
	if err != nil {
		return nil, err
	}
	down, err := index.positions("down", ch.Down)
	if err != nil {
		return nil, err
	}
	one := 1.0
	for _, i := range repair {
		out.Nodes[i].Share, out.Nodes[i].Limiting, out.Nodes[i].State = &one, "", topology.OK
	}
	for _, i := range down {
		out.Nodes[i].State = topology.Down
	}
	for _, name := range slices.Sorted(maps.Keys(ch.Uplinks)) {
		capacity := ch.Uplinks[name]
		i := slices.IndexFunc(out.Tree.Groups, func(g topology.Group) bool { return g.Name == name })
		if i < 0 || out.Tree.Groups[i].Parent == "" {
			return nil, fmt.Errorf("uplink of %s: must be a group of the tree that has a parent", name)
		}
		if !(capacity >= 0) || capacity > 1e9 {
			return nil, fmt.Errorf("uplink of %s is %v: must be a capacity in nodes, 0 or more", name, capacity)
		}
		out.Tree.Groups[i].Uplink = &capacity
	}
	return &out, nil
}
