package nccl

import (
	"errors"
	"math"
	"math/bits"
)

// CPU is what NCCL distinguishes of the host processors.
type CPU struct {
	Arch   string `json:"arch,omitempty"`   // x86_64, arm64, ppc64
	Vendor string `json:"vendor,omitempty"` // GenuineIntel, AuthenticAMD, ...; "mixed" when nodes differ
}

func (c CPU) amd() bool { return c.Vendor == "AuthenticAMD" }

// Comm is what NCCL's tuning model knows of a communicator. Graphs are those of the whole job: the minimum of channels and
// speeds and the maximum of path types over its nodes.
type Comm struct {
	Version Version
	Nodes   int // NVLink domains count as one
	Ranks   int
	MinSM   int // compute capability × 10, lowest and highest of the job
	MaxSM   int
	CPU     CPU
	Graphs  Graphs
	// CollNet tells that a SHARP plugin is in use; NVSwitch that the nodes have one.
	CollNet  bool
	NVSwitch bool
	// LatencyInter is the latency that the network plugin states, in microseconds; nearly always 0.
	LatencyInter float64
	// NetOverhead overrides the cost of posting to the network (NCCL_NET_OVERHEAD), in microseconds; nil = by CPU.
	NetOverhead *float64
}

// Estimate is the predicted cost of one collective by one algorithm and protocol.
type Estimate struct {
	Algorithm                  Algorithm `json:"algorithm"`
	Protocol                   Protocol  `json:"protocol"`
	TimeSeconds                float64   `json:"timeSeconds"`
	BusBandwidthBytesPerSecond float64   `json:"busBandwidthBytesPerSecond"`
}

// Tuning is NCCL's tuning table for one communicator and collective: bandwidth and latency per algorithm and protocol.
type Tuning struct {
	comm       Comm
	collective Collective
	bandwidth  [nAlgorithms][nProtocols]float64 // algorithm bandwidth GB/s; 0 = not allowed
	latency    [nAlgorithms][nProtocols]float64 // microseconds
	channels   int                              // final channels, after copies
	p2p        allToAll
}

// NewTuning fills the table. A communicator must have two ranks or more, and the ring graph a channel.
func NewTuning(c Comm, coll Collective) (*Tuning, error) {
	t := new(Tuning)
	if err := t.fill(c, coll); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Tuning) fill(c Comm, coll Collective) error {
	switch {
	case c.Nodes < 1 || c.Ranks < c.Nodes:
		return errors.New("communicator: must have one node or more and at least one rank a node")
	case c.Ranks < 2:
		return errors.New("communicator: must have two ranks or more; one rank moves nothing")
	case c.Graphs.Ring.Channels < 1:
		return errors.New("ring graph: must have one channel or more")
	}
	*t = Tuning{comm: c, collective: coll, channels: finalChannels(c)}
	if coll == AllToAll {
		t.p2p = newAllToAll(c)
		return nil
	}
	for a := range nAlgorithms {
		for p := range nProtocols {
			if !t.allowed(a, p) {
				continue
			}
			t.bandwidth[a][p] = t.algorithmBandwidth(a, p)
			t.latency[a][p] = t.algorithmLatency(a, p)
		}
	}
	return nil
}

// finalChannels is the number of channels after NCCL has copied those of the search.
func finalChannels(c Comm) int {
	n := min(c.Graphs.Ring.Channels, max(c.Graphs.Tree.Channels, 1)) * 2
	if c.MinSM >= 90 && c.Nodes > 1 && c.Graphs.Ring.BwIntra > 45 && n < 16*2 && n/2 < 16 {
		n *= 2
	}
	return n
}

// graph returns the search result that an algorithm runs on.
func (t *Tuning) graph(a int) Graph {
	g := t.comm.Graphs
	switch a {
	case iRing:
		g.Ring.Channels = min(g.Ring.Channels, g.Tree.Channels)
		return g.Ring
	case iNVLS, iNVLSTree:
		return g.NVLS
	case iCollNetDirect, iCollNetChain:
		return g.Ring // NCCL searches own graphs for these; they have a ring's speed when every GPU has a NIC
	}
	g.Tree.Channels = min(g.Ring.Channels, g.Tree.Channels)
	return g.Tree
}

// allowed tells whether NCCL considers the pair by default.
func (t *Tuning) allowed(a, p int) bool {
	c := t.comm
	gatherOrScatter := t.collective == AllGather || t.collective == ReduceScatter
	switch a {
	case iRing:
	case iTree:
		if t.collective != AllReduce {
			return false
		}
	case iNVLS:
		if c.Nodes > 1 && !c.CollNet || t.collective != AllReduce && !gatherOrScatter {
			return false
		}
	case iNVLSTree:
		if c.Nodes == 1 || t.collective != AllReduce {
			return false
		}
	case iPAT:
		if !gatherOrScatter || c.Ranks != c.Nodes {
			return false
		}
	case iCollNetDirect, iCollNetChain:
		if !c.CollNet || c.Nodes < 2 || a == iCollNetDirect && !c.NVSwitch ||
			t.collective != AllReduce && (a == iCollNetChain || !gatherOrScatter) {
			return false
		}
	}
	if a != iRing && a != iTree && p != iSimple {
		return false
	}
	return p != iLL128 || t.allowsLL128(t.graph(a))
}

// allowsLL128: the protocol relies on 128-byte stores arriving whole, which holds on NVLink and near NICs only. 2.27 wants
// all GPUs of one compute capability; later releases take Hopper and newer together.
func (t *Tuning) allowsLL128(g Graph) bool {
	c := t.comm
	far := PathPXB
	if c.MinSM >= 90 {
		far = PathPXN
	}
	sameGPUs := c.MinSM == c.MaxSM || c.MinSM >= 90 && c.Version.AtLeast(28, 3)
	return g.TypeIntra <= PathNVB && g.TypeInter <= far && c.MinSM >= 70 && sameGPUs
}

// time returns microseconds for a pair that is allowed and has bandwidth, and false otherwise.
func (t *Tuning) time(a, p int, bytes uint64) (float64, bool) {
	bw, lat := t.bandwidth[a][p], t.latency[a][p]
	if bw <= 0 {
		return 0, false
	}
	index := bits.Len64(bytes>>6) - 1
	switch {
	case a == iTree && t.collective == AllReduce && index >= 0 && index < treeCorrectionEnd:
		bw *= treeCorrection[p][index]
	case a == iNVLSTree && t.comm.Version.AtLeast(28, 3) && t.comm.MinSM >= 100 && t.comm.CPU.Arch == "x86_64" && index >= 0 && index < nvlsTreeCorrectionEnd:
		bw *= treeCorrection[iSimple][index]
	case a == iRing && p == iSimple && t.comm.Nodes > 1 && t.collective == AllReduce &&
		bytes/uint64(t.channels*t.comm.Ranks) >= 64:
		lat *= t.plateau()
	}
	return lat + float64(bytes)/(1000*bw), true
}

// plateau is the factor on the latency of large multi-node rings.
func (t *Tuning) plateau() float64 {
	if t.comm.MinSM < 80 {
		return 1.9
	}
	return 1.4
}

// Best returns NCCL's choice for a size in bytes (of the whole buffer, as nccl-tests counts it).
func (t *Tuning) Best(bytes uint64) Estimate {
	if t.collective == AllToAll {
		return t.estimate(P2P, Simple, t.p2p.time(bytes), bytes)
	}
	bestA, bestP, best := -1, -1, math.Inf(1)
	for a := range nAlgorithms {
		for p := range nProtocols {
			if us, ok := t.time(a, p, bytes); ok && us < best {
				bestA, bestP, best = a, p, us
			}
		}
	}
	if bestA < 0 {
		return Estimate{}
	}
	return t.estimate(algorithmOf[bestA], protocolOf[bestP], best, bytes)
}

// PerAlgorithm returns every algorithm that NCCL considers, each with its best protocol, in NCCL's order.
func (t *Tuning) PerAlgorithm(bytes uint64) []Estimate {
	if t.collective == AllToAll {
		return []Estimate{t.Best(bytes)}
	}
	var out []Estimate
	for a := range nAlgorithms {
		bestP, best := -1, math.Inf(1)
		for p := range nProtocols {
			if us, ok := t.time(a, p, bytes); ok && us < best {
				bestP, best = p, us
			}
		}
		if bestP >= 0 {
			out = append(out, t.estimate(algorithmOf[a], protocolOf[bestP], best, bytes))
		}
	}
	return out
}

func (t *Tuning) estimate(a Algorithm, p Protocol, us float64, bytes uint64) Estimate {
	e := Estimate{Algorithm: a, Protocol: p, TimeSeconds: us * 1e-6}
	if us > 0 {
		e.BusBandwidthBytesPerSecond = float64(bytes) / e.TimeSeconds * t.collective.BusFactor(t.comm.Ranks)
	}
	return e
}
