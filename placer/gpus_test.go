package placer

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChooseGPUs(t *testing.T) {
	tests := []struct {
		name string
		used uint64
		n    int
		want []int
	}{
		{"pair from the broken quad", 0b00000011, 8, []int{2, 3}},
		{"single from the half-used pair", 0b00010000, 8, []int{5}},
		{"quad", 0b00000001, 8, []int{4, 5, 6, 7}},
		{"three from one quad", 0b00000001, 8, []int{1, 2, 3}},
		{"across pairs inside a quad", 0b11110101, 8, []int{1, 3}},
		{"all", 0, 8, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		{"six GPUs", 0b000001, 6, []int{4, 5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, chooseGPUs(tt.used, tt.n, len(tt.want))); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

// TestChooseGPUsAlways: any use, any size: free GPUs, each once, and from the smallest block that has room.
func TestChooseGPUsAlways(t *testing.T) {
	for used := uint64(0); used < 256; used++ {
		for want := 1; want <= 8-bits.OnesCount64(used); want++ {
			got := chooseGPUs(used, 8, want)
			if len(got) != want || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != want {
				t.Fatalf("used %08b, want %d: %v", used, want, got)
			}
			for _, g := range got {
				if used>>g&1 == 1 {
					t.Fatalf("used %08b, want %d: %v holds a used one", used, want, got)
				}
			}
		}
	}
}

func TestSharedNodes(t *testing.T) {
	c := workedExample(t).c
	s, err := c.Snapshot(State{UsedGPUs: map[string][]int{"l3n1": {0, 1}, "l3n2": {0, 1, 2, 3, 4}, "l0n0": {0, 1, 2, 3, 4, 5, 6, 7}}})
	if err != nil {
		t.Fatal(err)
	}
	if u, _ := s.UseOf("l0n0"); u != Busy {
		t.Errorf("all GPUs in use: %v, want busy", u)
	}
	tests := []struct {
		name  string
		r     Request
		nodes []string
		gpus  [][]int
	}{
		{"two GPUs on the fullest node", Request{Nodes: 1, GPUsPerNode: 2}, []string{"l3n2"}, [][]int{{6, 7}}},
		{"four GPUs fit one shared node only", Request{Nodes: 1, GPUsPerNode: 4}, []string{"l3n1"}, [][]int{{4, 5, 6, 7}}},
		{"two nodes", Request{Nodes: 2, GPUsPerNode: 2, Include: []string{"l3n1", "l3n2"}}, []string{"l3n1", "l3n2"}, [][]int{{2, 3}, {6, 7}}},
		{"whole nodes avoid shared ones", Request{Nodes: 2, GPUsPerNode: 8, Include: []string{"l3n0", "l3n1", "l2n0"}}, []string{"l2n0", "l3n0"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Place(s, &tt.r)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.nodes, p.Nodes) + cmp.Diff(tt.gpus, p.GPUs); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
	if _, err := c.Snapshot(State{UsedGPUs: map[string][]int{"l0n0": {8}}}); err == nil {
		t.Error("GPU 8 of 8 was accepted")
	}
}
