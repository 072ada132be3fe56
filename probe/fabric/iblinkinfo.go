package fabric

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/railmap/railmap/topology"
)

// ParseIblinkinfo reads iblinkinfo, plain or with -l (one line a port, with both GUIDs: the better input). Unlike
// ibnetdiscover it shows ports that are down; they go into PortInfo with their state.
//
//	CA: node0004 mlx5_1:
//	      0x0002c90300000411     49    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       4    5[  ] "leaf1" (Could be 12X Could be 106.25 Gbps)
//	Switch: 0x0002c90200000007 leaf7:
//	          48    8[  ] ==(                Down/ Polling)==>             [  ] "" ( )
//	0x0002c90300001f71 "               node0031 mlx5_7"    268    1[  ] ==( 4X        106.25 Gbps Active/  LinkUp)==>  0x0002c90200000007     48   32[  ] "leaf7" (Could be 12X )
//
// "Could be 106.25 Gbps" becomes FabricLink.CouldBe. "Could be 12X" is left out: it only says what the silicon supports.
func ParseIblinkinfo(r io.Reader, name string) (*topology.FabricReport, error) {
	p := &linkParser{rows: rows{c: newCollector(name)}, lines: newLines(r, name), header: -1}
	if err := p.read(p.lines, p.line); err != nil {
		return nil, err
	}
	p.tellsKind = p.header >= 0
	return p.assemble(SourceIblinkinfo)
}

type linkParser struct {
	rows
	lines  *lines
	header int32 // number of the last header, -1 before the first
	kind   kind
	guid   topology.GUID // of the header, switches only
	name   span
	states []string
}

func (p *linkParser) line(b []byte) bool {
	left, rest, isRow := bytes.Cut(b, []byte("==("))
	if !isRow {
		return p.headerLine(b)
	}
	middle, right, whole := bytes.Cut(rest, []byte("==>"))
	if !whole {
		return false
	}
	w := row{header: p.header, kind: p.kind, guid: p.guid, name: p.name}
	if !p.left(&w, left) || w.guid < minGUID {
		return false
	}
	up := p.middle(&w, middle)
	if !p.right(&w, bytes.TrimSpace(right)) {
		return false
	}
	if up && !w.linked {
		p.c.findings.add(topology.Finding{Code: CodeNoPeer, Severity: topology.Warning,
			Subject: fmt.Sprintf("%s:%d", subjectOf(p.names.bytes(w.name), w.guid), w.port),
			Message: "the link is up but the far end did not answer", Remedy: "find the device behind this port and restart it"})
	}
	p.list = append(p.list, w)
	return true
}

// headerLine reads "CA: DESC:" and "Switch: 0xGUID DESC:".
func (p *linkParser) headerLine(b []byte) bool {
	word, rest, ok := bytes.Cut(b, []byte(": "))
	if !ok || !bytes.HasSuffix(rest, []byte(":")) {
		return false
	}
	switch string(word) {
	case "Switch":
		p.kind = switchKind
	case "CA":
		p.kind = adapterKind
	case "Router":
		p.kind = routerKind
	case "??":
		p.kind = unknownKind
	default:
		return false
	}
	rest = rest[:len(rest)-1]
	p.guid = 0
	if p.kind == switchKind {
		g, n, ok := hex(rest, 0)
		if !ok || !bytes.HasPrefix(rest, []byte("0x")) {
			return false
		}
		p.guid, rest = topology.GUID(g), rest[n:]
	}
	p.header++
	p.name = p.text(rest)
	return true
}

// left reads [GUID ["NAME"]] LID PORT[EXT].
func (p *linkParser) left(w *row, b []byte) bool {
	b = bytes.TrimLeft(b, " \t")
	if bytes.HasPrefix(b, []byte("0x")) {
		g, n, ok := hex(b, 0)
		if !ok {
			return false
		}
		w.guid, b = topology.GUID(g), bytes.TrimLeft(b[n:], " ")
		if len(b) > 0 && b[0] == '"' {
			name, after, ok := quoted(b, 0)
			if !ok {
				return false
			}
			w.header, w.kind = -1, unknownKind
			w.name, b = p.text(name), b[after:]
		}
	}
	var ok bool
	w.lid, w.port, w.external, _, ok = lidPort(b)
	return ok
}

// lidPort reads "48   32[  ]": LID, port and front-panel port (0 when blank).
func lidPort(b []byte) (lid int32, port, ext uint8, rest []byte, ok bool) {
	l, i := decimal(b, skipSpace(b, 0))
	p, i := decimal(b, skipSpace(b, i))
	if l < 0 || p < 0 || p > maxPort || i >= len(b) || b[i] != '[' {
		return 0, 0, 0, nil, false
	}
	end := bytes.IndexByte(b[i:], ']')
	if end < 0 {
		return 0, 0, 0, nil, false
	}
	e, _ := decimal(b[i:i+end], skipSpace(b[i:i+end], 1))
	return int32(l), uint8(p), uint8(min(max(e, 0), maxPort)), b[i+end+1:], true
}

// middle reads " 4X  106.25 Gbps Active/  LinkUp)" and tells whether the link is up.
func (p *linkParser) middle(w *row, b []byte) (up bool) {
	state := string(b)
	if i := strings.Index(state, "Gbps"); i >= 0 {
		width, rest := word(b[:i])
		rate, _ := word(rest)
		lanes, n := decimal(width, 0)
		if lanes > 0 && lanes < 100 && n == len(width)-1 && width[n] == 'X' {
			w.lanes = uint8(lanes)
		}
		state = state[i+len("Gbps"):]
		fdr10 := strings.Contains(state, "(FDR10)")
		w.speeds = speeds(laneRate(string(rate), fdr10), 0)
		state = strings.TrimPrefix(strings.TrimLeft(state, " "), "(FDR10)")
	}
	if i := strings.IndexByte(state, ')'); i >= 0 {
		state = state[:i]
	}
	if i := strings.LastIndexByte(state, '/'); i >= 0 {
		logical := strings.TrimSpace(state[:i])
		if j := strings.LastIndexByte(logical, ' '); j >= 0 {
			logical = logical[j+1:]
		}
		physical := strings.TrimSpace(state[i+1:])
		up = physical == "LinkUp"
		if logical != "Active" || !up {
			w.state = p.state(logical + "/" + physical)
		}
	}
	return up
}

// laneRate turns the signalling rate of one lane, as iblinkinfo prints it, into a generation.
func laneRate(gigabits string, fdr10 bool) topology.LinkSpeed {
	switch {
	case fdr10:
		return topology.SpeedFDR10
	case gigabits == "2.5":
		return topology.SpeedSDR
	case gigabits == "5.0":
		return topology.SpeedDDR
	case gigabits == "10.0":
		return topology.SpeedQDR
	case gigabits == "14.0625":
		return topology.SpeedFDR
	case gigabits == "25.78125":
		return topology.SpeedEDR
	case gigabits == "53.125":
		return topology.SpeedHDR
	case gigabits == "106.25":
		return topology.SpeedNDR
	case gigabits == "212.5":
		return topology.SpeedXDR
	}
	return topology.SpeedUnknown
}

// right reads [GUID] LID PORT[EXT] "NAME" (REMARKS), or the forms without a peer: [  ] "" ( ) and "Port not available".
func (p *linkParser) right(w *row, b []byte) bool {
	if bytes.HasPrefix(b, []byte("[")) || bytes.HasPrefix(b, []byte(`"Port not available"`)) {
		return true
	}
	if bytes.HasPrefix(b, []byte("0x")) {
		g, n, ok := hex(b, 0)
		if !ok {
			return false
		}
		if w.peerGUID, b = topology.GUID(g), b[n:]; g < minGUID {
			return false
		}
	}
	var ok bool
	if w.peerLID, w.peerPort, _, b, ok = lidPort(b); !ok {
		return false
	}
	name, after, ok := quoted(b, 0)
	if !ok {
		return false
	}
	w.linked, w.peerName = true, p.text(name)
	w.speeds = speeds(topology.LinkSpeed(w.speeds&15), couldBe(b[after:]))
	return bytes.IndexByte(b[after:], ')') >= 0
}

// couldBe reads the speed of a remark such as "(Could be 12X Could be 106.25 Gbps)"; "Could be FDR10" stands for itself.
func couldBe(b []byte) topology.LinkSpeed {
	for {
		_, rest, ok := bytes.Cut(b, []byte("Could be "))
		if !ok {
			return topology.SpeedUnknown
		}
		value, after := word(rest)
		unit, _ := word(after)
		if bytes.HasPrefix(unit, []byte("Gbps")) {
			return laneRate(string(value), false)
		}
		if bytes.HasPrefix(value, []byte("FDR10")) {
			return topology.SpeedFDR10
		}
		b = rest
	}
}

// state keeps one copy of each state's text.
func (p *linkParser) state(s string) string {
	if len(s) > 64 {
		s = s[:64]
	}
	for _, known := range p.states {
		if known == s {
			return known
		}
	}
	if len(p.states) < 64 {
		p.states = append(p.states, s)
	}
	return s
}
