package nccl

import (
	"bytes"
	"fmt"
	"testing"
)

// vectorSystem builds the machine of a vectors row.
func vectorSystem(t testing.TB, xml, env string) *System {
	t.Helper()
	fill, err := ParseFill(env)
	if err != nil {
		t.Fatal(err)
	}
	x, err := Fill(corpusXML(t, xml), fill)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSystem(x, Options{})
	if err != nil {
		t.Fatalf("%s: %v", xml, err)
	}
	return s
}

// TestSearchVectors holds the search against NCCL's own, for every machine and node count.
func TestSearchVectors(t *testing.T) {
	rows, err := ReadVectors(corpus(t, "vectors.csv"))
	if err != nil {
		t.Fatal(err)
	}
	type key struct {
		xml, env string
		nodes    int
	}
	seen := map[key]bool{}
	for _, v := range rows {
		k := key{v.XML, v.Env, v.Nodes}
		if seen[k] {
			continue
		}
		seen[k] = true
		s := vectorSystem(t, v.XML, v.Env)
		f, err := s.Search(v.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := f.Graphs.Tuple(), v.Graphs.Tuple(); got != want || f.Tree.Pattern != v.Graphs.Tree.Pattern {
			t.Errorf("%s n=%d:\n got %s tree pattern %d\nwant %s tree pattern %d", v.XML, v.Nodes, got, f.Tree.Pattern, want, v.Graphs.Tree.Pattern)
		}
	}
}

// TestSearchBadNodes holds the search against NCCL's own on a machine with one fault.
func TestSearchBadNodes(t *testing.T) {
	rows, err := ReadBadNodes(corpus(t, "bad_node_vectors.csv"))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Fill(corpusXML(t, "azure-ndv5-8xH100-topo.xml"), FillOptions{SM: 90, NVLinks: 18, SpeedMbps: 400000})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, v := range rows {
		if seen[v.BadNode] {
			continue
		}
		seen[v.BadNode] = true
		x, err := WithFault(whole, Fault(v.BadNode), faultDevice)
		if err != nil {
			t.Fatal(err)
		}
		g, err := GraphsFor(x, v.Nodes, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := g.Tuple(), v.Graphs.Tuple(); got != want {
			t.Errorf("%s n=%d:\n got %s\nwant %s", v.BadNode, v.Nodes, got, want)
		}
	}
}

// TestSearchMachines holds the graphs of usual machines where the corpus is absent; the first four are those that NCCL 2.30.7
// finds on machines of the same make.
func TestSearchMachines(t *testing.T) {
	a100 := rig{cpus: 4, switches: 1, gpus: 2, nics: 2, sm: 80, nvlinks: 12, mbps: 200000, vendor: "AuthenticAMD", model: 49, speed: "16.0 GT/s PCIe", gdr: 1}
	shared := rigWith(hgx(90), func(r *rig) { r.switches, r.gpus = 2, 2 })
	ec2 := rigWith(hgx(90), func(r *rig) { r.nics, r.mbps = 4, 100000 })
	double := rigWith(hgx(90), func(r *rig) { r.nics, r.mbps = 2, 200000 })
	for _, tt := range []struct {
		name       string
		r          rig
		one, two   string
		oneP, twoP Pattern
	}{
		{"8xH100 8x400G", hgx(90), "12 30 30 1 4 0 12 30 30 1 4 0 8 40 60 1 4 0", "8 48 48 1 4 2 8 48 48 1 4 0 8 40 48 1 4 0", 1, 3},
		{"8xH100 4x400G", shared, "12 30 30 1 4 0 12 30 30 1 4 0 8 40 60 1 4 0", "8 24 24 1 4 0 8 48 24 1 4 0 4 48 48 1 4 0", 1, 1},
		{"8xH100 32x100G", ec2, "12 30 30 1 4 0 12 30 30 1 4 0 8 40 60 1 4 0", "32 12 12 1 4 2 32 12 12 1 4 0 8 12 12 1 4 0", 1, 3},
		{"8xA100 8x200G", a100, "12 20 20 1 4 0 12 20 20 1 4 0 0 0 0 0 0 0", "8 24 24 1 4 0 8 30 24 1 4 0 0 0 0 0 0 0", 1, 1},
		{"8xB200 8x400G", hgx(100), "16 45 45 1 4 0 16 45 45 1 4 0 8 80 90 1 4 0", "8 48 48 1 7 0 8 96 48 1 4 0 8 48 48 1 4 0", 1, 3},
		{"8xH100 16x200G", double, "12 30 30 1 4 0 12 30 30 1 4 0 8 40 60 1 4 0", "16 24 24 1 4 2 16 24 24 1 4 0 8 24 24 1 4 0", 1, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for nodes, want := range map[int]string{1: tt.one, 2: tt.two, 1000: tt.two} {
				f := mustSearch(t, tt.r, nodes, Options{})
				pattern := tt.twoP
				if nodes == 1 {
					pattern = tt.oneP
				}
				if f.Tuple() != want || f.Tree.Pattern != pattern {
					t.Errorf("%d nodes: %s tree pattern %d, want %s %d", nodes, f.Tuple(), f.Tree.Pattern, want, pattern)
				}
			}
		})
	}
}

func BenchmarkSearch(b *testing.B) {
	pcie := rigWith(hgx(80), func(r *rig) { r.nvlinks = 0 })
	wide := rigWith(hgx(90), func(r *rig) { r.switches, r.nics, r.mbps = 8, 2, 200000 })
	for _, m := range []struct {
		name string
		r    rig
	}{
		{"8xH100-8NIC", hgx(90)},
		{"8xB200-8NIC", hgx(100)},
		{"8xH100-4NIC", rigWith(hgx(90), func(r *rig) { r.switches, r.gpus = 2, 2 })},
		{"8xH100-32NIC", rigWith(hgx(90), func(r *rig) { r.nics, r.mbps = 4, 100000 })},
		{"8xPCIe-8NIC", pcie},
		{"16xH100-32NIC", wide},
		{"16xPCIe-32NIC", rigWith(wide, func(r *rig) { r.nvlinks = 0 })},
	} {
		for _, nodes := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/nodes=%d", m.name, nodes), func(b *testing.B) {
				s := mustSystem(b, m.r.xml(), Options{})
				for b.Loop() {
					if _, err := s.Search(nodes); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkNewSystem(b *testing.B) {
	x := hgx(90).xml()
	for b.Loop() {
		if _, err := NewSystem(x, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzSystem builds and searches whatever reads as a topology file, if it is small.
func FuzzSystem(f *testing.F) {
	for _, r := range []rig{rigWith(hgx(90), func(r *rig) { r.switches = 1 }), {cpus: 1, switches: 1, gpus: 2, nics: 1, sm: 80, nvlinks: 4, pairs: true, mbps: 100000, vendor: "AuthenticAMD", speed: "16.0 GT/s PCIe"}} {
		var b bytes.Buffer
		if err := r.xml().Write(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := ReadXML(bytes.NewReader(data))
		if err != nil {
			return
		}
		if x, err = Fill(x, FillOptions{SM: 90, NVLinks: 4, SpeedMbps: 100000}); err != nil {
			return
		}
		x.Digest()
		ToReport(x, "node")
		s, err := NewSystem(x, Options{})
		if err != nil || s.GPUs() > 4 || s.Nets() > 4 {
			return
		}
		for _, nodes := range []int{1, 2} {
			if _, err := s.Search(nodes); err != nil && (nodes == 1 || s.Nets() > 0) {
				t.Fatalf("%d nodes: %v", nodes, err)
			}
		}
	})
}
