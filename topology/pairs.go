package topology

import (
	"cmp"
	"slices"
	"time"
)

// defaultMaxAge is how long a measurement is believed.
const defaultMaxAge = 7 * 24 * time.Hour

// applyPairs merges measured pairs: level efficiencies (median over the unloaded pairs of a level whose nodes are healthy),
// and the bandwidth of nodes (the best that any partner saw, so that one bad partner does not condemn a node). Stale,
// malformed or implausible values are named and change nothing; a measured efficiency never rises from one level to the next.
func (b *builder) applyPairs(t *Topology) {
	if len(b.in.Pairs) == 0 {
		return
	}
	levels := newLevelFinder(t)
	byLevel := map[string][]float64{}
	best := map[int]*Measurement{}
	for _, p := range b.usablePairs(levels) {
		x, y := levels.node[p.A], levels.node[p.B]
		nominal := min(t.Nodes[x].NominalBandwidthBytesPerSecond, t.Nodes[y].NominalBandwidthBytesPerSecond)
		m := p.BandwidthBytesPerSecond
		if nominal == 0 {
			continue
		}
		if m.Value > 1.05*nominal {
			b.find("implausible-measurement", Warning, p.A+" - "+p.B, "measure the pair again", "%s is above the nominal %s of the nodes: ignored", gbit(m.Value), gbit(nominal))
			continue
		}
		for _, n := range []int{x, y} {
			if best[n] == nil || m.Value > best[n].Value {
				best[n] = m
			}
		}
		level := levels.common(x, y)
		byLevel[level] = append(byLevel[level], min(1, m.Value/nominal))
	}
	b.measuredLevels(t, byLevel)
	b.measuredNodes(t, best)
	b.measuredRails(t, levels)
	b.measuredUplinks(t, levels)
	b.measuredLatencies(t, levels)
	b.reportedFindings()
}

// reportedFindings takes over what the reports themselves found, unless the map has found the same.
func (b *builder) reportedFindings() {
	for _, r := range b.in.Pairs {
		for _, f := range r.Findings {
			if !slices.ContainsFunc(b.findings, func(g Finding) bool { return g.Code == f.Code && g.Subject == f.Subject }) {
				b.findings = append(b.findings, f)
			}
		}
	}
}

// bestMeasured is the efficiency of the lowest measured level: what healthy nodes reach when nothing is in their way; 1 when
// none was measured.
func bestMeasured(t *Topology) float64 {
	for _, l := range t.Tree.Levels {
		if l.Measured && l.Efficiency > 0 {
			return l.Efficiency
		}
	}
	return 1
}

// usablePairs drops stale, loaded, single-rail and unknown pairs, and folds the two directions of a pair to the smaller value.
func (b *builder) usablePairs(levels *levelFinder) []Pair {
	type key struct{ a, b string }
	seen := map[key]int{}
	var out []Pair
	for _, r := range b.in.Pairs {
		for _, p := range r.Pairs {
			if p.Loaded || p.Rail != nil || p.BandwidthBytesPerSecond == nil || !b.usable(p, r, levels) {
				continue
			}
			k := key{min(p.A, p.B), max(p.A, p.B)}
			i, ok := seen[k]
			if !ok {
				seen[k] = len(out)
				out = append(out, p)
				continue
			}
			a, c := out[i].BandwidthBytesPerSecond.Value, p.BandwidthBytesPerSecond.Value
			if min(a, c) < 0.8*max(a, c) {
				b.find("directions-disagree", Warning, k.a+" - "+k.b, "measure the pair again, both ways", "the two measurements say %s and %s: the smaller one is used", gbit(a), gbit(c))
			}
			if c < a {
				out[i] = p
			}
		}
	}
	slices.SortFunc(out, func(x, y Pair) int { return cmp.Or(CompareNames(x.A, y.A), CompareNames(x.B, y.B)) })
	return out
}

func (b *builder) usable(p Pair, r *PairReport, levels *levelFinder) bool {
	for _, n := range []string{p.A, p.B} {
		if _, ok := levels.node[n]; !ok {
			b.find("unknown-node", Info, n, "check the spelling, or build the map with this host", "was measured but is not in the map: its pairs are ignored")
			return false
		}
	}
	var when *time.Time
	if p.BandwidthBytesPerSecond != nil {
		when = p.BandwidthBytesPerSecond.Time
	}
	if when == nil {
		when = r.Time
	}
	if !b.opts.Now.IsZero() && when != nil && b.opts.Now.Sub(*when) > cmp.Or(b.opts.MaxAge, defaultMaxAge) {
		b.find("stale-measurement", Info, p.A+" - "+p.B, "measure again", "was measured at %s: too old, ignored", when.UTC().Format(time.RFC3339))
		return false
	}
	return true
}

// measuredLevels replaces stated efficiencies by medians, kept from rising towards the core.
func (b *builder) measuredLevels(t *Topology, byLevel map[string][]float64) {
	cap := 1.0
	for i := range t.Tree.Levels {
		l := &t.Tree.Levels[i]
		if v := byLevel[l.Name]; len(v) > 0 {
			slices.Sort(v)
			l.Efficiency, l.Measured = v[len(v)/2], true
		}
		if l.Efficiency > cap {
			if l.Measured {
				b.find("efficiency-rises", Info, l.Name, "measure more pairs below this level", "pairs across level %s are faster than pairs below it: taken as equal", l.Name)
			}
			l.Efficiency = cap
		}
		cap = l.Efficiency
	}
}

// measuredNodes sets the measured bandwidth of nodes. It lowers a node's share, it never raises it.
func (b *builder) measuredNodes(t *Topology, best map[int]*Measurement) {
	top := bestMeasured(t)
	for i := range t.Nodes {
		n := &t.Nodes[i]
		m := best[i]
		if m == nil {
			continue
		}
		n.MeasuredBandwidthBytesPerSecond = m
		share := min(1, m.Value/(n.NominalBandwidthBytesPerSecond*top))
		if n.Share != nil {
			share = min(share, *n.Share)
		}
		n.Share = &share
		n.State = OK
		if share < 0.9 {
			n.State = Degraded
			b.find("slow-node", Warning, n.Name, "run railmap probe on the node; leave it out of large jobs until then",
				"reaches %s with its best partner: %.0f %% of what its peers reach", gbit(m.Value), 100*share)
		}
	}
}

// levelFinder answers at which level two nodes meet.
type levelFinder struct {
	node  map[string]int
	group []int // node -> index in Tree.Groups
	up    []int // group -> parent index, -1
	depth []int
	tree  *Tree
}

func newLevelFinder(t *Topology) *levelFinder {
	f := &levelFinder{node: make(map[string]int, len(t.Nodes)), group: make([]int, len(t.Nodes)), tree: &t.Tree}
	at := make(map[string]int, len(t.Tree.Groups))
	for i := range t.Nodes {
		f.node[t.Nodes[i].Name] = i
		f.group[i] = -1
	}
	for i, g := range t.Tree.Groups {
		at[g.Name] = i
		parent, depth := -1, 0
		if g.Parent != "" {
			parent = at[g.Parent]
			depth = f.depth[parent] + 1
		}
		f.up, f.depth = append(f.up, parent), append(f.depth, depth)
		for _, n := range g.Nodes {
			f.group[f.node[n]] = i
		}
	}
	return f
}

// common is the level of the lowest common group of two nodes, "" when nothing joins them.
func (f *levelFinder) common(x, y int) string {
	g := f.commonGroup(f.group[x], f.group[y])
	if g < 0 {
		return ""
	}
	return f.tree.Groups[g].Level
}

// commonGroup is the lowest group above (or equal to) two groups, -1 when nothing joins them.
func (f *levelFinder) commonGroup(g, h int) int {
	for g >= 0 && h >= 0 && g != h {
		if f.depth[g] >= f.depth[h] {
			g = f.up[g]
		} else {
			h = f.up[h]
		}
	}
	if g < 0 || h < 0 {
		return -1
	}
	return g
}
