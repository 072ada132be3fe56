package nccl

// allToAll is our own bound for AllToAll: NCCL has no model of it. Every rank sends bytes/ranks to each other rank; what
// stays in the node shares the links of the node graph, what leaves it shares the NICs.
//
//	time = start + max(local bytes / NVLink, remote bytes / NIC share of a GPU)
type allToAll struct {
	start        float64 // microseconds
	local        float64 // share of the buffer for peers of the same node
	remote       float64 // share of the buffer for peers of other nodes
	localSpeed   float64 // GB/s one way per GPU
	networkSpeed float64 // GB/s one way per GPU
	perNode      float64 // GPUs
}

// Every send or receive starts with the latency of one ring step; peers are served eight at a time.
const (
	p2pBaseLatency = 8.4 // microseconds, as a ring with the Simple protocol
	p2pGroup       = 8
)

func newAllToAll(c Comm) allToAll {
	ranks, nodes := float64(c.Ranks), float64(c.Nodes)
	perNode := ranks / nodes
	ring := c.Graphs.Ring
	hop := hopPCI
	if ring.TypeIntra == PathNVL {
		hop = hopNVLink
	}
	intra := hopLatency[hop][iRing][iSimple]
	m := allToAll{
		perNode:    perNode,
		local:      (perNode - 1) / ranks,
		remote:     (ranks - perNode) / ranks,
		localSpeed: max(float64(ring.Channels)*ring.BwIntra, float64(c.Graphs.Tree.Channels)*c.Graphs.Tree.BwIntra),
		start:      p2pBaseLatency + intra*(perNode-1)/p2pGroup,
	}
	if c.Nodes > 1 {
		m.networkSpeed = float64(ring.Channels) * ring.BwInter / perNode
		m.start += (hopLatency[hopNet][iRing][iSimple] + c.LatencyInter) * (ranks - perNode) / p2pGroup
	}
	return m
}

// time returns microseconds.
func (m allToAll) time(bytes uint64) float64 {
	us := float64(bytes) * m.local / (1000 * m.localSpeed)
	if m.networkSpeed > 0 {
		us = max(us, float64(bytes)*m.remote/(1000*m.networkSpeed))
	}
	return m.start + us
}

// limitNetwork lowers what a GPU sends to other nodes so that its node stays within speed GB/s.
func (m *allToAll) limitNetwork(speed float64) {
	if m.networkSpeed > 0 && speed < m.networkSpeed*m.perNode {
		m.networkSpeed = speed / m.perNode
	}
}
