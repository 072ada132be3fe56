package topology

import (
	"cmp"
	"slices"
	"strings"
)

// assignRails numbers the rails of every leaf group: rail r is the r-th compute device that most hosts of the group have, in
// name order; a leaf serves the rail that most of its ports belong to. A port on a leaf of another rail or group is miswired.
func (b *builder) assignRails() {
	b.families = map[string]string{}
	for g := range b.groups {
		if b.groups[g].tier == 0 {
			b.groupRails(int32(g))
		}
	}
	b.upperRails()
}

// railNames lists the device names of each naming family ("mlx5_", "HCA-") that at least half of the family's hosts have.
func (b *builder) railNames(g int32) map[string][]string {
	count := map[string]int{}
	hosts := map[string]int{}
	for _, h := range b.groups[g].hosts {
		var seen []string
		for i := range b.hosts[h].nics {
			if n := &b.hosts[h].nics[i]; n.compute && n.name != "" {
				count[n.name]++
				if f := b.family(n.name); !slices.Contains(seen, f) {
					seen = append(seen, f)
					hosts[f]++
				}
			}
		}
	}
	names := map[string][]string{}
	for _, n := range sortedKeys(count) {
		if f := b.family(n); 2*count[n] >= hosts[f] {
			names[f] = append(names[f], n)
		}
	}
	for f, list := range names {
		if len(names) > 1 && 4*hosts[f] < len(b.groups[g].hosts) {
			delete(names, f) // a few odd hosts (management servers) say nothing about rails
			continue
		}
		slices.SortFunc(list, CompareNames)
	}
	return names
}

// family is a device name without its numbers: "mlx5_" of mlx5_3 and of mlx5_3/2.
func (b *builder) family(device string) string {
	f, ok := b.families[device]
	if !ok {
		f = strings.Map(func(r rune) rune {
			if '0' <= r && r <= '9' || r == '/' {
				return -1
			}
			return r
		}, device)
		b.families[device] = f
	}
	return f
}

func (b *builder) groupRails(g int32) {
	names := b.railNames(g)
	rank := map[string]int32{}
	for _, list := range names {
		for i, n := range list {
			rank[n] = int32(i)
		}
	}
	leafVotes := map[int32]map[int32]int{}
	for _, h := range b.groups[g].hosts {
		for i := range b.hosts[h].nics {
			n := &b.hosts[h].nics[i]
			if r, ok := rank[n.name]; ok && n.compute {
				n.rail = r
				if b.sws[n.sw].group == g {
					if leafVotes[n.sw] == nil {
						leafVotes[n.sw] = map[int32]int{}
					}
					leafVotes[n.sw][r]++
				}
			}
		}
	}
	for s, votes := range leafVotes {
		b.sws[s].rail = dominantRail(votes)
	}
	b.nameRails(g)
	b.spareRails(g)
	shared := b.sharedWith(g)
	for _, h := range b.groups[g].hosts {
		b.checkWiring(g, h, shared)
	}
}

// sharedWith names the groups that at least a quarter of the hosts of g also have a port in: dual-homed by design, not by
// mistake. One finding for each says so.
func (b *builder) sharedWith(g int32) map[int32]bool {
	count := map[int32]int{}
	for _, h := range b.groups[g].hosts {
		seen := map[int32]bool{}
		for i := range b.hosts[h].nics {
			n := &b.hosts[h].nics[i]
			if n.compute && b.sws[n.sw].tier == 0 && b.sws[n.sw].group != g && b.sws[n.sw].group >= 0 && !seen[b.sws[n.sw].group] {
				seen[b.sws[n.sw].group] = true
				count[b.sws[n.sw].group]++
			}
		}
	}
	shared := map[int32]bool{}
	for o, n := range count {
		if 4*n >= len(b.groups[g].hosts) && n >= 2 {
			shared[o] = true
			b.find("dual-homed-group", Info, b.groups[g].name, "nothing to do if it is meant so", "%d of its %d hosts also have a port in group %s", n, len(b.groups[g].hosts), b.groups[o].name)
		}
	}
	return shared
}

// dominantRail is the rail with more than 60 % of the ports of a leaf, -1 when the leaf serves several alike.
func dominantRail(votes map[int32]int) int32 {
	total := 0
	for _, n := range votes {
		total += n
	}
	if r := mostVotes(votes); r >= 0 && 5*votes[r] > 3*total {
		return r
	}
	return -1
}

// nameRails gives rails to leaves that have none by the order of their names, when a group has one leaf per rail and no
// device names tell (bare host names).
func (b *builder) nameRails(g int32) {
	leaves := b.groups[g].switches
	if slices.ContainsFunc(leaves, func(s int32) bool { return b.sws[s].rail >= 0 }) || len(leaves) < 2 {
		return
	}
	for i, s := range leaves {
		b.sws[s].rail = int32(i)
	}
}

// spareRails numbers compute ports whose device name is no rail of the group: by the rail of their leaf, then by order.
func (b *builder) spareRails(g int32) {
	for _, h := range b.groups[g].hosts {
		nics := b.hosts[h].nics
		if slices.IsSortedFunc(nics, byRail) && !slices.ContainsFunc(nics, func(n nic) bool { return n.compute && n.rail < 0 }) {
			continue
		}
		used := map[int32]bool{}
		for i := range nics {
			if nics[i].compute && nics[i].rail >= 0 {
				used[nics[i].rail] = true
			}
		}
		for i := range nics {
			n := &nics[i]
			if !n.compute || n.rail >= 0 {
				continue
			}
			if r := b.sws[n.sw].rail; r >= 0 && b.sws[n.sw].group == g && !used[r] {
				n.rail = r
			} else {
				for n.rail = 0; used[n.rail]; n.rail++ {
				}
			}
			used[n.rail] = true
		}
		slices.SortStableFunc(nics, byRail)
	}
}

// byRail orders ports: compute ports first, by rail, then by name and port number.
func byRail(x, y nic) int {
	return cmp.Or(cmp.Compare(b2i(!x.compute), b2i(!y.compute)), cmp.Compare(x.rail, y.rail), CompareNames(x.name, y.name), cmp.Compare(x.port, y.port))
}

// checkWiring names ports that are plugged into the wrong leaf. Groups without one leaf per rail can only be wrong by group.
func (b *builder) checkWiring(g, h int32, shared map[int32]bool) {
	for i := range b.hosts[h].nics {
		n := &b.hosts[h].nics[i]
		if !n.compute {
			continue
		}
		s := &b.sws[n.sw]
		subject := b.hosts[h].name + "/" + cmp.Or(n.name, "port "+s.name)
		switch {
		case s.tier > 0:
			b.find("host-on-spine", Info, subject, "move the cable to a leaf if this host runs jobs", "is plugged into %s port %d, a switch above the leaves", s.name, n.swPort)
		case s.group != g && shared[s.group]:
		case s.group != g:
			n.miswired = true
			b.find("miswired-group", Warning, subject, "move the cable to a leaf of the group, or tell railmap the host's place by a node report",
				"is on %s port %d, but the host's other ports are in group %s", s.name, n.swPort, b.groups[g].name)
		case len(shared) == 0 && s.rail >= 0 && n.rail >= 0 && s.rail != n.rail:
			n.miswired = true
			b.find("miswired-rail", Warning, subject, "swap the cables back: rail "+itoa(n.rail)+" belongs on "+b.leafOfRail(g, n.rail),
				"is rail %d but is on %s port %d, which serves rail %d", n.rail, s.name, n.swPort, s.rail)
		}
	}
}

// leafOfRail names the leaf that serves a rail of a group: by its role, else where most hosts have that rail.
func (b *builder) leafOfRail(g, rail int32) string {
	for _, s := range b.groups[g].switches {
		if b.sws[s].rail == rail {
			return b.sws[s].name
		}
	}
	votes := map[int32]int{}
	for _, h := range b.groups[g].hosts {
		for i := range b.hosts[h].nics {
			if n := &b.hosts[h].nics[i]; n.compute && n.rail == rail {
				votes[n.sw]++
			}
		}
	}
	if s := mostVotes(votes); s >= 0 {
		return b.sws[s].name
	}
	return "another leaf"
}

// upperRails gives a rail to switches above the leaves that join leaves of one rail only.
func (b *builder) upperRails() {
	for t := int32(1); t <= int32(b.maxT); t++ {
		for i := range b.sws {
			s := &b.sws[i]
			if s.tier != t || s.idle {
				continue
			}
			votes := map[int32]int{}
			for _, p := range b.peers(int32(i)) {
				if q := &b.sws[p]; q.tier == t-1 && !q.aux {
					votes[q.rail]++
				}
			}
			if r := dominantRail(votes); r >= 0 && 10*votes[r] > 9*total(votes) {
				s.rail = r
			}
		}
	}
}

func total(votes map[int32]int) int {
	n := 0
	for _, v := range votes {
		n += v
	}
	return n
}
