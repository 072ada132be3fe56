package topology

import (
	"cmp"
	"slices"
	"strconv"
)

// groupLeaves forms leaf groups: leaves whose host sets overlap by more than half are one group (the rails of one set of
// hosts), each host goes where most of its ports are, and switches that serve hosts of other groups are set aside.
func (b *builder) groupLeaves() {
	b.plugNICs()
	leaves, sets := b.leafSets()
	cluster := clusterSimilar(sets, len(b.hosts))
	members := make([][]int32, 0, len(leaves))
	for i, c := range cluster {
		if int(c) == len(members) {
			members = append(members, nil)
		}
		members[c] = append(members[c], leaves[i])
		b.sws[leaves[i]].group = c
	}
	size := make([]int, len(members)) // hosts that touch a cluster, for ties
	for i, c := range cluster {
		size[c] = max(size[c], len(sets[i]))
	}
	for h := range b.hosts {
		b.hosts[h].group = b.vote(&b.hosts[h], size)
	}
	b.setAside(leaves, sets)
	for h := range b.hosts {
		if g := b.hosts[h].group; g >= 0 && !b.usesCluster(&b.hosts[h], g) {
			b.hosts[h].group = b.vote(&b.hosts[h], size) // its group was a storage switch alone
		}
	}
	b.keepGroups(members)
}

// plugNICs lists the cabled ports of every host. Cables to aggregation nodes and loopback plugs are no NICs.
func (b *builder) plugNICs() {
	for h := range b.hosts {
		hs := &b.hosts[h]
		hs.nics = make([]nic, 0, len(hs.adapters))
		for _, d := range hs.adapters {
			multi := b.multiPort(d)
			for _, c := range b.f.cables(d) {
				n := nic{dev: d, name: b.device[d], port: c.port, sw: b.swOf[c.peer], swPort: c.peerPort, link: c.link,
					bw: b.f.links[c.link].BandwidthBytesPerSecond, rail: -1}
				if multi && c.port > 1 {
					n.name = secondPort(n.name, c.port)
				}
				n.compute = n.sw >= 0 && (b.opts.ComputeNICs == nil || b.opts.ComputeNICs.MatchString(n.name))
				hs.nics = append(hs.nics, n)
			}
		}
	}
}

// multiPort reports whether an adapter has cables on more than one port number, or one beyond the first.
func (b *builder) multiPort(d int32) bool {
	c := b.f.cables(d)
	return len(c) > 0 && c[len(c)-1].port > 1
}

func secondPort(device string, port int32) string { return device + "/" + strconv.Itoa(int(port)) }

// leafSets lists the leaves with hosts, and the sorted hosts on each.
func (b *builder) leafSets() (leaves []int32, sets [][]int32) {
	on := make([][]int32, len(b.sws))
	for h := range b.hosts {
		for i := range b.hosts[h].nics {
			n := &b.hosts[h].nics[i]
			if n.compute && b.sws[n.sw].tier == 0 && (len(on[n.sw]) == 0 || on[n.sw][len(on[n.sw])-1] != int32(h)) {
				on[n.sw] = append(on[n.sw], int32(h))
			}
		}
	}
	for s := range on {
		if len(on[s]) > 0 {
			leaves = append(leaves, int32(s))
			sets = append(sets, on[s]) // hosts were visited in order: sorted already
		}
	}
	return leaves, sets
}

// vote gives the cluster that holds most ports of a host; a tie goes to the cluster with fewer hosts (a storage switch has
// many), then to that of the host's first port.
func (b *builder) vote(h *host, size []int) int32 {
	best, ports := int32(-1), 0
	for i := range h.nics {
		g := b.clusterOf(&h.nics[i])
		if g < 0 {
			continue
		}
		n := 0
		for j := range h.nics {
			if b.clusterOf(&h.nics[j]) == g {
				n++
			}
		}
		if n > ports || (n == ports && 3*size[g] < 2*size[best]) {
			best, ports = g, n
		}
	}
	return best
}

func (b *builder) usesCluster(h *host, g int32) bool {
	return slices.ContainsFunc(h.nics, func(n nic) bool { return b.clusterOf(&n) == g })
}

func (b *builder) clusterOf(n *nic) int32 {
	if !n.compute || b.sws[n.sw].tier != 0 {
		return -1
	}
	return b.sws[n.sw].group
}

// setAside finds storage and management switches: most of their hosts, at least two, live in at least two other groups. Their
// ports stop counting as compute ports, and hosts that have nothing else are named and left out of the tree.
func (b *builder) setAside(leaves []int32, sets [][]int32) {
	typical := medianSize(sets)
	for i, s := range leaves {
		elsewhere, homes := 0, map[int32]bool{}
		for _, h := range sets[i] {
			if g := b.hosts[h].group; g != b.sws[s].group {
				elsewhere++
				homes[g] = true
			}
		}
		own := len(sets[i]) - elsewhere
		if len(homes) >= 2 && elsewhere > own && 2*len(sets[i]) > 3*typical {
			b.sws[s].aux = true
		} else if own > 0 && 5*elsewhere >= len(sets[i]) && elsewhere >= 2 && b.strictlyElsewhere(s, sets[i]) {
			b.sws[s].aux = true
		}
	}
	for _, s := range leaves {
		if b.sws[s].aux {
			b.sws[s].group = -1
			b.find("auxiliary-switch", Info, b.sws[s].name, "choose the compute NICs by device name if this switch carries collectives",
				"serves hosts of several leaf groups: taken as a storage or management switch and kept out of the tree")
		}
	}
	for h := range b.hosts {
		b.dropAuxiliary(int32(h))
	}
}

func medianSize(sets [][]int32) int {
	sizes := make([]int, len(sets))
	for i, s := range sets {
		sizes[i] = len(s)
	}
	slices.Sort(sizes)
	if len(sizes) == 0 {
		return 0
	}
	return sizes[len(sizes)/2]
}

// strictlyElsewhere reports whether the hosts of a switch that live in other groups have more ports there than one.
func (b *builder) strictlyElsewhere(s int32, hosts []int32) bool {
	for _, h := range hosts {
		g := b.hosts[h].group
		if g == b.sws[s].group {
			continue
		}
		there := 0
		for i := range b.hosts[h].nics {
			if b.clusterOf(&b.hosts[h].nics[i]) == g {
				there++
			}
		}
		if there < 2 {
			return false
		}
	}
	return true
}

// dropAuxiliary takes the ports on set-aside switches out of the compute ports of a host.
func (b *builder) dropAuxiliary(h int32) {
	hs := &b.hosts[h]
	compute := 0
	for i := range hs.nics {
		n := &hs.nics[i]
		if n.sw >= 0 && b.sws[n.sw].aux {
			n.compute = false
		}
		if n.compute {
			compute++
		}
	}
	if hs.group >= 0 && compute == 0 {
		hs.group = -1
		b.find("storage-only-host", Info, hs.name, "list it among the hosts asked for, or choose the compute NICs by name, if it runs jobs",
			"has ports on storage or management switches only: kept out of the tree")
	}
}

// keepGroups numbers the clusters that won a host as leaf groups; leaves of the others join the group that has most of their
// hosts.
func (b *builder) keepGroups(members [][]int32) {
	newID := make([]int32, len(members))
	for c := range newID {
		newID[c] = -1
	}
	for c, m := range members {
		m = slices.DeleteFunc(slices.Clone(m), func(s int32) bool { return b.sws[s].aux })
		hosts := b.hostsOfCluster(int32(c))
		if len(hosts) == 0 || len(m) == 0 {
			continue
		}
		newID[c] = int32(len(b.groups))
		b.groups = append(b.groups, vgroup{tier: 0, switches: m, hosts: hosts, parent: -1, name: b.sws[m[0]].name})
	}
	for h := range b.hosts {
		if g := b.hosts[h].group; g >= 0 {
			b.hosts[h].group = newID[g]
		}
	}
	var homeless []int32
	for i := range b.sws {
		if g := b.sws[i].group; g >= 0 {
			if b.sws[i].group = newID[g]; newID[g] < 0 {
				homeless = append(homeless, int32(i))
			}
		}
	}
	for _, s := range homeless {
		b.adopt(s)
	}
	for i := range b.sws {
		if s := &b.sws[i]; s.tier == 0 && s.group < 0 && !s.aux && !s.idle {
			b.find("unassigned-leaf", Info, s.name, "name its adapters (node descriptions, node reports or alias file)", "has adapters, but none of a host with a name: belongs to no group")
		}
	}
}

func (b *builder) hostsOfCluster(c int32) []int32 {
	if b.byCluster == nil {
		n := int32(0)
		for h := range b.hosts {
			n = max(n, b.hosts[h].group+1)
		}
		b.byCluster = make([][]int32, n)
		for h := range b.hosts {
			if g := b.hosts[h].group; g >= 0 {
				b.byCluster[g] = append(b.byCluster[g], int32(h))
			}
		}
	}
	if int(c) >= len(b.byCluster) {
		return nil
	}
	return b.byCluster[c]
}

// adopt gives a leaf that no host calls home to the group of most of its hosts.
func (b *builder) adopt(s int32) {
	votes := map[int32]int{}
	for _, c := range b.f.cables(b.sws[s].dev) {
		if h := b.hostOf[c.peer]; h >= 0 && b.hosts[h].group >= 0 {
			votes[b.hosts[h].group]++
		}
	}
	if g := mostVotes(votes); g >= 0 {
		b.sws[s].group = g
		b.groups[g].switches = append(b.groups[g].switches, s)
		slices.Sort(b.groups[g].switches)
	}
}

// mostVotes gives the key with the highest count, the smallest on a tie, -1 for none.
func mostVotes(votes map[int32]int) int32 {
	best := int32(-1)
	for k, n := range votes {
		if best < 0 || n > votes[best] || (n == votes[best] && k < best) {
			best = k
		}
	}
	return best
}

// groupUpwards repeats the leaf rule one tier at a time: switches of a tier that join mostly the same groups are one vertex,
// each group hangs below the vertex that holds most of its cables. On the highest tier everything connected is one vertex.
func (b *builder) groupUpwards() {
	lower := make([]int32, len(b.groups))
	for g := range lower {
		lower[g] = int32(g)
	}
	for t := 1; t <= b.maxT; t++ {
		lower = b.groupTier(int32(t), lower)
	}
}

// groupTier forms the groups of tier t over the groups below and returns the groups that the next tier starts from: the new
// ones, and those below that found no parent.
func (b *builder) groupTier(t int32, lower []int32) []int32 {
	var up []int32
	var sets [][]int32
	for i := range b.sws {
		if s := &b.sws[i]; s.tier == t && !s.idle {
			if set := b.groupsBelow(int32(i)); len(set) > 0 {
				up = append(up, int32(i))
				sets = append(sets, set)
			}
		}
	}
	cluster := clusterSimilar(sets, len(b.groups))
	if int(t) == b.maxT {
		cluster = clusterConnected(sets, len(b.groups))
	}
	for i, s := range up {
		b.sws[s].group = -2 - cluster[i] // provisional
	}
	parents := b.chooseParents(lower)
	first := int32(len(b.groups))
	made := map[int32]int32{}
	next := []int32{}
	for _, g := range lower {
		c, ok := parents[g]
		if !ok {
			next = append(next, g)
			continue
		}
		id, ok := made[c]
		if !ok {
			id = int32(len(b.groups))
			made[c] = id
			b.groups = append(b.groups, vgroup{tier: int(t), parent: -1})
		}
		b.groups[g].parent = id
		b.groups[id].children = append(b.groups[id].children, g)
	}
	b.homeSwitches(up, made)
	for id := first; id < int32(len(b.groups)); id++ {
		b.nameGroup(id)
		next = append(next, id)
	}
	return next
}

// nameGroup calls a group after its first switch.
func (b *builder) nameGroup(id int32) {
	g := &b.groups[id]
	if len(g.switches) > 0 {
		g.name = b.sws[g.switches[0]].name
	}
}

// groupsBelow lists the groups one step below a switch, found through their switches.
func (b *builder) groupsBelow(s int32) []int32 {
	var out []int32
	last := int32(-1)
	for _, p := range b.peers(s) {
		q := &b.sws[p]
		if q.tier < b.sws[s].tier && q.group >= 0 && !q.aux {
			if g := q.group; g != last {
				out, last = append(out, g), g
			}
		}
	}
	return sortedSet(out)
}

// chooseParents gives each lower group the provisional cluster above it with most of its bandwidth, the first on a tie.
func (b *builder) chooseParents(lower []int32) map[int32]int32 {
	parents := make(map[int32]int32, len(lower))
	for _, g := range lower {
		votes := map[int32]int{}
		for _, s := range b.groups[g].switches {
			for _, p := range b.peers(s) {
				if c := -2 - b.sws[p].group; c >= 0 && b.sws[p].tier > b.sws[s].tier {
					votes[c]++
				}
			}
		}
		if c := mostVotes(votes); c >= 0 {
			parents[g] = c
		}
	}
	return parents
}

// homeSwitches turns provisional clusters into groups; the switches of a cluster that no group chose join the group that
// holds most of their children.
func (b *builder) homeSwitches(up []int32, made map[int32]int32) {
	for _, s := range up {
		id, ok := made[-2-b.sws[s].group]
		if !ok {
			votes := map[int32]int{}
			for _, p := range b.peers(s) {
				if q := &b.sws[p]; q.group >= 0 && q.tier < b.sws[s].tier {
					if parent := b.groups[q.group].parent; parent >= 0 {
						votes[parent]++
					}
				}
			}
			id = mostVotes(votes)
		}
		b.sws[s].group = id
		if id >= 0 {
			b.groups[id].switches = append(b.groups[id].switches, s)
		}
	}
}

// clusterConnected puts items that share any member, directly or through others, into one cluster.
func clusterConnected(sets [][]int32, n int) []int32 {
	root := make([]int32, n)
	for i := range root {
		root[i] = int32(i)
	}
	for _, s := range sets {
		for _, m := range s {
			union(root, s[0], m)
		}
	}
	of := make([]int32, len(sets))
	for i, s := range sets {
		of[i] = s[0]
	}
	return numberClusters(of, root)
}

// joinRoots puts a root over trees that only direct cables between their switches join (leaves back to back, a link between
// two halves), so that the tree says what can reach what.
func (b *builder) joinRoots() {
	n := int32(len(b.groups))
	root := make([]int32, n)
	for i := range root {
		root[i] = int32(i)
	}
	for g := range b.groups {
		if p := b.groups[g].parent; p >= 0 {
			union(root, int32(g), p)
		}
	}
	top := make([]int32, 0)
	for g := range b.groups {
		if b.groups[g].parent < 0 {
			top = append(top, int32(g))
		}
	}
	if len(top) > 1 {
		b.joinCabled(root)
	}
	pieces := map[int32][]int32{}
	var order []int32
	for _, g := range top {
		r := findRoot(root, g)
		if pieces[r] == nil {
			order = append(order, r)
		}
		pieces[r] = append(pieces[r], g)
	}
	for _, r := range order {
		if len(pieces[r]) > 1 {
			b.putRoot(pieces[r])
		}
	}
	if len(order) > 1 {
		b.find("separate-fabrics", Warning, "fabric", "check the cables between the parts, or place jobs within one of them", "the fabric is in %d parts that no cable joins", len(order))
	}
}

// joinCabled unites groups whose switches have a cable to each other.
func (b *builder) joinCabled(root []int32) {
	for i := range b.sws {
		g := b.sws[i].group
		if g < 0 || b.sws[i].aux {
			continue
		}
		for _, p := range b.peers(int32(i)) {
			if q := &b.sws[p]; q.group >= 0 && !q.aux {
				union(root, g, q.group)
			}
		}
	}
}

func (b *builder) putRoot(children []int32) {
	id := int32(len(b.groups))
	highest := 0
	for _, c := range children {
		highest = max(highest, b.groups[c].tier)
		b.groups[c].parent = id
	}
	name := "joined-" + b.groups[children[0]].name
	b.groups = append(b.groups, vgroup{tier: highest + 1, children: children, parent: -1, name: name, joined: true})
	b.maxT = max(b.maxT, highest+1)
}

// byName orders groups as the tree lists them: physical order is name order.
func (b *builder) byName(x, y int32) int {
	return cmp.Or(CompareNames(b.groups[x].name, b.groups[y].name), cmp.Compare(x, y))
}
