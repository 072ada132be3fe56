package nccl

import (
	"bytes"
	"math"
	"testing"
)

// TestTuningVersions checks by hand what releases changed, on 8-GPU nodes with 8 x 400 Gb/s.
func TestTuningVersions(t *testing.T) {
	blackwellMulti := Graphs{
		Ring: Graph{PatternRing, 8, 48, 48, PathNVL, PathPXN, 0},
		Tree: Graph{PatternTree, 8, 96, 48, PathNVL, PathPIX, 0},
		NVLS: Graph{PatternNVLS, 8, 48, 48, PathNVL, PathPIX, 0},
	}
	hopperSingle := Graphs{
		Ring: Graph{PatternRing, 12, 30, 30, PathNVL, PathPIX, 0},
		Tree: Graph{PatternBalancedTree, 12, 30, 30, PathNVL, PathPIX, 0},
		NVLS: Graph{PatternNVLS, 8, 40, 60, PathNVL, PathPIX, 0},
	}
	for _, tc := range []struct {
		name    string
		version Version
		sm      int
		nodes   int
		graphs  Graphs
		a, p    int
		want    float64 // algorithm bandwidth GB/s
	}{
		{"NVLSTree cap 43.1", Version{28, 3}, 100, 4, blackwellMulti, iNVLSTree, iSimple, 8 * 43.1 * 32 / 62},
		{"NVLSTree cap 43.8", Version{28, 9}, 100, 4, blackwellMulti, iNVLSTree, iSimple, 8 * 43.8 * 32 / 62},
		{"NVLSTree uncapped", Version{30, 3}, 100, 4, blackwellMulti, iNVLSTree, iSimple, 8 * 48 * 32. / 62},
		{"NVLSTree 5/6 and half", Version{27, 7}, 100, 4, blackwellMulti, iNVLSTree, iSimple, 8 * 24 * 5. / 6},
		{"NVLS 5/6", Version{27, 7}, 90, 1, hopperSingle, iNVLS, iSimple, 8 * 40 * 5. / 6},
		{"NVLS efficiency", Version{28, 3}, 90, 1, hopperSingle, iNVLS, iSimple, 8 * 40 * .85 * 7 / 8 * 2 * 8 / 14},
		{"tree cap 72", Version{27, 7}, 100, 4, blackwellMulti, iTree, iSimple, 8 * 48 * .92 * .85 * .5},
		{"tree cap 24", Version{28, 3}, 100, 4, blackwellMulti, iTree, iSimple, 8 * 24 * .85 * .5},
		{"ring LL128 34.5", Version{29, 2}, 100, 4, blackwellMulti, iRing, iLL128, 8 * 34.5 * 32 / 62},
		{"ring LL128 40", Version{29, 7}, 100, 4, blackwellMulti, iRing, iLL128, 8 * 40 * 32. / 62},
	} {
		tuning, err := NewTuning(Comm{Version: tc.version, Nodes: tc.nodes, Ranks: 8 * tc.nodes, MinSM: tc.sm, MaxSM: tc.sm,
			CPU: cpuOfVendor("intel"), Graphs: tc.graphs, NVSwitch: true}, AllReduce)
		if err != nil {
			t.Fatal(err)
		}
		if got := tuning.bandwidth[tc.a][tc.p]; math.Abs(got-tc.want) > 1e-9*tc.want {
			t.Errorf("%s: %g GB/s, want %g", tc.name, got, tc.want)
		}
	}
}

// TestTuningCollectives checks figures of collectives that the vectors do not hold.
func TestTuningCollectives(t *testing.T) {
	c := Comm{Nodes: 2, Ranks: 16, MinSM: 90, MaxSM: 90, CPU: cpuOfVendor("intel"), NVSwitch: true, Graphs: Graphs{
		Ring: Graph{PatternRing, 8, 48, 48, PathNVL, PathPIX, 2},
		Tree: Graph{PatternTree, 8, 48, 48, PathNVL, PathPIX, 0},
		NVLS: Graph{PatternNVLS, 8, 40, 48, PathNVL, PathPIX, 0},
	}}
	for _, tc := range []struct {
		coll Collective
		algo Algorithm
		low  float64 // GB/s of bus bandwidth at 16 GiB
		high float64
	}{
		{ReduceScatter, Ring, 380, 384},
		{Broadcast, Ring, 380, 384},
		{Reduce, Ring, 380, 384},
		{AllToAll, P2P, 80, 96.1}, // 48 GB/s a NIC, 8 of 15 peers behind it
	} {
		tuning, err := NewTuning(c, tc.coll)
		if err != nil {
			t.Fatal(err)
		}
		e := tuning.Best(16 << 30)
		if gb := e.BusBandwidthBytesPerSecond / 1e9; e.Algorithm != tc.algo || gb < tc.low || gb > tc.high {
			t.Errorf("%s: %s %g GB/s, want %s between %g and %g", tc.coll, e.Algorithm, gb, tc.algo, tc.low, tc.high)
		}
	}
	for _, bad := range []Comm{{}, {Nodes: 1, Ranks: 1}, {Nodes: 2, Ranks: 1}, {Nodes: 1, Ranks: 8}} {
		if _, err := NewTuning(bad, AllReduce); err == nil {
			t.Errorf("NewTuning(%+v) must be an error", bad)
		}
	}
}

func FuzzReadVectors(f *testing.F) {
	head := "xml,machine,gpus_per_node,cpu_vendor,env,nodes,graph_ring_tree_nvls,tree_pattern,collective,size_bytes,best_algo,best_proto,time_us,busbw_GBps,per_algo_busbw_GBps\n"
	f.Add([]byte(head + "a.xml,m,8,intel,SM=90,1,12 30 30 1 4 0 12 30 30 1 4 0 8 40 60 1 4 0,1,AllReduce,8192,Ring,LL,15.1,0.95,Tree=0.9 Ring=0.9\n"))
	f.Add([]byte(head + "a.xml,m,0,,,,,,,,,,,,\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := ReadVectors(bytes.NewReader(b))
		if err != nil {
			return
		}
		for _, v := range rows {
			checkVector(v) // must not panic
		}
	})
}
