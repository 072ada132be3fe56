package topology

import (
	"cmp"
	"fmt"
	"slices"
)

// checkCables looks at cables between switches: uplinks that are missing or slower than those of the switch's peers, cables
// that join two switches of one tier, plugs from a switch into itself, and one-sided cables.
func (b *builder) checkCables() {
	for i := range b.f.links {
		b.checkCable(&b.f.links[i])
	}
	b.hostsBackToBack()
	for t := 0; t < b.maxT; t++ {
		b.checkUplinks(int32(t))
	}
}

func (b *builder) checkCable(l *FabricLink) {
	x, y := b.swOf[l.A.Device], b.swOf[l.B.Device]
	if l.OneSided && !b.readerSays("one-sided-cable") {
		b.find("one-sided-cable", Info, b.cableName(l), "read the fabric again", "only one end reported this cable: it is used")
	}
	if x < 0 || y < 0 {
		return
	}
	sx, sy := &b.sws[x], &b.sws[y]
	switch {
	case x == y:
		b.find("loopback-cable", Warning, b.cableName(l), "remove the plug", "joins two ports of one switch")
	case sx.tier == sy.tier && sx.tier >= 0 && !sx.aux && !sy.aux && sx.group != sy.group && sx.tier < int32(b.maxT) && !sx.idle && !sy.idle:
		b.find("same-tier-cable", Warning, b.cableName(l), "check the cabling plan: an uplink is probably in the wrong port", "joins two switches of tier %d", sx.tier)
	case sx.tier-sy.tier > 1 || sy.tier-sx.tier > 1:
		b.find("tier-skipping-cable", Warning, b.cableName(l), "check the cabling plan", "joins tier %d and tier %d", min(sx.tier, sy.tier), max(sx.tier, sy.tier))
	}
}

// readerSays reports whether the reader of the fabric has findings of a code already: then the map adds none.
func (b *builder) readerSays(code string) bool {
	return slices.ContainsFunc(b.in.Fabrics, func(r *FabricReport) bool {
		return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == code })
	})
}

// cableName prints "leaf0:33 - spine0:1".
func (b *builder) cableName(l *FabricLink) string {
	return b.endName(l.A) + " - " + b.endName(l.B)
}

func (b *builder) endName(e FabricEnd) string {
	if s := b.swOf[e.Device]; s >= 0 {
		return b.sws[s].name + ":" + itoa(e.Port)
	}
	if h := b.hostOf[e.Device]; h >= 0 {
		return b.hosts[h].name + "/" + cmp.Or(b.device[e.Device], itoa(e.Port))
	}
	return b.f.devices[e.Device].label() + ":" + itoa(e.Port)
}

// hostsBackToBack names cables between two adapters: no switch, so no group.
func (b *builder) hostsBackToBack() {
	for i := range b.f.links {
		l := &b.f.links[i]
		if b.hostOf[l.A.Device] >= 0 && b.hostOf[l.B.Device] >= 0 {
			b.find("back-to-back-hosts", Info, b.cableName(l), "nothing to do if it is meant so", "joins two hosts without a switch: not part of the tree")
		}
	}
}

// uplinks are the cables from one switch to the tier above.
type uplinks struct {
	s     int32
	to    []int32 // upper switches, each once, sorted
	count []int   // cables to each
	bw    []float64
}

// upOf collects the uplinks of a switch: cables to switches of a higher tier.
func (b *builder) upOf(s int32) uplinks {
	u := uplinks{s: s}
	u.to = make([]int32, 0, len(b.peers(s)))
	for _, p := range b.peers(s) {
		if b.sws[p].tier > b.sws[s].tier && !b.sws[p].idle {
			u.to = append(u.to, p)
		}
	}
	u.to = sortedSet(u.to)
	u.count, u.bw = make([]int, len(u.to)), make([]float64, len(u.to))
	for _, c := range b.f.cables(b.sws[s].dev) {
		if p := b.swOf[c.peer]; p >= 0 {
			if i, ok := slices.BinarySearch(u.to, p); ok {
				u.count[i]++
				u.bw[i] += b.f.links[c.link].BandwidthBytesPerSecond
			}
		}
	}
	return u
}

// checkUplinks compares the uplinks of the switches of a tier that share their upper switches (one plane). What more than
// half of them have, all should have.
func (b *builder) checkUplinks(t int32) {
	var ups []uplinks
	var sets [][]int32
	for i := range b.sws {
		if s := &b.sws[i]; s.tier == t && !s.aux && !s.idle && s.group >= 0 {
			u := b.upOf(int32(i))
			ups = append(ups, u)
			sets = append(sets, u.to)
		}
	}
	planes := map[int32][]uplinks{}
	for i, c := range clusterSimilar(sets, len(b.sws)) {
		planes[c] = append(planes[c], ups[i])
	}
	b.checkBare(ups)
	cables := map[int]int{}
	for c := int32(0); int(c) < len(planes); c++ {
		for _, u := range planes[c] {
			cables[sum(u.count)]++
		}
		b.checkPlane(planes[c])
	}
	for c := int32(0); int(c) < len(planes); c++ {
		b.checkTotals(planes[c], largestMode(cables))
	}
}

// checkBare names switches that lost every uplink while others of their tier have some.
func (b *builder) checkBare(ups []uplinks) {
	if !slices.ContainsFunc(ups, func(u uplinks) bool { return len(u.to) > 0 }) {
		return
	}
	for _, u := range ups {
		if len(u.to) == 0 {
			b.find("missing-uplink", Warning, b.sws[u.s].name, "check its cables and the switch above", "has no cable to the tier above; others of its tier do")
		}
	}
}

func sum(v []int) int {
	n := 0
	for _, x := range v {
		n += x
	}
	return n
}

// checkPlane names, for each switch of a plane, upper switches that it should reach by more cables than it does, and cables
// that are slower than those of its peers.
func (b *builder) checkPlane(plane []uplinks) {
	counts := map[int32]map[int]int{}
	speeds := map[float64]int{}
	for _, u := range plane {
		for i, p := range u.to {
			if counts[p] == nil {
				counts[p] = map[int]int{}
			}
			counts[p][u.count[i]]++
			speeds[u.bw[i]/float64(u.count[i])]++
		}
	}
	speed := largestMode(speeds)
	uppers := make([]int32, 0, len(counts))
	for p := range counts {
		uppers = append(uppers, p)
	}
	slices.Sort(uppers)
	for _, u := range plane {
		for _, p := range uppers {
			b.checkUplink(u, p, expectedCables(counts[p], len(plane)), speed)
		}
	}
}

// expectedCables is the usual number of cables from a switch of the plane to one upper switch; zero unless more than half of
// the plane have some.
func expectedCables(counts map[int]int, plane int) int {
	have := 0
	for _, n := range counts {
		have += n
	}
	if 2*have <= plane {
		return 0
	}
	return largestMode(counts)
}

func (b *builder) checkUplink(u uplinks, p int32, want int, speed float64) {
	i, ok := slices.BinarySearch(u.to, p)
	if !ok {
		if want > 0 {
			b.find("missing-uplink", Warning, b.trunkName(u.s, p), "check the cable and both ports", "no cable; the peers of %s have %d to %s", b.sws[u.s].name, want, b.sws[p].name)
		}
		return
	}
	if u.count[i] < want {
		b.find("missing-uplink", Warning, b.trunkName(u.s, p), "check the cable and both ports", "%d of %d cables are there", u.count[i], want)
	}
	if u.count[i] > want && want > 0 {
		b.find("extra-uplink", Info, b.trunkName(u.s, p), "check whether a host cable is plugged into a spine", "%d cables; the peers of %s have %d", u.count[i], b.sws[u.s].name, want)
	}
	if have := u.bw[i]; have > 0 && have < 0.95*speed*float64(u.count[i]) {
		b.find("slow-uplink", Warning, b.trunkName(u.s, p), "reseat or replace the slow cable, then compare with iblinkinfo", "the cables carry %s together%s; %s is usual", gbit(have), b.slowestCable(u.s, p, speed), gbit(speed*float64(u.count[i])))
	}
}

func (b *builder) trunkName(s, p int32) string { return b.sws[s].name + " - " + b.sws[p].name }

// slowestCable names the slow cable of a bundle: " (leaf3:33 at 4xEDR)".
func (b *builder) slowestCable(s, p int32, speed float64) string {
	for _, c := range b.f.cables(b.sws[s].dev) {
		if l := &b.f.links[c.link]; b.swOf[c.peer] == p && l.BandwidthBytesPerSecond > 0 && l.BandwidthBytesPerSecond < 0.95*speed {
			return fmt.Sprintf(" (%s:%d at %s)", b.sws[s].name, c.port, linkWord(l))
		}
	}
	return ""
}

// checkTotals finds what peers of one plane cannot show, because all of them lack it: a whole upper switch that is gone.
func (b *builder) checkTotals(plane []uplinks, usual int) {
	most := 0
	var names []string
	for _, u := range plane {
		most = max(most, sum(u.count))
		names = append(names, b.sws[u.s].name)
	}
	if most == 0 || most >= usual {
		return
	}
	b.find("fewer-uplinks", Warning, shorten(names), "look for a switch that is down above them",
		"at most %d uplinks each; %d are usual on this tier", most, usual)
}

// shorten lists at most eight names.
func shorten(names []string) string {
	if len(names) <= 8 {
		return join(names)
	}
	return fmt.Sprintf("%s and %d more", join(names[:8]), len(names)-8)
}

func join(names []string) string {
	s := ""
	for i, n := range names {
		if i > 0 {
			s += ", "
		}
		s += n
	}
	return s
}
