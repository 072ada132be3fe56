package nccl

import (
	"fmt"
	"testing"
	"time"
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
		t0 := time.Now()
		s := vectorSystem(t, v.XML, v.Env)
		t1 := time.Now()
		f, err := s.Search(v.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s n=%d %v %v", v.XML, v.Nodes, t1.Sub(t0), time.Since(t1))
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
	for _, v := range rows {
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

func BenchmarkSearch(b *testing.B) {
	for _, m := range []struct{ name, xml, env string }{
		{"8xH100-8NIC", "gen-h8x8.xml", "SM=90 NVL=18 SPEED=400000"},
		{"8xH100-4NIC", "gen-h8x4g2.xml", "SM=90 NVL=18 SPEED=400000"},
		{"8xH100-32NIC", "gen-h8x32.xml", "SM=90 NVL=18 SPEED=100000"},
		{"8xA100-8NIC", "azure-ndv4-8xA100-topo.xml", "SM=80 NVL=12 SPEED=200000"},
		{"8xB200-8NIC", "gen-b8x8.xml", "SM=100 NVL=18 SPEED=400000"},
	} {
		for _, nodes := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/nodes=%d", m.name, nodes), func(b *testing.B) {
				s := vectorSystem(b, m.xml, m.env)
				for b.Loop() {
					if _, err := s.Search(nodes); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
