package topology

import (
	"cmp"
	"slices"
)

// emitNodes writes the hosts asked for, by name.
func (b *builder) emitNodes(t *Topology) {
	t.Nodes = make([]Node, 0, len(b.hosts))
	for h := range b.hosts {
		if b.hosts[h].asked {
			t.Nodes = append(t.Nodes, b.node(&b.hosts[h]))
		}
	}
	slices.SortFunc(t.Nodes, func(x, y Node) int { return CompareNames(x.Name, y.Name) })
}

// node weighs one host: present rails × slowest rail ÷ nominal, because NCCL spreads a collective evenly over the rails.
func (b *builder) node(hs *host) Node {
	n := Node{Name: hs.name, NominalBandwidthBytesPerSecond: hs.nominal, State: Unmeasured}
	if hs.group >= 0 {
		n.Group = b.groups[hs.group].name
	}
	if r := hs.report; r != nil {
		n.GPUCount = len(r.GPUs)
		if len(r.GPUs) > 0 {
			n.GPUModel = r.GPUs[0].Model
		}
		n.NVLinkDomain = nvlinkDomain(r)
	}
	for _, a := range hs.adapters { // labels know domains, too
		n.NVLinkDomain = cmp.Or(n.NVLinkDomain, b.f.devices[a].NVLinkDomain)
	}
	slowest, rails := 0.0, 0
	n.NICs = make([]NodeNIC, 0, len(hs.nics))
	for i := range hs.nics {
		c := &hs.nics[i]
		n.NICs = append(n.NICs, b.nodeNIC(c))
		if c.compute {
			rails++
			if rails == 1 || c.bw < slowest {
				slowest, n.Limiting = c.bw, c.name
			}
		}
	}
	if hs.nominal > 0 && slowest > 0 {
		share := min(1, float64(rails)*slowest/hs.nominal)
		n.Share = &share
	}
	if n.Share == nil || *n.Share >= 0.999 {
		n.Limiting = ""
	} else {
		n.State = Degraded
		if slowest*float64(rails) < hs.nominal && b.uniform(hs) {
			n.Limiting = "" // all present ports are alike: a missing rail limits, and a finding names it
		}
	}
	if hs.group < 0 {
		n.State = Down
		if hs.report != nil && len(b.in.Fabrics) == 0 {
			n.State = Unmeasured
		}
	}
	return n
}

func (b *builder) uniform(hs *host) bool {
	first := -1.0
	for i := range hs.nics {
		if c := &hs.nics[i]; c.compute {
			if first >= 0 && c.bw != first {
				return false
			}
			first = c.bw
		}
	}
	return true
}

// railPointer shares one int for each rail number: a large map has 100,000 ports.
func (b *builder) railPointer(rail int) *int {
	for len(b.rails) <= rail {
		n := len(b.rails)
		b.rails = append(b.rails, &n)
	}
	return b.rails[rail]
}

func (b *builder) nodeNIC(c *nic) NodeNIC {
	n := NodeNIC{Device: c.name, Port: int(c.port), GUID: b.f.devices[c.dev].GUID, SwitchPort: int(c.swPort), NominalBandwidthBytesPerSecond: c.bw, State: Unmeasured}
	if c.sw >= 0 {
		n.Switch = b.sws[c.sw].name
	}
	if c.compute {
		n.Rail = b.railPointer(int(c.rail))
	}
	return n
}

// nvlinkDomain is "clusterUUID.cliqueID" when all GPUs of the report agree; the all-zero UUID of machines without multi-node
// NVLink is no domain.
func nvlinkDomain(r *NodeReport) string {
	domain := ""
	for i := range r.GPUs {
		f := r.GPUs[i].Fabric
		if f == nil || f.ClusterUUID == "" || f.ClusterUUID == zeroUUID || f.CliqueID == nil {
			return ""
		}
		d := f.ClusterUUID + "." + itoa(int32(*f.CliqueID))
		if domain != "" && d != domain {
			return ""
		}
		domain = d
	}
	return domain
}

// emitSwitches writes every switch of the fabric, by name.
func (b *builder) emitSwitches(t *Topology) {
	t.Switches = make([]Switch, 0, len(b.sws))
	for i := range b.sws {
		s := &b.sws[i]
		dev := &b.f.devices[s.dev]
		out := Switch{Name: s.name, GUID: dev.GUID, Description: dev.Description, Model: switchModel(dev), Role: FabricSwitch, Tier: int(max(s.tier, 0))}
		switch {
		case s.router:
			out.Role = RouterSwitch
		case s.aux:
			out.Role = AuxiliarySwitch
		}
		if s.group >= 0 {
			out.Group = b.groups[s.group].name
		}
		if s.rail >= 0 {
			r := int(s.rail)
			out.Rail = &r
		}
		if s.tier < 0 {
			b.find("unreachable-switch", Info, s.name, "check its cables", "no path from this switch to any leaf: kept out of the tree")
		}
		t.Switches = append(t.Switches, out)
	}
}

// emitLinks writes one link for each NIC port of the nodes in the map, and one for each pair of switches with cables.
func (b *builder) emitLinks(t *Topology) {
	nics := 0
	for h := range b.hosts {
		if b.hosts[h].asked {
			nics += len(b.hosts[h].nics)
		}
	}
	trunks := 0
	for i := range b.sws {
		last := int32(-1)
		for _, p := range b.peers(int32(i)) {
			if p != last && b.below(int32(i), p) {
				trunks++
			}
			last = p
		}
	}
	cables := make([]Cable, 0, len(b.f.links))
	t.Links = make([]Link, 0, nics+trunks)
	order := make([]int32, 0, len(b.hosts))
	for h := range b.hosts {
		if b.hosts[h].asked {
			order = append(order, int32(h))
		}
	}
	slices.SortFunc(order, func(x, y int32) int { return CompareNames(b.hosts[x].name, b.hosts[y].name) })
	for _, h := range order {
		hs := &b.hosts[h]
		for i := range hs.nics {
			c := &hs.nics[i]
			if c.sw < 0 {
				continue
			}
			cables = append(cables, Cable{c.port, c.swPort})
			l := Link{A: LinkEnd{Node: hs.name, Device: c.name}, B: LinkEnd{Switch: b.sws[c.sw].name}, Class: b.class(c.link),
				Cables: cables[len(cables)-1 : len(cables) : len(cables)], NominalBandwidthBytesPerSecond: c.bw, State: Unmeasured}
			if c.compute {
				b.weigh(&l, b.expectedNIC(hs))
			}
			t.Links = append(t.Links, l)
		}
	}
	b.emitTrunks(t, cables)
}

func (b *builder) expectedNIC(hs *host) float64 {
	speeds := map[float64]int{}
	if hs.group < 0 || hs.nominal == 0 {
		return 0
	}
	if b.railSpeed == nil {
		b.railSpeed = map[int32]float64{}
	}
	if v, ok := b.railSpeed[hs.group]; ok {
		return v
	}
	for _, h := range b.groups[hs.group].hosts {
		for i := range b.hosts[h].nics {
			if c := &b.hosts[h].nics[i]; c.compute && c.bw > 0 {
				speeds[c.bw]++
			}
		}
	}
	b.railSpeed[hs.group] = largestMode(speeds)
	return b.railSpeed[hs.group]
}

// weigh compares a link with what its peers have.
func (b *builder) weigh(l *Link, expected float64) {
	if expected == 0 || l.NominalBandwidthBytesPerSecond == 0 || l.NominalBandwidthBytesPerSecond > 0.95*expected {
		return
	}
	health := l.NominalBandwidthBytesPerSecond / expected
	l.ExpectedBandwidthBytesPerSecond, l.Health, l.State = expected, &health, Degraded
}

// class tells InfiniBand from Ethernet: static and LLDP sources have no InfiniBand speed word.
func (b *builder) class(link int32) LinkClass {
	l := &b.f.links[link]
	if l.Speed == 0 && b.f.devices[l.A.Device].GUID == 0 {
		return Ethernet
	}
	return InfiniBand
}

// emitTrunks writes the links between switches: A is the lower one.
func (b *builder) emitTrunks(t *Topology, cables []Cable) {
	usual := b.usualTrunks()
	type trunk struct{ peer, port, peerPort, link int32 }
	var ends []trunk
	for i := range b.sws {
		ends = ends[:0]
		for _, c := range b.f.cables(b.sws[i].dev) {
			p := b.swOf[c.peer]
			if p < 0 || p == int32(i) || !b.below(int32(i), p) {
				continue
			}
			ends = append(ends, trunk{p, c.port, c.peerPort, c.link})
		}
		slices.SortFunc(ends, func(x, y trunk) int {
			return cmp.Or(cmp.Compare(x.peer, y.peer), cmp.Compare(x.port, y.port), cmp.Compare(x.peerPort, y.peerPort))
		})
		for j := 0; j < len(ends); {
			k := j
			l := Link{A: LinkEnd{Switch: b.sws[i].name}, B: LinkEnd{Switch: b.sws[ends[j].peer].name}, Class: b.class(ends[j].link), State: Unmeasured}
			from := len(cables)
			for ; k < len(ends) && ends[k].peer == ends[j].peer; k++ {
				cables = append(cables, Cable{ends[k].port, ends[k].peerPort})
				l.NominalBandwidthBytesPerSecond += b.f.links[ends[k].link].BandwidthBytesPerSecond
			}
			l.Cables = cables[from:len(cables):len(cables)]
			if b.sws[ends[j].peer].tier > b.sws[i].tier {
				b.weigh(&l, usual[b.sws[i].tier])
			}
			t.Links = append(t.Links, l)
			j = k
		}
	}
}

// below orders the two ends of a trunk: lower tier first, then name order.
func (b *builder) below(x, y int32) bool {
	return cmp.Or(cmp.Compare(b.sws[x].tier, b.sws[y].tier), cmp.Compare(x, y)) < 0
}

// usualTrunks is the most common bandwidth of a trunk from each tier upwards.
func (b *builder) usualTrunks() map[int32]float64 {
	count := map[int32]map[float64]int{}
	for i := range b.sws {
		s := &b.sws[i]
		if s.aux || s.idle || s.tier < 0 {
			continue
		}
		if count[s.tier] == nil {
			count[s.tier] = map[float64]int{}
		}
		for _, bw := range b.upOf(int32(i)).bw {
			count[s.tier][bw]++
		}
	}
	usual := map[int32]float64{}
	for t, c := range count {
		usual[t] = largestMode(c)
	}
	return usual
}
