package kubernetes

import (
	"slices"

	"github.com/railmap/railmap/topology"
)

// slowShare: a group whose bandwidth is below this part of what its level has is degraded.
const slowShare = 0.9

// slowGroups finds the degraded groups. A group is degraded when one of these is below 90 %: its measured efficiency against the
// level's; the median share of its nodes against a healthy node's (a rail switch of a leaf is down); the uplinks of all its
// children together against as many median ones of their level. One bad cable in a large pod degrades no pod.
func slowGroups(t *topology.Topology) map[string]bool {
	level := map[string]float64{}
	for _, l := range t.Tree.Levels {
		level[l.Name] = l.Efficiency
	}
	median := medianUplinks(t)
	got, want := map[string]float64{}, map[string]float64{}
	slow := map[string]bool{}
	share := map[string]float64{}
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.Share != nil {
			share[n.Name] = *n.Share
		}
	}
	for _, g := range t.Tree.Groups {
		if g.Efficiency != nil && *g.Efficiency < slowShare*level[g.Level] {
			slow[g.Name] = true
		}
		if medianShare(g.Nodes, share) < slowShare {
			slow[g.Name] = true
		}
		if g.Uplink != nil {
			got[g.Parent] += min(*g.Uplink, median[g.Level])
			want[g.Parent] += median[g.Level]
		}
	}
	for parent, w := range want {
		if parent != "" && got[parent] < slowShare*w {
			slow[parent] = true
		}
	}
	return slow
}

// medianUplinks gives the median uplink capacity of each level, in node-worths.
func medianUplinks(t *topology.Topology) map[string]float64 {
	uplinks := map[string][]float64{}
	for _, g := range t.Tree.Groups {
		if g.Uplink != nil {
			uplinks[g.Level] = append(uplinks[g.Level], *g.Uplink)
		}
	}
	median := make(map[string]float64, len(uplinks))
	for l, u := range uplinks {
		slices.Sort(u)
		median[l] = u[len(u)/2]
	}
	return median
}

// medianShare gives the median share of nodes; a node without one counts as healthy.
func medianShare(nodes []string, share map[string]float64) float64 {
	if len(nodes) == 0 {
		return 1
	}
	values := make([]float64, 0, len(nodes))
	for _, n := range nodes {
		s, ok := share[n]
		if !ok {
			s = 1
		}
		values = append(values, s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
