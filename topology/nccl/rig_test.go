package nccl

import (
	"fmt"
	"strconv"
	"testing"
)

// rig describes a machine to test with: the same switches below every processor, the same GPUs and NICs below every switch.
type rig struct {
	cpus, switches, gpus, nics int
	sm, nvlinks, mbps          int
	vendor                     string
	model                      int
	noSwitch                   bool // GPUs and NICs directly below the processor
	pairs                      bool // NVLink bridges between GPUs 0-1, 2-3 ... instead of NVSwitches
	speed                      string
	gdr                        int
	c2c                        bool
}

// hgx is the usual machine: 8 GPUs and 8 NICs of 400 Gb/s, a switch for each pair.
func hgx(sm int) rig {
	return rig{cpus: 2, switches: 4, gpus: 1, nics: 1, sm: sm, nvlinks: 18, mbps: 400000, vendor: "GenuineIntel", model: 143, speed: "32.0 GT/s PCIe", gdr: 1}
}

func (r rig) xml() *XML {
	x := NewXML()
	gpus, nets := 0, 0
	for c := range r.cpus {
		arch := "x86_64"
		if r.vendor == "" {
			arch = "arm64"
		}
		cpu := x.Root.Add("cpu", "numaid", strconv.Itoa(c), "arch", arch, "vendor", r.vendor, "familyid", "6", "modelid", strconv.Itoa(r.model))
		for s := range r.switches {
			up := cpu
			if !r.noSwitch {
				up = cpu.Add("pci", "busid", fmt.Sprintf("%04x:%02x:00.0", c, 16*s), "class", "0x060400", "link_speed", r.speed, "link_width", "16")
			}
			for range r.gpus {
				r.addGPU(up, gpus, c)
				gpus++
			}
			for range r.nics {
				r.addNIC(up, nets, c)
				nets++
			}
		}
	}
	return x
}

func gpuBus(n int) string { return fmt.Sprintf("00a0:%02x:00.0", n) }

func (r rig) addGPU(up *Element, n, _ int) {
	pci := up.Add("pci", "busid", gpuBus(n), "class", "0x030200", "link_speed", r.speed, "link_width", "16")
	gpu := pci.Add("gpu", "dev", strconv.Itoa(n), "sm", strconv.Itoa(r.sm), "rank", strconv.Itoa(n), "gdr", "1")
	count := strconv.Itoa(r.nvlinks)
	switch {
	case r.nvlinks == 0:
	case r.pairs && n^1 < r.cpus*r.switches*r.gpus:
		gpu.Add("nvlink", "target", gpuBus(n^1), "count", count, "tclass", "0x030200")
	case !r.pairs:
		gpu.Add("nvlink", "target", unknownSwitch, "count", count, "tclass", "0x068000")
	}
	if r.c2c {
		gpu.Add("c2c", "bw", "44712", "count", "10")
	}
}

func (r rig) addNIC(up *Element, n, _ int) {
	pci := up.Add("pci", "busid", fmt.Sprintf("00b0:%02x:00.0", n), "class", "0x020700", "link_speed", r.speed, "link_width", "16")
	pci.Add("nic").Add("net", "name", "mlx5_"+strconv.Itoa(n), "dev", strconv.Itoa(n), "speed", strconv.Itoa(r.mbps), "port", "1", "gdr", strconv.Itoa(r.gdr))
}

func mustSystem(t interface {
	Helper()
	Fatal(...any)
}, x *XML, o Options) *System {
	t.Helper()
	s, err := NewSystem(x, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustSearch(t testing.TB, r rig, nodes int, o Options) Found {
	t.Helper()
	f, err := mustSystem(t, r.xml(), o).Search(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
