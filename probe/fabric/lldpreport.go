package fabric

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/railmap/railmap/topology"
)

// CodeSharedPort is the finding for an interface that hears several systems: a hub, or a bridge that forwards LLDP.
const CodeSharedPort = "several-neighbors"

// SystemLLDP is what one system, host or switch, hears on its interfaces.
type SystemLLDP struct {
	System    string
	Neighbors []Neighbor
	// BytesPerSecond and Devices say what is known of interfaces: their speed, and the RDMA device behind them. Both may be nil.
	BytesPerSecond map[string]float64
	Devices        map[string]string
}

// LLDP makes a fabric report of what hosts and switches hear. A system is a host or a switch by what others hear of it; one
// that nobody hears is a switch when it hears hosts. Hosts tell the leaf and its port of each NIC; what lies between
// switches only switches tell, or a static file that is merged with this.
func LLDP(systems []SystemLLDP) *topology.FabricReport {
	b := &lldpBuilder{hosts: map[string]bool{}, index: map[[2]string]int32{}, cables: map[[2]lldpEnd]topology.FabricLink{}}
	b.classify(systems)
	for _, s := range systems {
		b.system(s)
	}
	return b.report()
}

// LLDPOfNodes takes the same from node reports; nil when none of them heard anything. Where some interfaces have an RDMA
// device, the others are for management and stay out.
func LLDPOfNodes(nodes []*topology.NodeReport) *topology.FabricReport {
	rdma := false
	for _, n := range nodes {
		for _, d := range n.NetDevices {
			rdma = rdma || d.LLDPSwitch != "" && d.RDMADevice != ""
		}
	}
	var systems []SystemLLDP
	for _, n := range nodes {
		s := SystemLLDP{System: n.Node, BytesPerSecond: map[string]float64{}, Devices: map[string]string{}}
		for _, d := range n.NetDevices {
			if d.LLDPSwitch == "" || d.LLDPPort == "" || rdma && d.RDMADevice == "" {
				continue
			}
			s.Neighbors = append(s.Neighbors, Neighbor{Interface: d.Name, System: d.LLDPSwitch, Port: d.LLDPPort})
			if d.SpeedBytesPerSecond != nil {
				s.BytesPerSecond[d.Name] = *d.SpeedBytesPerSecond
			}
			if d.RDMADevice != "" {
				s.Devices[d.Name] = d.RDMADevice
			}
		}
		if len(s.Neighbors) > 0 {
			systems = append(systems, s)
		}
	}
	if len(systems) == 0 {
		return nil
	}
	return LLDP(systems)
}

// lldpEnd is one end of a cable before devices are numbered: system and port (the interface).
type lldpEnd struct{ system, port string }

type lldpBuilder struct {
	hosts    map[string]bool // system -> it is a host
	devices  []topology.FabricDevice
	index    map[[2]string]int32 // host and device, or "" and switch
	cables   map[[2]lldpEnd]topology.FabricLink
	names    map[lldpEnd]string // RDMA device of an interface
	findings notebook
}

func (b *lldpBuilder) classify(systems []SystemLLDP) {
	heard := map[string]bool{}
	for _, s := range systems {
		for _, n := range s.Neighbors {
			heard[n.System] = true
			if n.Host {
				b.hosts[n.System] = true
			}
		}
	}
	for _, s := range systems {
		if !heard[s.System] {
			b.hosts[s.System] = !slices.ContainsFunc(s.Neighbors, func(n Neighbor) bool { return n.Host })
		}
	}
}

// system adds the cables that one system hears; each cable is kept once, whoever tells.
func (b *lldpBuilder) system(s SystemLLDP) {
	seen := map[string]bool{}
	for _, n := range s.Neighbors {
		if seen[n.Interface] {
			b.findings.add(topology.Finding{Code: CodeSharedPort, Severity: topology.Warning, Subject: s.System + "/" + n.Interface,
				Message: fmt.Sprintf("hears %s on %s besides another system; the first is taken", n.System, n.Port),
				Remedy:  "look for a bridge or hub that forwards LLDP between the two"})
			continue
		}
		seen[n.Interface] = true
		if name := s.Devices[n.Interface]; name != "" {
			if b.names == nil {
				b.names = map[lldpEnd]string{}
			}
			b.names[lldpEnd{s.System, n.Interface}] = name
		}
		here, there := lldpEnd{s.System, n.Interface}, lldpEnd{n.System, n.Port}
		key := [2]lldpEnd{here, there}
		if cmp.Or(cmp.Compare(here.system, there.system), cmp.Compare(here.port, there.port)) > 0 {
			key = [2]lldpEnd{there, here}
		}
		l, known := b.cables[key]
		l.OneSided = !known
		if v := s.BytesPerSecond[n.Interface]; v > 0 && (l.BandwidthBytesPerSecond == 0 || v < l.BandwidthBytesPerSecond) {
			l.BandwidthBytesPerSecond = v
		}
		b.cables[key] = l
	}
}

// report numbers devices and cables in their order.
func (b *lldpBuilder) report() *topology.FabricReport {
	r := &topology.FabricReport{Header: topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindFabricReport, Source: "lldp"}}
	keys := slices.SortedFunc(maps.Keys(b.cables), func(x, y [2]lldpEnd) int {
		return cmp.Or(topology.CompareNames(x[0].system, y[0].system), topology.CompareNames(x[0].port, y[0].port),
			topology.CompareNames(x[1].system, y[1].system), topology.CompareNames(x[1].port, y[1].port))
	})
	for _, k := range keys {
		b.device(k[0])
		b.device(k[1])
	}
	order := make([]int, len(b.devices))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return compareDevices(&b.devices[x], &b.devices[y]) })
	place := make([]int32, len(order))
	for pos, i := range order {
		place[i] = int32(pos)
		r.Devices = append(r.Devices, b.devices[i])
	}
	taken := map[topology.FabricEnd]bool{}
	for _, k := range keys {
		l := b.cables[k]
		l.A = topology.FabricEnd{Device: place[b.device(k[0])], Port: b.port(k[0])}
		l.B = topology.FabricEnd{Device: place[b.device(k[1])], Port: b.port(k[1])}
		if compareEnds(l.A, l.B) > 0 {
			l.A, l.B = l.B, l.A
		}
		if taken[l.A] || taken[l.B] || l.A.Device == l.B.Device {
			b.findings.add(topology.Finding{Code: CodeConflictingCables, Severity: topology.Warning, Subject: k[0].system + "/" + k[0].port,
				Message: fmt.Sprintf("the cable to %s/%s ends where another one does; it is left out", k[1].system, k[1].port), Remedy: "look at both ports: one of the answers is old or wrong"})
			continue
		}
		taken[l.A], taken[l.B] = true, true
		r.Links = append(r.Links, l)
	}
	slices.SortFunc(r.Links, compareLinks)
	r.Findings = b.findings.all("lldp")
	return r
}

// device finds or adds the device of an end: a host has one for each interface, a switch is one.
func (b *lldpBuilder) device(e lldpEnd) int32 {
	d := topology.FabricDevice{Kind: topology.SwitchDevice, Name: e.system}
	if b.hosts[e.system] {
		d = topology.FabricDevice{Kind: topology.AdapterDevice, Host: e.system, Name: cmp.Or(b.names[e], e.port)}
	}
	key := [2]string{d.Host, d.Name}
	i, ok := b.index[key]
	if !ok {
		i = int32(len(b.devices))
		b.index[key] = i
		b.devices = append(b.devices, d)
	}
	return i
}

// digits are the numbers in a port's name.
var digits = regexp.MustCompile(`[0-9]+`)

// port numbers a port. Hosts have a device for each; a switch port has the number in its name (swp7), or one made of all its
// numbers (Ethernet1/12/3 is 1012003): reports of both ends then agree without knowing the other ports.
func (b *lldpBuilder) port(e lldpEnd) int32 {
	if b.hosts[e.system] {
		return 1
	}
	n := 0.0
	for _, d := range digits.FindAllString(e.port, -1) {
		v, _ := strconv.ParseFloat(d, 64)
		n = n*1000 + v
	}
	if n >= 1 && n < math.MaxInt32 {
		return int32(n)
	}
	h := fnv.New32a()
	h.Write([]byte(e.port))
	return int32(h.Sum32()>>1 | 1<<30)
}
