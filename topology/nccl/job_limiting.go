package nccl

import "fmt"

// limiting names the first device that is worse than its peers, "" when all are alike: a NIC with a slower port, a narrower
// PCIe link or without GPUDirect RDMA, a GPU with a narrower PCIe link. A device that is missing cannot be seen from here.
func (x *XML) limiting() string {
	if slow := x.slowNIC(); slow != "" {
		return slow
	}
	for _, k := range []pciKind{pciNIC, pciGPU} {
		if odd := x.narrowLink(k); odd != "" {
			return odd
		}
	}
	return x.withoutGDR()
}

// slowNIC names the first net that is slower than the fastest one.
func (x *XML) slowNIC() string {
	type net struct {
		name  string
		speed int
	}
	var slow net
	fastest := 0
	var nets []net
	x.Root.walk(func(e *Element, _ []*Element) {
		if e.Name != "net" {
			return
		}
		speed, err := e.number("speed", 0)
		if err != nil || speed <= 0 {
			return
		}
		name, _ := e.Get("name")
		nets = append(nets, net{name, speed})
		fastest = max(fastest, speed)
	})
	for _, n := range nets {
		if n.speed < fastest && slow.name == "" {
			slow = n
		}
	}
	if slow.name == "" {
		return ""
	}
	return fmt.Sprintf("%s at %g Gb/s, others at %g", slow.name, float64(slow.speed)/1000, float64(fastest)/1000)
}

// narrowLink names the first function of a kind whose PCIe link is slower than that of the fastest.
func (x *XML) narrowLink(k pciKind) string {
	speedOf := func(e *Element) float32 {
		speed, _ := e.Get("link_speed")
		width, _ := e.number("link_width", 0)
		return pcieGBps(speed, width)
	}
	devices := x.functions(k)
	fastest := float32(0)
	for _, e := range devices {
		fastest = max(fastest, speedOf(e))
	}
	for i, e := range devices {
		if s := speedOf(e); s < fastest {
			return fmt.Sprintf("%s has a PCIe link of %g GB/s, others %g", deviceName(e, k, i), s, fastest)
		}
	}
	return ""
}

// deviceName is what people call a device: the name of its first net, or GPU and number in file order.
func deviceName(e *Element, k pciKind, number int) string {
	if k == pciGPU {
		return fmt.Sprintf("GPU %d", number)
	}
	if nic := e.Child("nic"); nic != nil && nic.Child("net") != nil {
		if name, _ := nic.Child("net").Get("name"); name != "" {
			return name
		}
	}
	return e.label()
}

// withoutGDR names the first net without GPUDirect RDMA where others have it.
func (x *XML) withoutGDR() string {
	first, others := "", false
	x.Root.walk(func(e *Element, _ []*Element) {
		if e.Name != "net" {
			return
		}
		if gdr, _ := e.number("gdr", 0); gdr != 0 {
			others = true
		} else if first == "" {
			first, _ = e.Get("name")
		}
	})
	if first == "" || !others {
		return ""
	}
	return first + " has no GPUDirect RDMA, others do"
}
