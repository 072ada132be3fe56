package nccl

import "slices"

// eachGPU visits the first gpu element of every device, with its pci element and host.
func (b *systemBuilder) eachGPU(root *Element, visit func(gpu, pci *Element, host int) error) error {
	var failed error
	for _, cpu := range root.Children {
		if cpu.Name != "cpu" {
			continue
		}
		host, err := b.hostOf(cpu)
		if err != nil {
			return err
		}
		cpu.walk(func(e *Element, above []*Element) {
			if e.Name != "gpu" || failed != nil || len(above) == 0 || above[len(above)-1].Name != "pci" {
				return
			}
			pci := above[len(above)-1]
			if firstOfDevice(e, pci) {
				failed = visit(e, pci, host)
			}
		})
	}
	return failed
}

// firstOfDevice tells whether no earlier gpu element of the same function is of the same partition.
func firstOfDevice(gpu, pci *Element) bool {
	part, _ := gpu.number("mlopart", -1)
	for _, e := range pci.Children {
		if e == gpu {
			return true
		}
		if other, _ := e.number("mlopart", -1); e.Name == "gpu" && other == part {
			return false
		}
	}
	return true
}

// deviceOf finds the device of a gpu element; nil for one that was left out.
func (b *systemBuilder) deviceOf(gpu, pci *Element, host int) *vertex {
	busID, _ := pci.Get("busid")
	id, err := ParseBusID(busID)
	if err != nil {
		return nil
	}
	part, _ := gpu.number("mlopart", -1)
	return b.find(kindDevice, host, partitionID(id, part))
}

// nvlinks adds the NVLinks of a GPU: to other GPUs, to its processor (POWER), or to the one vertex that stands for all
// NVSwitches. Links between GPUs are listed at both ends, the others at the GPU only.
func (b *systemBuilder) nvlinks(gpu, pci *Element, host int) error {
	device := b.deviceOf(gpu, pci, host)
	if device == nil {
		return nil
	}
	shares := float32(len(b.partitions(host, device.id)))
	for _, e := range gpu.Children {
		if e.Name != "nvlink" {
			continue
		}
		count, err := e.natural("count")
		if err != nil {
			return err
		}
		bw := float32(count) * b.s.options.nvlinkGBps(device.sm)
		class, _ := e.Get("tclass")
		switch pciKindOf(class) {
		case pciGPU:
			target, _ := e.Get("target")
			id, err := ParseBusID(target)
			if err != nil {
				return e.errorf("%v", err)
			}
			remote := b.partitions(host, id)
			for _, r := range remote {
				join(device, r, PathNVL, bw/float32(len(remote))/shares)
			}
		case pciBridgeToCPU:
			if cpu := cpuAbove(device, nil); cpu != nil {
				joinBoth(device, cpu, PathNVL, bw/shares)
			}
		default:
			all, _ := b.vertex(kindNVSwitch, 0, 0)
			joinBoth(device, all, PathNVL, bw/shares)
		}
	}
	return nil
}

// c2c adds the chip-to-chip links of a GPU to its processor. Partitions of a split GPU share them through a bridge.
func (b *systemBuilder) c2c(gpu, pci *Element, host int) error {
	device := b.deviceOf(gpu, pci, host)
	if device == nil {
		return nil
	}
	for _, e := range gpu.Children {
		if e.Name != "c2c" {
			continue
		}
		count, err := e.natural("count")
		if err != nil {
			return err
		}
		mbps, err := e.natural("bw")
		if err != nil {
			return err
		}
		cpu := cpuAbove(device, nil)
		if cpu == nil {
			continue
		}
		bw := float32(float64(mbps) * float64(count) / 1000)
		if len(b.partitions(host, device.id)) < 2 {
			joinBoth(device, cpu, PathC2C, bw)
			continue
		}
		bridge, made := b.vertex(kindBridge, host, device.id&^3)
		if made {
			joinBoth(bridge, cpu, PathC2C, bw)
		}
		joinBoth(device, bridge, PathC2C, bw)
	}
	return nil
}

// cpuAbove climbs the PCI tree to the processor.
func cpuAbove(v, from *vertex) *vertex {
	if v.kind == kindCPU {
		return v
	}
	for _, l := range v.links {
		if l.kind == linkPCI && l.to != from && (l.to.kind == kindPCI || l.to.kind == kindCPU) {
			if cpu := cpuAbove(l.to, v); cpu != nil {
				return cpu
			}
		}
	}
	return nil
}

// switchLinks joins switches that list each other as peers (Broadcom).
func (b *systemBuilder) switchLinks(root *Element) {
	for _, cpu := range root.Children {
		host, err := b.hostOf(cpu)
		if cpu.Name != "cpu" || err != nil {
			continue
		}
		cpu.walk(func(e *Element, above []*Element) {
			if e.Name != "pcilink" || len(above) == 0 {
				return
			}
			from := b.switchAt(host, above[len(above)-1], "busid")
			to := b.switchAt(host, e, "target")
			if from != nil && to != nil {
				join(from, to, PathLOC, localGBps)
			}
		})
	}
}

func (b *systemBuilder) switchAt(host int, e *Element, attr string) *vertex {
	s, _ := e.Get(attr)
	id, err := ParseBusID(s)
	if err != nil {
		return nil
	}
	return b.find(kindPCI, host, id)
}

// broadcomGeneration tells which Broadcom switch in base mode a set of PCI ids is, 0 for others. Level 0 is the upper part of
// a switch that shows itself as two levels, 1 the lower.
func broadcomGeneration(device uint64, level uint64) int {
	switch device &^ 0xfff {
	case 0x1000c0101000a000:
		return 4
	case 0x1000c03010000000 | level<<12:
		return 5
	}
	return 0
}

// flattenSwitches makes one switch of those Broadcom switches that show themselves as a tree of two levels, although all
// their ports run at full speed:
//
//	cpu - upper +- lower - GPU         cpu - upper +- GPU
//	            +- lower - NIC    ->               +- NIC
func (b *systemBuilder) flattenSwitches() {
	for again := true; again; {
		again = false
		for _, upper := range b.s.vertices[kindPCI] {
			if gen := broadcomGeneration(upper.device, 0); gen != 0 {
				b.absorb(upper, gen)
				again = true // the list has changed
				break
			}
		}
	}
}

func (b *systemBuilder) absorb(upper *vertex, generation int) {
	var lower []*vertex
	upper.links = slices.DeleteFunc(upper.links, func(l *link) bool {
		below := l.to.kind == kindPCI && broadcomGeneration(l.to.device, 1) == generation
		if below {
			lower = append(lower, l.to)
		}
		return below
	})
	for _, sub := range lower {
		for _, l := range sub.links {
			if l.to == upper {
				continue
			}
			l.from = upper
			upper.links = append(upper.links, l)
			if at := slices.IndexFunc(l.to.links, func(r *link) bool { return r.to == sub }); at >= 0 {
				l.to.links[at].to = upper
			}
		}
		b.drop(sub)
	}
	upper.device |= 0xffff // so that it is not taken again
}

// drop removes a switch and all links to it.
func (b *systemBuilder) drop(gone *vertex) {
	for k := range kinds {
		for _, v := range b.s.vertices[k] {
			v.links = slices.DeleteFunc(v.links, func(l *link) bool { return l.to == gone })
		}
	}
	b.s.vertices[gone.kind] = slices.DeleteFunc(b.s.vertices[gone.kind], func(v *vertex) bool { return v == gone })
}

// joinCPUs joins all processors of one host with the bandwidth of the first end's kind.
func (b *systemBuilder) joinCPUs() {
	for _, one := range b.s.vertices[kindCPU] {
		for _, other := range b.s.vertices[kindCPU] {
			if one != other && one.host == other.host {
				join(one, other, PathSYS, interSocketGBps(one.cpu.arch, one.cpu.vendor, one.cpu.family, one.cpu.model))
			}
		}
	}
}

// uplinkLast moves the link to the upper vertex behind all others, down the whole PCI tree: paths are looked for downwards
// first.
func uplinkLast(v, up *vertex) {
	if up != nil {
		at := slices.IndexFunc(v.links, func(l *link) bool { return l.to == up })
		if at >= 0 {
			l := v.links[at]
			v.links = append(slices.Delete(v.links, at, at+1), l)
		}
	}
	for _, l := range v.links {
		if l.kind == linkPCI && l.to != up {
			uplinkLast(l.to, v)
		}
	}
}
