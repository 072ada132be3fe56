package nccl

import "testing"

// TestDefaultNode holds outlines against NCCL's own search on the regular machines of the corpus.
func TestDefaultNode(t *testing.T) {
	rows, err := ReadVectors(corpus(t, "vectors.csv"))
	if err != nil {
		t.Fatal(err)
	}
	specs := map[string]NodeSpec{
		"8xH100 8x400G (ND H100 v5 VM)":   {},
		"8xH100,8x400G,1 switch each":     {},
		"8xH100,4x400G,2 GPUs per switch": {NICs: 4},
		"8xH100,32x100G":                  {NICs: 32, NICBytesPerSecond: 12.5e9},
		"8xA100 8x200G (ND A100 v4 VM)":   {GPUModel: "NVIDIA A100-SXM4-80GB", NICBytesPerSecond: 25e9, CPU: cpuOfVendor("amd")},
		"8xB200,8x400G":                   {GPUModel: "NVIDIA B200"},
	}
	checked := 0
	models := map[string]*NodeModel{}
	for _, v := range rows {
		spec, ok := specs[v.Machine]
		if !ok {
			continue
		}
		checked++
		if models[v.Machine] == nil {
			models[v.Machine] = DefaultNode(spec)
		}
		if got := models[v.Machine].graphs(v.Nodes); got.Tuple() != v.Graphs.Tuple() || got.Tree.Pattern != v.Graphs.Tree.Pattern {
			t.Fatalf("%s, %d nodes:\n got %s\nwant %s", v.Machine, v.Nodes, got.Tuple(), v.Graphs.Tuple())
		}
	}
	if checked == 0 {
		t.Fatal("no row of a regular machine")
	}
}

func TestTraitsOf(t *testing.T) {
	for model, want := range map[string]gpuTraits{
		"NVIDIA H100 80GB HBM3": {"H100", 90, 18}, "NVIDIA H100 PCIe": {"H100", 90, 0}, "NVIDIA GB200": {"GB200", 100, 18},
		"": {"H100", 90, 18}, "NVIDIA GeForce RTX 4090": {"RTX", 89, 0}, "NVIDIA H800": {"H800", 90, 8},
	} {
		if got := traitsOf(model); got != want {
			t.Errorf("%q: %+v, want %+v", model, got, want)
		}
	}
}

// TestDefaultNodeFaults: one NIC slow or missing, against NCCL's own search.
func TestDefaultNodeFaults(t *testing.T) {
	rows, err := ReadBadNodes(corpus(t, "bad_node_vectors.csv"))
	if err != nil {
		t.Fatal(err)
	}
	specs := map[Fault]NodeSpec{NICHalfSpeed: {SlowNICs: 1, SlowBytesPerSecond: 25e9}, NICMissing: {NICs: 7}}
	for _, v := range rows {
		spec, ok := specs[Fault(v.BadNode)]
		if !ok {
			continue
		}
		if got := DefaultNode(spec).Joined; got.Tuple() != v.Graphs.Tuple() {
			t.Fatalf("%s:\n got %s\nwant %s", v.BadNode, got.Tuple(), v.Graphs.Tuple())
		}
	}
}
