package probe

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs/sysfs"
	"github.com/railmap/railmap/topology"
)

const ibDir = "sys/class/infiniband"

// readNICs lists the ports of all RDMA devices. The names come from procfs/sysfs; the attributes are read here, because that
// reader drops a device when one file is missing, and does not give rate names, GUIDs of ports or the PCI parent.
func readNICs(t *tree, names []string) []topology.NICReport {
	var nics []topology.NICReport
	slices.SortFunc(names, topology.CompareNames)
	for _, dev := range names {
		dir := path.Join(ibDir, dev)
		for _, port := range t.list(path.Join(dir, "ports")) {
			n, err := strconv.Atoi(port)
			if err != nil || n < 0 {
				continue
			}
			nics = append(nics, readPort(t, dev, n))
		}
	}
	return nics
}

// rdmaNames lists the RDMA devices of a root.
func rdmaNames(dir string) []string {
	fs, err := sysfs.NewFS(path.Join(dir, "sys"))
	if err != nil {
		return nil
	}
	names, _ := fs.InfiniBandClassDevices()
	return names
}

func readPort(t *tree, dev string, port int) topology.NICReport {
	dir := path.Join(ibDir, dev)
	at := func(name string) string { return path.Join(dir, "ports", strconv.Itoa(port), name) }
	n := topology.NICReport{
		Device: dev, Port: port,
		NodeGUID:        guid(t.text(path.Join(dir, "node_guid"))),
		SystemImageGUID: guid(t.text(path.Join(dir, "sys_image_guid"))),
		LinkLayer:       t.text(at("link_layer")),
		State:           parseState(t.text(at("state"))),
		PhysicalState:   parseState(t.text(at("phys_state"))),
		Firmware:        t.text(path.Join(dir, "fw_ver")),
		BoardID:         t.text(path.Join(dir, "board_id")),
		HCAType:         t.text(path.Join(dir, "hca_type")),
		NUMANode:        t.natural(path.Join(dir, "device/numa_node")),
		LID:             lid(t.text(at("lid"))),
		Counters:        readCounters(t, at("counters"), at("hw_counters")),
	}
	if n.LinkLayer == "InfiniBand" {
		n.PortGUID = portGUID(t.text(at("gids/0")))
	}
	if rate, name, err := ParseRate(t.text(at("rate"))); err == nil {
		n.RateBytesPerSecond, n.RateDescription = new(rate), name
	}
	n.PCIAddress = pciOf(t, dir)
	return n
}

// pciOf gives the PCI function that a class device hangs on; "" when there is none. A virtio or auxiliary device hangs
// below its PCI function, so the nearest address on the way up counts.
func pciOf(t *tree, dir string) string {
	for _, p := range slices.Backward(strings.Split(t.resolve(path.Join(dir, "device")), "/")) {
		if pciAddress.MatchString(p) {
			return p
		}
	}
	return ""
}

// ParseRate reads the rate file of an RDMA port, "400 Gb/sec (4X NDR)", and returns bytes per second and "4X NDR". The
// kernel prints decimal gigabits (drivers/infiniband/core/sysfs.c); a port that is down reads "2.5 Gb/sec (1X SDR)".
func ParseRate(s string) (bytesPerSecond float64, name string, err error) {
	amount, rest, ok := strings.Cut(strings.TrimSpace(s), " Gb/sec")
	v, err := strconv.ParseFloat(strings.TrimSpace(amount), 64)
	if !ok || err != nil || !(v > 0 && v <= 1e5) {
		return 0, "", fmt.Errorf("parse rate %q: must look like \"400 Gb/sec (4X NDR)\"", s)
	}
	name = strings.Trim(strings.TrimSpace(rest), "()")
	return v * 1e9 / 8, name, nil
}

// parseState drops the number of "4: ACTIVE".
func parseState(s string) string {
	if _, name, ok := strings.Cut(s, ":"); ok {
		return strings.TrimSpace(name)
	}
	return s
}

// guid reads a sysfs GUID; 0, unknown, for anything odd.
func guid(s string) topology.GUID {
	g, err := topology.ParseGUID(s)
	if err != nil {
		return 0
	}
	return g
}

// portGUID is the lower half of the port's first GID, "fe80:0000:0000:0000:e09d:7303:0015:6ff6".
func portGUID(gid string) topology.GUID {
	words := strings.Split(gid, ":")
	if len(words) != 8 {
		return 0
	}
	return guid(strings.Join(words[4:], ":"))
}

// lid reads "0x12"; 0 means that the port has none.
func lid(s string) *int {
	if v := number(s); v != nil && *v > 0 && *v <= 0xffff {
		return v
	}
	return nil
}

// maxCounters bounds the counters of one port; mlx5 has 47.
const maxCounters = 512

func readCounters(t *tree, dirs ...string) map[string]uint64 {
	counters := map[string]uint64{}
	for _, dir := range dirs {
		for _, name := range t.list(dir) {
			v, err := strconv.ParseUint(t.text(path.Join(dir, name)), 10, 64)
			if err == nil && len(counters) < maxCounters {
				counters[name] = v
			}
		}
	}
	if len(counters) == 0 {
		return nil
	}
	return counters
}
