package nccl

import (
	"fmt"
	"strconv"
	"strings"
)

// XML draws the usual machine of an outline: what its makers build, with GPUDirect RDMA and full PCIe links everywhere.
//
//	NVSwitch, Hopper on     cpu - switch - GPU, NIC(s)      a PCIe switch for every GPU (8 switches on 2 processors), or for
//	                                                        every NIC where there are fewer
//	NVSwitch, before        cpu - switch - 2 GPUs, NICs
//	Grace                   cpu - C2C - 2 GPUs, NICs        4 GPUs a host; more are one NVLink domain
//	PCIe                    cpu - GPUs, NICs
//
// NICs are spread evenly; the slow ones are the last.
func (s NodeSpec) XML() *XML {
	s = s.complete()
	d := drawing{spec: s, traits: traitsOf(s.GPUModel), xml: NewXML()}
	if !d.grace() {
		d.host(0, s.GPUs, 0, s.NICs, 0)
		return d.xml
	}
	hosts := (s.GPUs + graceGPUs - 1) / graceGPUs
	for h := range hosts {
		d.host(h*graceGPUs, min((h+1)*graceGPUs, s.GPUs), h*s.NICs/hosts, (h+1)*s.NICs/hosts, h)
	}
	return d.xml
}

// graceGPUs is the number of GPUs of a Grace Blackwell tray.
const graceGPUs = 4

// drawing is a machine in the making.
type drawing struct {
	spec   NodeSpec
	traits gpuTraits
	xml    *XML
}

func (d *drawing) grace() bool { return strings.HasPrefix(d.traits.word, "G") }

// host draws the GPUs and NICs with numbers from first up to last of one host.
func (d *drawing) host(firstGPU, lastGPU, firstNIC, lastNIC, host int) {
	groups := d.groups(lastGPU-firstGPU, lastNIC-firstNIC)
	sockets := min(2, groups)
	var at []*Element
	for socket := range sockets {
		cpu := d.processor(host, socket)
		for g := socket * groups / sockets; g < (socket+1)*groups/sockets; g++ {
			at = append(at, d.group(cpu, host, g))
		}
	}
	for i := firstGPU; i < lastGPU; i++ {
		d.gpu(at[(i-firstGPU)*groups/(lastGPU-firstGPU)], i, i-firstGPU, host)
	}
	nics := lastNIC - firstNIC
	spread := nics
	if nics < groups && groups%nics != 0 {
		spread = groups // the last groups have none
	}
	for i := firstNIC; i < lastNIC; i++ {
		d.nic(at[(i-firstNIC)*groups/spread], i, i-firstNIC)
	}
}

// groups is the number of PCIe switches of a host, or of processors where devices hang on them.
func (d *drawing) groups(gpus, nics int) int {
	switch {
	case d.grace() || d.traits.links == 0:
		return min(2, gpus)
	case nics < gpus && gpus%nics == 0:
		return nics
	case d.traits.sm < 90 && gpus%2 == 0:
		return gpus / 2
	}
	return gpus
}

func (d *drawing) processor(host, socket int) *Element {
	c := d.spec.CPU
	cpu := d.xml.Root.Add("cpu", "host_hash", fmt.Sprintf("0x%x", host+1), "numaid", strconv.Itoa(socket), "arch", c.Arch)
	if c.Arch == "x86_64" {
		family, model := "6", "143" // Sapphire Rapids
		if c.amd() {
			family, model = "175", "1" // EPYC Genoa
		}
		for _, a := range []Attr{{"vendor", c.Vendor}, {"familyid", family}, {"modelid", model}} {
			cpu.Set(a.Name, a.Value)
		}
	}
	return cpu
}

// group is where some GPUs and NICs hang: a switch, or the processor itself.
func (d *drawing) group(cpu *Element, host, number int) *Element {
	if d.grace() || d.traits.links == 0 {
		return cpu
	}
	return cpu.Add("pci", "busid", busID(0xff00+host, number, 0), "class", "0x060400", "link_speed", d.speed(), "link_width", "16")
}

func (d *drawing) gpu(at *Element, number, local, host int) {
	n := strconv.Itoa(local)
	pci := at.Add("pci", "busid", busID(0xa000+host, local, 0), "class", "0x030200", "link_speed", d.speed(), "link_width", "16")
	gpu := pci.Add("gpu", "dev", n, "sm", strconv.Itoa(d.traits.sm), "rank", strconv.Itoa(number), "gdr", "1")
	if d.traits.links > 0 {
		gpu.Add("nvlink", "target", unknownSwitch, "count", strconv.Itoa(d.traits.links), "tclass", "0x068000")
	}
	if d.grace() {
		gpu.Add("c2c", "bw", assumedC2CMbps, "count", assumedC2CLinks)
	}
}

func (d *drawing) nic(at *Element, number, local int) {
	rate := d.spec.NICBytesPerSecond
	if number >= d.spec.NICs-d.spec.SlowNICs {
		rate = d.spec.SlowBytesPerSecond
	}
	n := strconv.Itoa(local)
	pci := at.Add("pci", "busid", busID(0xb000, number, 0), "class", "0x020700", "link_speed", d.speed(), "link_width", "16")
	pci.Add("nic").Add("net", "name", "mlx5_"+n, "dev", n, "speed", strconv.Itoa(int(rate*8/1e6+.5)), "port", "1", "gdr", "1")
}

// speed is the PCIe generation of the GPU, or the one that the NICs need.
func (d *drawing) speed() string {
	generation := 5
	switch {
	case d.traits.sm < 80:
		generation = 3
	case d.traits.sm < 90:
		generation = 4
	}
	for generation < 6 && float64(pcieGBps(linkSpeed(pcieTransfers[generation]), 16)) < .9*d.spec.NICBytesPerSecond/1e9 {
		generation++
	}
	return linkSpeed(pcieTransfers[generation])
}

func busID(domain, bus, device int) string {
	return fmt.Sprintf("%04x:%02x:%02x.0", domain, bus, device)
}
