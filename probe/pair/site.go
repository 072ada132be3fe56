package pair

import (
	"slices"

	"github.com/railmap/railmap/topology"
)

// Site is what a plan and the search for culprits need to know of a cluster: nodes, and the tree of groups above them.
type Site struct {
	Nodes  []SiteNode // in the order of CompareNames
	Groups []SiteGroup
}

// SiteNode is one node; Group is an index into Site.Groups, -1 when nothing is known.
type SiteNode struct {
	Name                  string
	Group                 int
	NominalBytesPerSecond float64 // one way, all rails; 0 = unknown
}

// SiteGroup is one group of the tree, leaf groups and above. Parent is an index, -1 for a root. Uplink is the capacity of
// its links to the parent in node-worths, 0 when unknown.
type SiteGroup struct {
	Name   string
	Level  string
	Parent int
	Uplink float64
}

// SiteOf takes the nodes that take part out of a map. A nil list takes all nodes of the map; a node that the map does not
// know has no group. NVLink domains are passed over: what counts here is the network.
func SiteOf(t *topology.Topology, nodes []string) *Site {
	s := &Site{}
	if t == nil {
		t = &topology.Topology{}
	}
	at := s.addGroups(&t.Tree)
	known := make(map[string]*topology.Node, len(t.Nodes))
	for i := range t.Nodes {
		known[t.Nodes[i].Name] = &t.Nodes[i]
	}
	if nodes == nil {
		for i := range t.Nodes {
			nodes = append(nodes, t.Nodes[i].Name)
		}
	}
	for _, name := range nodes {
		n := SiteNode{Name: name, Group: -1}
		if k := known[name]; k != nil {
			n.NominalBytesPerSecond = k.NominalBandwidthBytesPerSecond
			if g, ok := at[k.Group]; ok {
				n.Group = g
			}
		}
		s.Nodes = append(s.Nodes, n)
	}
	slices.SortFunc(s.Nodes, func(a, b SiteNode) int { return topology.CompareNames(a.Name, b.Name) })
	s.Nodes = slices.CompactFunc(s.Nodes, func(a, b SiteNode) bool { return a.Name == b.Name })
	return s
}

// addGroups copies the tree without its domains; the answer maps the name of each group, domains too, to its place.
func (s *Site) addGroups(t *topology.Tree) map[string]int {
	at := map[string]int{}
	for _, g := range t.Groups {
		if g.Level == topology.DomainLevel {
			continue
		}
		at[g.Name] = len(s.Groups)
		n := SiteGroup{Name: g.Name, Level: g.Level, Parent: -1}
		if p, ok := at[g.Parent]; ok && g.Parent != "" {
			n.Parent = p
		}
		if g.Uplink != nil {
			n.Uplink = *g.Uplink
		}
		s.Groups = append(s.Groups, n)
	}
	for _, g := range t.Groups {
		if p, ok := at[g.Parent]; ok && g.Level == topology.DomainLevel {
			at[g.Name] = p
		}
	}
	return at
}

// paths lists, for each group, the group itself and all above it, lowest first.
func (s *Site) paths() [][]int {
	paths := make([][]int, len(s.Groups))
	for g := range s.Groups {
		for h := g; h >= 0 && len(paths[g]) <= len(s.Groups); h = s.Groups[h].Parent {
			paths[g] = append(paths[g], h)
		}
	}
	return paths
}

// members lists the nodes directly in each group, and those of no group last.
func (s *Site) members() [][]int32 {
	m := make([][]int32, len(s.Groups)+1)
	for i, n := range s.Nodes {
		g := n.Group
		if g < 0 {
			g = len(s.Groups)
		}
		m[g] = append(m[g], int32(i))
	}
	return m
}

// below lists the nodes in each group or anywhere below it.
func (s *Site) below(paths [][]int) [][]int32 {
	m := make([][]int32, len(s.Groups))
	for i, n := range s.Nodes {
		if n.Group < 0 {
			continue
		}
		for _, g := range paths[n.Group] {
			m[g] = append(m[g], int32(i))
		}
	}
	return m
}

// uplinksBetween lists the groups whose uplinks a pair crosses: all above each end that are not above both.
func uplinksBetween(paths [][]int, g, h int) []int {
	if g < 0 || h < 0 || g == h {
		return nil
	}
	a, b := paths[g], paths[h]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return append(slices.Clone(a), b...)
}
