package nccl

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/railmap/railmap/topology"
)

// ToReport makes of a topology document what a probe of that node would have seen of it, so that a dump of NCCL can stand in
// for a probe. Ports with a number above 0 are RDMA ports, others network interfaces. Findings name what a report cannot
// hold. It fails on documents of several hosts and on values that are no numbers.
func ToReport(x *XML, node string) (*topology.NodeReport, []topology.Finding, error) {
	b := reportBuilder{r: &topology.NodeReport{Node: node}}
	b.r.Header = topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindNodeReport, Source: "nccl-xml"}
	host := map[string]bool{}
	for _, e := range x.Root.Children {
		if e.Name != "cpu" {
			b.lost(e)
			continue
		}
		hash, _ := e.Get("host_hash")
		if host[hash] = true; len(host) > 1 {
			return nil, nil, e.errorf("is of a second host: a report is of one node; split the document")
		}
		if err := b.cpu(e); err != nil {
			return nil, nil, err
		}
	}
	b.sort()
	return b.r, topology.SortFindings(b.findings), nil
}

type reportBuilder struct {
	r        *topology.NodeReport
	noGDR    bool // a GPU without GPUDirect RDMA
	findings []topology.Finding
}

func (b *reportBuilder) lost(e *Element) {
	b.findings = append(b.findings, topology.Finding{Code: "nccl-xml-not-in-report", Severity: topology.Info, Subject: fmt.Sprintf("%s (line %d)", e.label(), e.Line),
		Message: "a node report has no place for the element " + e.Name})
}

func (b *reportBuilder) cpu(e *Element) error {
	numa, err := e.number("numaid", -1)
	if err != nil {
		return err
	}
	affinity, _ := e.Get("affinity")
	var at *int
	if numa >= 0 {
		at = &numa
		b.r.NUMANodes = append(b.r.NUMANodes, topology.NUMANode{ID: numa, CPUs: cpuList(affinity)})
	}
	if b.r.CPU == nil {
		if b.r.CPU, err = reportCPU(e); err != nil {
			return err
		}
	}
	for _, sub := range e.Children {
		switch sub.Name {
		case "pci":
			err = b.pci(sub, "", at)
		case "nic":
			err = b.nic(sub, "", nil)
		default:
			b.lost(sub)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func reportCPU(e *Element) (*topology.CPUInfo, error) {
	arch, _ := e.Get("arch")
	vendor, _ := e.Get("vendor")
	c := &topology.CPUInfo{Arch: arch, Vendor: vendor}
	if _, ok := e.Get("familyid"); ok {
		family, err := e.number("familyid", 0)
		if err != nil {
			return nil, err
		}
		if family > 15 && family&15 == 15 { // base 15 + extended x 16, as the processor says it
			family = 15 + family>>4
		}
		c.Family = &family
	}
	if _, ok := e.Get("modelid"); ok {
		model, err := e.number("modelid", 0)
		if err != nil {
			return nil, err
		}
		c.ModelID = &model
	}
	return c, nil
}

// pci adds a device and what is below it. The document tells one speed a link: for GPUs the present one, otherwise the best.
func (b *reportBuilder) pci(e *Element, parent string, numa *int) error {
	text := func(name string) string { v, _ := e.Get(name); return v }
	address := strings.ToLower(text("busid"))
	d := topology.PCIDevice{Address: address, Parent: parent, Class: text("class"), Vendor: text("vendor"), Device: text("device"),
		SubVendor: text("subsystem_vendor"), SubDevice: text("subsystem_device"), NUMANode: numa}
	link, err := reportLink(e)
	if err != nil {
		return err
	}
	d.Link = link
	b.r.PCI = append(b.r.PCI, d)
	if pciKindOf(d.Class) == pciGPU && e.Child("gpu") == nil {
		b.r.GPUs = append(b.r.GPUs, b.newGPU(address, numa, link))
	}
	for _, sub := range e.Children {
		switch sub.Name {
		case "pci":
			err = b.pci(sub, address, numa)
		case "nic":
			err = b.nic(sub, address, numa)
		case "gpu":
			err = b.gpu(sub, address, numa, link)
		default:
			b.lost(sub)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func reportLink(e *Element) (*topology.PCILink, error) {
	var l topology.PCILink
	text, _ := e.Get("link_speed")
	if number, _, ok := strings.Cut(text, " GT/s"); ok {
		if gt, err := strconv.ParseFloat(number, 64); err == nil && gt > 0 && gt < 1000 {
			transfers := gt * 1e9
			l.MaxSpeedTransfersPerSecond = &transfers
		}
	}
	width, err := e.number("link_width", 0)
	if err != nil {
		return nil, err
	}
	if width > 0 {
		l.MaxWidth = &width
	}
	if l == (topology.PCILink{}) {
		return nil, nil
	}
	return &l, nil
}

// newGPU is a GPU of which only the PCI function is known; its number is its place.
func (b *reportBuilder) newGPU(address string, numa *int, link *topology.PCILink) topology.GPU {
	g := topology.GPU{Index: len(b.r.GPUs), PCIAddress: address, NUMANode: numa}
	if link == nil {
		return g
	}
	g.PCIeWidth = link.MaxWidth
	if link.MaxSpeedTransfersPerSecond != nil {
		if generation := slices.Index(pcieTransfers[:], *link.MaxSpeedTransfersPerSecond); generation > 0 {
			g.PCIeGeneration = &generation
		}
	}
	return g
}

func (b *reportBuilder) gpu(e *Element, address string, numa *int, link *topology.PCILink) error {
	g := b.newGPU(address, numa, link)
	var err error
	if g.Index, err = e.number("dev", g.Index); err != nil {
		return err
	}
	sm, err := e.number("sm", 0)
	if err != nil {
		return err
	}
	if sm > 0 {
		g.ComputeCapability = fmt.Sprintf("%d.%d", sm/10, sm%10)
	}
	if gdr, err := e.number("gdr", 1); err != nil {
		return err
	} else if gdr == 0 {
		b.noGDR = true
	}
	for _, sub := range e.Children {
		switch sub.Name {
		case "nvlink":
			err = addNVLinks(&g, sub)
		case "c2c":
			err = addC2C(&g, sub)
		default:
			b.lost(sub)
		}
		if err != nil {
			return err
		}
	}
	b.r.GPUs = append(b.r.GPUs, g)
	return nil
}

// maxNVLinks bounds the links of one GPU; the most that exist are 18.
const maxNVLinks = 64

func addNVLinks(g *topology.GPU, e *Element) error {
	count, err := e.number("count", 0)
	if err != nil {
		return err
	}
	if count < 0 || count+len(g.NVLinks) > maxNVLinks {
		return e.errorf("count is %d: a GPU has at most %d NVLinks", count, maxNVLinks)
	}
	class, _ := e.Get("tclass")
	target, _ := e.Get("target")
	if strings.HasPrefix(target, "fffffff:") { // NCCL's words for "no bus id"
		target = ""
	}
	remote := map[pciKind]string{pciGPU: "gpu", pciBridgeToCPU: "cpu"}[pciKindOf(class)]
	for range count {
		g.NVLinks = append(g.NVLinks, topology.NVLink{Link: len(g.NVLinks), Active: true, Remote: strings.ToLower(target), RemoteType: cmp.Or(remote, "switch")})
	}
	return nil
}

func addC2C(g *topology.GPU, e *Element) error {
	count, err := e.number("count", 0)
	if err != nil {
		return err
	}
	mbps, err := e.number("bw", 0)
	if err != nil {
		return err
	}
	g.C2CLinks = &topology.C2CLinks{Count: count, BandwidthBytesPerSecond: float64(mbps) * 1e6}
	enabled := count > 0
	g.C2CEnabled = &enabled
	return nil
}

func (b *reportBuilder) nic(e *Element, address string, numa *int) error {
	for _, net := range e.Children {
		if net.Name != "net" {
			b.lost(net)
			continue
		}
		port, err := net.number("port", 0)
		if err != nil {
			return err
		}
		rate, err := netRate(net)
		if err != nil {
			return err
		}
		name, _ := net.Get("name")
		if port == 0 {
			b.r.NetDevices = append(b.r.NetDevices, topology.NetDevice{Name: name, State: "up", SpeedBytesPerSecond: rate, PCIAddress: address, NUMANode: numa})
			continue
		}
		n := topology.NICReport{Device: name, Port: port, State: "ACTIVE", RateBytesPerSecond: rate, PCIAddress: address, NUMANode: numa}
		guid, _, err := net.hex("guid")
		if err != nil {
			return err
		}
		n.SystemImageGUID = topology.GUID(bits.ReverseBytes64(guid))
		if _, ok := net.Get("gdr"); ok {
			gdr, err := net.number("gdr", 0)
			if err != nil {
				return err
			}
			direct := gdr != 0
			n.GPUDirect = &direct
		}
		b.r.NICs = append(b.r.NICs, n)
	}
	return nil
}

// netRate is the speed of a port in bytes per second; nil when the document does not tell.
func netRate(e *Element) (*float64, error) {
	mbps, err := e.number("speed", 0)
	if err != nil || mbps <= 0 {
		return nil, err
	}
	rate := float64(mbps) * 1e6 / 8
	return &rate, nil
}

// sort puts the lists in the order of reports. A GPU that cannot do GPUDirect RDMA takes it from all ports.
func (b *reportBuilder) sort() {
	r := b.r
	slices.SortStableFunc(r.NUMANodes, func(x, y topology.NUMANode) int { return cmp.Compare(x.ID, y.ID) })
	slices.SortStableFunc(r.PCI, func(x, y topology.PCIDevice) int { return compareBus(x.Address, y.Address) })
	slices.SortStableFunc(r.GPUs, func(x, y topology.GPU) int { return compareBus(x.PCIAddress, y.PCIAddress) })
	slices.SortStableFunc(r.NICs, func(x, y topology.NICReport) int {
		return cmp.Or(topology.CompareNames(x.Device, y.Device), cmp.Compare(x.Port, y.Port))
	})
	slices.SortStableFunc(r.NetDevices, func(x, y topology.NetDevice) int { return topology.CompareNames(x.Name, y.Name) })
	if b.noGDR {
		no := false
		for i := range r.NICs {
			r.NICs[i].GPUDirect = &no
		}
	}
}

// compareBus orders PCI addresses by value: the longer domain is the larger one.
func compareBus(a, b string) int {
	return cmp.Or(cmp.Compare(strings.IndexByte(a, ':'), strings.IndexByte(b, ':')), cmp.Compare(a, b))
}

// cpuList turns a mask of 32-bit words ("00000000,ffffffff", the highest first) into a kernel list ("0-31"); "" for what is
// no mask.
func cpuList(mask string) string {
	words := strings.Split(mask, ",")
	if mask == "" || len(words) > maxCPUs/32 {
		return ""
	}
	var on []int
	for i := range words {
		w, err := strconv.ParseUint(words[len(words)-1-i], 16, 32)
		if err != nil {
			return ""
		}
		for bit := range 32 {
			if w>>bit&1 == 1 {
				on = append(on, 32*i+bit)
			}
		}
	}
	var out []string
	for i := 0; i < len(on); {
		j := i
		for j+1 < len(on) && on[j+1] == on[j]+1 {
			j++
		}
		if i == j {
			out = append(out, strconv.Itoa(on[i]))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", on[i], on[j]))
		}
		i = j + 1
	}
	return strings.Join(out, ",")
}
