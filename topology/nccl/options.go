package nccl

import "fmt"

// Options are the settings of NCCL that change what it makes of a machine; each is named after its environment variable.
// The zero value is NCCL's default.
type Options struct {
	Version          Version       // the zero value is the newest release known
	CrossNIC         *int          // NCCL_CROSS_NIC: 0 never, 1 always, 2 (default) where it helps
	P2PLevel         *PathType     // NCCL_P2P_LEVEL: GPUs farther apart than this go through the processor; LOC = NCCL_P2P_DISABLE
	NetGDRLevel      *PathType     // NCCL_NET_GDR_LEVEL: GPUDirect RDMA up to this distance
	NoNetGDRC2C      bool          // NCCL_NET_GDR_C2C=0
	NoPXN            bool          // NCCL_PXN_DISABLE=1
	NoPXNC2C         bool          // NCCL_PXN_C2C=0
	NoNVB            bool          // NCCL_NVB_DISABLE=1
	NoScatterNets    bool          // NCCL_MNNVL_SCATTER_NETS_ENABLE=0
	RailPerHost      bool          // NCCL_MNNVL_RAIL_PER_HOST=1
	NetDevicesPolicy NetDevsPolicy // NCCL_NETDEVS_POLICY
	NetDevicesMax    int           // the n of NCCL_NETDEVS_POLICY=MAX:n

	everyWalk bool // tests: take no short cut, walk even where the result is known
}

// NetDevsPolicy is how many of its local NICs a GPU uses.
type NetDevsPolicy int

// Policies: a fair share (default), all, or a number at most.
const (
	NetDevsAuto NetDevsPolicy = iota
	NetDevsAll
	NetDevsMax
)

func (o Options) check() error {
	if o.CrossNIC != nil && (*o.CrossNIC < 0 || *o.CrossNIC > 2) {
		return fmt.Errorf("crossNic is %d: must be 0, 1 or 2", *o.CrossNIC)
	}
	if o.NetDevicesPolicy == NetDevsMax && o.NetDevicesMax < 1 {
		return fmt.Errorf("NICs per GPU is %d: must be at least 1 with the policy MAX", o.NetDevicesMax)
	}
	return nil
}

func (o Options) crossNIC() int {
	if o.CrossNIC == nil {
		return 2
	}
	return *o.CrossNIC
}

// nvlinkGBps is one NVLink; Blackwell's figure rose by 0.1 in 2.27.5.
func (o Options) nvlinkGBps(sm int) float32 {
	if sm >= 100 && !o.Version.AtLeast(27, 5) {
		return 40
	}
	return nvlinkGBps(sm)
}

// gdrLevel is the farthest path on which GPUDirect RDMA is used.
func (o Options) gdrLevel() PathType {
	switch {
	case o.NetGDRLevel != nil:
		return *o.NetGDRLevel
	case o.NoNetGDRC2C:
		return PathPXB
	}
	return PathP2C
}

// pxnLevel is the farthest path of a relay GPU to its NIC; C2C counts since 2.28.3.
func (o Options) pxnLevel() PathType {
	if o.NoPXNC2C || !o.Version.AtLeast(28, 3) {
		return PathPXB
	}
	return PathP2C
}

// p2pLevel is the farthest path on which GPUs read each other's memory: not through a host bridge, except on AMD machines
// with two GPUs at most.
func (s *System) p2pLevel() PathType {
	if s.options.P2PLevel != nil {
		return *s.options.P2PLevel
	}
	if c := s.firstCPU(); c.arch == archX86 && c.vendor == vendorAMD && len(s.vertices[kindDevice]) <= 2 {
		return PathSYS
	}
	return PathPXB
}
