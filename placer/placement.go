package placer

import "github.com/railmap/railmap/topology"

// Placement is the answer: an ordered node set, how fast it will be, and why it is this one.
type Placement struct {
	topology.Header `yaml:",inline"`
	Generation      uint64   `json:"generation" yaml:"generation"` // of the topology and state that were asked
	Nodes           []string `json:"nodes" yaml:"nodes"`           // in rank order, depth first over the tree
	// GPUs are the GPU indexes on each of Nodes, when the request asks for fewer than the nodes have.
	GPUs  [][]int `json:"gpus,omitempty" yaml:"gpus,omitempty,flow"`
	Level string  `json:"level,omitempty" yaml:"level,omitempty"`
	Group string  `json:"group,omitempty" yaml:"group,omitempty"` // the lowest group that holds all nodes
	// Segment is the largest size of equal consecutive parts that each stand in one leaf group (Slurm --segment); 1 = none.
	Segment int     `json:"segment" yaml:"segment"`
	Stages  []Stage `json:"stages,omitempty" yaml:"stages,omitempty"` // of the request's layout
	// Share is the predicted bandwidth of the gang in shares of a node's nominal bandwidth; 1 for a single node, which needs
	// no fabric.
	Share     float64    `json:"share" yaml:"share"`
	Predicted Prediction `json:"predicted" yaml:"predicted"`
	// IdealShare is the best share of the same request on the empty cluster; Loss = 1 - share/idealShare.
	IdealShare   float64       `json:"idealShare" yaml:"idealShare"`
	Loss         float64       `json:"loss" yaml:"loss"`
	Binding      Binding       `json:"binding" yaml:"binding"`
	Reasons      []string      `json:"reasons" yaml:"reasons"`
	Levels       []LevelReport `json:"levels,omitempty" yaml:"levels,omitempty"` // per level, lowest first: what was to be had there
	Alternatives []Alternative `json:"alternatives,omitempty" yaml:"alternatives,omitempty"`
	// Wait is present when the gang had better wait than start on these nodes now.
	Wait *Wait `json:"wait,omitempty" yaml:"wait,omitempty"`
	// LowerBound is true where a group below a faster one (a sick leaf switch) makes the closed form a safe lower bound of
	// the optimum instead of the optimum itself.
	LowerBound bool `json:"lowerBound,omitempty" yaml:"lowerBound,omitempty"`
}

// KindName names the kind.
func (*Placement) KindName() string { return topology.KindPlacement }

// Prediction is what the gang will reach.
type Prediction struct {
	BusBandwidthBytesPerSecond float64 `json:"busBandwidthBytesPerSecond,omitempty" yaml:"busBandwidthBytesPerSecond,omitempty"` // as nccl-tests count it; absent when the nodes' nominal bandwidth is unknown
	MessageBytes               int64   `json:"messageBytes,omitempty" yaml:"messageBytes,omitempty"`
	Algorithm                  string  `json:"algorithm,omitempty" yaml:"algorithm,omitempty"`
	Protocol                   string  `json:"protocol,omitempty" yaml:"protocol,omitempty"`
	Method                     string  `json:"method,omitempty" yaml:"method,omitempty"` // "share" = share × nominal bandwidth of a node
}

// Kinds of a binding constraint.
const (
	NodeBinding   = "node"
	UplinkBinding = "uplink"
	LevelBinding  = "level"
	NoBinding     = "none"
)

// Binding is what keeps the gang from being faster.
type Binding struct {
	Kind    string  `json:"kind" yaml:"kind"`                     // node, uplink, level or none
	Name    string  `json:"name,omitempty" yaml:"name,omitempty"` // the node, the group whose uplink it is, or the group whose level efficiency binds
	Level   string  `json:"level,omitempty" yaml:"level,omitempty"`
	Device  string  `json:"device,omitempty" yaml:"device,omitempty"` // the NIC of a node that sets its share
	Share   float64 `json:"share,omitempty" yaml:"share,omitempty"`
	Sharers int     `json:"sharers,omitempty" yaml:"sharers,omitempty"` // running gangs that cross the same uplink
}

// LevelReport says what one level had to offer.
type LevelReport struct {
	Level      string   `json:"level" yaml:"level"`
	Share      *float64 `json:"share,omitempty" yaml:"share,omitempty"`           // best share there now; absent = the gang does not fit
	IdealShare *float64 `json:"idealShare,omitempty" yaml:"idealShare,omitempty"` // the same on the empty cluster
	Group      string   `json:"group,omitempty" yaml:"group,omitempty"`           // where Share is reached, or the group with most usable nodes
	Usable     int      `json:"usable" yaml:"usable"`                             // nodes of Group that the request may use
	Busy       int      `json:"busy,omitempty" yaml:"busy,omitempty"`
	Lent       int      `json:"lent,omitempty" yaml:"lent,omitempty"`
	Drained    int      `json:"drained,omitempty" yaml:"drained,omitempty"`
	Filtered   int      `json:"filtered,omitempty" yaml:"filtered,omitempty"` // excluded, not included, or of another model
}

// Alternative is the next best choice.
type Alternative struct {
	Nodes []string `json:"nodes" yaml:"nodes,flow"`
	Level string   `json:"level" yaml:"level"`
	Group string   `json:"group" yaml:"group"`
	Share float64  `json:"share" yaml:"share"`
	Loss  float64  `json:"loss" yaml:"loss"` // against the empty cluster, as the placement's own
}
