package nccl

import "fmt"

// BindingKind is what keeps a job from being faster.
type BindingKind string

// Kinds of a binding constraint.
const (
	BindingNVLink  BindingKind = "nvlink"  // the links inside every node
	BindingNIC     BindingKind = "nic"     // the NICs of every node
	BindingNode    BindingKind = "node"    // one node that is worse than the others
	BindingUplink  BindingKind = "uplink"  // the uplink of a group of the tree
	BindingPair    BindingKind = "pair"    // what two nodes reach that meet at this group
	BindingRail    BindingKind = "rail"    // a hop that changes rail on a fabric with isolated rails
	BindingShare   BindingKind = "share"   // the share of the network that the caller allows
	BindingLatency BindingKind = "latency" // the message is too small for bandwidth to matter
)

// Binding names the constraint.
type Binding struct {
	Kind    BindingKind `json:"kind"`
	Subject string      `json:"subject,omitempty"` // node or group
	Device  string      `json:"device,omitempty"`  // the NIC, where one is known
	Message string      `json:"message"`
	// LimitBytesPerSecond is the bus bandwidth that the constraint allows.
	LimitBytesPerSecond float64 `json:"limitBytesPerSecond,omitempty"`
}

// binding finds the constraint of the chosen algorithm.
func (n *network) binding(j *Job, p *Prediction, believed *Tuning) Binding {
	l := n.of(p.Algorithm)
	want := believed.timeOf(p.Algorithm, p.Protocol, p.SizeBytes)
	if p.TimeSeconds > want*1.0005 {
		return n.bindingOf(j, l)
	}
	if b, ok := n.worseNode(j, p.Algorithm); ok {
		return b
	}
	if lat := believed.latencyOf(p.Algorithm, p.Protocol) * 1e-6; lat > p.TimeSeconds/2 {
		return Binding{Kind: BindingLatency, Message: fmt.Sprintf("latency is %.0f %% of the time: a larger message gets more bandwidth", 100*lat/p.TimeSeconds)}
	}
	g := believed.graphOf(p.Algorithm)
	if len(n.units) == 1 {
		return Binding{Kind: BindingNVLink, Message: fmt.Sprintf("the links inside the node: %d channels of %g GB/s", g.Channels, g.BwIntra)}
	}
	return Binding{Kind: BindingNIC, Message: fmt.Sprintf("the NICs of every node: %d channels of %g GB/s", g.Channels, g.BwInter)}
}

func (n *network) bindingOf(j *Job, l *limit) Binding {
	b := Binding{Kind: l.kind, LimitBytesPerSecond: l.speed * 1e9}
	switch l.kind {
	case BindingNode:
		u := n.units[l.index]
		b.Subject, b.Device = j.Nodes[u.first].Name, n.f.nodes[u.place].limiting
		b.Message = fmt.Sprintf("node %s reaches %.0f GB/s of network", b.Subject, l.speed)
		if b.Device != "" {
			b.Message += ", set by " + b.Device
		}
	case BindingUplink:
		b.Subject = n.f.groups[l.index].name
		b.Message = fmt.Sprintf("the uplink of %s carries %.0f GB/s and this job loads it %g times", b.Subject, n.f.groups[l.index].uplink, l.load)
	case BindingPair:
		b.Subject = n.f.groups[l.index].name
		b.Message = fmt.Sprintf("nodes that meet at %s reach %.0f GB/s", b.Subject, l.speed)
	case BindingRail:
		b.Subject = n.f.groups[l.index].name
		b.Message = "an odd number of nodes makes rings change rail, and the rails are isolated: take an even number of nodes or set NCCL_CROSS_NIC=0"
	case BindingShare:
		b.Message = fmt.Sprintf("the share of the network left for this job: %.0f GB/s", l.speed)
	}
	return b
}

// worseNode finds a node whose graph is worse than the best of the job; NCCL then runs the whole job at the minimum.
func (n *network) worseNode(j *Job, a Algorithm) (Binding, bool) {
	count := len(n.units)
	best, worst, at := 0., 0., -1
	for i, m := range n.crew.models {
		speed := m.speed(a, count)
		best = max(best, speed)
		if at < 0 || speed < worst {
			worst, at = speed, i
		}
	}
	if best <= worst {
		return Binding{}, false
	}
	model := n.crew.models[at]
	var u *unit
	same := 0
	for i := range n.units {
		if n.units[i].model != int32(at) {
			continue
		}
		if same++; u == nil {
			u = &n.units[i]
		}
	}
	b := Binding{Kind: BindingNode, Subject: j.Nodes[u.first].Name, Device: model.Limiting}
	if n.f != nil && u.place >= 0 && n.f.nodes[u.place].limiting != "" {
		b.Device = n.f.nodes[u.place].limiting
	}
	b.Message = fmt.Sprintf("node %s alone finds %.0f GB/s, others %.0f, and NCCL takes the minimum of channels and of speed over all nodes", b.Subject, worst, best)
	if model.Limiting != "" {
		b.Message += "; " + model.Limiting
	}
	if same > 1 {
		b.Message += fmt.Sprintf(" (and %d more like it)", same-1)
	}
	return b, true
}

// speed is channels x speed of the graph that an algorithm runs on.
func (m *NodeModel) speed(a Algorithm, units int) float64 {
	t := Tuning{comm: Comm{Graphs: m.graphs(units)}}
	g := t.graphOf(a)
	if units == 1 {
		return float64(g.Channels) * g.BwIntra
	}
	return float64(g.Channels) * g.BwInter
}

// graphOf returns the graph that an algorithm runs on.
func (t *Tuning) graphOf(a Algorithm) Graph {
	for i := range nAlgorithms {
		if algorithmOf[i] == a {
			return t.graph(i)
		}
	}
	return t.comm.Graphs.Ring
}

// timeOf returns seconds for one pair.
func (t *Tuning) timeOf(a Algorithm, p Protocol, bytes uint64) float64 {
	if a == P2P {
		return t.p2p.time(bytes) * 1e-6
	}
	i, q := indexes(a, p)
	us, _ := t.time(i, q, bytes)
	return us * 1e-6
}

// latencyOf returns microseconds.
func (t *Tuning) latencyOf(a Algorithm, p Protocol) float64 {
	if a == P2P {
		return t.p2p.start
	}
	i, q := indexes(a, p)
	return t.latency[i][q]
}

func indexes(a Algorithm, p Protocol) (int, int) {
	i, q := 0, 0
	for k := range nAlgorithms {
		if algorithmOf[k] == a {
			i = k
		}
	}
	for k := range nProtocols {
		if protocolOf[k] == p {
			q = k
		}
	}
	return i, q
}
