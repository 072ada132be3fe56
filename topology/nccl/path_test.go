package nccl

import (
	"math"
	"strings"
	"testing"
)

func (s *System) peer(a, b int) path  { return s.vertices[kindGPU][a].paths[kindGPU][b] }
func (s *System) toNet(g, n int) path { return s.vertices[kindGPU][g].paths[kindNet][n] }
func (s *System) toGPU(n, g int) path { return s.vertices[kindNet][n].paths[kindGPU][g] }

// change applies f to all elements of a name.
func change(x *XML, name string, f func(e *Element)) *XML {
	x.Root.walk(func(e *Element, _ []*Element) {
		if e.Name == name {
			f(e)
		}
	})
	return x
}

// TestPathTypes holds what NCCL calls the way between two devices, with its bandwidth and hops.
func TestPathTypes(t *testing.T) {
	plain := hgx(90)
	plain.nvlinks = 0
	amd := plain
	amd.vendor, amd.speed = "AuthenticAMD", "16.0 GT/s PCIe"
	small := amd
	small.cpus, small.switches = 2, 1
	bridged := plain
	bridged.pairs, bridged.nvlinks, bridged.sm = true, 4, 80
	bare := plain
	bare.noSwitch = true
	shared := plain
	shared.gpus = 2
	pn, gn := func(a, b int) func(*System) path { return func(s *System) path { return s.peer(a, b) } },
		func(g, n int) func(*System) path { return func(s *System) path { return s.toNet(g, n) } }
	ng := func(n, g int) func(*System) path { return func(s *System) path { return s.toGPU(n, g) } }
	for _, tt := range []struct {
		name string
		x    *XML
		o    Options
		path func(*System) path
		kind PathType
		bw   float32
		hops int
	}{
		{"NVSwitch", hgx(90).xml(), Options{}, pn(0, 7), PathNVL, 18 * 20.6, 4},
		{"NVLink bridge", bridged.xml(), Options{}, pn(0, 1), PathNVL, 80, 3},
		{"one switch", shared.xml(), Options{}, pn(0, 1), PathPIX, 48, 4},
		{"host bridge, through the processor", plain.xml(), Options{}, pn(0, 1), PathPHB, 48, 6},
		{"sockets, Sapphire Rapids", plain.xml(), Options{}, pn(0, 7), PathSYS, 22, 7},
		{"sockets, EPYC", amd.xml(), Options{}, pn(0, 7), PathSYS, 16, 7},
		{"two GPUs on EPYC reach each other", small.xml(), Options{}, pn(0, 1), PathSYS, 16, 7},
		{"NIC below the same switch", plain.xml(), Options{}, gn(0, 0), PathPIX, 48, 4},
		{"NIC below another switch", plain.xml(), Options{}, gn(0, 1), PathPHB, 48, 6},
		{"NIC of another GPU, over NVLink", hgx(90).xml(), Options{}, gn(0, 1), PathPXN, 48, 0},
		{"the way back takes no relay", hgx(90).xml(), Options{}, ng(1, 0), PathPHB, 48, 6},
		{"no relay when PXN is off", hgx(90).xml(), Options{NoPXN: true}, gn(0, 1), PathPHB, 48, 6},
		{"no GPUDirect: through the processor", rigWith(hgx(90), func(r *rig) { r.gdr = 0 }).xml(), Options{}, gn(0, 0), PathPHB, 48, 0},
		{"no GPUDirect on this path", hgx(90).xml(), Options{NetGDRLevel: ref(PathLOC)}, gn(0, 0), PathPHB, 48, 0},
		{"NIC and GPU at the processor", bare.xml(), Options{}, gn(0, 0), PathPHB, 48, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.path(mustSystem(t, tt.x, tt.o))
			if p.kind != tt.kind || math.Abs(float64(p.bw-tt.bw)) > .001 || tt.hops != 0 && len(p.links) != tt.hops {
				t.Errorf("path %s %g GB/s %d hops, want %s %g %d", p.kind, p.bw, len(p.links), tt.kind, tt.bw, tt.hops)
			}
		})
	}
}

func rigWith(r rig, f func(*rig)) rig {
	f(&r)
	return r
}

// TestNVB holds relays over one neighbour: a chain 0-1-2 of NVLink bridges joins 0 and 2, and 0-1-2-3 does not join 0 and 3.
func TestNVB(t *testing.T) {
	r := hgx(80)
	r.cpus, r.nvlinks, r.nics = 1, 0, 0
	x := r.xml()
	gpus := x.functions(pciGPU)
	join := func(a, b int) {
		for _, ends := range [][2]int{{a, b}, {b, a}} {
			gpus[ends[0]].Child("gpu").Add("nvlink", "target", gpuBus(ends[1]), "count", "4", "tclass", "0x030200")
		}
	}
	join(0, 1)
	join(1, 2)
	join(2, 3)
	s := mustSystem(t, x, Options{})
	if p := s.peer(0, 2); p.kind != PathNVB || p.bw != 80 {
		t.Errorf("0 to 2: %s %g, want NVB 80", p.kind, p.bw)
	}
	if p := s.peer(0, 3); p.kind != PathPHB {
		t.Errorf("0 to 3: %s, want PHB", p.kind)
	}
	if p := mustSystem(t, x, Options{NoNVB: true}).peer(0, 2); p.kind != PathPHB {
		t.Errorf("0 to 2 without NVB: %s, want PHB", p.kind)
	}
}

// TestC2C holds Grace: the GPU reaches the NIC at its processor over C2C and PCIe (P2C), other NICs over a relay.
func TestC2C(t *testing.T) {
	r := hgx(100)
	r.cpus, r.switches, r.noSwitch, r.vendor, r.c2c = 4, 1, true, "", true
	s := mustSystem(t, r.xml(), Options{})
	if p := s.toNet(0, 0); p.kind != PathP2C || p.bw != 48 {
		t.Errorf("own NIC: %s %g, want P2C 48", p.kind, p.bw)
	}
	if p := s.toNet(0, 1); p.kind != PathPXN {
		t.Errorf("other NIC: %s, want PXN over its GPU", p.kind)
	}
	if p := mustSystem(t, r.xml(), Options{NoNetGDRC2C: true}).toNet(0, 0); p.kind < PathP2C {
		t.Errorf("own NIC without GPUDirect over C2C: %s", p.kind)
	}
	f, err := s.Search(2)
	if err != nil {
		t.Fatal(err)
	}
	if f.Ring.TypeInter < PathP2C {
		t.Errorf("ring %s, want a path of P2C or worse to the NICs", f.Tuple())
	}
}

// TestGPUDirectRead holds that GPUs before Ampere send over GPUDirect RDMA only beside NVLink: without it a relay is no help.
func TestGPUDirectRead(t *testing.T) {
	r := hgx(70)
	r.nvlinks = 0
	s := mustSystem(t, r.xml(), Options{})
	g, n := s.vertices[kindGPU][0], s.vertices[kindNet][0]
	if s.gpuDirect(g, n, true) || !s.gpuDirect(g, n, false) {
		t.Errorf("Volta without NVLink: read %v write %v, want write only", s.gpuDirect(g, n, true), s.gpuDirect(g, n, false))
	}
	r.nvlinks = 6
	s = mustSystem(t, r.xml(), Options{})
	if !s.gpuDirect(s.vertices[kindGPU][0], s.vertices[kindNet][0], true) {
		t.Error("Volta with NVLink must read")
	}
}

// TestLocalNets holds which NICs a GPU uses.
func TestLocalNets(t *testing.T) {
	apart := rigWith(hgx(90), func(r *rig) { r.nics = 2 })
	together := rigWith(hgx(90), func(r *rig) { r.cpus, r.switches, r.gpus, r.nics = 1, 1, 4, 8 })
	few := rigWith(hgx(90), func(r *rig) { r.cpus, r.switches, r.gpus, r.nics = 1, 1, 4, 2 })
	for _, tt := range []struct {
		name string
		r    rig
		o    Options
		want [][]int
	}{
		{"two a GPU", apart, Options{}, [][]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}}},
		{"shared, starts mirrored", together, Options{}, [][]int{{0, 1}, {4, 5}, {2, 3}, {6, 7}}},
		{"fewer than GPUs", few, Options{}, [][]int{{0}, {1}, {0}, {1}}},
		{"all", together, Options{NetDevicesPolicy: NetDevsAll}, [][]int{{0, 1, 2, 3, 4, 5, 6, 7}}},
		{"one at most", together, Options{NetDevicesPolicy: NetDevsMax, NetDevicesMax: 1}, [][]int{{0}, {4}, {2}, {6}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustSystem(t, tt.r.xml(), tt.o)
			for g, want := range tt.want {
				got := s.localNets(s.vertices[kindGPU][g])
				if len(got) != len(want) {
					t.Fatalf("GPU %d uses %v, want %v", g, got, want)
				}
				for i := range want {
					if got[i] != want[i] {
						t.Errorf("GPU %d uses %v, want %v", g, got, want)
						break
					}
				}
			}
		})
	}
}

// TestFlattenSwitches holds Broadcom switches that show themselves as two levels: GPU and NIC below different lower parts
// are one switch apart.
func TestFlattenSwitches(t *testing.T) {
	machine := func(upper, lower string) *XML {
		return mustRead(t, `<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">
<pci busid="0000:10:00.0" class="0x060400" vendor="0x1000" device="`+upper[:6]+`" subsystem_vendor="0x1000" subsystem_device="`+upper[7:]+`" link_speed="16.0 GT/s PCIe" link_width="16">
<pci busid="0000:11:00.0" class="0x060400" vendor="0x1000" device="`+lower[:6]+`" subsystem_vendor="0x1000" subsystem_device="`+lower[7:]+`" link_speed="16.0 GT/s PCIe" link_width="16">
<pci busid="0000:12:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="0" sm="80" rank="0" gdr="1"/></pci></pci>
<pci busid="0000:13:00.0" class="0x060400" vendor="0x1000" device="`+lower[:6]+`" subsystem_vendor="0x1000" subsystem_device="`+lower[7:]+`" link_speed="16.0 GT/s PCIe" link_width="16">
<pci busid="0000:14:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16"><nic><net name="mlx5_0" dev="0" speed="200000" port="1" gdr="1"/></nic></pci></pci>
</pci></cpu></system>`)
	}
	for _, tt := range []struct {
		name, upper, lower string
		want               PathType
	}{
		{"PEX Gen4", "0xc010 0xa096", "0xc010 0xa096", PathPIX},
		{"PEX Gen5", "0xc030 0x0100", "0xc030 0x1100", PathPIX},
		{"PEX Gen5, both upper", "0xc030 0x0100", "0xc030 0x0100", PathPXB},
		{"others", "0xc012 0xa096", "0xc012 0xa096", PathPXB},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustSystem(t, machine(tt.upper, tt.lower), Options{})
			if p := s.toNet(0, 0); p.kind != tt.want {
				t.Errorf("GPU to NIC is %s, want %s", p.kind, tt.want)
			}
		})
	}
}

func TestSystemErrors(t *testing.T) {
	gpu := func(attrs, inside string) string {
		return `<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel"><pci busid="0000:01:00.0" class="0x0302"><gpu ` + attrs + `>` + inside + `</gpu></pci><pci busid="0000:02:00.0" class="0x0302"><gpu dev="1" sm="90" rank="1"/></pci></cpu></system>`
	}
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", `<system version="1"/>`, "no gpu element with a rank"},
		{"no rank", `<system version="1"><cpu numaid="0"><pci busid="0" class="0x03"><gpu dev="0" sm="90"/></pci></cpu></system>`, "no gpu element with a rank"},
		{"no sm", gpu(`dev="0" rank="0"`, ""), "has no sm"},
		{"negative dev", gpu(`dev="-1" rank="0" sm="90"`, ""), "must not be negative"},
		{"partition", gpu(`dev="0" rank="0" sm="90" mlopart="2"`, ""), "mlopart is 2"},
		{"negative count", gpu(`dev="0" rank="0" sm="90"`, `<nvlink target="0000:02:00.0" count="-4" tclass="0x0302"/>`), "count is -4"},
		{"one way", gpu(`dev="0" rank="0" sm="90"`, `<nvlink target="0000:02:00.0" count="4" tclass="0x0302"/>`), "and not back"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, err := ReadXML(strings.NewReader(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := NewSystem(x, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	crowd := rigWith(hgx(90), func(r *rig) { r.gpus = 40 }).xml()
	if _, err := NewSystem(crowd, Options{}); err == nil || !strings.Contains(err.Error(), "320 gpu elements") {
		t.Errorf("320 GPUs: %v", err)
	}
	crowd = rigWith(hgx(90), func(r *rig) { r.gpus, r.nvlinks = 9, 0 }).xml()
	if _, err := NewSystem(crowd, Options{}); err == nil || !strings.Contains(err.Error(), "72 GPUs without NVSwitch") {
		t.Errorf("72 GPUs on PCIe: %v", err)
	}
	s := mustSystem(t, rigWith(hgx(90), func(r *rig) { r.nics = 0 }).xml(), Options{})
	if _, err := s.Search(2); err == nil || !strings.Contains(err.Error(), "no net element") {
		t.Errorf("two nodes without NICs: %v", err)
	}
	if _, err := s.Search(0); err == nil {
		t.Error("no nodes: no error")
	}
	if _, err := NewSystem(hgx(90).xml(), Options{CrossNIC: ref(3)}); err == nil {
		t.Error("crossNic 3: no error")
	}
	if _, err := NewSystem(hgx(90).xml(), Options{NetDevicesPolicy: NetDevsMax}); err == nil {
		t.Error("MAX:0: no error")
	}
}

// TestTolerance holds what NCCL refuses or doubts and this package reads: a cpu without arch, blank link speeds, a NIC listed
// below two processors.
func TestTolerance(t *testing.T) {
	x := change(hgx(90).xml(), "cpu", func(e *Element) { e.Attrs = e.Attrs[:1] })
	if s := mustSystem(t, x, Options{}); s.Processor().Arch != "x86_64" {
		t.Errorf("cpu without arch counts as %q, want x86_64", s.Processor().Arch)
	}
	x = change(hgx(90).xml(), "pci", func(e *Element) { e.Set("link_speed", ""); e.Set("link_width", "0") })
	if p := mustSystem(t, x, Options{}).toNet(0, 0); p.bw != 12 {
		t.Errorf("blank link counts as %g GB/s, want 12 (Gen3 x16)", p.bw)
	}
	x = change(rigWith(hgx(90), func(r *rig) { r.nics = 0 }).xml(), "cpu", func(e *Element) {
		e.Add("nic").Add("net", "name", "eth0", "dev", "0", "speed", "10000")
	})
	s := mustSystem(t, x, Options{})
	f, err := s.Search(2)
	if err != nil {
		t.Fatal(err)
	}
	if s.Nets() != 2 || f.Ring.Channels == 0 || f.Ring.BwInter != 1.2 {
		t.Errorf("one NIC listed twice: %d nets, %s", s.Nets(), f.Tuple())
	}
}
