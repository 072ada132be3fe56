package topology

import (
	"cmp"
	"slices"
)

// emitTree projects the groups on the nodes of the map, depth first: parents before children, children in name order. Groups
// without a node below them are left out.
func (b *builder) emitTree(t *Topology) {
	b.uniqueGroupNames()
	names := b.levelNames(t)
	below := b.countNodes()
	nodes := b.nodesByGroup(t)
	var roots []int32
	for g := range b.groups {
		if b.groups[g].parent < 0 && below[g] > 0 {
			roots = append(roots, int32(g))
		}
	}
	slices.SortFunc(roots, b.byName)
	var walk func(g int32)
	walk = func(g int32) {
		v := &b.groups[g]
		out := Group{Name: v.name, Level: names[v.tier], Switches: b.switchNames(g)}
		if v.parent >= 0 {
			out.Parent = b.groups[v.parent].name
			out.Uplink = b.uplink(g)
		}
		var domains []Group
		if v.tier == 0 {
			out.Nodes, domains = splitDomains(v.name, nodes[v.name])
		}
		t.Tree.Groups = append(t.Tree.Groups, out)
		t.Tree.Groups = append(t.Tree.Groups, domains...)
		kids := slices.DeleteFunc(slices.Clone(v.children), func(c int32) bool { return below[c] == 0 })
		slices.SortFunc(kids, b.byName)
		for _, c := range kids {
			walk(c)
		}
	}
	for _, g := range roots {
		walk(g)
	}
}

// levelNames fills Tree.Levels and gives the level of each tier: leaf, pod, pod2, ..., core; the highest tier is core.
func (b *builder) levelNames(t *Topology) []string {
	names := make([]string, b.maxT+1)
	for i := range names {
		switch {
		case i == 0:
			names[i] = LeafLevel
		case i == b.maxT:
			names[i] = CoreLevel
		case i == 1:
			names[i] = PodLevel
		default:
			names[i] = PodLevel + itoa(int32(i))
		}
	}
	if slices.ContainsFunc(t.Nodes, func(n Node) bool { return n.NVLinkDomain != "" && n.Group != "" }) {
		t.Tree.Levels = append(t.Tree.Levels, Level{Name: DomainLevel, Efficiency: 1})
	}
	eff := b.opts.Efficiency
	if len(eff) == 0 {
		eff = defaultEfficiency
	}
	for i, n := range names {
		t.Tree.Levels = append(t.Tree.Levels, Level{Name: n, Efficiency: eff[min(i, len(eff)-1)]})
	}
	return names
}

// uniqueGroupNames makes names unique over all levels: a group called like another gets its level number.
func (b *builder) uniqueGroupNames() {
	seen := map[string]bool{}
	for g := range b.groups {
		v := &b.groups[g]
		for v.name == "" || seen[v.name] {
			v.name = cmp.Or(v.name, "group") + "-" + itoa(int32(v.tier))
		}
		seen[v.name] = true
	}
}

// countNodes counts asked hosts below every group.
func (b *builder) countNodes() []int {
	below := make([]int, len(b.groups))
	for h := range b.hosts {
		if !b.hosts[h].asked {
			continue
		}
		for g := b.hosts[h].group; g >= 0; g = b.groups[g].parent {
			below[g]++
		}
	}
	return below
}

func (b *builder) nodesByGroup(t *Topology) map[string][]*Node {
	by := make(map[string][]*Node, len(b.groups))
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.Group != "" {
			by[n.Group] = append(by[n.Group], n)
		}
	}
	return by
}

func (b *builder) switchNames(g int32) []string {
	out := make([]string, 0, len(b.groups[g].switches))
	for _, s := range b.groups[g].switches {
		out = append(out, b.sws[s].name)
	}
	return out
}

// splitDomains puts the nodes of one leaf group that share an NVLink domain into a group of their own below it. A domain that
// spans leaf groups appears once in each, with the leaf group's name.
func splitDomains(leaf string, nodes []*Node) (direct []string, domains []Group) {
	size := map[string]int{}
	for _, n := range nodes {
		size[n.NVLinkDomain]++
	}
	at := map[string]int{}
	for _, n := range nodes {
		d := n.NVLinkDomain
		if d == "" || size[d] < 2 {
			direct = append(direct, n.Name)
			continue
		}
		i, ok := at[d]
		if !ok {
			i = len(domains)
			at[d] = i
			domains = append(domains, Group{Name: leaf + "." + d, Level: DomainLevel, Parent: leaf})
		}
		domains[i].Nodes = append(domains[i].Nodes, n.Name)
	}
	return direct, domains
}

// uplink is the capacity from a group to its parent in node-worths. With one leaf per rail the weakest rail counts, because
// each rail carries its own share of a collective: rails × weakest rail's uplinks ÷ nominal bandwidth of a node.
func (b *builder) uplink(g int32) *float64 {
	nominal := b.nominalBelow(g)
	if nominal == 0 {
		return nil
	}
	perRail := map[int32]float64{}
	for _, s := range b.groups[g].switches {
		perRail[b.sws[s].rail] += b.upBandwidth(s, b.groups[g].parent)
	}
	if len(perRail) == 0 {
		return nil
	}
	total, weakest := 0.0, -1.0
	for _, bw := range perRail {
		total += bw
		if weakest < 0 || bw < weakest {
			weakest = bw
		}
	}
	if _, mixed := perRail[-1]; !mixed {
		total = weakest * float64(len(perRail))
	}
	if total == 0 {
		return nil
	}
	worth := total / nominal
	return &worth
}

// upBandwidth sums the cables of a switch to the switches of the parent group; below a joined root, to any switch elsewhere.
func (b *builder) upBandwidth(s, parent int32) float64 {
	sum := 0.0
	for _, c := range b.f.cables(b.sws[s].dev) {
		p := b.swOf[c.peer]
		if p < 0 || b.sws[p].aux {
			continue
		}
		if b.sws[p].group == parent || (b.groups[parent].joined && b.sws[p].group >= 0 && b.sws[p].group != b.sws[s].group && b.sws[p].tier == b.sws[s].tier) {
			sum += b.f.links[c.link].BandwidthBytesPerSecond
		}
	}
	return sum
}

// nominalBelow is the nominal bandwidth of the first node below a group.
func (b *builder) nominalBelow(g int32) float64 {
	v := &b.groups[g]
	for _, h := range v.hosts {
		if b.hosts[h].nominal > 0 {
			return b.hosts[h].nominal
		}
	}
	for _, c := range v.children {
		if n := b.nominalBelow(c); n > 0 {
			return n
		}
	}
	return 0
}
