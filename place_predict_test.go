package main

import (
	"math"
	"testing"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/topology"
)

// TestNCCLPredictor: what the placer hands over and what NCCL makes of it.
func TestNCCLPredictor(t *testing.T) {
	spec, err := topology.ParseSynthSpec("leaf:2 node:4 rail:8 gpu:8")
	if err != nil {
		t.Fatal(err)
	}
	top, err := topology.SynthTopology(spec, 1, nil, topology.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	predict, err := ncclPredictor(top, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range top.Nodes {
		names = append(names, n.Name)
	}
	for _, tc := range []struct {
		name  string
		nodes []string
		share float64
		r     placer.Request
		want  float64 // GB/s
		algo  string
	}{
		{"whole cluster, large", names, 1, placer.Request{MessageBytes: 8 << 30}, 353, "Ring"}, // the pod's default efficiency 0.92
		{"one leaf", names[:4], 1, placer.Request{MessageBytes: 8 << 30}, 380.5, "Ring"},
		{"one leaf, default size", names[:4], 1, placer.Request{}, 357.9, "Ring"},
		{"half an uplink", names[:4], .5, placer.Request{MessageBytes: 8 << 30}, 199, "Ring"},
		{"one node", names[:1], 1, placer.Request{MessageBytes: 8 << 30}, 475.6, "NVLS"},
		{"all to all", names[:4], 1, placer.Request{MessageBytes: 8 << 30, Collective: placer.AllToAll}, 62, "P2P"},
	} {
		p := predict(tc.nodes, tc.share, &tc.r)
		if gb := p.BusBandwidthBytesPerSecond / 1e9; math.Abs(gb-tc.want) > .02*tc.want || p.Algorithm != tc.algo || p.Method != "nccl 2.30.7" || p.MessageBytes == 0 {
			t.Errorf("%s: %g GB/s %+v, want %g %s", tc.name, gb, p, tc.want, tc.algo)
		}
	}
}
