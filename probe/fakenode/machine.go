package fakenode

import "fmt"

// Machine is one node. Change its parts before writing it to seed a fault.
type Machine struct {
	Name    string // host name
	Product string
	Arch    string // x86_64 or arm64
	NUMA    int    // NUMA nodes, each one socket
	CPUs    int    // CPUs of each NUMA node
	Roots   []*Root
	NICs    []*NIC
	GPUs    []*GPU

	HostBandwidth   float64 // bytes per second between a GPU and the near NUMA node, one way
	FarBandwidth    float64 // the same to a far NUMA node
	UplinkBandwidth float64 // bytes per second that all GPUs of one switch share towards the host, one way
	PeerBandwidth   float64 // bytes per second between two GPUs, one way
	Pairs           []Pair
	HostLatency     float64 // seconds of one access from a GPU to host memory
	PeerLatency     float64 // seconds of one access from a GPU to another's memory
	LocalLatency    float64 // seconds of one access from a GPU to its own memory
	NCCLBandwidth   float64 // bus bandwidth that the fake libnccl keeps up, bytes per second; 0 = the library is missing

	ClusterUUID  string   // NVLink domain of all GPUs, 32 hexadecimal digits; "" = not supported
	NoPeerMemory bool     // the module for GPUDirect RDMA is not loaded
	Faults       []string // lines for the fake driver: "fault CALL NTH CODE", "fault CALL NTH 0 hang", "nopeer", "nokernel", "nowait", "slow", "glitch FROM TO RATE COPIES"
}

// Pair is a pair of GPUs with a bandwidth of its own, in both directions.
type Pair struct {
	A, B      int
	Bandwidth float64 // bytes per second, one way
}

// Root is a root complex, "pci0000:15".
type Root struct {
	Complex string
	Devices []*Device
}

// Device is a PCI function with what hangs below it.
type Device struct {
	Address, Class, Vendor, Device string
	Speed, MaxSpeed                string // as the kernel prints them
	Width, MaxWidth                int
	NUMA                           int   // -1 unknown
	ACS                            *bool // nil: the configuration space is not readable
	Driver                         string
	Below                          []*Device
}

// NIC is an RDMA device with one port.
type NIC struct {
	Name, PCI              string
	GUID                   uint64
	Rate, State, PhysState string
	LinkLayer, Board, HCA  string
	NetDevice              string // "" = none
	Counters               map[string]uint64
}

// GPU is what the fake driver says about one GPU.
type GPU struct {
	PCI, UUID, Model string
	Capability       [2]int
	MemoryBytes      uint64
	NUMA             int
	Generation       int // of the PCIe link when the GPU works
	MaxGeneration    int // 0 = Generation
	IdleGeneration   int // what the link shows until the GPU is used; 0 = Generation
	Width, MaxWidth  int
	Links            []Link
	Clique           uint32
	Health           uint32 // fabric health mask
	Processes        int
	Throttle         uint64
	RemapFailed      bool
	C2C              bool
}

// Link is one NVLink of a GPU. Remote is the PCI address of a GPU, or a switch.
type Link struct {
	Active   bool
	Remote   string
	IsSwitch bool
	Errors   uint64
}

// Device finds a PCI function by address; it panics when the machine has none, which is a mistake in a test.
func (m *Machine) Device(address string) *Device {
	for _, r := range m.Roots {
		if d := find(r.Devices, address); d != nil {
			return d
		}
	}
	panic("fakenode: no device " + address)
}

func find(devices []*Device, address string) *Device {
	for _, d := range devices {
		if d.Address == address {
			return d
		}
		if below := find(d.Below, address); below != nil {
			return below
		}
	}
	return nil
}

// NIC finds an RDMA device by name; it panics when the machine has none.
func (m *Machine) NIC(name string) *NIC {
	for _, n := range m.NICs {
		if n.Name == name {
			return n
		}
	}
	panic("fakenode: no NIC " + name)
}

// RemoveNIC takes a card out of the machine: the RDMA device and its PCI function.
func (m *Machine) RemoveNIC(name string) {
	pci := m.NIC(name).PCI
	for i, n := range m.NICs {
		if n.Name == name {
			m.NICs = append(m.NICs[:i], m.NICs[i+1:]...)
			break
		}
	}
	for _, r := range m.Roots {
		r.Devices = without(r.Devices, pci)
	}
}

func without(devices []*Device, address string) []*Device {
	var kept []*Device
	for _, d := range devices {
		if d.Address != address {
			d.Below = without(d.Below, address)
			kept = append(kept, d)
		}
	}
	return kept
}

// Machines are the names that ByName knows.
func Machines() []string { return []string{"h100x8", "a100x4pcie", "gb200x4"} }

// ByName makes a machine by its name.
func ByName(name string) (*Machine, error) {
	switch name {
	case "h100x8":
		return H100x8(), nil
	case "a100x4pcie":
		return A100x4PCIe(), nil
	case "gb200x4":
		return GB200x4(), nil
	}
	return nil, fmt.Errorf("machine %q: must be one of %q", name, Machines())
}
