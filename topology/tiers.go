package topology

import (
	"cmp"
	"slices"
)

// findSwitches lists switches and routers by name, names them uniquely, and counts the adapter ports on each. Aggregation
// nodes are adapters inside switches: they are left out here and everywhere.
func (b *builder) findSwitches() {
	b.swOf = make([]int32, len(b.f.devices))
	for d := range b.f.devices {
		b.swOf[d] = -1
		dev := &b.f.devices[d]
		if dev.Kind != SwitchDevice && dev.Kind != RouterDevice {
			continue
		}
		name := b.alias(dev.GUID, switchName(dev))
		if name == "" {
			name = cmp.Or(guidName(dev.GUID), dev.Name)
		}
		b.sws = append(b.sws, sw{dev: int32(d), name: name, tier: -1, group: -1, rail: -1, router: dev.Kind == RouterDevice})
	}
	b.renameTwins()
	slices.SortFunc(b.sws, func(x, y sw) int { return cmp.Or(CompareNames(x.name, y.name), cmp.Compare(x.dev, y.dev)) })
	for i := range b.sws {
		s := &b.sws[i]
		b.swOf[s.dev] = int32(i)
		for _, c := range b.f.cables(s.dev) {
			if k := b.f.devices[c.peer].Kind; k == AdapterDevice || k == UnknownDevice {
				s.hosts++
			}
		}
	}
	b.indexPeers()
}

// guidName is the name of a switch without one, as ibnetdiscover prints it: S-2c5eab0300b87b40.
func guidName(g GUID) string {
	if g == 0 {
		return ""
	}
	return "S-" + g.String()[2:]
}

// renameTwins gives switches that share a name (director units, firmware defaults) a GUID suffix.
func (b *builder) renameTwins() {
	count := make(map[string]int, len(b.sws))
	for i := range b.sws {
		count[b.sws[i].name]++
	}
	for i := range b.sws {
		s := &b.sws[i]
		if count[s.name] > 1 {
			b.find("duplicate-switch-name", Info, s.name+"-"+b.f.devices[s.dev].GUID.String()[2:], "name it in the alias file by GUID, or set its description",
				"%d switches are called %q: told apart by GUID", count[s.name], s.name)
			s.name += "-" + b.f.devices[s.dev].GUID.String()[2:]
		}
	}
}

// classify gives every switch its tier from the structure of the whole fabric: 0 for leaves, one more for each step away.
//
//	tier 2        core0   core1          a switch is in tier t+1 when more than 1/8 of its switch cables go to tier t,
//	                | \   / |            so one stray cable between leaf and core does not lift or sink anything
//	tier 1      spine0 .. spine3
//	                |  \ /  |
//	tier 0      leaf0  ..  leaf7         a leaf has adapters, unless it mostly joins switches that have more
func (b *builder) classify() {
	tiersGiven := false
	for i := range b.sws {
		s := &b.sws[i]
		if t := b.f.devices[s.dev].Tier; t != nil {
			s.tier, tiersGiven = int32(*t), true
			continue
		}
		if s.hosts > 0 && !s.router && !b.joinsLeaves(int32(i)) {
			s.tier = 0
		}
	}
	if !tiersGiven && !b.anyTier(0) {
		b.leavesWithoutHosts()
	}
	for t := int32(0); b.raise(t); t++ {
	}
	for i := range b.sws {
		s := &b.sws[i]
		if !s.idle && s.tier > int32(b.maxT) {
			b.maxT = int(s.tier)
		}
	}
}

func (b *builder) anyTier(t int32) bool {
	return slices.ContainsFunc(b.sws, func(s sw) bool { return s.tier == t })
}

// leavesWithoutHosts handles a switch-only dump: the switches with the fewest switch cables are taken as leaves.
func (b *builder) leavesWithoutHosts() {
	fewest := int(^uint(0) >> 1)
	for i := range b.sws {
		fewest = min(fewest, len(b.peers(int32(i))))
	}
	for i := range b.sws {
		if len(b.peers(int32(i))) == fewest {
			b.sws[i].tier = 0
		}
	}
}

// indexPeers lists, for every switch, the switch at the far end of each of its cables; loopback plugs are left out.
func (b *builder) indexPeers() {
	b.peersOf = make([][]int32, len(b.sws))
	for i := range b.sws {
		cables := b.f.cables(b.sws[i].dev)
		out := make([]int32, 0, len(cables)-min(int(b.sws[i].hosts), len(cables)))
		for _, c := range cables {
			if p := b.swOf[c.peer]; p >= 0 && p != int32(i) {
				out = append(out, p)
			}
		}
		b.peersOf[i] = out
	}
}

func (b *builder) peers(s int32) []int32 { return b.peersOf[s] }

// joinsLeaves tells a spine with a few hosts of its own (a subnet manager, a storage server) from a leaf: most of its cables
// go to switches that carry more than twice its hosts.
func (b *builder) joinsLeaves(s int32) bool {
	strong := int32(0)
	for _, p := range b.peers(s) {
		if b.sws[p].hosts > 2*b.sws[s].hosts {
			strong++
		}
	}
	return strong >= 2 && strong > b.sws[s].hosts
}

// raise gives tier t+1 to the switches above tier t and says whether there were any. A switch that looks up like a switch of
// tier t-1 does (an idle leaf without hosts, the spines of an idle pod) goes back down instead.
func (b *builder) raise(t int32) bool {
	var next, weak []int32
	for i := range b.sws {
		if b.sws[i].tier >= 0 {
			continue
		}
		below, total := 0, 0
		for _, p := range b.peers(int32(i)) {
			total++
			if b.sws[p].tier == t && !b.sws[p].idle {
				below++
			}
		}
		switch {
		case below*8 > total:
			next = append(next, int32(i))
		case below > 0:
			weak = append(weak, int32(i))
		}
	}
	if len(next) == 0 {
		next = weak
	}
	placed := false
	for _, s := range next {
		if t > 0 && b.looksIdle(s, t) {
			b.settleIdle(s, t-1)
		} else if b.sws[s].tier < 0 {
			b.sws[s].tier, placed = t+1, true
		}
	}
	return placed
}

// looksIdle reports whether the tier-t neighbours of s are mostly those of some populated switch of tier t-1.
func (b *builder) looksIdle(s, t int32) bool {
	mine := b.distinctPeers(s, t)
	// With one switch above and others not placed yet, s may as well be the tier above: only the number of cables tells.
	unsure := len(mine) == 1 && slices.ContainsFunc(b.peers(s), func(p int32) bool { return b.sws[p].tier < 0 })
	common := make(map[int32]int)
	for _, p := range mine {
		for _, q := range b.distinctPeers(p, t-1) {
			common[q]++
		}
	}
	for q, n := range common {
		if 2*n <= len(mine) || 2*n <= len(b.distinctPeers(q, t))+len(mine)-n {
			continue
		}
		if !unsure || len(b.peers(q)) == len(b.peers(s)) {
			return true
		}
	}
	return false
}

// distinctPeers lists the neighbours of s in tier t that carry hosts or lead to some, each once, in order.
func (b *builder) distinctPeers(s, t int32) []int32 {
	var out []int32
	for _, p := range b.peers(s) {
		if b.sws[p].tier == t && !b.sws[p].idle && (len(out) == 0 || out[len(out)-1] != p) {
			out = append(out, p)
		}
	}
	return sortedSet(out)
}

// settleIdle puts s and what hangs below it into the tiers of an idle part of the fabric.
func (b *builder) settleIdle(s, t int32) {
	b.sws[s].tier, b.sws[s].idle = t, true
	b.find("idle-switch", Info, b.sws[s].name, "nothing to do if the hosts below it are switched off or not yet installed", "no adapter answers below this switch: kept out of the tree")
	if t == 0 {
		return
	}
	for _, p := range b.peers(s) {
		if b.sws[p].tier < 0 {
			b.settleIdle(p, t-1)
		}
	}
}
