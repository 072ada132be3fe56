package fabric

import (
	"bytes"

	"github.com/railmap/railmap/topology"
)

// portLine is one cable end of an ibnetdiscover record. Two shapes, the first below a switch, the second below an adapter:
//
//	[35]	"S-0002c90400000042"[32]		# "MF0;spine2:MQM9701/U1" lid 236 4xNDR
//	[1](2c90300000500) 	"S-0002c90400000007"[65]		# lid 193 lmc 0 "MF0;leaf7:MQM9701/U1" lid 73 4xNDR
type portLine struct {
	number, peerNumber uint8
	ext                int           // number on the chassis' front panel, 0 when not printed
	guid, peerGUID     topology.GUID // port GUIDs, of adapters and routers only
	peer               topology.GUID // node GUID
	peerKind           kind
	desc               []byte // of the peer
	lanes              uint8
	speed              topology.LinkSpeed
	rated              bool // width and speed were found
	oddSpeed           bool // a word stands in their place that is not known
}

// scan reads a line that begins with "["; false when it is not whole up to the peer's port.
func (p *portLine) scan(b []byte) bool {
	number, i := bracketed(b, 0)
	if number < 0 {
		return false
	}
	p.number = uint8(number)
	p.ext, i = external(b, i)
	p.guid, i = parenGUID(b, i)
	letter, peer, i, ok := nodeID(b, skipSpace(b, i))
	if !ok || peer == 0 {
		return false
	}
	p.peer, p.peerKind = peer, kindOfLetter(letter)
	number, i = bracketed(b, i)
	if number < 0 {
		return false
	}
	p.peerNumber = uint8(number)
	_, i = external(b, i)
	if i+1 < len(b) && b[i] == ' ' && b[i+1] == '(' {
		i++ // below adapters a blank precedes the peer's port GUID
	}
	p.peerGUID, i = parenGUID(b, i)
	p.tail(b, i)
	return true
}

// tail reads the comment: the description between the first and the last quote, then width and speed. Words that are not
// known may follow them.
func (p *portLine) tail(b []byte, i int) {
	p.desc, p.lanes, p.speed, p.rated, p.oddSpeed = nil, 0, 0, false, false
	desc, after, ok := quoted(b, i)
	if ok {
		p.desc, i = desc, after
	}
	word := 0
	for i < len(b) {
		i = skipSpace(b, i)
		s := i
		for i < len(b) && b[i] != ' ' && b[i] != '\t' {
			i++
		}
		w := b[s:i]
		if len(w) == 0 {
			return
		}
		if len(w) == 3 && (string(w) == "lid" || string(w) == "lmc") {
			i = skipSpace(b, i)
			_, i = decimal(b, i)
			continue
		}
		if w[0] == '#' {
			continue
		}
		word++
		if p.lanes, p.speed, p.rated = widthSpeed(w); p.rated {
			return
		}
		p.oddSpeed = p.oddSpeed || word == 1 && bytes.IndexByte(w, '=') < 0
	}
}

func kindOfLetter(c byte) kind {
	switch c {
	case 'S':
		return switchKind
	case 'H':
		return adapterKind
	case 'R':
		return routerKind
	}
	return unknownKind
}
