package probe

import (
	"encoding/xml"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/railmap/railmap/topology"
)

// maxHwlocObjects bounds an hwloc file: a node with 1,024 threads has about 10,000 objects.
const maxHwlocObjects = 1 << 18

// hwlocFile is the XML of lstopo in the formats 1.x to 3.0.
type hwlocFile struct {
	XMLName  xml.Name      `xml:"topology"`
	Objects  []hwlocObject `xml:"object"`
	Infos    []hwlocInfo   `xml:"info"`
	Hetero   []hwlocMatrix `xml:"distances2hetero"`
	Distance []hwlocMatrix `xml:"distances2"`
}

type hwlocObject struct {
	Type     string        `xml:"type,attr"`
	OSIndex  string        `xml:"os_index,attr"`
	GP       string        `xml:"gp_index,attr"`
	Name     string        `xml:"name,attr"`
	Subtype  string        `xml:"subtype,attr"`
	CPUs     string        `xml:"cpuset,attr"`
	Nodes    string        `xml:"nodeset,attr"`
	Memory   uint64        `xml:"local_memory,attr"`
	PCI      string        `xml:"pci_busid,attr"`
	PCIType  string        `xml:"pci_type,attr"`
	BridgeTo string        `xml:"bridge_pci,attr"`
	Infos    []hwlocInfo   `xml:"info"`
	Objects  []hwlocObject `xml:"object"`
}

type hwlocInfo struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type hwlocMatrix struct {
	Name    string   `xml:"name,attr"`
	Count   int      `xml:"nbobjs,attr"`
	Indexes []string `xml:"indexes"`
	Values  []string `xml:"u64values"`
}

// hwlocPCI is "0302 [10de:1db8] [10de:131d] a1 00": class, vendor and device, subsystem.
var hwlocPCI = regexp.MustCompile(`^([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\](?: \[([0-9a-f]{4}):([0-9a-f]{4})\])?`)

// hwlocWalk collects a report on the way down the objects.
type hwlocWalk struct {
	r    *topology.NodeReport
	seen int
	byGP map[string]string // gp_index of a PCI or OS device -> PCI address
	cpu  topology.CPUInfo
}

// hwlocPlace is where the walk is.
type hwlocPlace struct {
	numa    *int
	bridge  string // PCI address above, "" below a host bridge
	complex string
	pci     string // PCI device above
	depth   int
}

func importHwloc(data []byte, r *topology.NodeReport) error {
	var file hwlocFile
	if err := xml.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("hwloc: %w", err)
	}
	w := &hwlocWalk{r: r, byGP: map[string]string{}}
	for i := range file.Objects {
		if err := w.object(&file.Objects[i], hwlocPlace{}); err != nil {
			return err
		}
	}
	if w.seen == 0 {
		return fmt.Errorf("hwloc: holds no objects: must be the XML that lstopo writes")
	}
	for _, info := range slices.Concat(file.Infos, file.Objects[0].Infos) {
		w.info(info)
	}
	if w.cpu != (topology.CPUInfo{}) {
		r.CPU = &w.cpu
	}
	for _, m := range slices.Concat(file.Hetero, file.Distance) {
		if m.Name == "NVLinkBandwidth" {
			w.nvlinks(m)
		}
	}
	slices.SortFunc(r.NUMANodes, func(a, b topology.NUMANode) int { return a.ID - b.ID })
	slices.SortFunc(r.PCI, func(a, b topology.PCIDevice) int { return comparePCI(a.Address, b.Address) })
	slices.SortFunc(r.NICs, func(a, b topology.NICReport) int { return topology.CompareNames(a.Device, b.Device) })
	slices.SortFunc(r.NetDevices, func(a, b topology.NetDevice) int { return topology.CompareNames(a.Name, b.Name) })
	r.GPUs, _ = mergeGPUs(pciGPUs(r.PCI), r.GPUs)
	r.Paths = paths(r)
	return nil
}

func (w *hwlocWalk) info(i hwlocInfo) {
	switch i.Name {
	case "HostName":
		if w.r.Node == "" {
			w.r.Node = i.Value
		}
	case "OSRelease":
		w.r.Kernel = i.Value
	case "DMIProductName":
		w.r.Product = i.Value
	case "Architecture":
		w.cpu.Arch = strings.Replace(i.Value, "aarch64", "arm64", 1)
	case "CPUVendor":
		w.cpu.Vendor = i.Value
	case "CPUModel":
		w.cpu.Model = i.Value
	case "CPUFamilyNumber":
		w.cpu.Family = number(i.Value)
	case "CPUModelNumber":
		w.cpu.ModelID = number(i.Value)
	}
}

func (w *hwlocWalk) object(o *hwlocObject, at hwlocPlace) error {
	if w.seen++; w.seen > maxHwlocObjects || at.depth > 256 {
		return fmt.Errorf("hwloc: more than %d objects or 256 levels: must be one node", maxHwlocObjects)
	}
	at.depth++
	if n, ok := oneBit(o.Nodes); ok {
		at.numa = &n
	}
	switch o.Type {
	case "NUMANode":
		if id := number(o.OSIndex); id != nil {
			w.r.NUMANodes = append(w.r.NUMANodes, topology.NUMANode{ID: *id, CPUs: cpuListOf(o.CPUs), MemoryBytes: o.Memory})
		}
	case "Package", "Socket":
		w.cpu.Sockets++
		for _, i := range o.Infos {
			w.info(i)
		}
	case "Core":
		w.cpu.Cores++
	case "PU":
		w.cpu.Threads++
	case "Bridge", "PCIDev":
		at = w.pci(o, at)
	case "OSDev":
		w.osDevice(o, at)
	}
	for i := range o.Objects {
		if err := w.object(&o.Objects[i], at); err != nil {
			return err
		}
	}
	return nil
}

// pci adds a PCI function and gives the place below it.
func (w *hwlocWalk) pci(o *hwlocObject, at hwlocPlace) hwlocPlace {
	address := strings.ToLower(o.PCI)
	if !pciAddress.MatchString(address) { // a host bridge: "0000:[2b-3b]"
		if domain, buses, ok := strings.Cut(o.BridgeTo, ":["); ok && len(buses) >= 2 {
			at.complex, at.bridge = "pci"+domain+":"+buses[:2], ""
		}
		return at
	}
	if slices.ContainsFunc(w.r.PCI, func(d topology.PCIDevice) bool { return d.Address == address }) {
		lose(w.r, address, "the PCI address stands twice")
		return at
	}
	d := topology.PCIDevice{Address: address, Parent: at.bridge, RootComplex: at.complex, NUMANode: at.numa}
	if m := hwlocPCI.FindStringSubmatch(o.PCIType); m != nil {
		d.Class, d.Vendor, d.Device = "0x"+m[1]+"00", "0x"+m[2], "0x"+m[3]
		if m[4] != "" {
			d.SubVendor, d.SubDevice = "0x"+m[4], "0x"+m[5]
		}
	}
	w.r.PCI = append(w.r.PCI, d)
	w.byGP["PCIDev:"+o.GP] = address
	at.pci = address
	if o.Type == "Bridge" {
		at.bridge = address
	}
	return at
}

func (w *hwlocWalk) osDevice(o *hwlocObject, at hwlocPlace) {
	w.byGP["OSDev:"+o.GP] = at.pci
	infos := map[string]string{}
	for _, i := range o.Infos {
		infos[i.Name] = i.Value
	}
	switch {
	case strings.HasPrefix(o.Name, "nvml"):
		w.r.GPUs = append(w.r.GPUs, topology.GPU{Index: deref(number(strings.TrimPrefix(o.Name, "nvml")), len(w.r.GPUs)), PCIAddress: at.pci, NUMANode: at.numa,
			Model: infos["GPUModel"], UUID: infos["NVIDIAUUID"]})
	case infos["NodeGUID"] != "" || infos["Port1State"] != "":
		w.r.NICs = append(w.r.NICs, topology.NICReport{Device: o.Name, Port: 1, PCIAddress: at.pci, NUMANode: at.numa, NodeGUID: guid(infos["NodeGUID"]),
			SystemImageGUID: guid(infos["SysImageGUID"]), LID: lid(infos["Port1LID"])})
	case infos["Address"] != "" && at.pci != "":
		w.r.NetDevices = append(w.r.NetDevices, topology.NetDevice{Name: o.Name, Address: infos["Address"], PCIAddress: at.pci, NUMANode: at.numa})
	}
}

// nvlinkMegabytes is one link of NVLink 2 in the matrix, in MB/s.
const nvlinkMegabytes = 25000

// nvlinks reads the matrix of NVLink bandwidths: rows and columns are GPUs and NVSwitches.
func (w *hwlocWalk) nvlinks(m hwlocMatrix) {
	ends := strings.Fields(strings.Join(m.Indexes, " "))
	values := strings.Fields(strings.Join(m.Values, " "))
	if len(ends) > maxMatrix || len(values) != len(ends)*len(ends) {
		lose(w.r, m.Name, "the matrix has %d figures for %d ends", len(values), len(ends))
		return
	}
	for i, from := range ends {
		g := slices.IndexFunc(w.r.GPUs, func(g topology.GPU) bool { return g.PCIAddress != "" && g.PCIAddress == w.byGP[from] })
		if g < 0 {
			continue
		}
		for j, to := range ends {
			v, err := strconv.ParseUint(values[i*len(ends)+j], 10, 32)
			remote := w.byGP[to]
			if err != nil || v == 0 || remote == "" || i == j {
				continue
			}
			kind := "switch"
			if strings.HasPrefix(to, "OSDev") {
				kind = "gpu"
			}
			for range min(max(1, (v+nvlinkMegabytes/2)/nvlinkMegabytes), 36) {
				w.r.GPUs[g].NVLinks = append(w.r.GPUs[g].NVLinks, topology.NVLink{Link: len(w.r.GPUs[g].NVLinks), Active: true, Remote: remote, RemoteType: kind})
			}
		}
	}
}

// hwlocWords reads a set such as "0xffffffff,,0x3", highest word first.
func hwlocWords(set string) []uint32 {
	parts := strings.Split(set, ",")
	if set == "" || len(parts) > 1024 {
		return nil
	}
	words := make([]uint32, 0, len(parts))
	for _, p := range slices.Backward(parts) {
		v, err := strconv.ParseUint(strings.TrimPrefix(p, "0x"), 16, 32)
		if err != nil && p != "" {
			return nil
		}
		words = append(words, uint32(v))
	}
	return words
}

// oneBit gives the only number in a set.
func oneBit(set string) (int, bool) {
	at, n := 0, 0
	for i, w := range hwlocWords(set) {
		if w != 0 {
			n += bits.OnesCount32(w)
			at = 32*i + bits.TrailingZeros32(w)
		}
	}
	return at, n == 1
}

// cpuListOf writes a set as a kernel list, "0-3,8".
func cpuListOf(set string) string {
	var out []string
	first, last := -1, -2
	flush := func() {
		switch {
		case first < 0:
		case first == last:
			out = append(out, strconv.Itoa(first))
		default:
			out = append(out, fmt.Sprintf("%d-%d", first, last))
		}
	}
	for i, w := range hwlocWords(set) {
		for ; w != 0; w &= w - 1 {
			c := 32*i + bits.TrailingZeros32(w)
			if c != last+1 {
				flush()
				first = c
			}
			last = c
		}
	}
	flush()
	return strings.Join(out, ",")
}
