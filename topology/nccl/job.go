package nccl

import "fmt"

// NodeModel is what a prediction needs of one kind of node. It is made once per hardware, by the search or by DefaultNode,
// and shared by all nodes that have it; a Job refers to it by pointer.
type NodeModel struct {
	Name     string `json:"name"` // what it was made from: a file, a digest, "default 8xH100, 8x400G"
	GPUs     int    `json:"gpus"`
	SM       int    `json:"computeCapability"`              // × 10, the lowest of its GPUs
	MaxSM    int    `json:"maxComputeCapability,omitempty"` // the highest; 0 = the same
	CPU      CPU    `json:"cpu"`
	NVSwitch bool   `json:"nvSwitch"`
	Alone    Graphs `json:"alone"`  // the graphs of a job on this node only
	Joined   Graphs `json:"joined"` // the graphs of this node in a job of several
	// Limiting names the part that makes this node worse than its kind ("mlx5_3 at 200 Gb/s, the others at 400"); empty for
	// a healthy node.
	Limiting string `json:"limiting,omitempty"`
	// Without is this machine without the NICs that make it worse; nil when there are none, or when it is no better.
	Without *NodeModel `json:"-"`
	// LatencyInter is what the network plugin states, in microseconds; nearly always 0.
	LatencyInter float64 `json:"latencyInter,omitempty"`
	// Channels are the rings of a job of several such nodes: GPU order and the NICs where each enters and leaves.
	Channels []Channel `json:"-"`
	// SKU names the kind of machine in calibration files ("H100", "p5.48xlarge"); empty = never corrected.
	SKU string `json:"sku,omitempty"`
	// Fused is the model of so many such nodes in one NVLink domain, which NCCL treats as one node; nil = they stay apart. It
	// returns nil when it cannot tell, and must be safe for use by many goroutines.
	Fused func(nodes int) *NodeModel `json:"-"`
}

// Job is one collective of one job, ready to be predicted.
type Job struct {
	Version    Version
	Collective Collective
	SizeBytes  uint64    // of the whole buffer, as nccl-tests counts it
	Nodes      []JobNode // in rank order: NCCL numbers nodes by first appearance and never re-orders them
	Fabric     *Fabric   // nil = a network without limits beyond the NICs
	// ShareCap bounds the network bandwidth of the job in shares of a node's nominal bandwidth, for what the fabric does not
	// show (other jobs on the same uplinks); 0 = no bound.
	ShareCap float64
	CollNet  bool
	// LeaveOutSlow predicts the job without the NICs that hold their node below what its other NICs carry alone.
	LeaveOutSlow bool
	Calibration  *Calibration // nil = the plain model
}

// JobNode is one host of a job.
type JobNode struct {
	Name  string
	Model *NodeModel
	// Place is the index of the node in Fabric, or NoPlace when the fabric does not know it.
	Place int32
}

// NoPlace marks a node that stands nowhere in the fabric.
const NoPlace int32 = -1

// unit is what NCCL counts as one node: a host, or all hosts of one NVLink domain. It holds no pointers: a job of a thousand
// nodes must not cost the garbage collector.
type unit struct {
	model int32 // index in crew.models
	first int32 // index of its first host in Job.Nodes
	place int32 // of its first host
	hosts int32
}

// crew are the units of a job and the distinct models among them, by first appearance.
type crew struct {
	units  []unit
	models []*NodeModel
	index  map[*NodeModel]int32
	ranks  int
}

// model returns the index of a model.
func (c *crew) model(m *NodeModel) int32 {
	if at, ok := c.index[m]; ok {
		return at
	}
	if c.index == nil {
		c.index = make(map[*NodeModel]int32)
	}
	at := int32(len(c.models))
	c.index[m] = at
	c.models = append(c.models, m)
	return at
}

// crew joins the hosts of one NVLink domain, in order of first appearance. It refuses nodes without a usable model.
func (j *Job) crew() (*crew, error) {
	c := &crew{units: make([]unit, 0, len(j.Nodes))}
	var byDomain map[int32]int
	last, joined := int32(0), false
	for i := range j.Nodes {
		n := &j.Nodes[i]
		m := n.Model
		if m == nil || m.GPUs < 1 {
			return nil, fmt.Errorf("node %s: must have a model with one GPU or more", n.Name)
		}
		c.ranks += m.GPUs
		if m.Fused != nil {
			if at, ok := j.sameDomain(n, len(c.units), &byDomain); ok {
				c.units[at].hosts++
				joined = true
				continue
			}
		}
		if j.LeaveOutSlow && m.Without != nil {
			m = m.Without
		}
		if len(c.models) == 0 || c.models[last] != m {
			last = c.model(m)
		}
		c.units = append(c.units, unit{model: last, first: int32(i), place: n.Place, hosts: 1})
	}
	if joined {
		c.fuse()
	}
	return c, nil
}

// sameDomain returns the unit of the NVLink domain that a node is in, when an earlier node opened it; else next becomes it.
func (j *Job) sameDomain(n *JobNode, next int, byDomain *map[int32]int) (int, bool) {
	if j.Fabric == nil || n.Place < 0 {
		return 0, false
	}
	domain := j.Fabric.nodes[n.Place].domain
	if domain < 0 {
		return 0, false
	}
	if at, ok := (*byDomain)[domain]; ok {
		return at, true
	}
	if *byDomain == nil {
		*byDomain = make(map[int32]int)
	}
	(*byDomain)[domain] = next
	return 0, false
}

// fuse gives domains of several hosts the model of all of them, and forgets models that no unit has any more.
func (c *crew) fuse() {
	old := *c
	c.models, c.index = nil, nil
	for i := range c.units {
		u := &c.units[i]
		m := old.models[u.model]
		if u.hosts > 1 && m.Fused != nil {
			if fused := m.Fused(int(u.hosts)); fused != nil {
				m = fused
			}
		}
		u.model = c.model(m)
	}
}
