package fakenode

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
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
		w.file(fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu), fmt.Sprint(cpu/m.CPUs))
		w.file(fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu), fmt.Sprint(cpu))
	}
	w.file("proc/cpuinfo", info.String())
	for n := range m.NUMA {
		var distances []string
		for other := range m.NUMA {
			distances = append(distances, map[bool]string{true: "10", false: "21"}[other == n])
		}
		dir := fmt.Sprintf("sys/devices/system/node/node%d", n)
		w.file(dir+"/cpulist", m.cpuList(n))
		w.file(dir+"/distance", strings.Join(distances, " "))
		w.file(dir+"/meminfo", fmt.Sprintf("Node %d MemTotal:       1056555008 kB", n))
	}
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
	if d.NUMA >= 0 {
		w.file(dir+"/local_cpulist", m.cpuList(d.NUMA))
	}
	if d.Driver != "" {
		w.link(dir+"/driver", "sys/bus/pci/drivers/"+d.Driver)
		w.file("sys/bus/pci/drivers/"+d.Driver+"/uevent", "")
	}
	w.bytes(dir+"/config", config(d.ACS))
	for _, below := range d.Below {
		m.writeDevice(w, dir, below)
	}
}

// config is a configuration space with the ACS capability, or the first 64 bytes that other users than root see.
func config(acs *bool) []byte {
	if acs == nil {
		return make([]byte, 64)
	}
	b := make([]byte, 4096)
	binary.LittleEndian.PutUint32(b[0x100:], 0x0001|1<<16|0x148<<20) // advanced error reporting, then ACS at 0x148
	binary.LittleEndian.PutUint32(b[0x148:], 0x000d|1<<16)
	if *acs {
		binary.LittleEndian.PutUint16(b[0x14e:], 0x001d)
	}
	return b
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
