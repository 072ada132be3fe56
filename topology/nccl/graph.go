package nccl

// PathType is how far two devices of a node are apart, as NCCL 2.27.5 and later number it.
type PathType int

// Path types, nearest first.
const (
	PathLOC PathType = iota // the device itself
	PathNVL                 // NVLink, direct or through NVSwitch
	PathNVB                 // NVLink through one other GPU
	PathC2C                 // CPU chip-to-chip link
	PathPIX                 // one PCIe switch
	PathPXB                 // several PCIe switches, no host bridge
	PathP2C                 // GPU to NIC through the C2C CPU and its PCIe
	PathPXN                 // to a NIC through another GPU's NVLink
	PathPHB                 // a host bridge
	PathSYS                 // between sockets
	PathNET                 // network
	PathDIS                 // none
)

// Pattern is the shape of a graph, numbered as in NCCL graph files.
type Pattern int

// Patterns.
const (
	PatternBalancedTree Pattern = 1
	PatternSplitTree    Pattern = 2
	PatternTree         Pattern = 3
	PatternRing         Pattern = 4
	PatternNVLS         Pattern = 5
	PatternCollnet      Pattern = 6
)

// Graph is one result of the search before post-processing: channels, speed per channel in GB/s (10^9 bytes per second)
// inside the node and between nodes, the worst path types, and whether channels may enter and leave a node by different
// NICs (0 no, 1 yes, 2 only where both ends alternate). Channels 0 means that the pattern does not exist on the machine.
type Graph struct {
	Pattern   Pattern  `json:"pattern"`
	Channels  int      `json:"channels"`
	BwIntra   float64  `json:"bwIntra"`
	BwInter   float64  `json:"bwInter"`
	TypeIntra PathType `json:"typeIntra"`
	TypeInter PathType `json:"typeInter"`
	CrossNic  int      `json:"crossNic"`
}

// Graphs are the three graphs that the tuning model needs, of one node or of a job.
type Graphs struct {
	Ring Graph `json:"ring"`
	Tree Graph `json:"tree"`
	NVLS Graph `json:"nvls"`
}
