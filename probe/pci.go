package probe

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/railmap/railmap/topology"
)

const pciDir = "sys/bus/pci/devices"

// pciAddress is domain:bus:device.function; domains may have more than four digits (VMD, Grace).
var pciAddress = regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// readPCI lists the PCI functions that matter for paths, by address: everything behind a bridge, and on the root buses
// only bridges, GPUs, NICs, storage and accelerators. The hundreds of counters and timers that processors show on their
// root buses are left out.
func readPCI(t *tree) []topology.PCIDevice {
	var devices []topology.PCIDevice
	for addr, dir := range pciPlaces(t) {
		d := readPCIDevice(t, addr, dir)
		if d.Parent == "" && !matters(d.Class) {
			continue
		}
		devices = append(devices, d)
	}
	slices.SortFunc(devices, func(a, b topology.PCIDevice) int { return comparePCI(a.Address, b.Address) })
	return devices
}

// pciPlaces maps the address of every PCI function to its directory below /sys/devices. The links in /sys/bus lead there,
// also on boards where the host bridge hangs below another device; where a recorded tree lost them, the directories are
// walked.
func pciPlaces(t *tree) map[string]string {
	places := map[string]string{}
	for _, addr := range t.list(pciDir) {
		if dir := t.resolve(path.Join(pciDir, addr)); dir != "" && pciAddress.MatchString(addr) {
			places[addr] = dir
		}
	}
	if len(places) > 0 {
		return places
	}
	for _, host := range t.list("sys/devices") {
		if bus, ok := strings.CutPrefix(host, "pci"); ok && strings.Contains(bus, ":") {
			walkPCI(t, path.Join("sys/devices", host), places)
		}
	}
	return places
}

// walkPCI goes down from bridge to bridge. A path of a real machine is far from 64 levels deep.
func walkPCI(t *tree, dir string, places map[string]string) {
	if strings.Count(dir, "/") > 64 {
		return
	}
	for _, name := range t.list(dir) {
		if pciAddress.MatchString(name) {
			places[name] = path.Join(dir, name)
			walkPCI(t, path.Join(dir, name), places)
		}
	}
}

// comparePCI orders addresses by their hexadecimal value; a longer domain is a larger one.
func comparePCI(a, b string) int {
	if d := strings.IndexByte(a, ':') - strings.IndexByte(b, ':'); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

// matters tells whether a device on a root bus belongs into the report, by its class code: storage (01), network (02),
// display (03), PCI bridge (0604), NVSwitch (0680), accelerator (12) and co-processor (0b).
func matters(class string) bool {
	for _, prefix := range []string{"0x01", "0x02", "0x03", "0x0604", "0x0680", "0x12", "0x0b"} {
		if strings.HasPrefix(class, prefix) {
			return true
		}
	}
	return false
}

func readPCIDevice(t *tree, addr, dir string) topology.PCIDevice {
	at := func(name string) string { return path.Join(dir, name) }
	parent, complex := pciParents(dir)
	d := topology.PCIDevice{
		Address: addr, Parent: parent, RootComplex: complex,
		Class: t.text(at("class")), Vendor: t.text(at("vendor")), Device: t.text(at("device")),
		SubVendor: t.text(at("subsystem_vendor")), SubDevice: t.text(at("subsystem_device")),
		NUMANode: t.natural(at("numa_node")), LocalCPUs: t.text(at("local_cpulist")),
		Link: readLink(t, dir),
	}
	if driver := t.resolve(at("driver")); driver != "" {
		d.Driver = path.Base(driver)
	}
	if group := t.resolve(at("iommu_group")); group != "" {
		d.IOMMUGroup = number(path.Base(group))
	}
	if config, ok := t.bytes(at("config")); ok {
		d.ACSEnabled = ParseACS(config)
	}
	return d
}

// pciParents reads the place of a device from its path below /sys/devices: the bridge above it and its root complex,
// "sys/devices/pci0000:20/0000:20:00.0/0000:21:00.0" -> "0000:20:00.0", "pci0000:20".
func pciParents(devicePath string) (parent, complex string) {
	parts := strings.Split(devicePath, "/")
	if len(parts) < 2 {
		return "", ""
	}
	above := parts[:len(parts)-1]
	if last := above[len(above)-1]; pciAddress.MatchString(last) {
		parent = last
	}
	for _, p := range above {
		if bus, ok := strings.CutPrefix(p, "pci"); ok && strings.Contains(bus, ":") {
			complex = p
		}
	}
	return parent, complex
}

func readLink(t *tree, dir string) *topology.PCILink {
	l := topology.PCILink{
		SpeedTransfersPerSecond:    ParseLinkSpeed(t.text(path.Join(dir, "current_link_speed"))),
		MaxSpeedTransfersPerSecond: ParseLinkSpeed(t.text(path.Join(dir, "max_link_speed"))),
		Width:                      ParseLinkWidth(t.text(path.Join(dir, "current_link_width"))),
		MaxWidth:                   ParseLinkWidth(t.text(path.Join(dir, "max_link_width"))),
	}
	if l == (topology.PCILink{}) {
		return nil
	}
	return &l
}

// ParseLinkSpeed reads a link speed file such as "16.0 GT/s PCIe" and returns transfers per second (16e9). Kernels print
// "Unknown" or "Unknown speed" where there is no link: that and anything odd is nil.
func ParseLinkSpeed(s string) *float64 {
	f := strings.Fields(s)
	if len(f) < 2 || f[1] != "GT/s" {
		return nil
	}
	v, err := strconv.ParseFloat(f[0], 64)
	if err != nil || !(v > 0 && v <= 1024) {
		return nil
	}
	return new(v * 1e9)
}

// ParseLinkWidth reads a link width file: lanes 1 to 32. 0 and 255 mean "no link" and are nil, like anything odd.
func ParseLinkWidth(s string) *int {
	v, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(s), "x"))
	if err != nil || v < 1 || v > 32 {
		return nil
	}
	return &v
}

// laneBytes is what one lane carries in bytes per second after line coding: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s,
// and 242/256 flits with PAM4 from 64 GT/s (PCI Express base specification 6.0).
func laneBytes(transfers float64) float64 {
	switch {
	case transfers <= 5e9:
		return transfers / 10
	case transfers <= 32e9:
		return transfers * 128 / 130 / 8
	}
	return transfers * 242 / 256 / 8
}

// pcieEfficiency is the share of a link's bytes that is left after packet headers, for payloads of 256 bytes.
const pcieEfficiency = 0.9

// pcieSpeeds are transfers per second by generation, from 1.
func pcieSpeeds() [7]float64 { return [...]float64{2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9, 128e9} }

// pcieBytes is what a link of a generation and width carries in bytes per second.
func pcieBytes(generation, width int) float64 {
	speeds := pcieSpeeds()
	return laneBytes(speeds[min(max(generation, 1), len(speeds))-1]) * float64(width)
}

// linkBytes is speed times width in bytes per second; ok is false when either is unknown.
func linkBytes(speed *float64, width *int) (v float64, ok bool) {
	if speed == nil || width == nil {
		return 0, false
	}
	return laneBytes(*speed) * float64(*width), true
}
