package fabric

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/railmap/railmap/topology"
)

// rows holds what the reports with one line a port say: ibnetdiscover -p and iblinkinfo. They print port GUIDs, not node
// GUIDs, so a device is found like this:
//
//   - A switch has one GUID on all its ports.
//   - An adapter's ports stand below one header (iblinkinfo), or carry one description and consecutive GUIDs (port GUID minus
//     port number is the same). It goes by its smallest port GUID.
//   - A peer that is printed without a GUID (iblinkinfo without -l) is the port with that LID and description.
type rows struct {
	c         *collector
	list      []row
	names     textStore
	spans     map[string]span
	tellsKind bool // the format says what a device is; otherwise the ports do
}

// row is one line.
type row struct {
	guid, peerGUID topology.GUID // port GUIDs, 0 when not printed
	name, peerName span
	header         int32 // number of the header above, -1 when the format has none
	lid, peerLID   int32
	kind, peerKind kind
	port, peerPort uint8
	external       uint8
	lanes, speeds  uint8
	linked         bool
	state          string // when not up
}

// peerKey finds a peer that is printed without its GUID.
type peerKey struct {
	lid  int32
	name string
}

// assemble turns rows into a report.
func (s *rows) assemble(source string) (*topology.FabricReport, error) {
	if !s.tellsKind {
		s.inferKinds()
	}
	owner := s.adapters()
	unresolved := s.resolvePeers()
	own := func(g topology.GUID) topology.GUID {
		if o, ok := owner[g]; ok {
			return o
		}
		return g
	}
	s.records(own)
	for i := range s.list {
		s.add(&s.list[i], own, unresolved)
	}
	s.c.partial, s.c.standIns = true, unresolved
	return s.c.assemble(source)
}

// inferKinds tells switches from adapters by their ports: one GUID on several ports is a switch.
func (s *rows) inferKinds() {
	type seen struct {
		port uint8
		many bool
	}
	ports := make(map[topology.GUID]seen)
	look := func(g topology.GUID, port uint8) {
		if g == 0 {
			return
		}
		if p, ok := ports[g]; !ok {
			ports[g] = seen{port: port}
		} else if p.port != port && !p.many {
			ports[g] = seen{many: true}
		}
	}
	for i := range s.list {
		look(s.list[i].guid, s.list[i].port)
		look(s.list[i].peerGUID, s.list[i].peerPort)
	}
	tell := func(g topology.GUID) kind {
		if ports[g].many {
			return switchKind
		}
		return adapterKind
	}
	for i := range s.list {
		w := &s.list[i]
		w.kind = tell(w.guid)
		if w.linked {
			w.peerKind = tell(w.peerGUID)
		}
	}
}

// adapters gives the device of each adapter port: its smallest port GUID.
func (s *rows) adapters() map[topology.GUID]topology.GUID {
	type key struct {
		header int32
		base   topology.GUID
		name   string
	}
	keyOf := func(w *row) key {
		if w.header >= 0 {
			return key{header: w.header}
		}
		return key{header: -1, base: w.guid - topology.GUID(w.port), name: string(s.names.bytes(w.name))}
	}
	smallest := map[key]topology.GUID{}
	for i := range s.list {
		if w := &s.list[i]; w.kind != switchKind {
			k := keyOf(w)
			if g, ok := smallest[k]; !ok || w.guid < g {
				smallest[k] = w.guid
			}
		}
	}
	owner := make(map[topology.GUID]topology.GUID, len(smallest))
	for i := range s.list {
		if w := &s.list[i]; w.kind != switchKind {
			g := smallest[keyOf(w)]
			if o, ok := owner[w.guid]; !ok || g < o {
				owner[w.guid] = g
			}
		}
	}
	return owner
}

// resolvePeers fills in the GUIDs of peers that are printed with LID and description only. Those that no line describes get
// small numbers as stand-ins, in order of LID and name; real GUIDs carry a vendor's prefix and are above minGUID.
func (s *rows) resolvePeers() map[topology.GUID]string {
	byLID := map[peerKey]int{} // row of the port
	for i := range s.list {
		w := &s.list[i]
		k := peerKey{w.lid, string(s.names.bytes(w.name))}
		if j, ok := byLID[k]; !ok || w.guid < s.list[j].guid {
			byLID[k] = i
		}
	}
	missing := map[peerKey]kind{}
	var lost []*row
	for i := range s.list {
		w := &s.list[i]
		if !w.linked || w.peerGUID != 0 {
			continue
		}
		k := peerKey{w.peerLID, string(s.names.bytes(w.peerName))}
		if j, ok := byLID[k]; ok {
			w.peerGUID, w.peerKind = s.list[j].guid, s.list[j].kind
			continue
		}
		lost = append(lost, w)
		if _, again := missing[k]; again {
			missing[k] = switchKind // several cables
		} else {
			missing[k] = adapterKind
		}
	}
	order := slices.SortedFunc(maps.Keys(missing), func(a, b peerKey) int {
		return cmp.Or(cmp.Compare(a.lid, b.lid), cmp.Compare(a.name, b.name))
	})
	guids, standIns := map[peerKey]topology.GUID{}, map[topology.GUID]string{}
	for i, k := range order {
		guids[k] = topology.GUID(i + 1)
		standIns[guids[k]] = fmt.Sprintf("lid %d", k.lid)
		if i > 0 && order[i-1].lid == k.lid {
			standIns[guids[k]] = fmt.Sprintf("lid %d %s", k.lid, k.name)
		}
	}
	for _, w := range lost {
		k := peerKey{w.peerLID, string(s.names.bytes(w.peerName))}
		w.peerGUID, w.peerKind = guids[k], missing[k]
	}
	return standIns
}

// records makes the devices that have lines of their own; the highest port number seen is the port count. Of several names
// for one GUID the smallest one stands.
func (s *rows) records(own func(topology.GUID) topology.GUID) {
	type best struct {
		row   int
		ports uint8
	}
	devices := map[topology.GUID]best{}
	var order []topology.GUID
	for i := range s.list {
		w := &s.list[i]
		g := own(w.guid)
		b, ok := devices[g]
		if !ok {
			b.row = i
			order = append(order, g)
		} else if w.name != s.list[b.row].name && string(s.names.bytes(w.name)) < string(s.names.bytes(s.list[b.row].name)) {
			b.row = i
		}
		b.ports = max(b.ports, w.port)
		devices[g] = b
	}
	for _, g := range order {
		b := devices[g]
		s.c.record(device{guid: g, kind: s.list[b.row].kind, ports: b.ports}, s.names.bytes(s.list[b.row].name))
	}
}

// minGUID is below every GUID that a vendor hands out: the upper 24 bits are the vendor's number.
const minGUID = 1 << 32

func (s *rows) add(w *row, own func(topology.GUID) topology.GUID, standIns map[topology.GUID]string) {
	dev := s.c.lookup(own(w.guid), w.kind)
	if w.kind != switchKind {
		s.c.portGUID(dev, w.port, w.guid)
	}
	if w.state != "" || w.external != 0 {
		s.c.notes = append(s.c.notes, portNote{dev: dev, port: w.port, state: w.state, external: int(w.external)})
	}
	if !w.linked {
		return
	}
	peer := s.c.reference(own(w.peerGUID), w.peerKind, s.names.bytes(w.peerName))
	s.c.claimPort(claim{dev: dev, peer: peer, port: w.port, peerPort: w.peerPort, lanes: w.lanes, speeds: w.speeds})
	if _, standIn := standIns[w.peerGUID]; w.peerKind != switchKind && !standIn {
		s.c.portGUID(peer, w.peerPort, w.peerGUID)
	}
}
