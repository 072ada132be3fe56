package placer

import (
	"strings"
	"testing"

	"github.com/railmap/railmap/topology"
)

// FuzzRequest reads any request document and places it: an error or a placement that keeps the request's word, no panic.
func FuzzRequest(f *testing.F) {
	head := "apiVersion: railmap.dev/v1\nkind: PlacementRequest\n"
	f.Add(head + "nodes: 4\nexclude: [l0n0]\nwithin: pod\n")
	f.Add(head + "gpus: 16\ngpusPerNode: 4\ncollective: all-to-all\ntolerance: .02\n")
	f.Add(head + "nodes: 6\nsegmentNodes: 3\ncollective: mixed\nweights: {ring: 1, tree: 2}\n")
	f.Add(head + "nodes: 2\ngpusPerNode: 8\nlayout: {tensor: 8, pipeline: 2, data: 1}\nchooseSegment: true\n")
	f.Add(`{"apiVersion":"railmap.dev/v1","kind":"PlacementRequest","nodes":3,"durationSeconds":10,"brief":true}`)
	topo := fuzzTopology()
	c, err := NewCluster(topo, Options{})
	if err != nil {
		f.Fatal(err)
	}
	end := 60.0
	s, err := c.Snapshot(State{Busy: []string{"n3"}, UsedGPUs: map[string][]int{"n5": {0, 1}}, Gangs: []Gang{{Name: "a", Nodes: []string{"n0", "n6"}, EndSeconds: &end}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r Request
		if topology.Read(strings.NewReader(text), "request", &r) != nil {
			return
		}
		p, err := Place(s, &r)
		if err != nil {
			return
		}
		if len(p.Nodes) != r.size() || p.Share < 0 || p.Loss < 0 || p.Loss > 1 {
			t.Errorf("%+v for %+v", p, r)
		}
	})
}

func fuzzTopology() *topology.Topology {
	t := &topology.Topology{}
	t.Tree.Levels = []topology.Level{{Name: "leaf", Efficiency: 1}, {Name: "pod", Efficiency: .9}}
	t.Tree.Groups = []topology.Group{{Name: "p", Level: "pod"}, {Name: "a", Level: "leaf", Parent: "p"}, {Name: "b", Level: "leaf", Parent: "p"}}
	for i := range 12 {
		n := topology.Node{Name: "n" + string(rune('0'+i%10)) + strings.Repeat("x", i/10), GPUCount: 8, Share: ptr(1 - float64(i)/40), State: topology.OK}
		g := &t.Tree.Groups[1+i%2]
		g.Nodes = append(g.Nodes, n.Name)
		t.Nodes = append(t.Nodes, n)
	}
	return t
}
