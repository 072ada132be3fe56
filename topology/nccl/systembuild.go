package nccl

import (
	"fmt"
	"slices"
)

// systemBuilder turns elements into vertices and links, in the order of the file: order decides between equals later on.
type systemBuilder struct {
	s *System
}

func (b *systemBuilder) build(x *XML) error {
	if err := checkSize(x); err != nil {
		return err
	}
	for _, e := range x.Root.Children {
		if e.Name == "cpu" {
			if err := b.cpu(e); err != nil {
				return err
			}
		}
	}
	for _, step := range []func(gpu, pci *Element, host int) error{b.nvlinks, b.c2c} {
		if err := b.eachGPU(x.Root, step); err != nil {
			return err
		}
	}
	b.switchLinks(x.Root)
	b.flattenSwitches()
	b.joinCPUs()
	for _, c := range b.s.vertices[kindCPU] {
		uplinkLast(c, nil)
	}
	return b.finish()
}

// checkSize refuses documents that are beyond NCCL's limits, or whose search would take minutes, before anything is built.
func checkSize(x *XML) error {
	count := map[string]int{}
	x.Root.walk(func(e *Element, _ []*Element) { count[e.Name]++ })
	for _, l := range []struct {
		name string
		most int
		whom string
	}{{"gpu", maxSearchGPUs, "this search"}, {"net", maxSearchNets, "this search"}, {"cpu", maxVertices, "NCCL"}, {"pci", 3 * maxVertices, "NCCL"}} {
		if count[l.name] > l.most {
			return fmt.Errorf("NCCL XML: %d %s elements: %s takes at most %d", count[l.name], l.name, l.whom, l.most)
		}
	}
	return nil
}

// vertex finds or makes the vertex of that id.
func (b *systemBuilder) vertex(k kind, host int, id uint64) (*vertex, bool) {
	if v := b.find(k, host, id); v != nil {
		return v, false
	}
	return b.add(k, host, id), true
}

func (b *systemBuilder) find(k kind, host int, id uint64) *vertex {
	for _, v := range b.s.vertices[k] {
		if v.id == id && v.host == host {
			return v
		}
	}
	return nil
}

func (b *systemBuilder) add(k kind, host int, id uint64) *vertex {
	v := &vertex{kind: k, host: host, id: id}
	b.s.vertices[k] = append(b.s.vertices[k], v)
	return v
}

// join adds one direction of a connection, or widens it, and keeps the links of a vertex sorted by bandwidth, widest first.
func join(from, to *vertex, kind PathType, bw float32) {
	at := slices.IndexFunc(from.links, func(l *link) bool { return l.to == to && l.kind == kind })
	if at < 0 {
		at = len(from.links)
		from.links = append(from.links, &link{kind: kind, from: from, to: to})
	}
	l := from.links[at]
	l.bw += bw
	for ; at > 0 && from.links[at-1].bw < l.bw; at-- {
		from.links[at] = from.links[at-1]
	}
	from.links[at] = l
}

func joinBoth(a, b *vertex, kind PathType, bw float32) {
	join(a, b, kind, bw)
	join(b, a, kind, bw)
}

// hostOf numbers host hashes by appearance; an absent hash is 0.
func (b *systemBuilder) hostOf(cpu *Element) (int, error) {
	hash, _, err := cpu.hex("host_hash")
	if err != nil {
		return 0, err
	}
	if i := slices.Index(b.s.hosts, hash); i >= 0 {
		return i, nil
	}
	b.s.hosts = append(b.s.hosts, hash)
	return len(b.s.hosts) - 1, nil
}

// cpu adds a NUMA domain and all below it. A cpu without arch counts as x86_64: NCCL would refuse the file.
func (b *systemBuilder) cpu(e *Element) error {
	host, err := b.hostOf(e)
	if err != nil {
		return err
	}
	numa, err := e.number("numaid", 0)
	if err != nil {
		return err
	}
	v := b.add(kindCPU, host, uint64(numa))
	if v.cpu, err = cpuOf(e); err != nil {
		return err
	}
	for _, sub := range e.Children {
		switch sub.Name {
		case "pci":
			err = b.pci(sub, v)
		case "nic":
			err = b.virtualNIC(sub, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func cpuOf(e *Element) (cpuInfo, error) {
	arch, ok := e.Get("arch")
	if !ok {
		arch = "x86_64"
	}
	vendor, _ := e.Get("vendor")
	c := cpuInfo{arch: archOf(arch)}
	if c.arch == archX86 {
		c.vendor = vendorOf(vendor)
	}
	var err error
	if c.family, err = e.number("familyid", 0); err != nil {
		return c, err
	}
	c.model, err = e.number("modelid", 0)
	return c, err
}

// virtualNIC adds the nets of a nic without a PCI device. All of a host share one NIC below the first cpu that has one.
func (b *systemBuilder) virtualNIC(e *Element, cpu *vertex) error {
	nic, made := b.vertex(kindNIC, cpu.host, 0)
	if made {
		joinBoth(cpu, nic, linkPCI, localGBps)
	}
	return b.nets(e, nic)
}

// pci adds a GPU, a NIC, or a switch with what is below it. GPUs without rank and devices without gpu or nic element vanish.
func (b *systemBuilder) pci(e *Element, parent *vertex) error {
	busID, _ := e.Get("busid")
	id, err := ParseBusID(busID)
	if err != nil {
		return e.errorf("%v", err)
	}
	width, err := e.natural("link_width")
	if err != nil {
		return err
	}
	speed, _ := e.Get("link_speed")
	bw := pcieGBps(speed, width)
	if e.Child("gpu") != nil {
		return b.gpus(e, parent, id, bw)
	}
	class, _ := e.Get("class")
	if nic := e.Child("nic"); nic != nil {
		v, made := b.vertex(kindNIC, parent.host, id)
		if err := b.nets(nic, v); err != nil {
			return err
		}
		if made {
			joinBoth(v, parent, linkPCI, bw)
		}
		return nil
	}
	if class == "" || pciKindOf(class) != pciSwitch {
		return nil
	}
	return b.pciSwitch(e, parent, id, bw)
}

func (b *systemBuilder) pciSwitch(e *Element, parent *vertex, id uint64, bw float32) error {
	v := b.add(kindPCI, parent.host, id)
	for _, a := range []string{"vendor", "device", "subsystem_vendor", "subsystem_device"} {
		n, _, err := e.hex(a)
		if err != nil {
			return err
		}
		v.device = v.device<<16 + n
	}
	for _, sub := range e.Children {
		if sub.Name == "pci" {
			if err := b.pci(sub, v); err != nil {
				return err
			}
		}
	}
	joinBoth(v, parent, linkPCI, bw)
	return nil
}

// gpus adds the ranks of one GPU. Each hangs on a device vertex; partitions of a split GPU have one device each.
func (b *systemBuilder) gpus(pci *Element, parent *vertex, id uint64, bw float32) error {
	for _, e := range pci.Children {
		if e.Name != "gpu" {
			continue
		}
		if _, ok := e.Get("rank"); !ok {
			return nil
		}
		g, err := readGPU(e)
		if err != nil {
			return err
		}
		device, made := b.vertex(kindDevice, parent.host, partitionID(id, g.part))
		if made {
			device.sm, device.dev = g.sm, g.dev
			joinBoth(device, parent, linkPCI, bw)
			for _, other := range b.partitions(parent.host, id) {
				if other != device {
					joinBoth(device, other, PathLOC, partitionGBps)
				}
			}
		}
		gpu := b.add(kindGPU, parent.host, device.id|uint64(device.ranks)<<40)
		gpu.dev, gpu.rank, gpu.gdr, gpu.part, gpu.sm, gpu.parent = g.dev, g.rank, g.gdr != 0, g.part, g.sm, device
		joinBoth(device, gpu, PathLOC, localGBps)
		device.ranks++
	}
	return nil
}

type gpuAttributes struct{ dev, sm, rank, gdr, part int }

func readGPU(e *Element) (gpuAttributes, error) {
	var g gpuAttributes
	for _, f := range []struct {
		name   string
		absent int
		to     *int
	}{{"dev", 0, &g.dev}, {"sm", 0, &g.sm}, {"rank", 0, &g.rank}, {"gdr", 1, &g.gdr}, {"mlopart", -1, &g.part}} {
		var err error
		if *f.to, err = e.number(f.name, f.absent); err != nil {
			return g, err
		}
	}
	switch {
	case g.sm <= 0:
		return g, e.errorf("has no sm: must have the compute capability x 10, such as sm=\"90\"")
	case g.dev < 0:
		return g, e.errorf("dev is %d: must not be negative", g.dev)
	case g.part > 1:
		return g, e.errorf("mlopart is %d: must be 0 or 1", g.part)
	}
	return g, nil
}

// partitionID marks the devices of a split GPU in the two lowest bits, which bus ids of GPUs leave free.
func partitionID(busID uint64, part int) uint64 {
	if part < 0 {
		return busID
	}
	return busID | 1 | uint64(part)<<1
}

func (b *systemBuilder) partitions(host int, busID uint64) []*vertex {
	var out []*vertex
	for _, v := range b.s.vertices[kindDevice] {
		if v.host == host && v.id&^3 == busID&^3 {
			out = append(out, v)
		}
	}
	return out
}

// nets adds the ports below a nic element that have a device number and are used for the network.
func (b *systemBuilder) nets(e *Element, nic *vertex) error {
	for _, sub := range e.Children {
		if sub.Name != "net" {
			continue
		}
		if _, ok := sub.Get("dev"); !ok {
			continue
		}
		used, err := sub.number("net", 1)
		if err != nil {
			return err
		}
		if used == 0 {
			continue
		}
		if err := b.net(sub, nic); err != nil {
			return err
		}
	}
	return nil
}

// defaultMbps is what NCCL takes for a NIC whose speed is unknown.
const defaultMbps = 10000

func (b *systemBuilder) net(e *Element, nic *vertex) error {
	n := struct{ dev, speed, port, gdr, rail, plane int }{}
	for _, f := range []struct {
		name   string
		absent int
		to     *int
	}{{"dev", 0, &n.dev}, {"speed", 0, &n.speed}, {"port", 0, &n.port}, {"gdr", 0, &n.gdr}, {"rail", -1, &n.rail}, {"plane", -1, &n.plane}} {
		var err error
		if *f.to, err = e.number(f.name, f.absent); err != nil {
			return err
		}
	}
	latency, err := e.decimal("latency")
	if err != nil {
		return err
	}
	guid, hasGUID, err := e.hex("guid")
	if err != nil {
		return err
	}
	if n.dev < 0 {
		return e.errorf("dev is %d: must not be negative", n.dev)
	}
	if n.speed <= 0 {
		n.speed = defaultMbps
	}
	v := b.add(kindNet, nic.host, uint64(n.dev))
	v.dev, v.gdr = n.dev, n.gdr != 0
	name, _ := e.Get("name")
	v.net = netInfo{name: name, asic: guid, port: n.port, bw: float32(float64(n.speed) / 8000), latency: float32(latency), rail: n.rail, plane: n.plane, localGPU: -1}
	if !hasGUID { // unique in the machine
		v.net.asic = uint64(nic.host)<<56 + uint64(n.dev)
	}
	joinBoth(nic, v, PathNET, v.net.bw)
	return nil
}

// finish numbers vertices and links and finds the way back of each link.
func (b *systemBuilder) finish() error {
	s := b.s
	for k := range kinds {
		if len(s.vertices[k]) > maxVertices {
			return fmt.Errorf("NCCL XML: %d vertices of one kind: NCCL takes at most %d", len(s.vertices[k]), maxVertices)
		}
		first := map[[2]uint64]int{}
		for i, v := range s.vertices[k] {
			v.index, v.slot = i, i
			key := [2]uint64{uint64(v.host), v.id}
			if at, twice := first[key]; twice {
				v.slot = at
			} else {
				first[key] = i
			}
			for _, l := range v.links {
				l.index = len(s.links)
				s.links = append(s.links, l)
			}
		}
	}
	for _, l := range s.links {
		at := slices.IndexFunc(l.to.links, func(r *link) bool { return r.to == l.from && r.kind == l.kind })
		if at < 0 {
			return fmt.Errorf("NCCL XML: %s link from %s leads to %s and not back: both ends must list it", l.kind, l.from.label(), l.to.label())
		}
		l.back = l.to.links[at]
	}
	return nil
}

func (v *vertex) label() string {
	name := [kinds]string{"GPU", "GPU", "switch", "NVSwitch", "cpu", "NIC", "net", "C2C bridge"}[v.kind]
	return fmt.Sprintf("%s %x", name, v.id)
}
