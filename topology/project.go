package topology

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

func itoa(n int32) string { return strconv.Itoa(int(n)) }

// project marks the hosts asked for (all compute hosts when none are named) and works out what a healthy node of each group
// has. It changes no tier and no group. A host asked for that the fabric does not know becomes a node without a group.
func (b *builder) project() {
	if b.opts.Hosts == nil {
		for h := range b.hosts {
			hs := &b.hosts[h]
			hs.asked = hs.group >= 0 || hs.report != nil
			switch {
			case hs.asked || b.named(hs.name):
			case len(hs.nics) == 0:
				b.find("host-without-cable", Warning, hs.name, "plug it in, or ignore it if it is switched off", "the fabric lists its adapter but no cable: not placed")
			default:
				b.find("unplaced-host", Warning, hs.name, "check where its cables go", "none of its ports is on a leaf of the compute fabric: not placed")
			}
		}
	} else {
		b.projectAsked()
	}
	for g := range b.groups {
		if b.groups[g].tier == 0 {
			b.nominalOf(int32(g))
		}
	}
}

// named reports whether a finding says already why a host is not placed.
func (b *builder) named(host string) bool {
	return slices.ContainsFunc(b.findings, func(f Finding) bool { return f.Code == "storage-only-host" && f.Subject == host })
}

// projectAsked matches asked names to hosts: exactly, else by case-folded short name, each host once. Two machines with one
// name both stand for the name that was asked.
func (b *builder) projectAsked() {
	byName := make(map[string][]int32, len(b.hosts))
	for h := range b.hosts {
		name := strings.ToLower(b.hosts[h].name)
		byName[name] = append(byName[name], int32(h))
		if original, ok := b.twins[b.hosts[h].name]; ok {
			byName[original] = append(byName[original], int32(h))
		}
	}
	asked := slices.Clone(b.opts.Hosts)
	slices.SortFunc(asked, CompareNames)
	var missing []string
	for _, want := range slices.Compact(asked) {
		short, _, _ := strings.Cut(want, ".")
		found := byName[strings.ToLower(want)]
		if len(found) == 0 {
			found = byName[strings.ToLower(short)]
		}
		if len(found) == 1 && !b.hosts[found[0]].asked {
			b.hosts[found[0]].name = want
		}
		for _, h := range found {
			b.hosts[h].asked = true
		}
		if len(found) == 0 {
			missing = append(missing, want)
		}
	}
	for _, name := range missing {
		b.hosts = append(b.hosts, host{name: name, group: -1, asked: true})
	}
	for h := range b.hosts {
		if hs := &b.hosts[h]; hs.asked && hs.group < 0 {
			b.find("unplaced-host", Warning, hs.name, "check its cable and node description, give its node report, or name it in the alias file",
				"was asked for, but no compute port of it is in the fabric: it has no group")
		}
	}
}

// nominalOf sets what a healthy node of the group has: the most common number of compute rails times the most common port
// bandwidth. It names rails that a host lacks and ports that are slower than their peers.
func (b *builder) nominalOf(g int32) {
	rails, speeds := map[int32]int{}, map[float64]int{}
	for _, h := range b.groups[g].hosts {
		n := int32(0)
		for i := range b.hosts[h].nics {
			if nic := &b.hosts[h].nics[i]; nic.compute {
				n++
				if nic.bw > 0 {
					speeds[nic.bw]++
				}
			}
		}
		rails[n]++
	}
	count, speed := largestMode(rails), largestMode(speeds)
	if count == 1 {
		b.emptyPorts(g)
	}
	aligned := b.portsAligned(g)
	for _, h := range b.groups[g].hosts {
		hs := &b.hosts[h]
		hs.nominal = float64(count) * speed
		b.checkSpeeds(hs, speed)
		b.checkMissing(g, hs, count, aligned)
	}
}

// largestMode is the most frequent key, the larger one on a tie; zero for none.
func largestMode[K cmp.Ordered](count map[K]int) K {
	var best K
	n := 0
	for k, c := range count {
		if c > n || (c == n && k > best) {
			best, n = k, c
		}
	}
	return best
}

func (b *builder) checkSpeeds(hs *host, expected float64) {
	for i := range hs.nics {
		n := &hs.nics[i]
		if !n.compute || n.bw == 0 || n.bw > 0.95*expected {
			continue
		}
		l := &b.f.links[n.link]
		b.find("slow-link", Warning, hs.name+"/"+cmp.Or(n.name, "port"), "reseat or replace the cable, then compare with iblinkinfo; until then leave the rail out (NCCL_IB_HCA)",
			"runs at %s (%s) on %s port %d; the other ports of the group run at %s", gbit(n.bw), linkWord(l), b.sws[n.sw].name, n.swPort, gbit(expected))
	}
}

// linkWord prints width and speed as fabric tools do: 4xNDR.
func linkWord(l *FabricLink) string {
	if l.Width == 0 || l.Speed == 0 {
		return "unknown width or speed"
	}
	return strconv.Itoa(int(l.Width)) + "x" + l.Speed.String()
}

// emptyPorts looks for what a missing rail cannot show when hosts have one: ports without a cable among ports that all carry
// hosts. A few such gaps are holes where a host should answer; many are just how the leaf is cabled.
func (b *builder) emptyPorts(g int32) {
	for _, s := range b.groups[g].switches {
		var gaps []int32
		last, hosts := int32(0), 0
		for _, c := range b.f.cables(b.sws[s].dev) {
			if b.swOf[c.peer] >= 0 || b.f.devices[c.peer].Kind == AggregationDevice {
				continue
			}
			for p := last + 1; last > 0 && p < c.port && len(gaps) <= 4 && !b.cabled(s, p); p++ {
				gaps = append(gaps, p)
			}
			last = c.port
			hosts++
		}
		if len(gaps) > max(1, hosts/8) || hosts < 4 {
			continue
		}
		for _, p := range gaps {
			b.find("empty-host-port", Info, b.sws[s].name+":"+itoa(p), "look for a host that is switched off or whose only cable is out; name the hosts (--hosts) to be sure",
				"no cable, between ports that all carry hosts")
		}
	}
}

func (b *builder) cabled(s, port int32) bool {
	return slices.ContainsFunc(b.f.cables(b.sws[s].dev), func(c cableEnd) bool { return c.port == port })
}

// portsAligned reports whether the cabling of a group puts all rails of a host on the same port number of their leaves.
func (b *builder) portsAligned(g int32) bool {
	same, multi := 0, 0
	for _, h := range b.groups[g].hosts {
		first, n, equal := int32(-1), 0, true
		for i := range b.hosts[h].nics {
			if nic := &b.hosts[h].nics[i]; nic.compute {
				n++
				equal = equal && (first < 0 || nic.swPort == first)
				first = nic.swPort
			}
		}
		if n > 1 {
			multi++
			same += b2i(equal)
		}
	}
	return 3*same > 2*multi
}

// checkMissing names the rails that most hosts of the group have and this one lacks, with the leaf and port to look at.
func (b *builder) checkMissing(g int32, hs *host, count int32, aligned bool) {
	n := int32(0)
	for i := range hs.nics {
		n += int32(b2i(hs.nics[i].compute))
	}
	if n >= count {
		return
	}
	have := map[int32]bool{}
	ports := map[int32]int{}
	for i := range hs.nics {
		if nic := &hs.nics[i]; nic.compute {
			have[nic.rail] = true
			ports[nic.swPort]++
		}
	}
	where := ""
	if p := mostVotes(ports); aligned && p > 0 && 2*ports[p] > total(ports) {
		where = " port " + itoa(p)
	}
	missing := count - n
	for r := int32(0); r < count && missing > 0; r++ {
		if have[r] {
			continue
		}
		missing--
		leaf := b.leafOfRail(g, r)
		b.find("missing-cable", Warning, hs.name+"/rail"+itoa(r), "check the cable and the adapter; a node report of the host tells which of the two it is",
			"rail %d has no link; expected on %s%s%s", r, leaf, where, b.strangerOn(g, r, where))
	}
}

// strangerOn says who sits on the port where a rail is expected, when it is an adapter without a host.
func (b *builder) strangerOn(g, rail int32, where string) string {
	for _, s := range b.groups[g].switches {
		if b.sws[s].rail != rail || where == "" {
			continue
		}
		for _, c := range b.f.cables(b.sws[s].dev) {
			if where == " port "+itoa(c.port) && b.hostOf[c.peer] < 0 && b.swOf[c.peer] < 0 {
				return "; the adapter " + b.f.devices[c.peer].GUID.String() + " there (description \"" + b.f.devices[c.peer].Description + "\") is probably it"
			}
		}
	}
	return ""
}
