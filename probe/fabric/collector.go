package fabric

import (
	"bytes"
	"strings"

	"github.com/railmap/railmap/topology"
)

// collector takes what a reader finds, in any order, and holds it as small as possible until assemble makes the report: 48
// bytes a device, 12 bytes an end of a cable. Storage grows in chunks, so that growing never copies or doubles it.
//
//	devices  by order of first sight; records and mere references alike
//	claims   "my port p leads to port q of that device": each cable gives two, one from each end
//	notes    what a port has beyond its cable, when it does not fit into its device
type collector struct {
	name     string // of the input, for messages
	devices  chunked[device]
	claims   chunked[claim]
	notes    []portNote
	index    guidIndex
	text     textStore
	findings notebook

	lastGUID topology.GUID // parallel cables name the same peer again and again
	lastPeer int32

	unknownSpeeds int
	cut           bool // the input ends inside a line or between the ids of a record
	partial       bool // the format can be asked for a part of the fabric, so that missing records mean no cut

	standIns map[topology.GUID]string // devices without a GUID: a made-up one and the name that goes into the report
}

// device is a switch, adapter or router before the report is made.
type device struct {
	guid, image topology.GUID
	portGUID    topology.GUID // of port portNumber: most adapters have one port
	vendor, id  uint32
	desc        span
	portNumber  uint8
	ports       uint8
	kind        kind
	flags       uint8
}

// Flags of a device.
const (
	hasRecord = 1 << iota // it has a record of its own, not only references
	hasDesc
)

type kind uint8

const (
	unknownKind kind = iota
	switchKind
	adapterKind
	routerKind
)

// claim is one end's view of a cable. Speed and the higher speed it could have share a byte.
type claim struct {
	dev, peer      int32
	port, peerPort uint8
	lanes          uint8
	speeds         uint8
}

func speeds(now, couldBe topology.LinkSpeed) uint8 { return uint8(now)&15 | uint8(couldBe)<<4 }

func (c claim) speed() topology.LinkSpeed   { return topology.LinkSpeed(c.speeds & 15) }
func (c claim) couldBe() topology.LinkSpeed { return topology.LinkSpeed(c.speeds >> 4) }

// portNote is what a port has beyond its cable.
type portNote struct {
	dev      int32
	port     uint8
	external int
	guid     topology.GUID
	state    string
}

func newCollector(name string) *collector {
	return &collector{name: name, lastPeer: -1}
}

// lookup gives the index of the device with that GUID, a new one when it was not seen before.
func (c *collector) lookup(guid topology.GUID, k kind) int32 {
	if guid == c.lastGUID && c.lastPeer >= 0 {
		return c.lastPeer
	}
	i := c.index.find(&c.devices, guid)
	if i < 0 {
		i = int32(c.devices.add(device{guid: guid, kind: k}))
		c.index.insert(&c.devices, i)
	} else if d := c.devices.at(int(i)); d.kind == unknownKind {
		d.kind = k
	}
	c.lastGUID, c.lastPeer = guid, i
	return i
}

// record marks a device as described by itself, and merges with an earlier record: some tools print nodes twice.
func (c *collector) record(r device, desc []byte) int32 {
	i := c.lookup(r.guid, r.kind)
	d := c.devices.at(int(i))
	if d.flags&hasRecord == 0 {
		d.flags |= hasRecord
		d.kind, d.image, d.vendor, d.id, d.ports = r.kind, r.image, r.vendor, r.id, r.ports
		c.describe(d, desc, true)
		return i
	}
	clean, _ := cleanText(desc)
	old := c.text.bytes(d.desc)
	same := d.kind == r.kind && d.image == r.image && d.vendor == r.vendor && d.id == r.id && d.ports == r.ports && bytes.Equal(clean, old)
	if !same {
		c.findings.add(topology.Finding{Code: CodeConflictingRecords, Severity: topology.Warning, Subject: d.guid.String(),
			Message: "two records with GUID " + d.guid.String() + " differ", Remedy: "read the fabric again; if it stays, two devices carry one GUID"})
		d.kind, d.image = min(d.kind, r.kind), min(d.image, r.image)
		d.vendor, d.id, d.ports = min(d.vendor, r.vendor), min(d.id, r.id), max(d.ports, r.ports)
		if bytes.Compare(clean, old) < 0 {
			d.desc = c.text.put(clean)
		}
	}
	return i
}

// reference notes what a peer's port line says about a device; a record overrules it, whichever comes first.
func (c *collector) reference(guid topology.GUID, k kind, desc []byte) int32 {
	i := c.lookup(guid, k)
	d := c.devices.at(int(i))
	if d.flags&hasRecord == 0 {
		if d.flags&hasDesc == 0 {
			c.describe(d, desc, false)
		} else if old := c.text.bytes(d.desc); !bytes.Equal(old, desc) {
			// two peers, two names and no record: the smaller one, so that the order does not matter
			if clean, _ := cleanText(desc); len(clean) > 0 && (len(old) == 0 || bytes.Compare(clean, old) < 0) {
				d.desc = c.text.put(clean)
			}
		}
	}
	return i
}

func (c *collector) describe(d *device, desc []byte, own bool) {
	if d.flags&hasDesc != 0 && bytes.Equal(c.text.bytes(d.desc), desc) {
		return // a reference brought it already
	}
	clean, changed := cleanText(desc)
	if changed && own {
		c.findings.add(topology.Finding{Code: CodeNameCleaned, Severity: topology.Warning, Subject: subjectOf(clean, d.guid),
			Message: "node description held control bytes or was longer than 256 bytes; read as \"" + string(clean) + "\"",
			Remedy:  "set the node description of GUID " + d.guid.String() + " again"})
	}
	d.flags |= hasDesc
	d.desc = c.text.put(clean)
}

// claimPort notes one end of a cable.
func (c *collector) claimPort(cl claim) {
	if cl.speed() == topology.SpeedUnknown {
		c.unknownSpeeds++
	}
	c.claims.add(cl)
}

// portGUID notes the GUID of an adapter's port.
func (c *collector) portGUID(dev int32, port uint8, guid topology.GUID) {
	if guid == 0 {
		return
	}
	d := c.devices.at(int(dev))
	switch {
	case d.portGUID == 0:
		d.portGUID, d.portNumber = guid, port
	case d.portNumber == port && d.portGUID == guid:
	default:
		c.notes = append(c.notes, portNote{dev: dev, port: port, guid: guid})
	}
}

// cleanText drops control bytes and what is not UTF-8, trims blanks at the ends and cuts at 256 bytes; an InfiniBand node
// description has at most 64. changed does not count trimmed blanks.
func cleanText(b []byte) (clean []byte, changed bool) {
	b = bytes.Trim(b, " \t")
	plain := len(b) <= maxDescription
	for _, ch := range b {
		if ch < 0x20 || ch >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return b, false
	}
	s := strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\ufffd' {
			return -1
		}
		return r
	}, string(b))
	if len(s) > maxDescription {
		s = strings.ToValidUTF8(s[:maxDescription], "")
	}
	s = strings.Trim(s, " ")
	return []byte(s), s != string(b)
}

const maxDescription = 256

// subjectOf names a device in findings: its description, or its GUID when it has none. Names of managed switches such as
// "MF0;leaf7:MQM9700/U1" are shortened to what stands on the label.
func subjectOf(desc []byte, guid topology.GUID) string {
	if name, ok := bytes.CutPrefix(desc, []byte("MF0;")); ok {
		if i := bytes.LastIndexByte(name, ':'); i > 0 {
			return string(name[:i])
		}
	}
	if len(desc) == 0 {
		return guid.String()
	}
	return string(desc)
}
