package nccl

import (
	"strings"
	"testing"
)

// TestFuseNICs holds p5-like machines, 4 NICs of 100 Gb/s beside each GPU: fused they are one of 400, and NCCL finds what it
// finds on eight such NICs.
func TestFuseNICs(t *testing.T) {
	ec2 := rigWith(hgx(90), func(r *rig) { r.nics, r.mbps = 4, 100000 })
	x, err := FuseNICs(ec2.xml(), FuseNICOptions{Level: PathPIX})
	if err != nil {
		t.Fatal(err)
	}
	s := mustSystem(t, x, Options{})
	if s.Nets() != 8 {
		t.Fatalf("%d NICs, want 8", s.Nets())
	}
	if v := s.vertices[kindNet][0]; v.net.name != "mlx5_0+mlx5_1+mlx5_2+mlx5_3" || v.net.bw != 50 || v.dev != 32 {
		t.Errorf("first NIC is %q dev %d, %g GB/s", v.net.name, v.dev, v.net.bw)
	}
	f, err := s.Search(2)
	if err != nil {
		t.Fatal(err)
	}
	if want := mustSearch(t, hgx(90), 2, Options{}).Tuple(); f.Tuple() != want {
		t.Errorf("graphs %s, want %s", f.Tuple(), want)
	}
}

func TestFuseNICsLevels(t *testing.T) {
	doc := `<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel"><pci busid="0000:10:00.0" class="0x060400" link_width="16">
<pci busid="0000:11:00.0" class="0x020700" link_width="16"><nic><net name="a" dev="0" speed="1000" gdr="1" rail="0"/><net name="b" dev="1" speed="2000" gdr="0" rail="1"/></nic></pci>
<pci busid="0000:11:00.1" class="0x020700" link_width="8"><nic><net name="c" dev="2" speed="4000" gdr="1" rail="0"/></nic></pci>
<pci busid="0000:12:00.0" class="0x020700" link_width="8"><nic><net name="d" dev="3" speed="8000" gdr="1"/></nic></pci></pci>
<pci busid="0000:20:00.0" class="0x020700" link_width="4"><nic><net name="e" dev="4" speed="16000" gdr="1"/></nic></pci></cpu>
<cpu numaid="1" arch="x86_64" vendor="GenuineIntel"><pci busid="0000:30:00.0" class="0x020700"><nic><net name="f" dev="5" speed="32000" gdr="1"/></nic></pci></cpu></system>`
	names := func(x *XML) string {
		var out []string
		x.Root.walk(func(e *Element, above []*Element) {
			if e.Name == "net" {
				name, _ := e.Get("name")
				speed, _ := e.Get("speed")
				width, _ := above[len(above)-2].Get("link_width")
				out = append(out, name+"="+speed+" x"+width)
			}
		})
		return strings.Join(out, ", ")
	}
	for _, tt := range []struct {
		name string
		o    FuseNICOptions
		want string
	}{
		{"off", FuseNICOptions{}, "a=1000 x16, b=2000 x16, c=4000 x8, d=8000 x8, e=16000 x4, f=32000 x"},
		{"port", FuseNICOptions{Level: PathNVL}, "d=8000 x8, a+b+c=7000 x16, e=16000 x4, f=32000 x"},
		{"port, same rail", FuseNICOptions{Level: PathNVL, SameRail: true}, "b=2000 x16, d=8000 x8, a+c=5000 x16, e=16000 x4, f=32000 x"},
		{"switch", FuseNICOptions{Level: PathPIX}, "a+b+c+d=15000 x48, e=16000 x4, f=32000 x"},
		{"switch, two at most", FuseNICOptions{Level: PathPIX, Most: 2}, "a+b=3000 x16, c+d=12000 x16, e=16000 x4, f=32000 x"},
		{"processor", FuseNICOptions{Level: PathPHB, Most: 9}, "a+b+c+d+e=31000 x52, f=32000 x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, err := FuseNICs(mustRead(t, doc), tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(x); got != tt.want {
				t.Errorf("ports %s, want %s", got, tt.want)
			}
		})
	}
	if _, err := FuseNICs(mustRead(t, doc), FuseNICOptions{Level: PathSYS, Most: 9}); err == nil || !strings.Contains(err.Error(), "another processor") {
		t.Errorf("across processors: error %v", err)
	}
}
