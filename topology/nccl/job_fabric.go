package nccl

import (
	"fmt"
	"slices"

	"github.com/railmap/railmap/topology"
)

// Fabric is the part of a topology that bounds what NCCL reaches between nodes, laid out for quick predictions. It is made
// once per topology and safe for use by many goroutines.
type Fabric struct {
	groups []fabricGroup
	nodes  []fabricNode
	byName map[string]int32
	levels []string // lowest first
	worth  float64  // nominal bandwidth of a healthy node, GB/s one way; 0 = unknown
	// isolated rails have no path between them: traffic that changes rail has to pass a GPU's NVLink.
	isolated bool
}

type fabricGroup struct {
	name   string
	level  int32
	parent int32 // -1 for a root
	depth  int32
	uplink float64 // GB/s one way; 0 = unlimited or unknown
	pair   float64 // GB/s that two healthy nodes reach whose lowest common group this is; 0 = unlimited
	rails  bool    // one leaf switch a rail: changing rail means going up
}

type fabricNode struct {
	name     string
	group    int32   // -1 = not attached
	rank     int32   // place in its group's list of nodes: physical order
	domain   int32   // NVLink domain, -1 = none
	network  float64 // GB/s one way over all rails; 0 = not known to be below nominal
	limiting string
}

// nominalShare is what remains of a nominal line rate: NCCL itself counts 50 GB/s as 48 (and 25 as 24, 12.5 as 12), and
// headers cost about as much. Measured figures are taken as they are.
const nominalShare = .96

// NewFabric reads a topology.
func NewFabric(t *topology.Topology) (*Fabric, error) {
	f := &Fabric{byName: make(map[string]int32, len(t.Nodes)), isolated: railsIsolated(t)}
	rank := make(map[string]int32, len(t.Nodes))
	for i := range t.Tree.Groups {
		for k, name := range t.Tree.Groups[i].Nodes {
			rank[name] = int32(k)
		}
	}
	for i := range t.Nodes {
		f.worth = max(f.worth, t.Nodes[i].NominalBandwidthBytesPerSecond/1e9)
	}
	index, err := f.addGroups(t)
	if err != nil {
		return nil, err
	}
	domain := make(map[string]int32)
	for i := range t.Nodes {
		n := &t.Nodes[i]
		out := fabricNode{name: n.Name, group: -1, domain: -1, limiting: n.Limiting, rank: rank[n.Name]}
		if at, ok := index[n.Group]; ok && n.Group != "" {
			out.group = at
		}
		if n.NVLinkDomain != "" {
			if _, ok := domain[n.NVLinkDomain]; !ok {
				domain[n.NVLinkDomain] = int32(len(domain))
			}
			out.domain = domain[n.NVLinkDomain]
		}
		out.network = f.nodeBandwidth(n)
		f.byName[n.Name] = int32(len(f.nodes))
		f.nodes = append(f.nodes, out)
	}
	return f, nil
}

// nodeBandwidth is what a node reaches when that is less than nominal. Where the speeds of its NICs are known, the node's
// model already says what a slow or missing one costs, and only a measurement can add to it.
func (f *Fabric) nodeBandwidth(n *topology.Node) float64 {
	if n.Share == nil || f.worth == 0 {
		return 0
	}
	if n.MeasuredBandwidthBytesPerSecond != nil {
		return *n.Share * f.worth
	}
	if *n.Share >= 1 || len(nicSpeeds(n)) > 0 {
		return 0
	}
	return *n.Share * f.worth * nominalShare
}

// addGroups lays out the tree and returns the index of each group by name. The innermost group of a node may be a domain.
func (f *Fabric) addGroups(t *topology.Topology) (map[string]int32, error) {
	index := make(map[string]int32, len(t.Tree.Groups))
	for _, l := range t.Tree.Levels {
		f.levels = append(f.levels, l.Name)
	}
	rails := railLeaves(t)
	for i := range t.Tree.Groups {
		g := &t.Tree.Groups[i]
		level := slices.Index(f.levels, g.Level)
		if level < 0 {
			return nil, fmt.Errorf("group %s: level %q must be one of the tree's levels", g.Name, g.Level)
		}
		out := fabricGroup{name: g.Name, level: int32(level), parent: -1, rails: rails[g.Name] > 1}
		if g.Parent != "" {
			parent, ok := index[g.Parent]
			if !ok {
				return nil, fmt.Errorf("group %s: parent %s must stand before it", g.Name, g.Parent)
			}
			out.parent, out.depth = parent, f.groups[parent].depth+1
		}
		if g.Uplink != nil {
			out.uplink = *g.Uplink * f.worth * measuredOr(g.UplinkMeasured)
		}
		efficiency, measured := t.Tree.Levels[level].Efficiency, t.Tree.Levels[level].Measured
		if g.Efficiency != nil {
			efficiency, measured = *g.Efficiency, true
		}
		if efficiency > 0 {
			out.pair = efficiency * f.worth * measuredOr(measured)
		}
		index[g.Name] = int32(len(f.groups))
		f.groups = append(f.groups, out)
	}
	return index, nil
}

func measuredOr(measured bool) float64 {
	if measured {
		return 1
	}
	return nominalShare
}

// railLeaves counts the rails that the lowest switches of each group serve.
func railLeaves(t *topology.Topology) map[string]int {
	seen := make(map[string]map[int]bool)
	for i := range t.Switches {
		s := &t.Switches[i]
		if s.Tier != 0 || s.Rail == nil || s.Group == "" {
			continue
		}
		if seen[s.Group] == nil {
			seen[s.Group] = make(map[int]bool)
		}
		seen[s.Group][*s.Rail] = true
	}
	out := make(map[string]int, len(seen))
	for name, rails := range seen {
		out[name] = len(rails)
	}
	return out
}

// railsIsolated tells whether no switch path joins two rails of a fabric whose leaf switches serve one rail each.
func railsIsolated(t *topology.Topology) bool {
	root := make(map[string]string, len(t.Switches))
	find := func(s string) string {
		for root[s] != s {
			s = root[s]
		}
		return s
	}
	for i := range t.Switches {
		root[t.Switches[i].Name] = t.Switches[i].Name
	}
	for i := range t.Links {
		a, b := t.Links[i].A.Switch, t.Links[i].B.Switch
		if _, ok := root[a]; !ok || a == b {
			continue
		}
		if _, ok := root[b]; ok {
			root[find(a)] = find(b)
		}
	}
	railOf := make(map[string]int)
	rails := make(map[int]bool)
	for i := range t.Switches {
		s := &t.Switches[i]
		if s.Rail == nil || s.Role != topology.FabricSwitch {
			continue
		}
		rails[*s.Rail] = true
		if r, ok := railOf[find(s.Name)]; ok && r != *s.Rail {
			return false
		}
		railOf[find(s.Name)] = *s.Rail
	}
	return len(rails) > 1
}

// Place returns the index of a node, or NoPlace.
func (f *Fabric) Place(name string) int32 {
	if f == nil {
		return NoPlace
	}
	if at, ok := f.byName[name]; ok {
		return at
	}
	return NoPlace
}
