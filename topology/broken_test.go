package topology_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// TestHurtFabrics holds maps of simulated, hurt fabrics against what was done to them.
func TestHurtFabrics(t *testing.T) {
	for _, c := range []struct {
		name          string
		nodes, groups int // nodes placed, leaf groups
		depth         int
		want          []string // "code subject"
	}{
		{"rail8x32-hurt", 32, 1, 2, []string{"slow-link node0000/mlx5_0", "slow-link node0004/mlx5_1", "slow-uplink leaf3 - spine0", "missing-uplink leaf2 - spine0", "missing-cable node0007/rail7"}},
		{"hurt-3level", 64, 16, 3, []string{"missing-uplink leaf0 - spine0", "missing-uplink spine3 - core7", "slow-uplink leaf2 - spine1",
			"fewer-uplinks leaf8, leaf9, leaf10, leaf11", "fewer-uplinks spine2, spine6, spine10, spine14"}},
		{"hurt-names", 47, 3, 2, []string{"duplicate-name node0008-000700", "duplicate-name node0008-000800", "generic-name 0x0002c90300000300", "generic-name 0x0002c90300000400",
			"generic-name 0x0002c90300000500", "unnamed-adapter 0x0002c90300000600", "unnamed-adapter 0x0002c90300000610"}},
		{"hurt-dualport", 32, 4, 2, []string{"missing-cable node0010/rail0", "missing-cable node0027/rail1", "dual-homed-group leaf0"}},
		{"hurt-storage", 40, 3, 2, []string{"auxiliary-switch storage0", "storage-only-host stor00", "storage-only-host stor03", "missing-cable node0004/rail2"}},
		{"hurt-miswired", 48, 3, 2, []string{"miswired-rail node0002/mlx5_0", "miswired-rail node0002/mlx5_1", "miswired-group node0006/mlx5_2", "miswired-group node0022/mlx5_2",
			"miswired-group node0016/mlx5_0", "missing-uplink leaf3 - spine0", "extra-uplink leaf4 - spine0", "slow-link node0024/mlx5_1"}},
		{"hurt-live", 24, 2, 2, []string{"missing-cable node0005/rail0", "missing-uplink leaf1 - spine0"}},
		{"ft32", 32, 2, 2, nil},
		{"ft1024", 1024, 32, 2, nil},
		{"ft4096", 4096, 128, 3, nil},
		{"rail8x32", 32, 1, 2, nil},
		{"sharp64", 64, 4, 2, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := "../../shared/corpus/fabric/ib/" + c.name + "/ibnetdiscover.txt"
			if strings.HasPrefix(c.name, "ft1") || strings.HasPrefix(c.name, "ft4") {
				path += ".gz"
			}
			topo := build(t, topology.BuildOptions{}, readFabric(t, path))
			placed, groups := 0, 0
			for _, n := range topo.Nodes {
				if n.Group != "" {
					placed++
				}
			}
			for _, g := range topo.Tree.Groups {
				if g.Level == topology.LeafLevel {
					groups++
				}
			}
			if placed != c.nodes || groups != c.groups || depth(topo) != c.depth || roots(topo) != 1 {
				t.Errorf("%d nodes in %d leaf groups, depth %d, %d roots; want %d in %d, depth %d, 1 root", placed, groups, depth(topo), roots(topo), c.nodes, c.groups, c.depth)
			}
			var got []string
			for _, f := range topo.Findings {
				got = append(got, f.Code+" "+f.Subject)
			}
			for _, w := range c.want {
				if !slices.Contains(got, w) {
					t.Errorf("no finding %q in %q", w, got)
				}
			}
			if c.want == nil && len(got) > 0 {
				t.Errorf("findings on a healthy fabric: %q", got)
			}
		})
	}
}

// fabricOf writes a small fabric by hand: "leaf0-spine0*4" is four parallel cables, "n1 mlx5_0-leaf0" a host cable.
func fabricOf(cables ...string) *topology.FabricReport {
	r := &topology.FabricReport{Header: topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindFabricReport}}
	index, port := map[string]int32{}, map[string]int32{}
	device := func(name string) int32 {
		if i, ok := index[name]; ok {
			return i
		}
		d := topology.FabricDevice{GUID: topology.GUID(0x1000 + len(index)), Kind: topology.SwitchDevice, Description: name}
		label, _, twin := strings.Cut(name, "#")
		if strings.Contains(label, " ") || strings.HasPrefix(label, "n") || twin {
			d.Kind, d.Description = topology.AdapterDevice, label
		}
		index[name] = int32(len(r.Devices))
		r.Devices = append(r.Devices, d)
		return index[name]
	}
	for _, c := range cables {
		c, times, _ := strings.Cut(c, "*")
		a, b, _ := strings.Cut(c, "-")
		n := 1
		if times != "" {
			n = int(times[0] - '0')
		}
		for range n {
			port[a]++
			port[b]++
			r.Links = append(r.Links, topology.FabricLink{A: topology.FabricEnd{Device: device(a), Port: port[a]}, B: topology.FabricEnd{Device: device(b), Port: port[b]},
				Width: 4, Speed: topology.SpeedNDR, BandwidthBytesPerSecond: 50e9})
		}
	}
	return r
}

// TestSmallBrokenFabrics holds small fabrics with one oddity each.
func TestSmallBrokenFabrics(t *testing.T) {
	healthy := []string{"n1 mlx5_0-leaf0", "n2 mlx5_0-leaf0", "n3 mlx5_0-leaf1", "n4 mlx5_0-leaf1", "leaf0-spine0*2", "leaf0-spine1*2", "leaf1-spine0*2", "leaf1-spine1*2"}
	with := func(more ...string) []string { return append(slices.Clone(healthy), more...) }
	for _, c := range []struct {
		name   string
		cables []string
		groups map[string]string
		find   string // "code subject", "" = none
		roots  int
	}{
		{"healthy", healthy, map[string]string{"n1": "leaf0", "n2": "leaf0", "n3": "leaf1", "n4": "leaf1"}, "", 1},
		{"two hosts of one name", with("n1 mlx5_0#b-leaf1"), map[string]string{"n1-001000": "leaf0", "n1-001008": "leaf1", "n2": "leaf0", "n3": "leaf1", "n4": "leaf1"}, "duplicate-name n1-001000", 1},
		{"upper case and domain", with("N1.example.com mlx5_1-leaf0"), map[string]string{"n1": "leaf0", "n2": "leaf0", "n3": "leaf1", "n4": "leaf1"}, "", 1},
		{"loopback plug", with("leaf0-leaf0"), map[string]string{"n1": "leaf0", "n2": "leaf0", "n3": "leaf1", "n4": "leaf1"}, "loopback-cable leaf0:8 - leaf0:8", 1},
		{"leaf to leaf", with("leaf0-leaf1"), map[string]string{"n1": "leaf0", "n2": "leaf0", "n3": "leaf1", "n4": "leaf1"}, "same-tier-cable leaf0:7 - leaf1:7", 1},
		{"manager on a spine", with("n9 mlx5_0-spine0"), map[string]string{"n1": "leaf0", "n2": "leaf0", "n3": "leaf1", "n4": "leaf1"}, "", 1},
		{"idle leaf", with("leaf2-spine0*2", "leaf2-spine1*2"), map[string]string{"n1": "leaf0", "n2": "leaf0", "n3": "leaf1", "n4": "leaf1"}, "idle-switch leaf2", 1},
		{"cut in two", []string{"n1 mlx5_0-leaf0", "n2 mlx5_0-leaf0", "n3 mlx5_0-leaf1", "n4 mlx5_0-leaf1", "leaf0-spine0*2", "leaf1-spine1*2"},
			map[string]string{"n1": "leaf0", "n2": "leaf0", "n3": "leaf1", "n4": "leaf1"}, "separate-fabrics fabric", 2},
		{"leaves back to back", []string{"n1 mlx5_0-leaf0", "n2 mlx5_0-leaf0", "n3 mlx5_0-leaf1", "n4 mlx5_0-leaf1", "leaf0-leaf1*4"},
			map[string]string{"n1": "leaf0", "n2": "leaf0", "n3": "leaf1", "n4": "leaf1"}, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			topo := build(t, topology.BuildOptions{}, fabricOf(c.cables...))
			got := places(topo)
			for n := range got {
				if got[n] == "" {
					delete(got, n)
				}
			}
			delete(got, "n9")
			if diff := cmp.Diff(c.groups, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if roots(topo) != c.roots {
				t.Errorf("%d roots, want %d", roots(topo), c.roots)
			}
			if c.find != "" && !slices.ContainsFunc(topo.Findings, func(f topology.Finding) bool { return f.Code+" "+f.Subject == c.find }) {
				t.Errorf("no finding %q in %v", c.find, topo.Findings)
			}
		})
	}
}

// TestNoHostIsLost puts many faults on a fabric: each host is placed or named in a finding.
func TestNoHostIsLost(t *testing.T) {
	r := synth(t, "core:1 pod:3 leaf:4 node:8 rail:2 spine:2", topology.Fault{Kind: "cable", Count: 30}, topology.Fault{Kind: "unnamed", Count: 20},
		topology.Fault{Kind: "twin", Count: 5}, topology.Fault{Kind: "switch", Count: 3}, topology.Fault{Kind: "uplink", Count: 20})
	topo := build(t, topology.BuildOptions{}, r)
	text := string(encode(t, topo))
	for _, d := range r.Devices {
		host, _, _ := strings.Cut(d.Description, " ")
		if d.Kind == topology.AdapterDevice && !strings.Contains(text, `"`+host) && !strings.Contains(text, d.GUID.String()) {
			t.Errorf("adapter %s (%q) is neither placed nor named", d.GUID, d.Description)
		}
	}
	for _, d := range r.Devices {
		if d.Kind == topology.SwitchDevice && !strings.Contains(text, d.GUID.String()) {
			t.Errorf("switch %s (%q) is lost", d.GUID, d.Description)
		}
	}
}

// TestHoleAmongHosts: with one rail a host without its cable is not in the dump at all; the hole that it leaves is named.
func TestHoleAmongHosts(t *testing.T) {
	r := synth(t, "leaf:2 node:8 rail:1 spine:2")
	for i, l := range r.Links {
		if r.Devices[l.A.Device].Description == "node0003 mlx5_0" {
			r = without(r, i)
			break
		}
	}
	topo := build(t, topology.BuildOptions{}, r)
	if !mentions(topo.Findings, "leaf0:4") || len(topo.Findings) != 1 {
		t.Errorf("findings %v: want the hole leaf0:4 and nothing else", topo.Findings)
	}
}

// TestNodeReportGUIDsGoBeforeNames joins an adapter without a name to its node by GUID.
func TestNodeReportGUIDsGoBeforeNames(t *testing.T) {
	r := fabricOf("MT4129 ConnectX7   Mellanox Technologies-leaf0", "n2 mlx5_0-leaf0", "leaf0-spine0")
	node := &topology.NodeReport{Header: topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindNodeReport}, Node: "gpu-07",
		NICs: []topology.NICReport{{Device: "mlx5_3", Port: 1, NodeGUID: r.Devices[0].GUID}}, GPUs: make([]topology.GPU, 8)}
	topo, err := topology.Build(topology.Input{Fabrics: []*topology.FabricReport{r}, Nodes: []*topology.NodeReport{node}}, topology.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := topo.Nodes[0]
	if n.Name != "gpu-07" || n.Group != "leaf0" || n.GPUCount != 8 || n.NICs[0].Device != "mlx5_3" {
		t.Errorf("got %+v, want gpu-07 in leaf0 with 8 GPUs on mlx5_3", n)
	}
}

// TestAskedHostsAreAccounted: a host that the fabric does not know stays in the map, without a group, with a finding.
func TestAskedHostsAreAccounted(t *testing.T) {
	r := fabricOf("n1 mlx5_0-leaf0", "n2 mlx5_0-leaf0", "leaf0-spine0")
	topo := build(t, topology.BuildOptions{Hosts: []string{"n1.example.com", "n7"}}, r)
	if diff := cmp.Diff(map[string]string{"n1.example.com": "leaf0", "n7": ""}, places(topo)); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	if !mentions(topo.Findings, "n7") {
		t.Errorf("no finding names n7: %v", topo.Findings)
	}
}

// TestPairsWeighTheMap merges measured pairs: level efficiencies, node shares, and what is stale or implausible changes nothing.
func TestPairsWeighTheMap(t *testing.T) {
	r := fabricOf("n1 mlx5_0-leaf0", "n2 mlx5_0-leaf0", "n3 mlx5_0-leaf1", "n4 mlx5_0-leaf1", "leaf0-spine0*2", "leaf1-spine0*2")
	bw := func(v float64) *topology.Measurement {
		return &topology.Measurement{Value: v, Samples: 3, Method: "tcp"}
	}
	pairs := &topology.PairReport{Pairs: []topology.Pair{
		{A: "n1", B: "n2", BandwidthBytesPerSecond: bw(48e9)}, {A: "n3", B: "n4", BandwidthBytesPerSecond: bw(24e9)},
		{A: "n1", B: "n3", BandwidthBytesPerSecond: bw(44e9)}, {A: "n3", B: "n1", BandwidthBytesPerSecond: bw(30e9)}, {A: "n2", B: "n4", BandwidthBytesPerSecond: bw(24e9)},
		{A: "n1", B: "n4", BandwidthBytesPerSecond: bw(400e9)}, {A: "n1", B: "n9", BandwidthBytesPerSecond: bw(48e9)}}}
	topo, err := topology.Build(topology.Input{Fabrics: []*topology.FabricReport{r}, Pairs: []*topology.PairReport{pairs}}, topology.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"implausible-measurement n1 - n4", "directions-disagree n1 - n3", "unknown-node n9", "slow-node n4"} {
		if !slices.ContainsFunc(topo.Findings, func(f topology.Finding) bool { return f.Code+" "+f.Subject == w }) {
			t.Errorf("no finding %q in %v", w, topo.Findings)
		}
	}
	if !topo.Tree.Levels[0].Measured || topo.Tree.Levels[0].Efficiency < 0.95 {
		t.Errorf("leaf level %+v: want about 0.96, measured", topo.Tree.Levels[0])
	}
}

func TestBuildRefusesNothing(t *testing.T) {
	if _, err := topology.Build(topology.Input{}, topology.BuildOptions{}); err == nil {
		t.Error("no error for an empty input")
	}
}
