package probe

import (
	"path"
	"strconv"

	"github.com/railmap/railmap/topology"
)

const netDir = "sys/class/net"

// netMapper tells which RDMA device and which network device are one port.
type netMapper interface {
	// rdmaOf names the RDMA device of a network device, "" when it has none.
	rdmaOf(netdev string) string
	// devices names the RDMA devices that the kernel knows.
	devices() []string
}

// readNet lists the network devices that have hardware below them or speak RDMA; loopback, bridges and virtual pairs of
// containers come and go and are left out.
func readNet(t *tree, m netMapper) []topology.NetDevice {
	var devices []topology.NetDevice
	for _, name := range t.list(netDir) {
		dir := path.Join(netDir, name)
		rdma := m.rdmaOf(name)
		if !t.exists(path.Join(dir, "device")) && rdma == "" {
			continue
		}
		d := topology.NetDevice{
			Name: name, RDMADevice: rdma,
			State:      t.text(path.Join(dir, "operstate")),
			Address:    t.text(path.Join(dir, "address")),
			PCIAddress: pciOf(t, dir),
			NUMANode:   t.natural(path.Join(dir, "device/numa_node")),
		}
		if mtu := t.natural(path.Join(dir, "mtu")); mtu != nil {
			d.MTU = *mtu
		}
		d.SpeedBytesPerSecond = ParseNetSpeed(t.text(path.Join(dir, "speed")))
		devices = append(devices, d)
	}
	return devices
}

// ParseNetSpeed reads /sys/class/net/DEV/speed, in Mb/s, and returns bytes per second. -1 and 4294967295 mean unknown.
func ParseNetSpeed(s string) *float64 {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v <= 0 || v >= 1<<32-1 {
		return nil
	}
	return new(float64(v) * 1e6 / 8)
}

// treeMapper maps by the files of a tree: ports/N/gid_attrs/ndevs/M holds the network device of a GID, and an InfiniBand
// network device shares its PCI function with the RDMA device.
type treeMapper struct {
	names []string
	byNet map[string]string
}

func newTreeMapper(t *tree, names []string) *treeMapper {
	m := &treeMapper{names: names, byNet: map[string]string{}}
	for _, dev := range names {
		dir := path.Join(ibDir, dev)
		for _, port := range t.list(path.Join(dir, "ports")) {
			ndevs := path.Join(dir, "ports", port, "gid_attrs/ndevs")
			for _, index := range t.list(ndevs) {
				if net := t.text(path.Join(ndevs, index)); net != "" {
					m.add(net, dev)
				}
			}
		}
		for _, net := range t.list(path.Join(dir, "device/net")) {
			m.add(net, dev)
		}
	}
	return m
}

// add keeps the first device in name order, so that the answer does not depend on how often a GID is repeated.
func (m *treeMapper) add(net, dev string) {
	if _, taken := m.byNet[net]; !taken {
		m.byNet[net] = dev
	}
}

func (m *treeMapper) rdmaOf(netdev string) string { return m.byNet[netdev] }

func (m *treeMapper) devices() []string { return m.names }

// joinNet writes the network devices of each RDMA device into its ports, and gives both the NUMA node of their PCI function
// where they do not tell one themselves.
func joinNet(pci []topology.PCIDevice, nics []topology.NICReport, nets []topology.NetDevice) {
	byAddress := index(pci)
	byDev := map[string][]string{}
	for i, n := range nets {
		if d := byAddress[n.PCIAddress]; n.NUMANode == nil && d != nil {
			nets[i].NUMANode = d.NUMANode
		}
		if n.RDMADevice != "" {
			byDev[n.RDMADevice] = append(byDev[n.RDMADevice], n.Name)
		}
	}
	for i := range nics {
		nics[i].NetDevices = byDev[nics[i].Device]
		if d := byAddress[nics[i].PCIAddress]; nics[i].NUMANode == nil && d != nil {
			nics[i].NUMANode = d.NUMANode
		}
	}
}
