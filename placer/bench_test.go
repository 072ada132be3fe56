package placer

import (
	"fmt"
	"testing"

	"github.com/railmap/railmap/topology"
)

// benchCluster has n healthy nodes in leaves of 32 and pods of 512.
func benchCluster(b *testing.B, n int) *Cluster {
	b.Helper()
	topo := &topology.Topology{}
	topo.Tree.Levels = []topology.Level{{Name: "leaf", Efficiency: 1}, {Name: "pod", Efficiency: .92}, {Name: "core", Efficiency: .83}}
	topo.Tree.Groups = []topology.Group{{Name: "core", Level: "core"}}
	for i := 0; i < n; i++ {
		if i%512 == 0 {
			topo.Tree.Groups = append(topo.Tree.Groups, topology.Group{Name: fmt.Sprintf("pod%d", i/512), Level: "pod", Parent: "core", Uplink: new(128.0)})
		}
		if i%32 == 0 {
			topo.Tree.Groups = append(topo.Tree.Groups, topology.Group{Name: fmt.Sprintf("leaf%d", i/32), Level: "leaf", Parent: fmt.Sprintf("pod%d", i/512), Uplink: new(16.0)})
		}
		g := &topo.Tree.Groups[len(topo.Tree.Groups)-1]
		g.Nodes = append(g.Nodes, fmt.Sprintf("node%06d", i))
		topo.Nodes = append(topo.Nodes, topology.Node{Name: fmt.Sprintf("node%06d", i), State: topology.OK})
	}
	c, err := NewCluster(topo, Options{})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkUpdate is the cost of a generation that starts or ends one gang, per node.
func BenchmarkUpdate(b *testing.B) {
	for _, nodes := range []int{10240, 102400} {
		c := benchCluster(b, nodes)
		for _, gang := range []int{1, 32, 256} {
			b.Run(fmt.Sprintf("nodes=%d/gang=%d", nodes, gang), func(b *testing.B) {
				e, _ := NewEngine(c, State{})
				names := c.Names()[nodes/2 : nodes/2+gang]
				for i := 0; i < b.N; i += 2 * gang {
					if err := e.Update(func(tx *Tx) error { return tx.Start(names...) }); err != nil {
						b.Fatal(err)
					}
					if err := e.Update(func(tx *Tx) error { return tx.End(names...) }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkPlace is one answer on an empty cluster.
func BenchmarkPlace(b *testing.B) {
	for _, nodes := range []int{10240, 102400} {
		e, _ := NewEngine(benchCluster(b, nodes), State{})
		for _, gang := range []int{4, 256, 4096} {
			for _, tolerance := range []float64{0, DefaultTolerance} {
				b.Run(fmt.Sprintf("nodes=%d/gang=%d/tolerance=%v", nodes, gang, tolerance), func(b *testing.B) {
					r := &Request{Nodes: gang, Tolerance: tolerance, Brief: true}
					for b.Loop() {
						if _, err := Place(e.Snapshot(), r); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
