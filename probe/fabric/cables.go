package fabric

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railmap/railmap/topology"
)

// claims of all devices, by rank of the device and then by port; run d is list[start[d]:start[d+1]].
//
// A cable is two claims that name each other:
//
//	claim (leaf0, 40) -> (spine3, 1)        emitted from the smaller end, so links come out sorted
//	claim (spine3, 1) -> (leaf0, 40)        found in spine3's run by binary search
//
// What finds no counterpart is a one-sided cable, unless another cable has one of its ports: then it is a conflict.
type claims struct {
	c     *collector
	list  []claim // dev is free after sorting and says whether the claim was used
	start []int32
	late  bool // a one-sided cable was emitted from its larger end
	busy  bool // some port has two claims that lead to different places
	taken map[topology.FabricEnd]bool

	missing map[int32]int // by device: cables that others name, on ports beyond the last one that its record prints
}

// Values of claim.dev after sorting.
const (
	unused = iota
	usedClaim
	dropped
)

// sortClaims brings the claims in order: counting sort by device, then each short run by port.
func (c *collector) sortClaims(rank []int32) *claims {
	m := &claims{c: c, list: make([]claim, c.claims.n), start: make([]int32, len(rank)+1)}
	for i := range c.claims.n {
		m.start[rank[c.claims.at(i).dev]+1]++
	}
	for d := range rank {
		m.start[d+1] += m.start[d]
	}
	next := slices.Clone(m.start)
	for i := range c.claims.n {
		cl := *c.claims.at(i)
		d := rank[cl.dev]
		cl.dev, cl.peer = unused, rank[cl.peer]
		m.list[next[d]] = cl
		next[d]++
	}
	c.claims = chunked[claim]{}
	for d := range rank {
		m.sortRun(m.run(d))
	}
	return m
}

func (m *claims) run(d int) []claim { return m.list[m.start[d]:m.start[d+1]] }

// sortRun sorts by port; exact repeats (a node printed twice) are dropped, and of two records of one cable the slower stays.
func (m *claims) sortRun(run []claim) {
	sorted := true
	for i := 1; i < len(run); i++ {
		if run[i-1].port >= run[i].port {
			sorted = false
			break
		}
	}
	if sorted {
		return
	}
	slices.SortFunc(run, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.port, b.port), cmp.Compare(a.peer, b.peer), cmp.Compare(a.peerPort, b.peerPort),
			compareRate(a, b), cmp.Compare(a.lanes, b.lanes), cmp.Compare(a.speeds, b.speeds))
	})
	for i := 1; i < len(run); i++ {
		a, b := &run[i-1], &run[i]
		if a.port != b.port {
			continue
		}
		if a.peer != b.peer || a.peerPort != b.peerPort {
			m.busy = true
			continue
		}
		// the same cable again: the first of the equal ones stays in the last place, so that a chain of repeats folds
		keep := *a
		keep.speeds |= b.speeds & 0xf0
		*b = keep
		a.dev = dropped
	}
}

// compareRate orders by bandwidth, unknown last.
func compareRate(a, b claim) int {
	ra, rb := a.speed().BytesPerSecond(int(a.lanes)), b.speed().BytesPerSecond(int(b.lanes))
	if (ra == 0) != (rb == 0) {
		return cmp.Compare(rb, ra)
	}
	return cmp.Compare(ra, rb)
}

// match pairs the claims and fills r.Links.
func (m *claims) match(r *topology.FabricReport) {
	r.Links = make([]topology.FabricLink, 0, (len(m.list)+1)/2)
	if m.busy {
		m.taken = map[topology.FabricEnd]bool{}
	}
	left := 0
	for d := range r.Devices {
		run := m.run(d)
		for i := range run {
			cl := &run[i]
			if cl.dev != unused {
				continue
			}
			if cl.peer < int32(d) || cl.peer == int32(d) && cl.peerPort < cl.port {
				left++ // its counterpart would have used it by now
				continue
			}
			if back := m.counterpart(int32(d), cl); back == nil || !m.emit(r, int32(d), cl, back) {
				left++
			}
		}
	}
	if left > 0 {
		m.matchLeft(r)
	}
	if m.late {
		slices.SortFunc(r.Links, compareLinks)
	}
}

func compareLinks(a, b topology.FabricLink) int {
	return cmp.Or(cmp.Compare(a.A.Device, b.A.Device), cmp.Compare(a.A.Port, b.A.Port),
		cmp.Compare(a.B.Device, b.B.Device), cmp.Compare(a.B.Port, b.B.Port))
}

// counterpart finds the claim of the far end that leads back here. A plug that loops a port to itself is its own counterpart.
func (m *claims) counterpart(d int32, cl *claim) *claim {
	run := m.run(int(cl.peer))
	if len(run) == 0 {
		return nil
	}
	i := int(cl.peerPort) - int(run[0].port) // where it stands when no port is empty
	if m.busy || i < 0 || i >= len(run) || run[i].port != cl.peerPort {
		i, _ = slices.BinarySearchFunc(run, cl.peerPort, func(c claim, port uint8) int { return int(c.port) - int(port) })
	}
	for ; i < len(run) && run[i].port == cl.peerPort; i++ {
		if run[i].peer == d && run[i].peerPort == cl.port && run[i].dev == unused {
			return &run[i]
		}
	}
	return nil
}

// emit adds the cable of two claims that name each other; false when one of the ports has a cable already.
func (m *claims) emit(r *topology.FabricReport, d int32, cl, back *claim) bool {
	a, b := topology.FabricEnd{Device: d, Port: int32(cl.port)}, topology.FabricEnd{Device: cl.peer, Port: int32(cl.peerPort)}
	if m.busy {
		if m.taken[a] || m.taken[b] {
			return false
		}
		m.taken[a], m.taken[b] = true, true
	}
	l := topology.FabricLink{A: a, B: b}
	best := *cl
	if cl.lanes != back.lanes || cl.speeds != back.speeds {
		best = m.slower(r, l, *cl, *back)
	}
	setRate(&l, best)
	r.Links = append(r.Links, l)
	cl.dev, back.dev = usedClaim, usedClaim
	return true
}

// slower joins two ends that do not print the same: what is known beats what is not, then the slower one counts. A higher
// speed must be possible at both ends.
func (m *claims) slower(r *topology.FabricReport, l topology.FabricLink, a, b claim) claim {
	could := min(a.couldBe(), b.couldBe())
	if a.lanes == b.lanes && a.speed() == b.speed() {
		a.speeds = speeds(a.speed(), could)
		return a
	}
	if compareRate(a, b) > 0 {
		a, b = b, a
	}
	if a.speed() != topology.SpeedUnknown && b.speed() != topology.SpeedUnknown && a.lanes != 0 && b.lanes != 0 {
		m.c.findings.add(topology.Finding{Code: CodeEndsDisagree, Severity: topology.Warning, Subject: linkSubject(r, l),
			Message: fmt.Sprintf("one end prints %dx%s, the other %dx%s; the slower one is taken", a.lanes, a.speed(), b.lanes, b.speed()),
			Remedy:  "read the fabric again; if it stays, reset the port"})
	}
	a.speeds = speeds(a.speed(), could)
	return a
}

func setRate(l *topology.FabricLink, c claim) {
	l.Width, l.Speed, l.CouldBe = int16(c.lanes), c.speed(), c.couldBe()
	l.BandwidthBytesPerSecond = l.Speed.BytesPerSecond(int(c.lanes))
}

// matchLeft handles claims without a counterpart, in order of device and port: a cable that only one end reports, or, when
// one of its ports has a cable already, a conflict.
func (m *claims) matchLeft(r *topology.FabricReport) {
	if !m.busy {
		m.busy, m.taken = true, map[topology.FabricEnd]bool{}
		for _, l := range r.Links {
			m.taken[l.A], m.taken[l.B] = true, true
		}
	}
	for d := range r.Devices {
		run := m.run(d)
		for i := range run {
			if cl := &run[i]; cl.dev == unused {
				m.oneSided(r, int32(d), cl)
			}
		}
	}
}

func (m *claims) oneSided(r *topology.FabricReport, d int32, cl *claim) {
	l := topology.FabricLink{A: topology.FabricEnd{Device: d, Port: int32(cl.port)}, B: topology.FabricEnd{Device: cl.peer, Port: int32(cl.peerPort)}, OneSided: true}
	if m.taken[l.A] || m.taken[l.B] {
		m.c.findings.add(conflictFinding(r, l))
		return
	}
	m.taken[l.A], m.taken[l.B] = true, true
	setRate(&l, *cl)
	if !r.Devices[cl.peer].ReferenceOnly {
		m.c.findings.add(topology.Finding{Code: CodeOneSidedCable, Severity: topology.Warning, Subject: endSubject(r, l.A),
			Message: fmt.Sprintf("names %s as its far end, which does not print this cable", endSubject(r, l.B)),
			Remedy:  "read the fabric again; if it stays, check the far end"})
		m.noteMissing(cl)
	}
	if cl.peer < d || cl.peer == d && cl.peerPort < cl.port {
		l.A, l.B = l.B, l.A
	}
	if n := len(r.Links); n > 0 && compareLinks(r.Links[n-1], l) > 0 {
		m.late = true
	}
	r.Links = append(r.Links, l)
}

func conflictFinding(r *topology.FabricReport, l topology.FabricLink) topology.Finding {
	return topology.Finding{Code: CodeConflictingCables, Severity: topology.Warning, Subject: endSubject(r, l.A),
		Message: fmt.Sprintf("is printed as cabled to %s, but one of the two ports has another cable; this one is left out", endSubject(r, l.B)),
		Remedy:  "read the fabric again when no cable is being moved"}
}

// noteMissing counts the ports that a record lacks at its end. Two of them, and the input was most likely cut there.
func (m *claims) noteMissing(cl *claim) {
	if run := m.run(int(cl.peer)); len(run) > 0 && run[len(run)-1].port >= cl.peerPort {
		return
	}
	if m.missing == nil {
		m.missing = map[int32]int{}
	}
	if m.missing[cl.peer]++; m.missing[cl.peer] > 1 && !m.c.partial {
		m.c.cut = true
	}
}

// endSubject prints a port as findings name it, such as "leaf2:40".
func endSubject(r *topology.FabricReport, e topology.FabricEnd) string {
	return fmt.Sprintf("%s:%d", deviceSubject(&r.Devices[e.Device]), e.Port)
}

func linkSubject(r *topology.FabricReport, l topology.FabricLink) string {
	return endSubject(r, l.A) + " - " + endSubject(r, l.B)
}
