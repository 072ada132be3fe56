package fakenode

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// WriteTree writes the machine's sys, proc and etc folders below dir.
func (m *Machine) WriteTree(dir string) error {
	w := &writer{dir: dir, places: map[string]string{}, made: map[string]bool{}}
	m.writeHost(w)
	for _, r := range m.Roots {
		for _, d := range r.Devices {
			m.writeDevice(w, "sys/devices/"+r.Complex, d)
		}
	}
	for _, n := range m.NICs {
		m.writeNIC(w, n)
	}
	if len(m.GPUs) > 0 {
		w.file("sys/module/nvidia/version", "550.54.15")
		if !m.NoPeerMemory {
			w.file("sys/module/nvidia_peermem/version", "550.54.15")
		}
	}
	return w.err
}

// writer keeps the first error, so that a tree reads as a list of files.
type writer struct {
	dir    string
	places map[string]string // PCI address -> directory
	made   map[string]bool   // folders that exist
	err    error
}

func (w *writer) file(name, text string) { w.bytes(name, []byte(text+"\n")) }

func (w *writer) bytes(name string, data []byte) {
	if w.err != nil {
		return
	}
	full := w.place(name)
	if w.err == nil {
		w.err = os.WriteFile(full, data, 0o644)
	}
}

// place makes the folder of a file and gives its full path.
func (w *writer) place(name string) string {
	full := filepath.Join(w.dir, name)
	if folder := filepath.Dir(full); !w.made[folder] {
		w.err = os.MkdirAll(folder, 0o755)
		w.made[folder] = true
	}
	return full
}

// link makes a symbolic link between two paths of the tree, relative as the kernel's are.
func (w *writer) link(name, target string) {
	if w.err != nil {
		return
	}
	full := w.place(name)
	if w.err != nil {
		return
	}
	relative, err := filepath.Rel(filepath.Dir(name), target)
	if err == nil {
		err = os.Symlink(relative, full)
	}
	w.err = err
}

func (m *Machine) writeHost(w *writer) {
	w.file("proc/sys/kernel/hostname", m.Name)
	w.file("proc/sys/kernel/osrelease", "6.8.0-fake")
	w.file("sys/class/dmi/id/product_name", m.Product)
	var info strings.Builder
	for cpu := range m.NUMA * m.CPUs {
		if m.Arch == "arm64" {
			fmt.Fprintf(&info, "processor\t: %d\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\n", cpu)
		} else {
			fmt.Fprintf(&info, "processor\t: %d\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Fake Xeon\n\n", cpu)
		}
		m.writeCPU(w, cpu)
	}
	for _, name := range []string{"online", "possible", "present"} {
		w.file("sys/devices/system/cpu/"+name, fmt.Sprintf("0-%d", m.NUMA*m.CPUs-1))
		w.file("sys/devices/system/node/"+name, fmt.Sprintf("0-%d", m.NUMA-1))
	}
	w.file("proc/cpuinfo", info.String())
	for n := range m.NUMA {
		var distances []string
		for other := range m.NUMA {
			distances = append(distances, map[bool]string{true: "10", false: "21"}[other == n])
		}
		dir := fmt.Sprintf("sys/devices/system/node/node%d", n)
		w.file(dir+"/cpulist", m.cpuList(n))
		w.file(dir+"/cpumap", m.cpuMask(n*m.CPUs, m.CPUs))
		w.file(dir+"/distance", strings.Join(distances, " "))
		w.file(dir+"/meminfo", fmt.Sprintf("Node %d MemTotal:       1056555008 kB", n))
	}
}

// writeCPU describes one processor: a core without sisters, on the socket of its NUMA node.
func (m *Machine) writeCPU(w *writer, cpu int) {
	dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/", cpu)
	socket := cpu / m.CPUs
	w.file(dir+"physical_package_id", fmt.Sprint(socket))
	w.file(dir+"core_id", fmt.Sprint(cpu%m.CPUs))
	w.file(dir+"thread_siblings_list", fmt.Sprint(cpu))
	w.file(dir+"thread_siblings", m.cpuMask(cpu, 1))
	w.file(dir+"core_siblings", m.cpuMask(socket*m.CPUs, m.CPUs))
}

// cpuMask writes n processors from first as the kernel's hexadecimal words.
func (m *Machine) cpuMask(first, n int) string {
	words := make([]uint32, (m.NUMA*m.CPUs+31)/32)
	for c := first; c < first+n; c++ {
		words[len(words)-1-c/32] |= 1 << (c % 32)
	}
	var parts []string
	for _, w := range words {
		parts = append(parts, fmt.Sprintf("%08x", w))
	}
	return strings.Join(parts, ",")
}

func (m *Machine) cpuList(numa int) string {
	return fmt.Sprintf("%d-%d", numa*m.CPUs, (numa+1)*m.CPUs-1)
}

func (m *Machine) writeDevice(w *writer, above string, d *Device) {
	dir := above + "/" + d.Address
	w.places[d.Address] = dir
	w.link("sys/bus/pci/devices/"+d.Address, dir)
	w.file(dir+"/class", d.Class)
	w.file(dir+"/vendor", d.Vendor)
	w.file(dir+"/device", d.Device)
	w.file(dir+"/numa_node", fmt.Sprint(d.NUMA))
	w.file(dir+"/current_link_speed", d.Speed)
	w.file(dir+"/max_link_speed", d.MaxSpeed)
	w.file(dir+"/current_link_width", fmt.Sprint(d.Width))
	w.file(dir+"/max_link_width", fmt.Sprint(d.MaxWidth))
	w.file(dir+"/subsystem_vendor", d.Vendor)
	w.file(dir+"/subsystem_device", "0x0001")
	if d.NUMA >= 0 {
		w.file(dir+"/local_cpulist", m.cpuList(d.NUMA))
		w.file(dir+"/local_cpus", m.cpuMask(d.NUMA*m.CPUs, m.CPUs))
	}
	if d.Driver != "" {
		w.link(dir+"/driver", "sys/bus/pci/drivers/"+d.Driver)
		w.file("sys/bus/pci/drivers/"+d.Driver+"/uevent", "")
	}
	w.bytes(dir+"/config", config(d))
	for _, below := range d.Below {
		m.writeDevice(w, dir, below)
	}
}

// config is a configuration space with the bus numbers of a bridge and the ACS capability; its first 64 bytes only, as other
// users than root see it, when ACS is nil.
func config(d *Device) []byte {
	b := make([]byte, 4096)
	binary.LittleEndian.PutUint16(b[0:], hex16(d.Vendor))
	binary.LittleEndian.PutUint16(b[2:], hex16(d.Device))
	if class, err := strconv.ParseUint(strings.TrimPrefix(d.Class, "0x"), 16, 32); err == nil {
		b[9], b[10], b[11] = byte(class), byte(class>>8), byte(class>>16)
	}
	if len(d.Below) > 0 {
		b[14] = 1 // a bridge: primary, secondary and subordinate bus
		b[24], b[25], b[26] = busOf(d.Address), busOf(d.Below[0].Address), lastBus(d)
	}
	if d.ACS == nil {
		return b[:64]
	}
	binary.LittleEndian.PutUint32(b[0x100:], 0x0001|1<<16|0x148<<20) // advanced error reporting, then ACS at 0x148
	binary.LittleEndian.PutUint32(b[0x148:], 0x000d|1<<16)
	if *d.ACS {
		binary.LittleEndian.PutUint16(b[0x14e:], 0x001d)
	}
	return b
}

func hex16(s string) uint16 {
	v, _ := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 16)
	return uint16(v)
}

// busOf is the bus number of an address, 0x0c of "0000:0c:00.0".
func busOf(address string) byte {
	v, _ := strconv.ParseUint(address[strings.Index(address, ":")+1:][:2], 16, 8)
	return byte(v)
}

// lastBus is the largest bus number below a device.
func lastBus(d *Device) byte {
	last := busOf(d.Address)
	for _, below := range d.Below {
		last = max(last, lastBus(below))
	}
	return last
}

func (m *Machine) writeNIC(w *writer, n *NIC) {
	at := w.places[n.PCI]
	dir := at + "/infiniband/" + n.Name
	w.link("sys/class/infiniband/"+n.Name, dir)
	w.link(dir+"/device", at)
	guid := func(v uint64) string {
		return fmt.Sprintf("%04x:%04x:%04x:%04x", v>>48, v>>32&0xffff, v>>16&0xffff, v&0xffff)
	}
	for name, text := range map[string]string{"node_guid": guid(n.GUID), "sys_image_guid": guid(n.GUID), "fw_ver": "28.41.1000", "board_id": n.Board,
		"hca_type": n.HCA, "node_type": "1: CA", "ports/1/rate": n.Rate, "ports/1/state": n.State, "ports/1/phys_state": n.PhysState,
		"ports/1/link_layer": n.LinkLayer, "ports/1/lid": "0x12", "ports/1/gids/0": "fe80:0000:0000:0000:" + guid(n.GUID+1)} {
		w.file(dir+"/"+name, text)
	}
	for name, v := range n.Counters {
		w.file(dir+"/ports/1/counters/"+name, fmt.Sprint(v))
	}
	if n.NetDevice == "" {
		return
	}
	w.file(dir+"/ports/1/gid_attrs/ndevs/0", n.NetDevice)
	net := at + "/net/" + n.NetDevice
	w.link("sys/class/net/"+n.NetDevice, net)
	w.link(net+"/device", at)
	for name, text := range map[string]string{"operstate": "up", "mtu": "4092", "speed": "400000", "address": "02:00:00:00:00:01"} {
		w.file(net+"/"+name, text)
	}
}
