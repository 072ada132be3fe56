package nccl

import (
	"fmt"
	"math"
)

// System is one machine, or one NVLink domain of several, as NCCL sees it: vertices for GPUs, switches, processors and NICs,
// links with a bandwidth in each direction, and the best path between every two that matter. It does not change once built,
// so searches may run at the same time.
type System struct {
	options  Options
	vertices [kinds][]*vertex
	links    []*link
	hosts    []uint64 // host hashes in order of appearance
	maxBw    float32  // best single route of any GPU to a NIC, several nodes
	maxLocal float32  // the same to another GPU, one node
	totalBw  float32  // most that one GPU can take in
	netOrder netOrders
}

type kind int

const (
	kindGPU    kind = iota // a rank
	kindDevice             // the device it runs on
	kindPCI
	kindNVSwitch
	kindCPU // a NUMA domain
	kindNIC
	kindNet
	kindBridge // joins the C2C links of a split GPU
	kinds
)

// vertex is one thing in the machine. Slot is the place of the first vertex of the same kind and id: files that list a NIC
// twice make two vertices and one path.
type vertex struct {
	kind  kind
	index int
	slot  int
	id    uint64
	host  int
	links []*link // in NCCL's order: it decides between equal paths
	paths [kinds][]path

	sm     int     // devices
	dev    int     // GPUs and nets: device number
	rank   int     // GPUs
	gdr    bool    // GPUs and nets
	part   int     // GPUs: MLOPart partition, -1 = whole
	ranks  int     // devices: ranks on it
	parent *vertex // GPUs: their device
	device uint64  // PCI ids of switches
	cpu    cpuInfo
	net    netInfo
}

type cpuInfo struct {
	arch          cpuArch
	vendor        cpuVendor
	family, model int
}

type netInfo struct {
	name        string
	asic        uint64
	port        int
	bw          float32
	latency     float32
	rail, plane int   // -1 = undefined
	localGPU    int   // GPU index, -1 = none
	near        []int // GPUs that are nearest, by index
}

// link is one direction of a connection; back is the other one.
type link struct {
	index int
	kind  PathType // LOC, NVL, C2C, PIX for PCI, SYS or NET
	bw    float32
	from  *vertex
	to    *vertex
	back  *link
}

const linkPCI = PathPIX

// path is a route from a vertex; bw is that of its narrowest link. Hops are its links as a search loads them.
type path struct {
	links    []*link
	bw       float32
	kind     PathType
	hops     []hop
	overhead bool // PCI links carry a fifth more
}

// hop is one link of a path: what is taken of the link and, where share is not 0, of the other direction (1/share).
type hop struct {
	link, back int32
	share      int32
	pci        bool
}

// Limits of NCCL 2.27 to 2.30; the newest are the largest.
const (
	maxVertices    = 640 // of one kind
	maxChannels    = 64
	searchChannels = 32 // a search finds half of them; the other half are copies
)

// Limits of this package: several times the largest machines and NVLink domains that are sold.
const (
	maxSearchGPUs = 288
	maxSearchNets = 320
	maxPlainGPUs  = 64 // without NVSwitch, where the search has to try all orders
)

// NewSystem builds the machine from a topology file, completed where it needs to be (see Fill), and computes all paths. GPUs
// without a rank and NICs without a device number are left out, as NCCL does. It fails when no GPU is left, when a value is
// beyond NCCL's limits, or when NVLinks lead only one way.
func NewSystem(x *XML, o Options) (*System, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	b := systemBuilder{s: &System{options: o}}
	if err := b.build(x); err != nil {
		return nil, err
	}
	s := b.s
	if len(s.vertices[kindGPU]) == 0 {
		return nil, fmt.Errorf("NCCL XML: no gpu element with a rank: complete the file, for example with --fill SM=90,NVL=18,SPEED=400000")
	}
	if n := len(s.vertices[kindGPU]); n > maxPlainGPUs && !s.NVSwitch() {
		return nil, fmt.Errorf("NCCL XML: %d GPUs without NVSwitch: this search takes at most %d", n, maxPlainGPUs)
	}
	s.computePaths()
	s.limits()
	s.orderNets()
	return s, nil
}

// GPUs is the number of ranks of the machine.
func (s *System) GPUs() int { return len(s.vertices[kindGPU]) }

// Nets is the number of network ports that NCCL would use.
func (s *System) Nets() int { return len(s.vertices[kindNet]) }

// NVSwitch tells whether the GPUs are joined by NVSwitches.
func (s *System) NVSwitch() bool { return len(s.vertices[kindNVSwitch]) > 0 }

// SM gives the lowest and the highest compute capability x 10 of the GPUs.
func (s *System) SM() (low, high int) {
	low = math.MaxInt
	for _, d := range s.vertices[kindDevice] {
		low, high = min(low, d.sm), max(high, d.sm)
	}
	return low, high
}

// Processor is that of the first cpu of the file; NCCL takes it for the whole machine.
func (s *System) Processor() CPU {
	c := s.firstCPU()
	arch := map[cpuArch]string{archX86: "x86_64", archARM: "arm64", archPower: "ppc64"}[c.arch]
	vendor := map[cpuVendor]string{vendorIntel: "GenuineIntel", vendorAMD: "AuthenticAMD", vendorZhaoxin: "CentaurHauls"}[c.vendor]
	return CPU{Arch: arch, Vendor: vendor}
}

func (s *System) firstCPU() cpuInfo {
	if len(s.vertices[kindCPU]) == 0 {
		return cpuInfo{}
	}
	return s.vertices[kindCPU][0].cpu
}

// limits computes the figures where the search starts.
func (s *System) limits() {
	if s.GPUs() == 1 {
		s.maxLocal = localGBps
	}
	for _, d := range s.vertices[kindDevice] {
		for _, p := range d.paths[kindNet] {
			if len(p.links) > 0 {
				s.maxBw = max(s.maxBw, p.bw)
			}
		}
		for _, p := range d.paths[kindDevice] {
			if len(p.links) > 0 {
				s.maxLocal = max(s.maxLocal, p.bw)
			}
		}
		s.totalBw = max(s.totalBw, deviceBw(d))
	}
}

// deviceBw is the larger of a device's PCIe link and the sum of its NVLinks.
func deviceBw(d *vertex) float32 {
	var nvlink, pci float32
	for _, l := range d.links {
		switch l.kind {
		case PathNVL:
			nvlink += l.bw
		case linkPCI:
			pci = l.bw
		}
	}
	return max(nvlink, pci)
}
