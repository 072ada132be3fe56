package nccl

import "testing"

// TestModels: the same hardware is searched once; a NIC at half speed is other hardware, and named.
func TestModels(t *testing.T) {
	x, err := Fill(corpusXML(t, "gen-h8x8.xml"), FillOptions{SM: 90, NVLinks: 18, SpeedMbps: 400000})
	if err != nil {
		t.Fatal(err)
	}
	var m Models
	first, err := m.Get("", x)
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.Get("other", x.Clone())
	if err != nil || again != first {
		t.Errorf("the same document gave another model: %v", err)
	}
	slow, err := WithFault(x, NICHalfSpeed, faultDevice)
	if err != nil {
		t.Fatal(err)
	}
	worse, err := m.Get("slow", slow)
	if err != nil || worse == first || worse.Name != "slow" {
		t.Fatalf("half speed: %+v, %v", worse, err)
	}
	if worse.Limiting != "mlx5_3 at 200 Gb/s, others at 400" || first.Limiting != "" {
		t.Errorf("limiting %q and %q", worse.Limiting, first.Limiting)
	}
	j := &Job{Collective: AllReduce, SizeBytes: 8 << 30, Nodes: []JobNode{{"a", first, NoPlace}, {"b", worse, NoPlace}, {"c", first, NoPlace}, {"d", first, NoPlace}}}
	p := predict(t, j)
	if p.Binding.Kind != BindingNode || p.Binding.Subject != "b" || p.Binding.Device != worse.Limiting {
		t.Errorf("bound by %+v, want node b and its NIC", p.Binding)
	}
}

// TestModelsFused: the hosts of an NVLink domain are searched as one node.
func TestModelsFused(t *testing.T) {
	x, err := Fill(corpusXML(t, "gen-gb8.xml"), FillOptions{SM: 100, NVLinks: 18, SpeedMbps: 400000})
	if err != nil {
		t.Fatal(err)
	}
	var m Models
	one, err := m.Get("gb8", x)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		hosts         int
		alone, joined string
	}{
		{2, "16 45 45 1 4 0 16 45 45 1 4 0 16 40 80 1 4 0", "16 48 48 1 4 2 16 48 48 1 4 0 16 42 48 1 4 0"},
		{9, "16 45 45 1 4 0 16 45 45 1 4 0 32 20 40 1 4 0", "16 45.1 45.1 1 7 0 16 45.1 45.1 1 4 0 32 20 40 1 4 0"},
	} {
		m := one.Fused(tc.hosts)
		if m == nil || m != one.Fused(tc.hosts) || m.GPUs != 8*tc.hosts {
			t.Fatalf("%d hosts: %+v; must be searched once", tc.hosts, m)
		}
		if m.Alone.Tuple() != tc.alone || m.Joined.Tuple() != tc.joined {
			t.Errorf("%d hosts: %s and %s", tc.hosts, m.Alone.Tuple(), m.Joined.Tuple())
		}
	}
}

// TestLimiting: every fault that shows in the document names its device.
func TestLimiting(t *testing.T) {
	x, err := Fill(corpusXML(t, "azure-ndv5-8xH100-topo.xml"), FillOptions{SM: 90, NVLinks: 18, SpeedMbps: 400000})
	if err != nil {
		t.Fatal(err)
	}
	for fault, want := range map[Fault]string{
		NoFault: "", NICMissing: "", AllNICsNoGDR: "",
		NICHalfSpeed: "mlx5_3 at 200 Gb/s, others at 400",
		NICNoGDR:     "mlx5_3 has no GPUDirect RDMA, others do",
		NICPCIeX4:    "mlx5_3 has a PCIe link of 12 GB/s, others 48",
		GPUPCIeGen4:  "GPU 3 has a PCIe link of 24 GB/s, others 48",
		GPUPCIeX8:    "GPU 3 has a PCIe link of 24 GB/s, others 48",
	} {
		bad, err := WithFault(x, fault, faultDevice)
		if err != nil {
			t.Fatal(err)
		}
		if got := bad.limiting(); got != want {
			t.Errorf("%s: %q, want %q", fault, got, want)
		}
	}
}

// TestWithGraphs: the graphs of a dump stand in for the search.
func TestWithGraphs(t *testing.T) {
	f, err := ReadGraphXML(corpus(t, "xml/azure-ncv4-graph.xml"))
	if err != nil {
		t.Fatal(err)
	}
	one := DefaultNode(NodeSpec{GPUModel: "A100", GPUs: 4})
	m, err := one.WithGraphs(f)
	if err != nil {
		t.Fatal(err)
	}
	ring, _ := f.Of(GraphRing)
	if m.Alone.Ring != ring.Graph || m.Joined != m.Alone || m == one || one.Alone.Ring == ring.Graph {
		t.Errorf("graphs %s, file %+v", m.Alone.Tuple(), ring.Graph)
	}
	if _, err := one.WithGraphs(&GraphFile{}); err == nil {
		t.Error("a file without a ring must be an error")
	}
}
