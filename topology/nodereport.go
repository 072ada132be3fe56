package topology

import "fmt"

// NodeReport is what one probe run says about one node. Lists are sorted: NUMA nodes by id, PCI devices and GPUs by address,
// NICs by device name, net devices by name. Pointers are nil when the kernel or driver does not tell.
type NodeReport struct {
	Header       `yaml:",inline"`
	Node         string        `json:"node" yaml:"node"` // host name, or what --node-name says
	MachineID    string        `json:"machineId,omitempty" yaml:"machineId,omitempty"`
	BootID       string        `json:"bootId,omitempty" yaml:"bootId,omitempty"` // changes with every boot: tells a replayed report
	Kernel       string        `json:"kernel,omitempty" yaml:"kernel,omitempty"`
	Product      string        `json:"product,omitempty" yaml:"product,omitempty"` // DMI product name
	CPU          *CPUInfo      `json:"cpu,omitempty" yaml:"cpu,omitempty"`
	NUMANodes    []NUMANode    `json:"numaNodes,omitempty" yaml:"numaNodes,omitempty"`
	PCI          []PCIDevice   `json:"pci,omitempty" yaml:"pci,omitempty"` // bridges, switches, GPUs, NICs, NVSwitches, NVMe: all that matter for paths
	GPUs         []GPU         `json:"gpus,omitempty" yaml:"gpus,omitempty"`
	NICs         []NICReport   `json:"nics,omitempty" yaml:"nics,omitempty"` // RDMA ports: one entry a port
	NetDevices   []NetDevice   `json:"netDevices,omitempty" yaml:"netDevices,omitempty"`
	Paths        []Path        `json:"paths,omitempty" yaml:"paths,omitempty"` // GPU-GPU and GPU-NIC letters as nvidia-smi topo -m prints them
	Driver       *DriverInfo   `json:"driver,omitempty" yaml:"driver,omitempty"`
	Stages       []StageResult `json:"stages,omitempty" yaml:"stages,omitempty"` // what was to be measured and how that went
	Measurements Measurements  `json:"measurements,omitzero" yaml:"measurements,omitempty"`
	Verdict      string        `json:"verdict,omitempty" yaml:"verdict,omitempty"` // pass, warn, fail; absent when nothing was judged
	Findings     []Finding     `json:"findings,omitempty" yaml:"findings,omitempty"`
}

// StageResult tells how one stage of a probe went: ok, skipped (there is nothing to measure) or failed (it could not be
// measured, wholly or in part), with the reason.
type StageResult struct {
	Stage  string `json:"stage" yaml:"stage"`
	Status string `json:"status" yaml:"status"`
	Reason string `json:"reason,omitempty" yaml:"reason,omitempty"`
}

// Values of StageResult.Status.
const (
	StageOK      = "ok"
	StageSkipped = "skipped"
	StageFailed  = "failed"
)

// Values of NodeReport.Verdict.
const (
	VerdictPass = "pass"
	VerdictWarn = "warn"
	VerdictFail = "fail"
)

// CPUInfo describes the processors. Family and Model are those of x86 /proc/cpuinfo; NCCL's topology wants them.
type CPUInfo struct {
	Arch    string `json:"arch,omitempty" yaml:"arch,omitempty"` // x86_64, arm64, ppc64
	Vendor  string `json:"vendor,omitempty" yaml:"vendor,omitempty"`
	Model   string `json:"model,omitempty" yaml:"model,omitempty"` // "model name"
	Family  *int   `json:"familyId,omitempty" yaml:"familyId,omitempty"`
	ModelID *int   `json:"modelId,omitempty" yaml:"modelId,omitempty"`
	Sockets int    `json:"sockets,omitempty" yaml:"sockets,omitempty"`
	Cores   int    `json:"cores,omitempty" yaml:"cores,omitempty"`
	Threads int    `json:"threads,omitempty" yaml:"threads,omitempty"`
}

// NUMANode is one memory domain. CPUs is a kernel list ("0-31,64-95"), Distances the ACPI SLIT row (10 = local).
type NUMANode struct {
	ID          int    `json:"id" yaml:"id"`
	CPUs        string `json:"cpus,omitempty" yaml:"cpus,omitempty"`
	MemoryBytes uint64 `json:"memoryBytes,omitempty" yaml:"memoryBytes,omitempty"`
	Distances   []int  `json:"distances,omitempty" yaml:"distances,omitempty"`
}

// PCIDevice is one PCI function. Parent is the address of the bridge above it ("" below a host bridge).
type PCIDevice struct {
	Address      string   `json:"address" yaml:"address"` // 0000:0c:00.0
	Parent       string   `json:"parent,omitempty" yaml:"parent,omitempty"`
	RootComplex  string   `json:"rootComplex,omitempty" yaml:"rootComplex,omitempty"` // pci0000:00
	Class        string   `json:"class,omitempty" yaml:"class,omitempty"`             // 0x030200
	Vendor       string   `json:"vendor,omitempty" yaml:"vendor,omitempty"`           // 0x10de
	Device       string   `json:"device,omitempty" yaml:"device,omitempty"`
	SubVendor    string   `json:"subVendor,omitempty" yaml:"subVendor,omitempty"`
	SubDevice    string   `json:"subDevice,omitempty" yaml:"subDevice,omitempty"`
	Driver       string   `json:"driver,omitempty" yaml:"driver,omitempty"`
	NUMANode     *int     `json:"numaNode,omitempty" yaml:"numaNode,omitempty"` // absent when the kernel says -1
	LocalCPUs    string   `json:"localCpus,omitempty" yaml:"localCpus,omitempty"`
	Link         *PCILink `json:"link,omitempty" yaml:"link,omitempty"`
	ACSEnabled   *bool    `json:"acsEnabled,omitempty" yaml:"acsEnabled,omitempty"` // a redirecting ACS bit is on; needs root to read
	IOMMUGroup   *int     `json:"iommuGroup,omitempty" yaml:"iommuGroup,omitempty"`
	PhysicalSlot string   `json:"physicalSlot,omitempty" yaml:"physicalSlot,omitempty"`
}

// PCILink is speed and width of the link above a device, now and at most. Speeds are in transfers per second (16e9 = 16 GT/s).
type PCILink struct {
	SpeedTransfersPerSecond    *float64 `json:"speedTransfersPerSecond,omitempty" yaml:"speedTransfersPerSecond,omitempty"`
	MaxSpeedTransfersPerSecond *float64 `json:"maxSpeedTransfersPerSecond,omitempty" yaml:"maxSpeedTransfersPerSecond,omitempty"`
	Width                      *int     `json:"width,omitempty" yaml:"width,omitempty"`
	MaxWidth                   *int     `json:"maxWidth,omitempty" yaml:"maxWidth,omitempty"`
}

// GPU is one accelerator.
type GPU struct {
	Index              int           `json:"index" yaml:"index"`
	UUID               string        `json:"uuid,omitempty" yaml:"uuid,omitempty"`
	Model              string        `json:"model,omitempty" yaml:"model,omitempty"`
	PCIAddress         string        `json:"pciAddress,omitempty" yaml:"pciAddress,omitempty"`
	NUMANode           *int          `json:"numaNode,omitempty" yaml:"numaNode,omitempty"`
	MemoryBytes        uint64        `json:"memoryBytes,omitempty" yaml:"memoryBytes,omitempty"`
	ComputeCapability  string        `json:"computeCapability,omitempty" yaml:"computeCapability,omitempty"` // "9.0"
	PCIeGeneration     *int          `json:"pcieGeneration,omitempty" yaml:"pcieGeneration,omitempty"`
	MaxPCIeGeneration  *int          `json:"maxPcieGeneration,omitempty" yaml:"maxPcieGeneration,omitempty"`
	PCIeWidth          *int          `json:"pcieWidth,omitempty" yaml:"pcieWidth,omitempty"`
	MaxPCIeWidth       *int          `json:"maxPcieWidth,omitempty" yaml:"maxPcieWidth,omitempty"`
	NVLinks            []NVLink      `json:"nvlinks,omitempty" yaml:"nvlinks,omitempty"`
	Fabric             *NVLinkFabric `json:"fabric,omitempty" yaml:"fabric,omitempty"`
	Peers              []GPUPeer     `json:"peers,omitempty" yaml:"peers,omitempty"`           // what the driver says about direct access, by GPU
	C2CEnabled         *bool         `json:"c2cEnabled,omitempty" yaml:"c2cEnabled,omitempty"` // NVLink-C2C to the processor
	C2CLinks           *C2CLinks     `json:"c2cLinks,omitempty" yaml:"c2cLinks,omitempty"`     // where the driver counts them
	MIGEnabled         *bool         `json:"migEnabled,omitempty" yaml:"migEnabled,omitempty"`
	RemappedRows       *RemappedRows `json:"remappedRows,omitempty" yaml:"remappedRows,omitempty"`
	ThrottleReasons    []string      `json:"throttleReasons,omitempty" yaml:"throttleReasons,omitempty"`
	ProcessCount       *int          `json:"processCount,omitempty" yaml:"processCount,omitempty"`
	PCIeReplays        *uint64       `json:"pcieReplays,omitempty" yaml:"pcieReplays,omitempty"`
	TemperatureCelsius *int          `json:"temperatureCelsius,omitempty" yaml:"temperatureCelsius,omitempty"`
}

// C2CLinks are the chip-to-chip links of a GPU to its processor; the bandwidth is that of one link, one way.
type C2CLinks struct {
	Count                   int     `json:"count" yaml:"count"`
	BandwidthBytesPerSecond float64 `json:"bandwidthBytesPerSecond" yaml:"bandwidthBytesPerSecond"`
}

// GPUPeer says whether one GPU can read another's memory directly: P2P is "ok" or the driver's reason why not.
type GPUPeer struct {
	GPU int    `json:"gpu" yaml:"gpu"`
	P2P string `json:"p2p" yaml:"p2p"`
}

// NVLink is one NVLink port of a GPU. Remote is a PCI address (GPU or NVSwitch), RemoteType gpu, switch or cpu.
type NVLink struct {
	Link       int               `json:"link" yaml:"link"`
	Active     bool              `json:"active" yaml:"active"`
	Version    *int              `json:"version,omitempty" yaml:"version,omitempty"`
	Remote     string            `json:"remote,omitempty" yaml:"remote,omitempty"`
	RemoteType string            `json:"remoteType,omitempty" yaml:"remoteType,omitempty"`
	Errors     map[string]uint64 `json:"errors,omitempty" yaml:"errors,omitempty"`
}

// NVLinkFabric is the multi-node NVLink membership of a GPU. Domain() of the all-zero UUID is empty: that is no domain.
type NVLinkFabric struct {
	ClusterUUID string   `json:"clusterUuid,omitempty" yaml:"clusterUuid,omitempty"`
	CliqueID    *uint32  `json:"cliqueId,omitempty" yaml:"cliqueId,omitempty"`
	State       string   `json:"state,omitempty" yaml:"state,omitempty"`
	HealthMask  *uint32  `json:"healthMask,omitempty" yaml:"healthMask,omitempty"`
	Health      []string `json:"health,omitempty" yaml:"health,omitempty"` // decoded problems; empty = healthy or unknown
}

// RemappedRows are HBM rows replaced by spares.
type RemappedRows struct {
	Correctable   int  `json:"correctable" yaml:"correctable"`
	Uncorrectable int  `json:"uncorrectable" yaml:"uncorrectable"`
	Pending       bool `json:"pending" yaml:"pending"`
	Failed        bool `json:"failed" yaml:"failed"`
}

// NICReport is one port of an RDMA device.
type NICReport struct {
	Device                  string            `json:"device" yaml:"device"` // mlx5_0
	Port                    int               `json:"port" yaml:"port"`
	NodeGUID                GUID              `json:"nodeGuid,omitempty" yaml:"nodeGuid,omitempty"`
	SystemImageGUID         GUID              `json:"systemImageGuid,omitempty" yaml:"systemImageGuid,omitempty"`
	PortGUID                GUID              `json:"portGuid,omitempty" yaml:"portGuid,omitempty"`
	LinkLayer               string            `json:"linkLayer,omitempty" yaml:"linkLayer,omitempty"` // InfiniBand or Ethernet
	State                   string            `json:"state,omitempty" yaml:"state,omitempty"`         // ACTIVE, DOWN, INIT, ...
	PhysicalState           string            `json:"physicalState,omitempty" yaml:"physicalState,omitempty"`
	RateBytesPerSecond      *float64          `json:"rateBytesPerSecond,omitempty" yaml:"rateBytesPerSecond,omitempty"`
	RateDescription         string            `json:"rateDescription,omitempty" yaml:"rateDescription,omitempty"` // "4X NDR"
	LID                     *int              `json:"lid,omitempty" yaml:"lid,omitempty"`
	PCIAddress              string            `json:"pciAddress,omitempty" yaml:"pciAddress,omitempty"`
	NUMANode                *int              `json:"numaNode,omitempty" yaml:"numaNode,omitempty"`
	NetDevices              []string          `json:"netDevices,omitempty" yaml:"netDevices,omitempty"`
	Firmware                string            `json:"firmware,omitempty" yaml:"firmware,omitempty"`
	BoardID                 string            `json:"boardId,omitempty" yaml:"boardId,omitempty"`
	HCAType                 string            `json:"hcaType,omitempty" yaml:"hcaType,omitempty"`
	GPUDirect               *bool             `json:"gpuDirect,omitempty" yaml:"gpuDirect,omitempty"` // GPUDirect RDMA possible: nvidia_peermem or dma-buf
	Counters                map[string]uint64 `json:"counters,omitempty" yaml:"counters,omitempty"`
	BandwidthBytesPerSecond *Measurement      `json:"bandwidthBytesPerSecond,omitempty" yaml:"bandwidthBytesPerSecond,omitempty"`
	LatencySeconds          *Measurement      `json:"latencySeconds,omitempty" yaml:"latencySeconds,omitempty"`
	ReadLatencySeconds      *Measurement      `json:"readLatencySeconds,omitempty" yaml:"readLatencySeconds,omitempty"`
	// GPUBandwidthBytesPerSecond is the same write into GPU memory (GPUDirect RDMA).
	GPUBandwidthBytesPerSecond *Measurement `json:"gpuBandwidthBytesPerSecond,omitempty" yaml:"gpuBandwidthBytesPerSecond,omitempty"`
}

// NetDevice is one kernel network interface.
type NetDevice struct {
	Name                string   `json:"name" yaml:"name"`
	State               string   `json:"state,omitempty" yaml:"state,omitempty"` // operstate
	SpeedBytesPerSecond *float64 `json:"speedBytesPerSecond,omitempty" yaml:"speedBytesPerSecond,omitempty"`
	MTU                 int      `json:"mtu,omitempty" yaml:"mtu,omitempty"`
	Address             string   `json:"address,omitempty" yaml:"address,omitempty"` // MAC
	PCIAddress          string   `json:"pciAddress,omitempty" yaml:"pciAddress,omitempty"`
	NUMANode            *int     `json:"numaNode,omitempty" yaml:"numaNode,omitempty"`
	RDMADevice          string   `json:"rdmaDevice,omitempty" yaml:"rdmaDevice,omitempty"`
	LLDPSwitch          string   `json:"lldpSwitch,omitempty" yaml:"lldpSwitch,omitempty"`
	LLDPPort            string   `json:"lldpPort,omitempty" yaml:"lldpPort,omitempty"`
}

// Path is the letter code between two devices: A and B are "GPU0" or a NIC device name; Type is X, NV#, PIX, PXB, PHB, NODE or SYS.
type Path struct {
	A    string `json:"a" yaml:"a"`
	B    string `json:"b" yaml:"b"`
	Type string `json:"type" yaml:"type"`
}

// DriverInfo is the GPU driver.
type DriverInfo struct {
	Version     string `json:"version,omitempty" yaml:"version,omitempty"`
	NVMLVersion string `json:"nvmlVersion,omitempty" yaml:"nvmlVersion,omitempty"`
	CUDAVersion string `json:"cudaVersion,omitempty" yaml:"cudaVersion,omitempty"`
}

// Measurements are the node's own measured figures. Bandwidths are bytes per second.
type Measurements struct {
	Memory     []MemoryBandwidth `json:"memory,omitempty" yaml:"memory,omitempty"`
	Loopback   *Loopback         `json:"loopback,omitempty" yaml:"loopback,omitempty"`
	Copies     []Copy            `json:"copies,omitempty" yaml:"copies,omitempty"`
	Latencies  []CopyLatency     `json:"latencies,omitempty" yaml:"latencies,omitempty"`
	Collective []Collective      `json:"collectives,omitempty" yaml:"collectives,omitempty"`
}

// MemoryBandwidth is a memory copy (read + write counted once, as STREAM's "copy" does not) on one NUMA node.
type MemoryBandwidth struct {
	NUMANode                int         `json:"numaNode" yaml:"numaNode"`
	BandwidthBytesPerSecond Measurement `json:"bandwidthBytesPerSecond" yaml:"bandwidthBytesPerSecond"`
}

// Loopback is TCP over the loopback interface of this node.
type Loopback struct {
	BandwidthBytesPerSecond *Measurement `json:"bandwidthBytesPerSecond,omitempty" yaml:"bandwidthBytesPerSecond,omitempty"`
	RoundTripSeconds        *Measurement `json:"roundTripSeconds,omitempty" yaml:"roundTripSeconds,omitempty"`
}

// Copy is a measured copy between two places: "GPU0", "NUMA0". Bidirectional figures are the sum of both ways;
// Together marks copies that ran with all GPUs of one PCIe switch at once.
type Copy struct {
	From                    string      `json:"from" yaml:"from"`
	To                      string      `json:"to" yaml:"to"`
	Bidirectional           bool        `json:"bidirectional,omitempty" yaml:"bidirectional,omitempty"`
	Together                bool        `json:"together,omitempty" yaml:"together,omitempty"`
	BandwidthBytesPerSecond Measurement `json:"bandwidthBytesPerSecond" yaml:"bandwidthBytesPerSecond"`
}

// CopyLatency is the measured access latency between two places.
type CopyLatency struct {
	From           string      `json:"from" yaml:"from"`
	To             string      `json:"to" yaml:"to"`
	LatencySeconds Measurement `json:"latencySeconds" yaml:"latencySeconds"`
}

// Collective is one NCCL result: bus bandwidth as nccl-tests defines it.
type Collective struct {
	Name                       string      `json:"name" yaml:"name"` // all_reduce, ...
	SizeBytes                  uint64      `json:"sizeBytes" yaml:"sizeBytes"`
	GPUs                       int         `json:"gpus,omitempty" yaml:"gpus,omitempty"`
	BusBandwidthBytesPerSecond Measurement `json:"busBandwidthBytesPerSecond" yaml:"busBandwidthBytesPerSecond"`
	TimeSeconds                *float64    `json:"timeSeconds,omitempty" yaml:"timeSeconds,omitempty"`
}

// zeroUUID is what HGX machines without multi-node NVLink report as cluster.
const zeroUUID = "00000000-0000-0000-0000-000000000000"

// Domain names the NVLink domain that a GPU belongs to, "<clusterUuid>.<cliqueId>", as the Kubernetes label
// nvidia.com/gpu.clique does; "" when it belongs to none: the all-zero UUID is no domain.
func (f *NVLinkFabric) Domain() string {
	if f == nil || f.ClusterUUID == "" || f.ClusterUUID == zeroUUID || f.CliqueID == nil {
		return ""
	}
	return fmt.Sprintf("%s.%d", f.ClusterUUID, *f.CliqueID)
}
