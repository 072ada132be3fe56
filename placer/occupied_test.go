package placer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

func TestOccupied(t *testing.T) {
	topo := &topology.Topology{}
	for _, n := range []string{"n1", "n2", "n3", "n4", "n5.lan", "n6"} {
		topo.Nodes = append(topo.Nodes, topology.Node{Name: n, GPUCount: 8})
	}
	now := time.Date(2026, 12, 1, 16, 0, 0, 0, time.UTC)
	end, past, hour, zero := now.Add(time.Hour), now.Add(-time.Hour), 3600.0, 0.0
	slurm := func(nodes ...topology.NodeOccupancy) *topology.Occupancy {
		return &topology.Occupancy{Side: "slurm", Nodes: nodes}
	}
	all := slurm(topology.NodeOccupancy{Name: "n1", Use: "free"}, topology.NodeOccupancy{Name: "n2", Use: "free"}, topology.NodeOccupancy{Name: "n3", Use: "free"},
		topology.NodeOccupancy{Name: "n4", Use: "free"}, topology.NodeOccupancy{Name: "N5", Use: "free"}, topology.NodeOccupancy{Name: "n6.lan", Use: "free"})
	with := func(nodes []topology.NodeOccupancy, jobs ...topology.JobOccupancy) *topology.Occupancy {
		return &topology.Occupancy{Side: "kubernetes", Nodes: nodes, Jobs: jobs}
	}
	for _, c := range []struct {
		name  string
		with  *topology.Occupancy
		want  State
		codes []string
	}{
		{"all free", with(nil), State{}, nil},
		{"closed", with([]topology.NodeOccupancy{{Name: "n1", Use: "drained"}, {Name: "n2", Use: "down"}, {Name: "n5.other", Use: "reserved"}}),
			State{Drained: []string{"n1", "n2", "n5.lan"}}, nil},
		{"whole", with([]topology.NodeOccupancy{{Name: "n1", Use: "busy"}, {Name: "n2", Use: "busy", GPUsUsed: []int{0, 1, 2, 3, 4, 5, 6, 7}}, {Name: "n3", Use: "busy", GPUsUsedCount: 8}}),
			State{Busy: []string{"n1", "n2", "n3"}}, nil},
		{"shared", with([]topology.NodeOccupancy{{Name: "n1", Use: "busy", GPUsUsed: []int{2, 7}}, {Name: "n2", Use: "busy", GPUsUsedCount: 3}}),
			State{UsedGPUs: map[string][]int{"n1": {2, 7}, "n2": {0, 1, 2}}}, nil},
		{"more GPUs than the map knows", with([]topology.NodeOccupancy{{Name: "n1", Use: "busy", GPUsUsed: []int{9}}}), State{Busy: []string{"n1"}}, nil},
		{"draining", with([]topology.NodeOccupancy{{Name: "n1", Use: "drained", GPUsUsed: []int{0}}}),
			State{Drained: []string{"n1"}, UsedGPUs: map[string][]int{"n1": {0}}}, nil},
		{"gangs", with(nil, topology.JobOccupancy{ID: "1", Nodes: []string{"n2", "n1"}, EndsAt: &end}, topology.JobOccupancy{ID: "2", Nodes: []string{"n3", "n4"}, EndsAt: &past},
			topology.JobOccupancy{ID: "3", Nodes: []string{"n6"}}),
			State{Busy: []string{"n6"}, Gangs: []Gang{{"kubernetes 1", []string{"n1", "n2"}, &hour}, {"kubernetes 2", []string{"n3", "n4"}, &zero}}}, nil},
		{"began after the nodes were listed", with([]topology.NodeOccupancy{{Name: "n1", Use: "free"}, {Name: "n2", Use: "busy", GPUsUsed: []int{5}}},
			topology.JobOccupancy{ID: "1", Nodes: []string{"n1"}, GPUsPerNode: 2}, topology.JobOccupancy{ID: "2", Nodes: []string{"n2"}, GPUsPerNode: 1}),
			State{UsedGPUs: map[string][]int{"n1": {0, 1}, "n2": {5}}}, nil},
		{"elsewhere", with([]topology.NodeOccupancy{{Name: "x1", Use: "busy"}}, topology.JobOccupancy{ID: "1", Nodes: []string{"x2", "n1", "n2"}}),
			State{Gangs: []Gang{{"kubernetes 1", []string{"n1", "n2"}, nil}}}, []string{"occupancy-not-on-map"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, findings := Occupied(topo, now, all, c.with)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			var codes []string
			for _, f := range findings {
				codes = append(codes, f.Code)
			}
			if diff := cmp.Diff(c.codes, codes); diff != "" {
				t.Errorf("findings: -want +got\n%s", diff)
			}
			cluster, err := NewCluster(&topology.Topology{Nodes: topo.Nodes}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cluster.Snapshot(got); err != nil {
				t.Errorf("the state cannot be applied: %v", err)
			}
		})
	}
}

// Counted GPUs of one side never hide behind the indices of another.
func TestOccupiedAddsUp(t *testing.T) {
	topo := &topology.Topology{Nodes: []topology.Node{{Name: "n1", GPUCount: 8}, {Name: "n2", GPUCount: 8}}}
	got, findings := Occupied(topo, time.Time{},
		&topology.Occupancy{Side: "slurm", Nodes: []topology.NodeOccupancy{{Name: "n1", Use: "busy", GPUsUsed: []int{0, 1, 5}}}},
		&topology.Occupancy{Side: "kubernetes", Nodes: []topology.NodeOccupancy{{Name: "n1", Use: "busy", GPUsUsedCount: 3}}})
	want := State{UsedGPUs: map[string][]int{"n1": {0, 1, 2, 3, 4, 5}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(findings) != 1 || findings[0].Code != "occupancy-not-reported" {
		t.Errorf("findings: %v", findings)
	}
	// A job alone, without a list of nodes, takes its node.
	got, _ = Occupied(topo, time.Time{}, &topology.Occupancy{Side: "pbs", Jobs: []topology.JobOccupancy{{ID: "1", Nodes: []string{"n2"}}}})
	if diff := cmp.Diff(State{Busy: []string{"n2"}}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
