package fabric

import (
	"bytes"
	"io"

	"github.com/railmap/railmap/topology"
)

// ParsePorts reads the ports report, ibnetdiscover -p: one line a port, also of ports without a cable, which go into
// PortInfo with the state Unlinked. It prints no vendor, device or node ids.
//
//	CA   268  1 0x0002c90300001f71 4x NDR - SW    48 32 0x0002c90200000007 ( 'node0031 mlx5_7' - 'leaf7' )
//	SW    41 40 0x0002c90200000002 4x SDR                                    'leaf2'
func ParsePorts(r io.Reader, name string) (*topology.FabricReport, error) {
	s := &rows{c: newCollector(name), tellsKind: true}
	l := newLines(r, name)
	parse := func(b []byte) bool {
		w, ok := s.portsLine(b)
		if ok {
			s.list = append(s.list, w)
		}
		return ok
	}
	if err := s.read(l, parse); err != nil {
		return nil, err
	}
	return s.assemble(SourcePorts)
}

// read feeds all lines to parse; what it does not take is a finding, or the cut end of the input.
func (s *rows) read(l *lines, parse func([]byte) bool) error {
	skipped := 0
	for {
		b, ok, err := l.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if b = bytes.TrimRight(b, " \t"); len(b) == 0 || b[0] == '#' {
			continue
		}
		if len(b) > 1 && (b[0] == '<' || b[0] == '>') && b[1] == ' ' {
			return diffError(l)
		}
		if parse(b) {
			continue
		}
		if skipped++; l.open {
			s.c.cut = true
			continue
		}
		s.c.skipLine(l, b)
		if len(s.list) == 0 && skipped > 1000 {
			break
		}
	}
	if len(s.list) == 0 {
		return noRecords(l)
	}
	return nil
}

func (s *rows) portsLine(b []byte) (w row, ok bool) {
	w.header = -1
	w.kind, w.lid, w.port, w.guid, b, ok = portsEnd(b)
	if !ok || w.guid == 0 {
		return w, false
	}
	width, b := word(b)
	speed, b := word(b)
	lanes, gen, known := widthSpeed(append(append(make([]byte, 0, 16), width...), speed...))
	if !known {
		return w, false
	}
	b = bytes.TrimLeft(b, " ")
	if rest, linked := bytes.CutPrefix(b, []byte("- ")); linked {
		w.linked, w.lanes, w.speeds = true, lanes, speeds(gen, 0)
		w.peerKind, w.peerLID, w.peerPort, w.peerGUID, b, ok = portsEnd(rest)
		if !ok || w.peerGUID == 0 {
			return w, false
		}
		b = bytes.Trim(b, " ")
		b, ok = bytes.CutPrefix(b, []byte("( '"))
		b, ok2 := bytes.CutSuffix(b, []byte("' )"))
		name, peer, ok3 := bytes.Cut(b, []byte("' - '"))
		if !ok || !ok2 || !ok3 {
			return w, false
		}
		w.name, w.peerName = s.text(name), s.text(peer)
		return w, true
	}
	b, ok = bytes.CutPrefix(b, []byte("'"))
	b, ok2 := bytes.CutSuffix(b, []byte("'"))
	w.name, w.state = s.text(b), "Unlinked"
	return w, ok && ok2
}

// portsEnd reads "SW    48 32 0x0002c90200000007".
func portsEnd(b []byte) (k kind, lid int32, port uint8, guid topology.GUID, rest []byte, ok bool) {
	kindWord, b := word(b)
	switch string(kindWord) {
	case "SW":
		k = switchKind
	case "CA":
		k = adapterKind
	case "RT":
		k = routerKind
	case "??":
	default:
		return 0, 0, 0, 0, nil, false
	}
	lidWord, b := word(b)
	portWord, b := word(b)
	guidWord, b := word(b)
	l, n := decimal(lidWord, 0)
	p, m := decimal(portWord, 0)
	g, q, okGUID := hex(guidWord, 0)
	ok = l >= 0 && n == len(lidWord) && p >= 0 && p <= maxPort && m == len(portWord) && okGUID && q == len(guidWord)
	return k, int32(l), uint8(p), topology.GUID(g), b, ok
}

// word cuts the first word off.
func word(b []byte) (w, rest []byte) {
	i := skipSpace(b, 0)
	s := i
	for i < len(b) && b[i] != ' ' && b[i] != '\t' {
		i++
	}
	return b[s:i], b[i:]
}

// text stores a name once: reports repeat the same few names line after line.
func (s *rows) text(b []byte) span {
	clean, _ := cleanText(b)
	if id, ok := s.spans[string(clean)]; ok {
		return id
	}
	if s.spans == nil {
		s.spans = map[string]span{}
	}
	id := s.names.put(clean)
	s.spans[string(clean)] = id
	return id
}
