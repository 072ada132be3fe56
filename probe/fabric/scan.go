package fabric

import (
	"bytes"

	"github.com/railmap/railmap/topology"
)

// A digit table keeps the scanner free of branches: hexDigit[c]&0x10 says that c is a hexadecimal digit, the low bits its value.
var hexDigit = [256]uint8{
	'0': 0x10, '1': 0x11, '2': 0x12, '3': 0x13, '4': 0x14, '5': 0x15, '6': 0x16, '7': 0x17, '8': 0x18, '9': 0x19,
	'a': 0x1a, 'b': 0x1b, 'c': 0x1c, 'd': 0x1d, 'e': 0x1e, 'f': 0x1f,
	'A': 0x1a, 'B': 0x1b, 'C': 0x1c, 'D': 0x1d, 'E': 0x1e, 'F': 0x1f,
}

// maxPort is the highest port number: NodeInfo.NumPorts has 8 bits (InfiniBand Architecture, vol. 1, 14.2.5.3).
const maxPort = 255

// decimal reads digits from b[i:]; the value is -1 when there are none or too many, next is the first byte after them.
func decimal(b []byte, i int) (v, next int) {
	s := i
	for i < len(b) && b[i]-'0' <= 9 {
		v = v*10 + int(b[i]-'0')
		i++
	}
	if i == s || i-s > 9 {
		return -1, i
	}
	return v, i
}

// hex reads up to 16 hexadecimal digits from b[i:], with or without 0x before them; ok is false when there are none or more.
func hex(b []byte, i int) (v uint64, next int, ok bool) {
	if i+1 < len(b) && b[i] == '0' && b[i+1]|0x20 == 'x' {
		i += 2
	}
	s := i
	for i < len(b) && hexDigit[b[i]] != 0 {
		v = v<<4 | uint64(hexDigit[b[i]]&15)
		i++
	}
	return v, i, i > s && i-s <= 16
}

// hex16 reads exactly 16 digits: b must hold them.
func hex16(b []byte) (v uint64, ok bool) {
	_ = b[15]
	all := uint8(0x10)
	for _, c := range b[:16] {
		d := hexDigit[c]
		all &= d
		v = v<<4 | uint64(d&15)
	}
	return v, all != 0
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}

// nodeID reads "S-2c5eab0300b87b40" with its quotes: the kind letter and the node GUID. Tools write 16 digits; fewer are
// accepted.
func nodeID(b []byte, i int) (kind byte, guid topology.GUID, next int, ok bool) {
	if i+20 <= len(b) && b[i] == '"' && b[i+2] == '-' && b[i+19] == '"' {
		if v, ok := hex16(b[i+3:]); ok {
			return b[i+1], topology.GUID(v), i + 20, true
		}
	}
	if i+4 > len(b) || b[i] != '"' || b[i+2] != '-' {
		return 0, 0, i, false
	}
	v, n, ok := hex(b, i+3)
	if !ok || n >= len(b) || b[n] != '"' {
		return 0, 0, i, false
	}
	return b[i+1], topology.GUID(v), n + 1, true
}

// bracketed reads "[7]" at b[i:]; the number is -1 when it is not there.
func bracketed(b []byte, i int) (v, next int) {
	if i >= len(b) || b[i] != '[' {
		return -1, i
	}
	v, n := decimal(b, i+1)
	if v < 0 || v > maxPort || n >= len(b) || b[n] != ']' {
		return -1, i
	}
	return v, n + 1
}

// external reads "[ext 7]", the number on the front panel of a chassis; 0 when it is not there.
func external(b []byte, i int) (v, next int) {
	if i+5 >= len(b) || b[i] != '[' || b[i+1] != 'e' || b[i+2] != 'x' || b[i+3] != 't' {
		return 0, i
	}
	v, n := decimal(b, skipSpace(b, i+4))
	if v < 0 || n >= len(b) || b[n] != ']' {
		return 0, i
	}
	return v, n + 1
}

// parenGUID reads "(2c5eab0300b87b50)"; 0 when it is not there.
func parenGUID(b []byte, i int) (guid topology.GUID, next int) {
	if i >= len(b) || b[i] != '(' {
		return 0, i
	}
	v, n, ok := hex(b, i+1)
	if !ok || n >= len(b) || b[n] != ')' {
		return 0, i
	}
	return topology.GUID(v), n + 1
}

// quoted finds the text between the first and the last quote of b[i:]. Descriptions are free text and may hold quotes
// themselves; nothing that a tool prints behind a description does. next is the byte after the last quote.
func quoted(b []byte, i int) (text []byte, next int, ok bool) {
	first := bytes.IndexByte(b[i:], '"')
	if first < 0 {
		return nil, i, false
	}
	first += i + 1
	last := len(b) - 1
	for last >= first && b[last] != '"' {
		last--
	}
	if last < first {
		return nil, i, false
	}
	return b[first:last], last + 1, true
}

// widthSpeed reads "4xNDR", "??NDR", "4x???": lanes (0 unknown) and generation. ok is false when the word is something else.
func widthSpeed(w []byte) (lanes uint8, speed topology.LinkSpeed, ok bool) {
	switch {
	case len(w) > 2 && w[0] == '?' && w[1] == '?':
		w = w[2:]
	case len(w) > 2 && w[1] == 'x' && w[0]-'0' <= 9:
		lanes, w = w[0]-'0', w[2:]
	case len(w) > 3 && w[2] == 'x' && w[0]-'0' <= 9 && w[1]-'0' <= 9:
		lanes, w = (w[0]-'0')*10+w[1]-'0', w[3:]
	default:
		return 0, 0, false
	}
	speed, ok = speedWord(w)
	return lanes, speed, ok
}

func speedWord(w []byte) (topology.LinkSpeed, bool) {
	switch string(w) {
	case "NDR":
		return topology.SpeedNDR, true
	case "HDR":
		return topology.SpeedHDR, true
	}
	s, err := topology.ParseLinkSpeed(string(w))
	return s, err == nil && len(w) > 0
}
