package fabric

import (
	"bytes"
	"fmt"
	"io"

	"github.com/railmap/railmap/topology"
)

// Source names of reports, as they stand in the header.
const (
	SourceIbnetdiscover = "ibnetdiscover"
	SourcePorts         = "ibnetdiscover-p"
	SourceIblinkinfo    = "iblinkinfo"
	SourceStatic        = "static"
	SourceLabels        = "labels"
)

// ParseIbnetdiscover reads the default text of ibnetdiscover, also with -g, --full and -m. It reads the stream once and holds
// no text but the names. An input without any record is an error that says what it looks like; lines that make no sense are
// skipped with a finding. Name stands in messages.
//
// Format: ibnetdiscover.c of rdma-core's infiniband-diags. One record a node; each cable is printed by both ends.
func ParseIbnetdiscover(r io.Reader, name string) (*topology.FabricReport, error) {
	p := &netParser{c: newCollector(name), l: newLines(r, name), cur: -1}
	for {
		line, ok, err := p.l.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if err := p.line(line); err != nil {
			return nil, err
		}
	}
	if p.records == 0 {
		return nil, noRecords(p.l)
	}
	p.atEnd()
	return p.c.assemble(SourceIbnetdiscover)
}

// netParser is the state between two lines.
type netParser struct {
	c   *collector
	l   *lines
	cur int32 // device whose port lines follow, -1 when none

	pending     device // ids read before the Switch, Ca or Rt line
	pendingPort topology.GUID
	idLines     int // how many of them

	records  int
	complete bool // the last line was whole
	skipped  int
	port     portLine
}

func (p *netParser) line(b []byte) error {
	p.complete = true
	if len(b) == 0 {
		return nil
	}
	switch b[0] {
	case '[':
		p.portLine(b)
		return nil
	case '<', '>':
		if len(b) > 1 && b[1] == ' ' {
			return diffError(p.l)
		}
	case '#':
		return nil
	case ' ', '\t': // a comment of -g, or a line that somebody indented
		if b = bytes.TrimSpace(b); len(b) == 0 {
			return nil
		}
		return p.line(b)
	}
	if p.idLine(b) || p.recordLine(b) || chassisLine(b) {
		return nil
	}
	p.skip(b)
	return p.hopeless()
}

// hopeless ends early when a thousand lines made no sense and none did.
func (p *netParser) hopeless() error {
	if p.records == 0 && p.idLines == 0 && p.skipped > 1000 {
		return noRecords(p.l)
	}
	return nil
}

// skip notes a line that makes no sense. When it is the last one and has no line end, the input was cut there.
func (p *netParser) skip(b []byte) {
	p.complete = false
	p.skipped++
	if p.l.open {
		return
	}
	p.c.skipLine(p.l, b)
}

// idLine reads vendid=, devid=, sysimgguid= and the GUID line. A record starts with the first of them; an earlier record that
// got no Switch, Ca or Rt line is lost and named.
func (p *netParser) idLine(b []byte) bool {
	eq := bytes.IndexByte(b, '=')
	if eq < 0 || eq > 10 {
		return false
	}
	key := string(b[:eq])
	switch key {
	case "vendid", "devid", "sysimgguid", "switchguid", "caguid", "rtguid", "???guid":
	default:
		return false
	}
	v, next, ok := hex(b, eq+1)
	if !ok {
		return false
	}
	if key == "vendid" || p.idLines == 0 {
		p.lostRecord()
		p.pending, p.pendingPort, p.cur, p.idLines = device{}, 0, -1, 0
	}
	p.idLines++
	switch key {
	case "vendid":
		p.pending.vendor = uint32(v)
	case "devid":
		p.pending.id = uint32(v)
	case "sysimgguid":
		p.pending.image = topology.GUID(v)
	default:
		p.pending.guid = topology.GUID(v)
		p.pendingPort, _ = parenGUID(b, next)
	}
	return true
}

// lostRecord names a record that has ids but no node line.
func (p *netParser) lostRecord() {
	if p.idLines == 0 {
		return
	}
	p.c.findings.add(topology.Finding{Code: CodeLineNotUnderstood, Severity: topology.Warning, Subject: p.pending.guid.String(),
		Message: "the record has ids but no Switch, Ca or Rt line", Remedy: "read the fabric again"})
}

// recordLine reads `Switch	65 "S-2c5eab0300b87b40"		# "DESC" enhanced port 0 lid 73 lmc 0` and its sisters Ca and Rt.
func (p *netParser) recordLine(b []byte) bool {
	k, i, ok := recordWord(b)
	if !ok {
		return false
	}
	ports, i := decimal(b, skipSpace(b, i))
	if ports < 0 || ports > maxPort {
		return false
	}
	_, guid, i, ok := nodeID(b, skipSpace(b, i))
	if !ok || guid == 0 {
		return false
	}
	desc, after, described := quoted(b, i)
	if p.l.open {
		p.complete = described && (k != switchKind || bytes.Contains(b[after:], []byte("lmc ")))
	}
	r := p.pending
	if r.guid != 0 && r.guid != guid {
		p.c.findings.add(topology.Finding{Code: CodeConflictingRecords, Severity: topology.Warning, Subject: guid.String(),
			Message: "the GUID line above the record says " + r.guid.String(), Remedy: "read the fabric again"})
	}
	r.guid, r.kind, r.ports = guid, k, uint8(ports)
	p.cur = p.c.record(r, desc)
	if p.pendingPort != 0 && p.pendingPort != guid {
		p.c.portGUID(p.cur, 0, p.pendingPort)
	}
	p.pending, p.pendingPort, p.idLines = device{}, 0, 0
	p.records++
	return true
}

func recordWord(b []byte) (k kind, next int, ok bool) {
	switch {
	case bytes.HasPrefix(b, []byte("Switch\t")), bytes.HasPrefix(b, []byte("Switch ")):
		return switchKind, 7, true
	case bytes.HasPrefix(b, []byte("Ca\t")), bytes.HasPrefix(b, []byte("Ca ")):
		return adapterKind, 3, true
	case bytes.HasPrefix(b, []byte("Rt\t")), bytes.HasPrefix(b, []byte("Rt ")):
		return routerKind, 3, true
	case bytes.HasPrefix(b, []byte("???\t")), bytes.HasPrefix(b, []byte("??? ")):
		return unknownKind, 4, true
	}
	return 0, 0, false
}

// chassisLine knows the headings of -g, which say nothing that the records do not say.
func chassisLine(b []byte) bool {
	return bytes.HasPrefix(b, []byte("Chassis ")) || bytes.HasPrefix(b, []byte("Non-Chassis Nodes")) || bytes.HasPrefix(b, []byte("Hostname:"))
}

func (p *netParser) portLine(b []byte) {
	q := &p.port
	if !q.scan(b) || p.cur < 0 || p.idLines > 0 {
		p.skip(b)
		return
	}
	if p.l.open && !q.rated {
		p.complete = false // cut inside the words behind the description
	}
	if q.oddSpeed && !p.l.open {
		p.c.findings.add(topology.Finding{Code: CodeLineNotUnderstood, Severity: topology.Warning, Subject: fmt.Sprintf("%s:%d", p.l.name, p.l.no),
			Message: fmt.Sprintf("no width and speed such as 4xNDR in %q; the cable is kept without them", clip(b)), Remedy: "read the fabric again"})
	}
	peer := p.c.reference(q.peer, q.peerKind, q.desc)
	p.c.claimPort(claim{dev: p.cur, peer: peer, port: q.number, peerPort: q.peerNumber, lanes: q.lanes, speeds: speeds(q.speed, 0)})
	p.c.portGUID(p.cur, q.number, q.guid)
	p.c.portGUID(peer, q.peerNumber, q.peerGUID)
	if q.ext != 0 {
		p.c.notes = append(p.c.notes, portNote{dev: p.cur, port: q.number, external: q.ext})
	}
}

// atEnd tells whether the input ends inside a record.
func (p *netParser) atEnd() {
	if p.idLines > 0 || p.l.open && !p.complete {
		p.c.cut = true
	}
}

func diffError(l *lines) error {
	return l.errorf(l.no, "this is the output of --diff: must be the fabric itself (run the tool without --diff)")
}

// skipLine names a line that no reader understands.
func (c *collector) skipLine(l *lines, b []byte) {
	c.findings.add(topology.Finding{Code: CodeLineNotUnderstood, Severity: topology.Warning, Subject: fmt.Sprintf("%s:%d", l.name, l.no),
		Message: fmt.Sprintf("line skipped: %q", clip(b)), Remedy: "must be a line of ibnetdiscover or iblinkinfo; what stands on it is missing"})
}

// clip bounds what a message quotes.
func clip(b []byte) []byte { return b[:min(len(b), 80)] }
