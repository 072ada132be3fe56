package nccl

import (
	"errors"
	"math"
)

// Prediction is what a job's collective will reach: NCCL's choice of algorithm and protocol, made as NCCL makes it without
// looking at the network, and the time it then takes on this network.
type Prediction struct {
	NCCLVersion                string     `json:"ncclVersion"`
	Collective                 Collective `json:"collective"`
	SizeBytes                  uint64     `json:"sizeBytes"`
	Nodes                      int        `json:"nodes"` // as NCCL counts them: an NVLink domain is one
	Ranks                      int        `json:"ranks"`
	Graphs                     Graphs     `json:"graphs"` // of the job: the minimum over its nodes
	Tuple                      string     `json:"graphRingTreeNvls"`
	Algorithm                  Algorithm  `json:"algorithm"`
	Protocol                   Protocol   `json:"protocol"`
	TimeSeconds                float64    `json:"timeSeconds"`
	BusBandwidthBytesPerSecond float64    `json:"busBandwidthBytesPerSecond"`
	PerAlgorithm               []Estimate `json:"perAlgorithm"`
	Binding                    Binding    `json:"binding"`
	Crossings                  []Crossing `json:"crossings,omitempty"`
	Correction                 Correction `json:"correction"`
}

// Crossing counts the ring edges whose ends meet at one level of the tree.
type Crossing struct {
	Level string `json:"level"` // "" = the ends meet nowhere in the map
	Edges int    `json:"edges"`
}

// Predict computes one collective of a job. It is a pure function and may be called by many goroutines.
func Predict(j *Job) (Prediction, error) {
	if len(j.Nodes) == 0 {
		return Prediction{}, errors.New("job: must have one node or more")
	}
	crew, err := j.crew()
	if err != nil {
		return Prediction{}, err
	}
	comm := j.comm(crew)
	p := Prediction{NCCLVersion: j.Version.String(), Collective: j.Collective, SizeBytes: j.SizeBytes, Nodes: comm.Nodes, Ranks: comm.Ranks,
		Graphs: comm.Graphs, Tuple: comm.Graphs.Tuple()}
	var believed, real Tuning
	if err := believed.fill(comm, j.Collective); err != nil {
		return Prediction{}, err
	}
	net := newNetwork(j, crew, comm.Graphs.Ring.CrossNic)
	capped := comm
	capped.Graphs = net.cap(comm.Graphs)
	if err := real.fill(capped, j.Collective); err != nil {
		return Prediction{}, err
	}
	real.p2p.limitNetwork(net.all.speed)
	p.choose(&believed, &real)
	p.Binding = net.binding(j, &p, &believed)
	p.Crossings = net.crossings()
	p.correct(j, crew)
	return p, nil
}

// comm sums up the units: what ranks exchange at the start of a job.
func (j *Job) comm(crew *crew) Comm {
	first, count := crew.models[0], len(crew.units)
	c := Comm{Version: j.Version, Nodes: count, MinSM: first.SM, MaxSM: first.highest(), CPU: first.CPU, CollNet: j.CollNet, NVSwitch: true,
		Ranks: crew.ranks, Graphs: first.graphs(count)}
	for _, m := range crew.models {
		c.MinSM, c.MaxSM = min(c.MinSM, m.SM), max(c.MaxSM, m.highest())
		if m.CPU.Vendor != c.CPU.Vendor {
			c.CPU.Vendor = "mixed"
		}
		c.NVSwitch = c.NVSwitch && m.NVSwitch
		c.LatencyInter = max(c.LatencyInter, m.LatencyInter)
		g := m.graphs(count)
		c.Graphs.lower(&g)
	}
	return c
}

func (m *NodeModel) graphs(units int) Graphs {
	if units == 1 {
		return m.Alone
	}
	return m.Joined
}

// choose lets NCCL decide by what it believes, and costs every decision by what is real.
func (p *Prediction) choose(believed, real *Tuning) {
	if p.Collective == AllToAll {
		e := real.Best(p.SizeBytes)
		p.PerAlgorithm = []Estimate{e}
		p.take(e)
		return
	}
	p.PerAlgorithm = make([]Estimate, 0, nAlgorithms)
	best := math.Inf(1)
	for a := range nAlgorithms {
		proto, quickest := -1, math.Inf(1)
		for q := range nProtocols {
			if us, ok := believed.time(a, q, p.SizeBytes); ok && us < quickest {
				proto, quickest = q, us
			}
		}
		if proto < 0 {
			continue
		}
		us, _ := real.time(a, proto, p.SizeBytes)
		e := real.estimate(algorithmOf[a], protocolOf[proto], us, p.SizeBytes)
		p.PerAlgorithm = append(p.PerAlgorithm, e)
		if quickest < best {
			best = quickest
			p.take(e)
		}
	}
}

func (p *Prediction) take(e Estimate) {
	p.Algorithm, p.Protocol, p.TimeSeconds, p.BusBandwidthBytesPerSecond = e.Algorithm, e.Protocol, e.TimeSeconds, e.BusBandwidthBytesPerSecond
}

// cap lowers the speeds of the graphs to what the network gives. With two nodes NCCL's formulas look at the speed inside the
// node only, so that one is lowered too; NVLSTree then counts the network twice.
func (n *network) cap(g Graphs) Graphs {
	pair := len(n.units) == 2
	lower := func(g *Graph, speed float64) {
		if g.Channels == 0 || math.IsInf(speed, 1) {
			return
		}
		each := speed / float64(g.Channels)
		g.BwInter = min(g.BwInter, each)
		if pair {
			g.BwIntra = min(g.BwIntra, each)
		}
	}
	channels := min(g.Ring.Channels, g.Tree.Channels)
	ring, tree := g.Ring, g.Tree
	ring.Channels, tree.Channels = channels, channels
	lower(&ring, n.ring.speed)
	lower(&tree, n.trees.speed)
	g.Ring.BwIntra, g.Ring.BwInter = ring.BwIntra, ring.BwInter
	g.Tree.BwIntra, g.Tree.BwInter = tree.BwIntra, tree.BwInter
	if g.NVLS.Channels > 0 && !math.IsInf(n.trees.speed, 1) {
		each := n.trees.speed / float64(g.NVLS.Channels)
		if pair {
			each /= 2
		}
		g.NVLS.BwInter = min(g.NVLS.BwInter, each)
	}
	return g
}

// crossings lists the levels at which ring edges meet, lowest first.
func (n *network) crossings() []Crossing {
	var out []Crossing
	for i, edges := range n.meet {
		if edges == 0 {
			continue
		}
		c := Crossing{Edges: int(edges)}
		if i < len(n.f.levels) {
			c.Level = n.f.levels[i]
		}
		out = append(out, c)
	}
	return out
}
