package nccl

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/railmap/railmap/topology"
)

// ReportOptions are choices of FromReport.
type ReportOptions struct {
	// AssumeGPUDirect writes what a whole machine would have where the report does not say: gdr="1", and the usual C2C links of
	// GPUs that have them. Right for predictions; a file for NCCL_TOPO_FILE must leave it to NCCL, which finds out.
	AssumeGPUDirect bool
}

// FromReport writes what a probe saw as NCCL's topology document, in the order of NCCL's own dumps: the first GPU, then the
// NICs, then the other GPUs. Only what lies between processors, GPUs and NICs is in it. Findings name ports that are left
// out and what NCCL has to complete. It fails when the report has no GPU, or places a device below itself.
func FromReport(r *topology.NodeReport, o ReportOptions) (*XML, []topology.Finding, error) {
	if len(r.GPUs) == 0 {
		return nil, nil, fmt.Errorf("node %s: the report has no GPU: NCCL needs one", r.Node)
	}
	b := xmlBuilder{report: r, options: o, xml: NewXML(), pci: map[string]*topology.PCIDevice{}, made: map[string]*Element{}}
	for i := range r.PCI {
		b.pci[r.PCI[i].Address] = &r.PCI[i]
	}
	gpus := slices.Clone(r.GPUs)
	slices.SortFunc(gpus, func(x, y topology.GPU) int { return cmp.Compare(x.Index, y.Index) })
	for rank := range gpus {
		if err := b.gpu(&gpus[rank], rank); err != nil {
			return nil, nil, err
		}
		if rank == 0 {
			if err := b.nics(); err != nil {
				return nil, nil, err
			}
		}
	}
	return b.xml, topology.SortFindings(b.findings), nil
}

type xmlBuilder struct {
	report   *topology.NodeReport
	options  ReportOptions
	xml      *XML
	pci      map[string]*topology.PCIDevice
	made     map[string]*Element // by PCI address, or "cpu N"
	findings []topology.Finding
	devices  int // net device number
}

func (b *xmlBuilder) find(code, subject, message, remedy string) {
	b.findings = append(b.findings, topology.Finding{Code: code, Severity: topology.Info, Subject: b.report.Node + "/" + subject, Message: message, Remedy: remedy})
}

// place returns the element of a PCI function, made with all switches above it.
func (b *xmlBuilder) place(address string, depth int) (*Element, error) {
	if e := b.made[address]; e != nil {
		return e, nil
	}
	if depth > maxXMLDepth {
		return nil, fmt.Errorf("node %s: PCI device %s stands below itself: parents must lead to a root complex", b.report.Node, address)
	}
	d := b.pci[address]
	if d == nil {
		d = &topology.PCIDevice{Address: address}
	}
	up, err := b.above(d, depth)
	if err != nil {
		return nil, err
	}
	e := up.Add("pci", "busid", address)
	for _, a := range []struct{ name, value string }{{"class", d.Class}, {"vendor", d.Vendor}, {"device", d.Device},
		{"subsystem_vendor", d.SubVendor}, {"subsystem_device", d.SubDevice}} {
		if a.value != "" {
			e.Set(a.name, a.value)
		}
	}
	speed, width := b.slotLink(d)
	e.Set("link_speed", speed)
	e.Set("link_width", strconv.Itoa(width))
	b.made[address] = e
	return e, nil
}

// above is the element under which a device stands. Every other bridge is the port of a switch or of the root complex, which
// NCCL passes over:
//
//	root port -> switch (upstream port) -> downstream port -> GPU     becomes     cpu -> switch -> GPU
//
// A report made from a topology document has no root complex: its bridges are switches already.
func (b *xmlBuilder) above(d *topology.PCIDevice, depth int) (*Element, error) {
	up := b.pci[d.Parent]
	if up != nil && d.RootComplex != "" {
		up = b.pci[up.Parent]
	}
	if up == nil {
		return b.cpu(d.NUMANode), nil
	}
	return b.place(up.Address, depth+1)
}

// cpu returns the element of a NUMA domain; -1 when the kernel does not tell.
func (b *xmlBuilder) cpu(numa *int) *Element {
	id := -1
	if numa != nil {
		id = *numa
	}
	key := "cpu " + strconv.Itoa(id)
	if e := b.made[key]; e != nil {
		return e
	}
	e := b.xml.Root.Add("cpu", "numaid", strconv.Itoa(id))
	for _, n := range b.report.NUMANodes {
		if mask := cpuMask(n.CPUs, b.lastCPU()); n.ID == id && mask != "" {
			e.Set("affinity", mask)
		}
	}
	b.processor(e)
	b.made[key] = e
	return e
}

// processor writes the kind of processor. NCCL counts families as the processor tells them: base + 16 x extended, while the
// kernel adds the two (EPYC Rome: 23 = 15 + 8, NCCL says 143).
func (b *xmlBuilder) processor(e *Element) {
	c := b.report.CPU
	if c == nil {
		return
	}
	if c.Arch != "" {
		e.Set("arch", ncclArch(c.Arch))
	}
	if c.Vendor != "" && e.isX86() {
		e.Set("vendor", c.Vendor)
	}
	if c.Family != nil && e.isX86() {
		family := *c.Family
		if family > 15 {
			family = 15 + (family-15)<<4
		}
		e.Set("familyid", strconv.Itoa(family))
	}
	if c.ModelID != nil && e.isX86() {
		e.Set("modelid", strconv.Itoa(*c.ModelID))
	}
}

func (e *Element) isX86() bool {
	arch, _ := e.Get("arch")
	return arch == "x86_64"
}

func ncclArch(s string) string {
	switch s {
	case "aarch64":
		return "arm64"
	case "ppc64le":
		return "ppc64"
	}
	return s
}

// slotLink is the link above a NIC or switch as NCCL reads it: the smaller maximum of the device and of the port above it.
func (b *xmlBuilder) slotLink(d *topology.PCIDevice) (speed string, width int) {
	links := []*topology.PCILink{d.Link}
	if up := b.pci[d.Parent]; up != nil && d.RootComplex != "" {
		links = append(links, up.Link)
	}
	transfers := math.Inf(1)
	width = math.MaxInt
	for _, l := range links {
		if l != nil && l.MaxSpeedTransfersPerSecond != nil {
			transfers = min(transfers, *l.MaxSpeedTransfersPerSecond)
		}
		if l != nil && l.MaxWidth != nil {
			width = min(width, *l.MaxWidth)
		}
	}
	if width == math.MaxInt {
		width = 0
	}
	return linkSpeed(transfers), width
}

// linkSpeed writes a PCIe speed as Linux does since 5.7; "" when unknown.
func linkSpeed(transfersPerSecond float64) string {
	if math.IsInf(transfersPerSecond, 0) || transfersPerSecond <= 0 {
		return ""
	}
	return strconv.FormatFloat(transfersPerSecond/1e9, 'f', 1, 64) + " GT/s PCIe"
}

// pcieTransfers is the speed of a PCIe generation.
var pcieTransfers = [...]float64{1: 2.5e9, 2: 5e9, 3: 8e9, 4: 16e9, 5: 32e9, 6: 64e9}

// gpu adds a GPU. Its link is the trained width and the best generation that GPU and slot reach: idle GPUs slow their link
// down, so that the present generation says little, unless the probe saw it low while the GPU worked.
func (b *xmlBuilder) gpu(g *topology.GPU, rank int) error {
	e, err := b.place(g.PCIAddress, 0)
	if err != nil {
		return err
	}
	if _, ok := e.Get("class"); !ok {
		e.Set("class", "0x030200")
	}
	generation := cmp.Or(g.MaxPCIeGeneration, g.PCIeGeneration)
	if b.slowAtWork(g) {
		generation = g.PCIeGeneration
	}
	if generation != nil && *generation > 0 && *generation < len(pcieTransfers) {
		e.Set("link_speed", linkSpeed(pcieTransfers[*generation]))
	}
	if width := cmp.Or(g.PCIeWidth, g.MaxPCIeWidth); width != nil {
		e.Set("link_width", strconv.Itoa(*width))
	}
	sm := computeCapability(g.ComputeCapability)
	if sm == 0 {
		b.find("nccl-xml-completed", fmt.Sprintf("GPU%d", g.Index), "the report does not tell the compute capability: NCCL completes the GPU on the machine", "probe with the driver loaded")
		return nil
	}
	gpu := e.Add("gpu", "dev", strconv.Itoa(g.Index), "sm", strconv.Itoa(sm), "rank", strconv.Itoa(rank))
	b.gpuDirect(gpu, b.anyGPUDirect())
	b.gpuLinks(gpu, g)
	return nil
}

// slowAtWork tells whether the probe found the link slow while it used the GPU.
func (b *xmlBuilder) slowAtWork(g *topology.GPU) bool {
	return g.PCIeGeneration != nil && slices.ContainsFunc(b.report.Findings, func(f topology.Finding) bool {
		return f.Code == "pcie-speed-low" && f.Subject == fmt.Sprintf("GPU%d", g.Index)
	})
}

func (b *xmlBuilder) gpuLinks(gpu *Element, g *topology.GPU) {
	type end struct{ target, class string }
	counts := map[end]int{}
	var order []end
	for _, l := range g.NVLinks {
		if !l.Active {
			continue
		}
		to := end{cmp.Or(l.Remote, unknownSwitch), map[string]string{"gpu": "0x030200", "cpu": "0x068001"}[l.RemoteType]}
		to.class = cmp.Or(to.class, "0x068000")
		if counts[to]++; counts[to] == 1 {
			order = append(order, to)
		}
	}
	for _, to := range order {
		gpu.Add("nvlink", "target", to.target, "count", strconv.Itoa(counts[to]), "tclass", to.class)
	}
	if c := g.C2CLinks; c != nil {
		gpu.Add("c2c", "bw", strconv.Itoa(int(c.BandwidthBytesPerSecond/1e6)), "count", strconv.Itoa(c.Count))
	} else if g.C2CEnabled != nil && *g.C2CEnabled {
		what := "NCCL completes them on the machine"
		if b.options.AssumeGPUDirect {
			gpu.Add("c2c", "bw", assumedC2CMbps, "count", assumedC2CLinks)
			what = assumedC2CLinks + " of " + assumedC2CMbps + " MB/s are assumed"
		}
		b.find("nccl-xml-completed", fmt.Sprintf("GPU%d", g.Index), "the report does not count the C2C links: "+what, "")
	}
}

// assumedC2C is what NCCL's dumps of Grace Blackwell trays say of each GPU; any such figure is far more than a NIC needs.
const (
	assumedC2CMbps  = "44712"
	assumedC2CLinks = "5"
)

// computeCapability turns "9.0" into 90; 0 when unknown.
func computeCapability(s string) int {
	major, minor, ok := strings.Cut(s, ".")
	a, err1 := strconv.Atoi(major)
	z, err2 := strconv.Atoi(minor)
	if !ok || err1 != nil || err2 != nil || a < 1 || a > 99 || z < 0 || z > 9 {
		return 0
	}
	return 10*a + z
}

// anyGPUDirect tells whether GPUDirect RDMA works with any NIC; nil when nobody says.
func (b *xmlBuilder) anyGPUDirect() *bool {
	var known *bool
	for i := range b.report.NICs {
		if d := b.report.NICs[i].GPUDirect; d != nil && (known == nil || *d) {
			known = d
		}
	}
	return known
}

func (b *xmlBuilder) gpuDirect(e *Element, known *bool) {
	switch {
	case known != nil && !*known:
		e.Set("gdr", "0")
	case known != nil || b.options.AssumeGPUDirect:
		e.Set("gdr", "1")
	}
}

// nics adds the RDMA ports that are up, or the network interfaces where there are none: NCCL does the same.
func (b *xmlBuilder) nics() error {
	for i := range b.report.NICs {
		n := &b.report.NICs[i]
		if n.State != "" && n.State != "ACTIVE" {
			b.find("nccl-port-left-out", n.Device+"/"+strconv.Itoa(n.Port), "the port is "+n.State+": NCCL does not use it", "bring the port up")
			continue
		}
		if err := b.port(n); err != nil {
			return err
		}
	}
	if b.devices > 0 {
		return nil
	}
	for i := range b.report.NetDevices {
		if d := &b.report.NetDevices[i]; d.State == "up" && !virtualName(d.Name) {
			if err := b.socket(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// nic returns the nic element of a PCI function, or of the first cpu for a device without one.
func (b *xmlBuilder) nic(address string) (*Element, error) {
	var up *Element
	if address == "" {
		if len(b.xml.Root.Children) == 0 {
			b.cpu(nil)
		}
		up = b.xml.Root.Children[0]
	} else {
		var err error
		if up, err = b.place(address, 0); err != nil {
			return nil, err
		}
		if _, ok := up.Get("class"); !ok {
			up.Set("class", "0x020000")
		}
	}
	if nic := up.Child("nic"); nic != nil {
		return nic, nil
	}
	return up.Add("nic"), nil
}

// port adds an RDMA port. NCCL prints GUIDs as its memory holds them, last byte first.
func (b *xmlBuilder) port(n *topology.NICReport) error {
	nic, err := b.nic(n.PCIAddress)
	if err != nil {
		return err
	}
	e := b.net(nic, n.Device, n.RateBytesPerSecond, n.Port)
	if guid := cmp.Or(n.SystemImageGUID, n.NodeGUID); guid != 0 {
		e.Set("guid", fmt.Sprintf("0x%x", bits.ReverseBytes64(uint64(guid))))
	}
	b.gpuDirect(e, n.GPUDirect)
	return nil
}

// socket adds a network interface; sockets know no GPUDirect RDMA.
func (b *xmlBuilder) socket(d *topology.NetDevice) error {
	nic, err := b.nic(d.PCIAddress)
	if err != nil {
		return err
	}
	guid := fmt.Sprintf("0x%x", b.devices)
	e := b.net(nic, d.Name, d.SpeedBytesPerSecond, 0)
	e.Set("guid", guid)
	e.Set("gdr", "0")
	return nil
}

func (b *xmlBuilder) net(nic *Element, name string, bytesPerSecond *float64, port int) *Element {
	e := nic.Add("net", "name", name, "dev", strconv.Itoa(b.devices))
	if bytesPerSecond != nil {
		e.Set("speed", strconv.Itoa(int(math.Round(*bytesPerSecond*8/1e6))))
	}
	e.Set("port", strconv.Itoa(port))
	e.Set("latency", "0.000000")
	b.devices++
	return e
}

func virtualName(name string) bool {
	return name == "lo" || slices.ContainsFunc(virtualPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// maxCPUs bounds the masks that are written: beyond any machine that Linux runs on.
const maxCPUs = 1 << 14

func (b *xmlBuilder) lastCPU() int {
	last := 0
	for _, n := range b.report.NUMANodes {
		eachCPU(n.CPUs, func(c int) { last = max(last, c) })
	}
	return last
}

// cpuMask writes a kernel list ("0-3,64") as NCCL does: words of 32 bits, the highest first, as many as the machine needs.
func cpuMask(list string, last int) string {
	words := make([]uint32, last/32+1)
	any := false
	eachCPU(list, func(c int) {
		words[c/32] |= 1 << (c % 32)
		any = true
	})
	if !any {
		return ""
	}
	text := make([]string, len(words))
	for i, w := range words {
		text[len(words)-1-i] = fmt.Sprintf("%08x", w)
	}
	return strings.Join(text, ",")
}

// eachCPU visits the numbers of a kernel list; what is no list is passed over.
func eachCPU(list string, visit func(int)) {
	for _, part := range strings.Split(list, ",") {
		low, high, span := strings.Cut(strings.TrimSpace(part), "-")
		a, err := strconv.Atoi(low)
		z := a
		if span && err == nil {
			z, err = strconv.Atoi(high)
		}
		if err != nil || a < 0 || z >= maxCPUs {
			continue
		}
		for c := a; c <= z; c++ {
			visit(c)
		}
	}
}
