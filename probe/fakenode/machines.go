package fakenode

import "fmt"

const (
	gpuClass, nicClass, ibClass = "0x030200", "0x020000", "0x020700"
	bridgeClass                 = "0x060400"
	nvswitchClass               = "0x068000"
	nvidia, mellanox, broadcom  = "0x10de", "0x15b3", "0x1000"
	gen4, gen5                  = "16.0 GT/s PCIe", "32.0 GT/s PCIe"
)

// link returns a device whose link runs at its best.
func link(address, class, vendor, device, speed string, width, numa int, below ...*Device) *Device {
	return &Device{Address: address, Class: class, Vendor: vendor, Device: device, Speed: speed, MaxSpeed: speed, Width: width, MaxWidth: width,
		NUMA: numa, ACS: new(false), Below: below}
}

// switched is a root port with one switch: each leaf gets a downstream port. Bus numbers count up from bus.
func switched(bus, numa int, speed string, leaves ...*Device) *Root {
	var ports []*Device
	for i, leaf := range leaves {
		leaf.Address = fmt.Sprintf("0000:%02x:00.0", bus+3+i)
		leaf.NUMA = numa
		ports = append(ports, link(fmt.Sprintf("0000:%02x:%02x.0", bus+2, i), bridgeClass, broadcom, "0xc030", leaf.MaxSpeed, leaf.MaxWidth, numa, leaf))
	}
	upstream := link(fmt.Sprintf("0000:%02x:00.0", bus+1), bridgeClass, broadcom, "0xc030", speed, 16, numa, ports...)
	port := link(fmt.Sprintf("0000:%02x:01.0", bus), bridgeClass, "0x8086", "0x352a", speed, 16, numa, upstream)
	return &Root{Complex: fmt.Sprintf("pci0000:%02x", bus), Devices: []*Device{port}}
}

// H100x8 is a server with 2 sockets, 8 GPUs behind NVSwitches and 9 NICs: one on each GPU's PCIe switch, and one for storage.
func H100x8() *Machine {
	m := &Machine{Name: "gpu-0001", Product: "Fake HGX H100 8-GPU", Arch: "x86_64", NUMA: 2, CPUs: 8,
		HostBandwidth: 55.4e9, FarBandwidth: 42e9, UplinkBandwidth: 55.4e9, PeerBandwidth: 376e9,
		HostLatency: 770e-9, PeerLatency: 690e-9, LocalLatency: 290e-9, NCCLBandwidth: 476e9}
	for i := range 8 {
		numa := i / 4
		gpu := link("", gpuClass, nvidia, "0x2330", gen5, 16, numa)
		gpu.Driver = "nvidia"
		nic := link("", ibClass, mellanox, "0x1021", gen5, 16, numa)
		nic.Driver = "mlx5_core"
		root := switched(0x10+i*0x18, numa, gen5, gpu, nic)
		m.Roots = append(m.Roots, root)
		m.NICs = append(m.NICs, infiniband(i, nic.Address))
		m.GPUs = append(m.GPUs, &GPU{PCI: gpu.Address, Model: "NVIDIA H100 80GB HBM3", UUID: fmt.Sprintf("GPU-00000000-0000-4000-8000-%012d", i),
			Capability: [2]int{9, 0}, MemoryBytes: 85520809984, NUMA: numa, Generation: 5, IdleGeneration: 1, Width: 16, MaxWidth: 16, Health: 0})
	}
	storage := link("0000:d1:00.0", nicClass, mellanox, "0xa2dc", gen5, 16, 1)
	storage.Driver = "mlx5_core"
	m.Roots = append(m.Roots, &Root{Complex: "pci0000:d0", Devices: []*Device{link("0000:d0:01.0", bridgeClass, "0x8086", "0x352a", gen5, 16, 1, storage)}})
	m.NICs = append(m.NICs, &NIC{Name: "mlx5_8", PCI: storage.Address, GUID: 0xe09d730300200000, Rate: "200 Gb/sec (4X HDR)", State: "4: ACTIVE",
		PhysState: "5: LinkUp", LinkLayer: "Ethernet", Board: "MT_0000000884", HCA: "MT41692", NetDevice: "eth8"})
	m.addNVSwitches(4, 18)
	return m
}

func infiniband(i int, pci string) *NIC {
	return &NIC{Name: fmt.Sprintf("mlx5_%d", i), PCI: pci, GUID: 0xe09d730300100000 + uint64(i)*0x10, Rate: "400 Gb/sec (4X NDR)", State: "4: ACTIVE",
		PhysState: "5: LinkUp", LinkLayer: "InfiniBand", Board: "MT_0000000838", HCA: "MT4129", NetDevice: fmt.Sprintf("ib%d", i),
		Counters: map[string]uint64{"link_downed": 0, "symbol_error": 0, "port_xmit_data": 1000 * uint64(i+1)}}
}

// addNVSwitches puts switches on a root port of the second socket and gives every GPU n links spread over them.
func (m *Machine) addNVSwitches(switches, n int) {
	numa := m.NUMA - 1
	var leaves []*Device
	for range switches {
		leaves = append(leaves, link("", nvswitchClass, nvidia, "0x22a3", gen4, 2, numa))
	}
	root := switched(0xe0, numa, gen5, leaves...)
	m.Roots = append(m.Roots, root)
	for _, g := range m.GPUs {
		for i := range n {
			g.Links = append(g.Links, Link{Active: true, Remote: leaves[i%switches].Address, IsSwitch: true})
		}
	}
}

// A100x4PCIe is a server with 4 PCIe cards, two to a socket, joined in pairs by NVLink bridges, and one NIC to a socket.
func A100x4PCIe() *Machine {
	m := &Machine{Name: "gpu-0002", Product: "Fake PCIe GPU server", Arch: "x86_64", NUMA: 2, CPUs: 8,
		HostBandwidth: 24.5e9, FarBandwidth: 21e9, UplinkBandwidth: 25e9, PeerBandwidth: 21e9,
		Pairs:       []Pair{{0, 1, 274e9}, {2, 3, 274e9}},
		HostLatency: 900e-9, PeerLatency: 1.4e-6, LocalLatency: 330e-9, NCCLBandwidth: 25e9}
	for socket := range 2 {
		a, b := link("", gpuClass, nvidia, "0x20b5", gen4, 16, socket), link("", gpuClass, nvidia, "0x20b5", gen4, 16, socket)
		nic := link("", ibClass, mellanox, "0x101b", gen4, 16, socket)
		m.Roots = append(m.Roots, switched(0x20+0x40*socket, socket, gen4, a, b, nic))
		for i, d := range []*Device{a, b} {
			m.GPUs = append(m.GPUs, &GPU{PCI: d.Address, Model: "NVIDIA A100 80GB PCIe", UUID: fmt.Sprintf("GPU-00000000-0000-4000-8001-%012d", 2*socket+i),
				Capability: [2]int{8, 0}, MemoryBytes: 85899345920, NUMA: socket, Generation: 4, IdleGeneration: 1, Width: 16, MaxWidth: 16})
		}
		n := infiniband(socket, nic.Address)
		n.Rate, n.Board, n.HCA = "200 Gb/sec (4X HDR)", "MT_0000000223", "MT4123"
		m.NICs = append(m.NICs, n)
		for i := range 2 {
			g, peer := m.GPUs[2*socket+i], m.GPUs[2*socket+1-i]
			for range 12 {
				g.Links = append(g.Links, Link{Active: true, Remote: peer.PCI})
			}
		}
	}
	return m
}

// GB200x4 is one tray of a rack-scale machine: 2 Grace processors, 4 GPUs on NVLink-C2C, 4 NICs, all GPUs of the rack in one
// NVLink domain.
func GB200x4() *Machine {
	m := &Machine{Name: "tray-07", Product: "Fake GB200 NVL tray", Arch: "arm64", NUMA: 2, CPUs: 8,
		HostBandwidth: 190e9, FarBandwidth: 60e9, UplinkBandwidth: 400e9, PeerBandwidth: 746e9,
		HostLatency: 700e-9, PeerLatency: 900e-9, LocalLatency: 300e-9, NCCLBandwidth: 840e9,
		ClusterUUID: "6f2a4c8e10b34d5e9a7b3c1d2e4f5061"}
	for i := range 4 {
		socket := i / 2
		gpu := link(fmt.Sprintf("%04x:01:00.0", 8*(i+1)), gpuClass, nvidia, "0x2941", "32.0 GT/s PCIe", 16, socket)
		m.Roots = append(m.Roots, &Root{Complex: fmt.Sprintf("pci%04x:00", 8*(i+1)), Devices: []*Device{
			link(fmt.Sprintf("%04x:00:00.0", 8*(i+1)), bridgeClass, nvidia, "0x22b8", gen5, 16, socket, gpu)}})
		nic := link(fmt.Sprintf("%04x:03:00.0", 8*(i+1)-6), ibClass, mellanox, "0x1023", gen5, 16, socket)
		m.Roots = append(m.Roots, &Root{Complex: fmt.Sprintf("pci%04x:00", 8*(i+1)-6), Devices: []*Device{
			link(fmt.Sprintf("%04x:00:00.0", 8*(i+1)-6), bridgeClass, nvidia, "0x22b2", gen5, 16, socket, nic)}})
		n := infiniband(i, nic.Address)
		n.Board, n.HCA = "NVD0000000036", "MT4131"
		m.NICs = append(m.NICs, n)
		g := &GPU{PCI: gpu.Address, Model: "NVIDIA GB200", UUID: fmt.Sprintf("GPU-00000000-0000-4000-8002-%012d", i), Capability: [2]int{10, 0},
			MemoryBytes: 198642237440, NUMA: socket, Generation: 5, Width: 16, MaxWidth: 16, Clique: 1, Health: 0xaa, C2C: true}
		for range 18 {
			g.Links = append(g.Links, Link{Active: true, IsSwitch: true})
		}
		m.GPUs = append(m.GPUs, g)
	}
	return m
}

// Bridge is a PCI bridge: a root port or a port of a switch.
func Bridge(address string, numa int) *Device {
	return link(address, bridgeClass, broadcom, "0xc030", gen5, 16, numa)
}

// GPUDevice is the PCI function of a GPU.
func GPUDevice(address string, numa int) *Device {
	return link(address, gpuClass, nvidia, "0x2330", gen5, 16, numa)
}

// NICDevice is the PCI function of an InfiniBand card.
func NICDevice(address string, numa int) *Device {
	return link(address, ibClass, mellanox, "0x1021", gen5, 16, numa)
}
