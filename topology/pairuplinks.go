package topology

import (
	"cmp"
	"slices"
)

// fullUplink is the share of what its nodes reach alone below which an uplink counts as full.
const fullUplink = 0.95

// crossing sums up what left one group in one loaded round.
type crossing struct {
	report, round, group int
}

// measuredUplinks takes the capacity of uplinks from loaded rounds, in which whole groups send to each other. When the
// sum that leaves a group is clearly less than what as many nodes reach alone, the uplink was full and the sum, in
// node-worths, is its capacity. The highest sum of all rounds counts, because the partner's uplink may have been the narrow
// one. A capacity is lowered to what was measured, never raised: switches spread flows over cables unevenly, and that is
// what jobs will meet too.
func (b *builder) measuredUplinks(t *Topology, levels *levelFinder) {
	sums := map[crossing]float64{}
	senders := map[crossing]int{}
	top := bestMeasured(t)
	for ri, r := range b.in.Pairs {
		for _, p := range r.Pairs {
			if !p.Loaded || p.Rail != nil || p.BandwidthBytesPerSecond == nil || !b.usable(p, r, levels) {
				continue
			}
			x, y := levels.node[p.A], levels.node[p.B]
			nominal := min(t.Nodes[x].NominalBandwidthBytesPerSecond, t.Nodes[y].NominalBandwidthBytesPerSecond)
			from, to := levels.at(x, p.LoadedLevel), levels.at(y, p.LoadedLevel)
			if from < 0 || to < 0 || from == to || nominal == 0 {
				continue
			}
			worth := min(p.BandwidthBytesPerSecond.Value/(nominal*top), 1.05)
			for _, g := range []int{from, to} { // out of one, into the other
				k := crossing{ri, p.Round, 2 * g}
				if g == to {
					k.group++
				}
				sums[k] += worth
				senders[k]++
			}
		}
	}
	best := map[int]float64{}
	full := map[int]bool{}
	for k, sum := range sums {
		g := k.group / 2
		best[g] = max(best[g], sum)
		if _, seen := full[g]; !seen {
			full[g] = true
		}
		full[g] = full[g] && sum < fullUplink*float64(senders[k])
	}
	b.lowerUplinks(t, best, full)
}

// lowerUplinks writes the capacities of uplinks that were full in every round.
func (b *builder) lowerUplinks(t *Topology, best map[int]float64, full map[int]bool) {
	groups := make([]int, 0, len(best))
	for g := range best {
		groups = append(groups, g)
	}
	slices.Sort(groups)
	for _, i := range groups {
		g := &t.Tree.Groups[i]
		if !full[i] || g.Parent == "" {
			continue
		}
		capacity := best[i]
		if g.Uplink != nil {
			if capacity < 0.8**g.Uplink {
				b.find("narrow-uplink", Warning, g.Name, "look at the cables of this group's uplinks and of the groups it was measured with, and at how switches spread flows",
					"its full uplinks carry %.2f node-worths of nominally %.2f", capacity, *g.Uplink)
			}
			capacity = min(capacity, *g.Uplink)
		}
		g.Uplink, g.UplinkMeasured = &capacity, true
	}
}

// measuredLatencies sets the latency of each level: the median over the idle pairs that meet there.
func (b *builder) measuredLatencies(t *Topology, levels *levelFinder) {
	byLevel := map[string][]float64{}
	for _, r := range b.in.Pairs {
		for _, p := range r.Pairs {
			if p.Loaded || p.LatencySeconds == nil || p.LatencySeconds.Value <= 0 || !b.usable(p, r, levels) {
				continue
			}
			if l := levels.common(levels.node[p.A], levels.node[p.B]); l != "" {
				byLevel[l] = append(byLevel[l], p.LatencySeconds.Value)
			}
		}
	}
	for i := range t.Tree.Levels {
		if v := byLevel[t.Tree.Levels[i].Name]; len(v) > 0 {
			slices.SortFunc(v, cmp.Compare[float64])
			t.Tree.Levels[i].LatencySeconds = &v[len(v)/2]
		}
	}
}

// at is the group of a node at a level, -1 when there is none.
func (f *levelFinder) at(node int, level string) int {
	g := f.group[node]
	for g >= 0 && f.tree.Groups[g].Level != level {
		g = f.up[g]
	}
	return g
}
