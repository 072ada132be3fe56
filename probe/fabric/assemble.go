package fabric

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railmap/railmap/topology"
)

// assemble makes the report: devices by GUID, each cable once, everything doubtful named. The collector is empty afterwards.
func (c *collector) assemble(source string) (*topology.FabricReport, error) {
	order := c.sortDevices()
	rank := make([]int32, len(order))
	for pos, i := range order {
		rank[i] = int32(pos)
	}
	m := c.sortClaims(rank)
	r := &topology.FabricReport{Header: topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindFabricReport, Source: source}}
	c.makeDevices(r, order, rank)
	m.match(r)
	c.referenceFindings(r)
	if len(r.Links) == 0 {
		c.findings.add(topology.Finding{Code: CodeNoCables, Severity: topology.Error, Subject: c.name,
			Message: fmt.Sprintf("%d devices and no cable: the host that made this report sees no fabric", len(r.Devices)),
			Remedy:  "run the tool on a host with an active port; check its cable and the subnet manager"})
	}
	if c.unknownSpeeds > 0 {
		c.findings.add(topology.Finding{Code: CodeUnknownSpeed, Severity: topology.Info, Subject: c.name,
			Message: "some cables carry no speed or one that the tool did not know (it prints ???; XDR in older tools)",
			Remedy:  "read the fabric with a newer infiniband-diags, or let the measurements say how fast they are"})
	}
	if c.cut {
		c.findings.add(topology.Finding{Code: CodeInputCut, Severity: topology.Error, Subject: c.name,
			Message: "input ends inside a record; devices and cables behind that place are missing", Remedy: "read the fabric again"})
	}
	r.Findings = c.findings.all(c.name)
	return r, nil
}

// sortDevices gives the devices' indices in order of GUID.
func (c *collector) sortDevices() []int32 {
	type key struct {
		guid topology.GUID
		i    int32
	}
	keys := make([]key, c.devices.n)
	for i := range keys {
		keys[i] = key{c.devices.at(i).guid, int32(i)}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Compare(a.guid, b.guid) })
	order := make([]int32, len(keys))
	for i, k := range keys {
		order[i] = k.i
	}
	return order
}

// makeDevices fills r.Devices; the ports of all devices share one array.
func (c *collector) makeDevices(r *topology.FabricReport, order, rank []int32) {
	notes := c.sortNotes(rank)
	total := len(notes)
	for _, i := range order {
		if c.devices.at(int(i)).portGUID != 0 {
			total++
		}
	}
	slab := make([]topology.PortInfo, 0, total)
	text := c.text.texts()
	r.Devices = make([]topology.FabricDevice, len(order))
	for pos, i := range order {
		d := c.devices.at(int(i))
		out := &r.Devices[pos]
		out.GUID, out.SystemImageGUID = d.guid, d.image
		if name, ok := c.standIns[d.guid]; ok {
			out.GUID, out.Name = 0, name
		}
		out.Description = text(d.desc)
		out.Kind = deviceKind(d.kind, d.id, out.Description)
		out.VendorID, out.DeviceID, out.PortCount = d.vendor, d.id, int(d.ports)
		out.ReferenceOnly = d.flags&hasRecord == 0
		first := len(slab)
		if d.portGUID != 0 {
			slab = append(slab, topology.PortInfo{Number: int(d.portNumber), GUID: d.portGUID})
		}
		n := 0
		for n < len(notes) && notes[n].dev == int32(pos) {
			slab = appendPort(slab, first, notes[n])
			n++
		}
		notes = notes[n:]
		if len(slab) > first {
			ports := slab[first:len(slab):len(slab)]
			if n > 0 {
				slices.SortFunc(ports, func(a, b topology.PortInfo) int { return cmp.Compare(a.Number, b.Number) })
			}
			out.Ports = ports
		}
	}
	c.devices, c.index, c.notes = chunked[device]{}, guidIndex{}, nil
}

// sortNotes orders the notes by device and port; dev becomes the rank.
func (c *collector) sortNotes(rank []int32) []portNote {
	for i := range c.notes {
		c.notes[i].dev = rank[c.notes[i].dev]
	}
	slices.SortFunc(c.notes, func(a, b portNote) int {
		return cmp.Or(cmp.Compare(a.dev, b.dev), cmp.Compare(a.port, b.port), cmp.Compare(a.guid, b.guid),
			cmp.Compare(a.external, b.external), cmp.Compare(a.state, b.state))
	})
	return c.notes
}

// appendPort adds what a note says to the port of that number, which may stand in slab[first:] already. Of two GUIDs for one
// port the smaller one stays, whatever the order.
func appendPort(slab []topology.PortInfo, first int, n portNote) []topology.PortInfo {
	i := first
	for i < len(slab) && slab[i].Number != int(n.port) {
		i++
	}
	if i == len(slab) {
		slab = append(slab, topology.PortInfo{Number: int(n.port)})
	}
	p := &slab[i]
	if n.guid != 0 && (p.GUID == 0 || n.guid < p.GUID) {
		p.GUID = n.guid
	}
	if n.external != 0 {
		p.External = n.external
	}
	if n.state != "" {
		p.State = n.state
	}
	return slab
}

// aggregationID is the device id of a SHARP aggregation node (Quantum and Quantum-2 print the same).
const (
	aggregationID   = 0xcf09
	aggregationText = "Mellanox Technologies Aggregation Node"
)

func deviceKind(k kind, id uint32, desc string) topology.DeviceKind {
	switch {
	case k == switchKind:
		return topology.SwitchDevice
	case k == routerKind:
		return topology.RouterDevice
	case id == aggregationID || desc == aggregationText:
		return topology.AggregationDevice
	case k == adapterKind:
		return topology.AdapterDevice
	}
	return topology.UnknownDevice
}

// referenceFindings names the devices without a record of their own. ibnetdiscover prints a record for whatever answered, so
// when many lack one, or all adapters do, the input was cut.
func (c *collector) referenceFindings(r *topology.FabricReport) {
	references, adapters, adapterRecords := 0, 0, 0
	for i := range r.Devices {
		d := &r.Devices[i]
		if d.ReferenceOnly {
			references++
		}
		if d.Kind == topology.AdapterDevice {
			adapters++
			if !d.ReferenceOnly {
				adapterRecords++
			}
		}
	}
	if references == 0 {
		return
	}
	if c.partial && adapterRecords == 0 && adapters > 0 {
		c.findings.add(topology.Finding{Code: CodeReferenceOnly, Severity: topology.Info, Subject: c.name,
			Message: fmt.Sprintf("%d adapters are known only as the far end of a switch's cable: the input shows switches only", adapters),
			Remedy:  "run the tool without --switches-only"})
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		if !d.ReferenceOnly || c.partial && adapterRecords == 0 && d.Kind == topology.AdapterDevice {
			continue
		}
		c.findings.add(topology.Finding{Code: CodeReferenceOnly, Severity: topology.Warning, Subject: deviceSubject(d),
			Message: fmt.Sprintf("%s %s is known only as the far end of a cable; it has no record of its own", d.Kind, identity(d)),
			Remedy:  "read the fabric again; if it stays, the device does not answer: check it"})
	}
	if !c.partial && (adapterRecords == 0 && adapters > 0 || references*20 > len(r.Devices)) {
		c.cut = true
	}
}

// identity is what tells a device from all others.
func identity(d *topology.FabricDevice) string {
	if d.GUID == 0 {
		return d.Name
	}
	return d.GUID.String()
}

func deviceSubject(d *topology.FabricDevice) string {
	if d.Description == "" && d.GUID == 0 {
		return d.Name
	}
	return subjectOf([]byte(d.Description), d.GUID)
}
