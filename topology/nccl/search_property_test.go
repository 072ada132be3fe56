package nccl

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawMachine draws a small machine of any kind, with some devices worse than the others.
func drawMachine(t *rapid.T) *XML {
	pick := func(name string, of ...int) int { return rapid.SampledFrom(of).Draw(t, name) }
	r := rig{
		cpus: pick("cpus", 1, 2), switches: pick("switches", 1, 2), gpus: pick("gpus", 1, 2), nics: pick("nics", 0, 1, 2),
		sm: pick("sm", 70, 80, 86, 90, 100), nvlinks: pick("nvlinks", 0, 2, 4, 12, 18), mbps: pick("mbps", 0, 10000, 100000, 200000, 400000),
		vendor: rapid.SampledFrom([]string{"GenuineIntel", "AuthenticAMD", ""}).Draw(t, "vendor"), model: pick("model", 79, 85, 143, 207),
		noSwitch: rapid.Bool().Draw(t, "no switch"), pairs: rapid.Bool().Draw(t, "pairs"), gdr: pick("gdr", 0, 1),
		speed: rapid.SampledFrom([]string{"8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe", ""}).Draw(t, "link speed"),
		c2c:   rapid.Bool().Draw(t, "c2c"),
	}
	x := r.xml()
	var pcis, nets []*Element
	x.Root.walk(func(e *Element, _ []*Element) {
		switch e.Name {
		case "pci":
			pcis = append(pcis, e)
		case "net":
			nets = append(nets, e)
		}
	})
	for range pick("narrow links", 0, 0, 1, 2) {
		pcis[pick("at", 0, len(pcis)-1, len(pcis)/2)].Set("link_width", strconv.Itoa(pick("width", 1, 4, 8)))
	}
	if len(nets) > 0 {
		n := nets[rapid.IntRange(0, len(nets)-1).Draw(t, "net")]
		a := rapid.SampledFrom([]string{"speed", "gdr", "guid", "rail", "plane", "latency"}).Draw(t, "attribute")
		n.Set(a, map[string]string{"speed": "50000", "gdr": "0", "guid": "0x1", "rail": "1", "plane": "1", "latency": "1.5"}[a])
	}
	return x
}

func drawOptions(t *rapid.T) Options {
	var o Options
	if rapid.Bool().Draw(t, "options") {
		o.CrossNIC = ref(rapid.IntRange(0, 2).Draw(t, "crossNic"))
		o.NoPXN = rapid.Bool().Draw(t, "no pxn")
		o.NetDevicesPolicy = rapid.SampledFrom([]NetDevsPolicy{NetDevsAuto, NetDevsAll}).Draw(t, "policy")
	}
	return o
}

// drawSearch draws a machine and searches it.
func drawSearch(t *rapid.T) (*System, Found, int, Options, *XML) {
	x, o := drawMachine(t), drawOptions(t)
	s := mustSystem(t, x, o)
	nodes := 1
	if s.Nets() > 0 {
		nodes = rapid.IntRange(1, 2).Draw(t, "nodes")
	}
	f, err := s.Search(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return s, f, nodes, o, x
}

// TestSearchShortCuts holds that leaving walks out changes nothing.
func TestSearchShortCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, got, nodes, o, x := drawSearch(t)
		o.everyWalk = true
		want, err := mustSystem(t, x, o).Search(nodes)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("short cuts change the result (-every walk +short cuts):\n%s", d)
		}
	})
}

// TestSearchChannels holds that channels are what they claim: every GPU once, and no link or NIC carries more than it has.
func TestSearchChannels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, f, nodes, _, _ := drawSearch(t)
		for _, g := range []struct {
			graph    Graph
			channels []Channel
		}{{f.Ring, f.RingChannels}, {f.Tree, f.TreeChannels}} {
			if len(g.channels) != g.graph.Channels || g.graph.Channels < 1 {
				t.Fatalf("%d channels, graph says %d", len(g.channels), g.graph.Channels)
			}
			for _, c := range g.channels {
				gpus := slices.Sorted(slices.Values(c.GPUs))
				if len(slices.Compact(gpus)) != s.GPUs() {
					t.Fatalf("channel %v does not pass every GPU once", c.GPUs)
				}
				if (c.In != "") != (nodes > 1) || (c.Out != "") != (nodes > 1) {
					t.Fatalf("channel %+v with %d nodes", c, nodes)
				}
			}
		}
		if !slices.Contains(f.Fallback, "ring") {
			checkLoads(t, s, f.Ring, f.RingChannels)
		}
	})
}

// checkLoads adds up what rings put on every link.
func checkLoads(t *rapid.T, s *System, g Graph, channels []Channel) {
	load := map[*link]float64{}
	add := func(from, to *vertex, bw float64) {
		for _, l := range from.paths[to.kind][to.index].links {
			load[l] += bw
		}
	}
	gpu := func(dev int) *vertex {
		return s.vertices[kindGPU][slices.IndexFunc(s.vertices[kindGPU], func(v *vertex) bool { return v.dev == dev })]
	}
	net := func(name string) *vertex {
		return s.vertices[kindNet][slices.IndexFunc(s.vertices[kindNet], func(v *vertex) bool { return v.net.name == name })]
	}
	for _, c := range channels {
		last := len(c.GPUs) - 1
		for i := range last {
			add(gpu(c.GPUs[i]), gpu(c.GPUs[i+1]), g.BwIntra)
		}
		if c.In == "" {
			add(gpu(c.GPUs[last]), gpu(c.GPUs[0]), g.BwIntra)
			continue
		}
		add(net(c.In), gpu(c.GPUs[0]), g.BwInter)
		add(gpu(c.GPUs[last]), net(c.Out), g.BwInter)
	}
	for l, sum := range load {
		if sum > float64(l.bw)+.01 {
			t.Errorf("%s link from %s to %s carries %g GB/s and has %g", l.kind, l.from.label(), l.to.label(), sum, l.bw)
		}
	}
}

// TestSearchNamesOfNothing holds that bus numbers and host hashes change neither graphs nor digest.
func TestSearchNamesOfNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, want, nodes, o, x := drawSearch(t)
		y := x.Clone()
		y.Root.walk(func(e *Element, _ []*Element) {
			for _, a := range []string{"busid", "target"} {
				if v, ok := e.Get(a); ok && v != unknownSwitch {
					e.Set(a, "5"+v[1:])
				}
			}
			if e.Name == "cpu" {
				e.Set("host_hash", "0x1234")
			}
		})
		got, err := mustSystem(t, y, o).Search(nodes)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("other bus numbers, other graphs (-want +got):\n%s", d)
		}
		if x.Digest() != y.Digest() {
			t.Error("other bus numbers, other digest")
		}
	})
}
