package nccl

// NodeModel is what a prediction needs of one kind of node. It is made once per hardware, by the search or by DefaultNode,
// and shared by all nodes that have it; a Job refers to it by pointer.
type NodeModel struct {
	Name     string `json:"name"` // what it was made from: a file, a digest, "default 8xH100, 8x400G"
	GPUs     int    `json:"gpus"`
	SM       int    `json:"computeCapability"` // × 10
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

// unit is what NCCL counts as one node: a host, or all hosts of one NVLink domain.
type unit struct {
	model *NodeModel
	first int32 // index of its first host in Job.Nodes
	place int32 // of its first host
	hosts int32
	ranks int32
}

// units joins the hosts of one NVLink domain, in order of first appearance.
func (j *Job) units() []unit {
	out := make([]unit, 0, len(j.Nodes))
	var byDomain map[int32]int
	for i := range j.Nodes {
		n := &j.Nodes[i]
		domain := NoPlace
		if n.Model.Fused != nil && j.Fabric != nil && n.Place >= 0 {
			domain = j.Fabric.nodes[n.Place].domain
		}
		if domain >= 0 {
			if at, ok := byDomain[domain]; ok {
				out[at].hosts++
				out[at].ranks += int32(n.Model.GPUs)
				continue
			}
			if byDomain == nil {
				byDomain = make(map[int32]int)
			}
			byDomain[domain] = len(out)
		}
		out = append(out, unit{model: n.Model, first: int32(i), place: n.Place, hosts: 1, ranks: int32(n.Model.GPUs)})
	}
	for i := range out {
		u := &out[i]
		if j.LeaveOutSlow && u.model.Without != nil {
			u.model = u.model.Without
		}
		if u.hosts > 1 && u.model.Fused != nil {
			if fused := u.model.Fused(int(u.hosts)); fused != nil {
				u.model = fused
			}
		}
	}
	return out
}
