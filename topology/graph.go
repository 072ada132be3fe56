package topology

// Topology is the one weighted map: nodes, switches, links, the tree and what is wrong with them. Nodes, switches and links
// are sorted by name, the tree depth first. Build makes it; every exporter and the placer read it.
type Topology struct {
	Header     `yaml:",inline"`
	Generation uint64    `json:"generation" yaml:"generation"` // grows with every change of the content
	Nodes      []Node    `json:"nodes" yaml:"nodes"`
	Switches   []Switch  `json:"switches" yaml:"switches"`
	Links      []Link    `json:"links" yaml:"links"`
	Tree       Tree      `json:"tree" yaml:"tree"`
	Findings   []Finding `json:"findings,omitempty" yaml:"findings,omitempty"`
}

// State is the condition of a link or node.
type State string

// States. Unmeasured is healthy as far as known; stale means that the last measurement is too old to be believed.
const (
	OK         State = "ok"
	Degraded   State = "degraded"
	Down       State = "down"
	Unmeasured State = "unmeasured"
	Stale      State = "stale"
)

// Node is a host with GPUs, or a host that may have some: whoever has a compute NIC in the fabric, a node report or a place
// in the asked host list.
type Node struct {
	Name         string    `json:"name" yaml:"name"`
	Group        string    `json:"group,omitempty" yaml:"group,omitempty"`               // leaf group in Tree; absent = not attached to the fabric (and a finding says so)
	NVLinkDomain string    `json:"nvlinkDomain,omitempty" yaml:"nvlinkDomain,omitempty"` // "clusterUUID.cliqueID", never the all-zero UUID
	GPUCount     int       `json:"gpuCount,omitempty" yaml:"gpuCount,omitempty"`         // 0 = unknown
	GPUModel     string    `json:"gpuModel,omitempty" yaml:"gpuModel,omitempty"`
	NICs         []NodeNIC `json:"nics,omitempty" yaml:"nics,omitempty"` // by rail, then device name
	// NominalBandwidthBytesPerSecond is what a healthy node of this cluster reaches one way over all compute rails together.
	NominalBandwidthBytesPerSecond  float64      `json:"nominalBandwidthBytesPerSecond,omitempty" yaml:"nominalBandwidthBytesPerSecond,omitempty"`
	MeasuredBandwidthBytesPerSecond *Measurement `json:"measuredBandwidthBytesPerSecond,omitempty" yaml:"measuredBandwidthBytesPerSecond,omitempty"`
	// Share is the effective network bandwidth in shares of nominal (b_v of the placement model): present rails × slowest
	// rail ÷ nominal, because NCCL spreads a collective evenly over the rails; or the fresh measurement when there is one.
	// 1 = healthy; absent = unknown (treated as 1, marked unmeasured).
	Share    *float64 `json:"share,omitempty" yaml:"share,omitempty"`
	Limiting string   `json:"limiting,omitempty" yaml:"limiting,omitempty"` // the NIC that sets Share when it is below 1
	State    State    `json:"state" yaml:"state"`
}

// NodeNIC is one compute or storage port of a node and where it is plugged in.
type NodeNIC struct {
	Device                         string  `json:"device,omitempty" yaml:"device,omitempty"` // mlx5_0, HCA-1, ...; absent when no source names it
	Port                           int     `json:"port,omitempty" yaml:"port,omitempty"`
	GUID                           GUID    `json:"guid,omitempty" yaml:"guid,omitempty"` // node GUID of the adapter
	Rail                           *int    `json:"rail,omitempty" yaml:"rail,omitempty"` // compute rail; absent = not a compute NIC
	Switch                         string  `json:"switch,omitempty" yaml:"switch,omitempty"`
	SwitchPort                     int     `json:"switchPort,omitempty" yaml:"switchPort,omitempty"`
	NominalBandwidthBytesPerSecond float64 `json:"nominalBandwidthBytesPerSecond,omitempty" yaml:"nominalBandwidthBytesPerSecond,omitempty"`
	State                          State   `json:"state" yaml:"state"`
}

// SwitchRole tells compute fabric from the rest.
type SwitchRole string

// Roles of a switch. Auxiliary is a storage or management switch: it touches hosts of most groups and joins no group.
const (
	FabricSwitch    SwitchRole = "fabric"
	AuxiliarySwitch SwitchRole = "auxiliary"
	RouterSwitch    SwitchRole = "router"
)

// Switch is one switch. Tier counts from the hosts: 0 = leaf, 1 = spine, ...; it comes from the whole fabric, never from the
// hosts that were asked for.
type Switch struct {
	Name        string     `json:"name" yaml:"name"` // unique; a GUID when the description is empty or taken
	GUID        GUID       `json:"guid,omitempty" yaml:"guid,omitempty"`
	Description string     `json:"description,omitempty" yaml:"description,omitempty"`
	Model       string     `json:"model,omitempty" yaml:"model,omitempty"`
	Role        SwitchRole `json:"role" yaml:"role"`
	Tier        int        `json:"tier" yaml:"tier"`
	Group       string     `json:"group,omitempty" yaml:"group,omitempty"` // the tree group this switch belongs to
	Rail        *int       `json:"rail,omitempty" yaml:"rail,omitempty"`   // the rail it serves, when it serves one
}

// LinkClass is the technology of a link.
type LinkClass string

// Link classes.
const (
	NVLinkClass LinkClass = "nvlink"
	C2C         LinkClass = "c2c"
	PCIe        LinkClass = "pcie"
	SMP         LinkClass = "smp"
	InfiniBand  LinkClass = "infiniband"
	Ethernet    LinkClass = "ethernet"
)

// Link is an edge of the graph: one host cable, or all parallel cables of one pair of switches. A is the node or lower switch.
type Link struct {
	A                               LinkEnd      `json:"a" yaml:"a"`
	B                               LinkEnd      `json:"b" yaml:"b"`
	Class                           LinkClass    `json:"class" yaml:"class"`
	Cables                          []Cable      `json:"cables,omitempty" yaml:"cables,omitempty,flow"`                                              // by port of A
	NominalBandwidthBytesPerSecond  float64      `json:"nominalBandwidthBytesPerSecond,omitempty" yaml:"nominalBandwidthBytesPerSecond,omitempty"`   // one way, all cables that are there, data rate
	ExpectedBandwidthBytesPerSecond float64      `json:"expectedBandwidthBytesPerSecond,omitempty" yaml:"expectedBandwidthBytesPerSecond,omitempty"` // what links of this kind have in this fabric; present when it differs
	MeasuredBandwidthBytesPerSecond *Measurement `json:"measuredBandwidthBytesPerSecond,omitempty" yaml:"measuredBandwidthBytesPerSecond,omitempty"`
	MeasuredLatencySeconds          *Measurement `json:"measuredLatencySeconds,omitempty" yaml:"measuredLatencySeconds,omitempty"`
	Health                          *float64     `json:"health,omitempty" yaml:"health,omitempty"` // measured (or nominal, if it is below its peers) ÷ expected
	State                           State        `json:"state" yaml:"state"`
}

// LinkEnd is a node's NIC port or a switch. Exactly one of Node and Switch is set.
type LinkEnd struct {
	Node   string `json:"node,omitempty" yaml:"node,omitempty"`
	Device string `json:"device,omitempty" yaml:"device,omitempty"`
	Switch string `json:"switch,omitempty" yaml:"switch,omitempty"`
}

// String prints "node0007/mlx5_7" or "leaf0".
func (e LinkEnd) String() string {
	if e.Switch != "" {
		return e.Switch
	}
	if e.Device == "" {
		return e.Node
	}
	return e.Node + "/" + e.Device
}

// Cable is one cable of a link by its port numbers.
type Cable struct {
	PortA int32 `json:"portA" yaml:"portA"`
	PortB int32 `json:"portB" yaml:"portB"`
}

// Tree is the projection that exporters and the placer use: any depth, ragged. A fabric in pieces gives several roots.
type Tree struct {
	Levels []Level `json:"levels" yaml:"levels"` // from the lowest up: [domain,] leaf, pod, core
	Groups []Group `json:"groups" yaml:"groups"` // depth first, parents before children, children in physical (name) order
}

// Names of tree levels. A fabric with more than three tiers has pod2, pod3, ... between pod and core; the highest is core.
const (
	DomainLevel = "domain"
	LeafLevel   = "leaf"
	PodLevel    = "pod"
	CoreLevel   = "core"
)

// Level is one distance class. Efficiency is the bandwidth that a pair of healthy, idle nodes whose lowest common group has
// this level reaches, in shares of nominal; it is a cap, not a factor (facts: eta).
type Level struct {
	Name       string  `json:"name" yaml:"name"`
	Efficiency float64 `json:"efficiency" yaml:"efficiency"`
	Measured   bool    `json:"measured" yaml:"measured"` // false: a stated default
	// LatencySeconds is half a round trip between idle nodes that meet at this level, the median over pairs; absent = not measured.
	LatencySeconds *float64 `json:"latencySeconds,omitempty" yaml:"latencySeconds,omitempty"`
}

// Group is one vertex of the tree: an NVLink domain, a leaf group, a pod or the core.
type Group struct {
	Name     string   `json:"name" yaml:"name"`
	Level    string   `json:"level" yaml:"level"`
	Parent   string   `json:"parent,omitempty" yaml:"parent,omitempty"` // absent for a root
	Switches []string `json:"switches,omitempty" yaml:"switches,omitempty,flow"`
	Nodes    []string `json:"nodes,omitempty" yaml:"nodes,omitempty,flow"` // nodes directly below, in physical (name) order
	// Uplink is the capacity of all links to the parent in node-worths: rails × slowest rail's uplinks ÷ nominal node
	// bandwidth. Absent for a root and when unknown (treated as unlimited).
	Uplink         *float64 `json:"uplink,omitempty" yaml:"uplink,omitempty"`
	UplinkMeasured bool     `json:"uplinkMeasured,omitempty" yaml:"uplinkMeasured,omitempty"`
	Efficiency     *float64 `json:"efficiency,omitempty" yaml:"efficiency,omitempty"` // measured for this group; absent = the level's
}
