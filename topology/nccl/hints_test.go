package nccl

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// withNICs gives every node eight NICs of 400 Gb/s, rail r being mlx5_r, and one storage NIC.
func withNICs(t *topology.Topology) *topology.Topology {
	for i := range t.Nodes {
		for r := range 8 {
			rail := r
			t.Nodes[i].NICs = append(t.Nodes[i].NICs, topology.NodeNIC{Device: fmt.Sprintf("mlx5_%d", r), Port: 1, Rail: &rail, NominalBandwidthBytesPerSecond: 50e9})
		}
		t.Nodes[i].NICs = append(t.Nodes[i].NICs, topology.NodeNIC{Device: "mlx5_8", Port: 1, NominalBandwidthBytesPerSecond: 25e9})
	}
	return t
}

func cluster(t testing.TB, top *topology.Topology) *Cluster {
	t.Helper()
	c, err := NewCluster(top, ClusterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestHints(t *testing.T) {
	const all = "=mlx5_0:1:0,mlx5_1:1:1,mlx5_2:1:2,mlx5_3:1:3,mlx5_4:1:4,mlx5_5:1:5,mlx5_6:1:6,mlx5_7:1:7"
	const without3 = "=mlx5_0:1:0,mlx5_1:1:1,mlx5_2:1:2,mlx5_4:1:4,mlx5_5:1:5,mlx5_6:1:6,mlx5_7:1:7"
	for _, tc := range []struct {
		name    string
		change  func(*topology.Topology)
		version Version
		common  []string // NAME=VALUE
		nodes   []string // NODE NAME=VALUE
		codes   []string
	}{
		{name: "healthy", common: []string{"NCCL_IB_HCA=" + all}},
		{name: "older library", version: Version{29, 7}, common: []string{"NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1"}},
		{name: "half speed", change: func(t *topology.Topology) { t.Nodes[1].NICs[3].NominalBandwidthBytesPerSecond = 25e9 },
			nodes: []string{"n0 NCCL_IB_HCA=" + all, "n1 NCCL_IB_HCA=" + without3}, codes: []string{"nccl-nic-excluded n1/mlx5_3"}},
		{name: "down", change: func(t *topology.Topology) { t.Nodes[0].NICs[3].State = topology.Down },
			nodes: []string{"n0 NCCL_IB_HCA=" + without3, "n1 NCCL_IB_HCA=" + all}, codes: []string{"nccl-nic-excluded n0/mlx5_3"}},
		{name: "slightly slow stays", change: func(t *topology.Topology) { t.Nodes[0].NICs[3].NominalBandwidthBytesPerSecond = 44.9e9 },
			common: []string{"NCCL_IB_HCA=" + all}},
		{name: "no NIC", change: func(t *topology.Topology) { t.Nodes[0].NICs, t.Nodes[1].NICs = nil, nil }, codes: []string{"nccl-no-nic n0", "nccl-no-nic n1"}},
	} {
		top := withNICs(twoLevels(2, 2, 1))
		if tc.change != nil {
			tc.change(top)
		}
		h, err := cluster(t, top).HintsFor(nodeNames(0, 1), HintOptions{Version: tc.version})
		if err != nil {
			t.Fatal(err)
		}
		var common, nodes, codes []string
		for _, v := range h.Common {
			common = append(common, v.Name+"="+v.Value)
		}
		for _, n := range h.Nodes {
			for _, v := range n.Env {
				nodes = append(nodes, n.Node+" "+v.Name+"="+v.Value)
			}
		}
		for _, f := range h.Findings {
			codes = append(codes, f.Code+" "+f.Subject)
		}
		if d := cmp.Diff(tc.common, common) + cmp.Diff(tc.nodes, nodes) + cmp.Diff(tc.codes, codes); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

func TestHintsFromReports(t *testing.T) {
	fast, slow := 1.25e9, .125e9
	report := func(name string, devices ...topology.NetDevice) *topology.NodeReport {
		return &topology.NodeReport{Node: name, NetDevices: devices,
			PCI:  []topology.PCIDevice{{Address: "0000:01:00.0"}, {Address: "0000:02:00.0"}},
			GPUs: []topology.GPU{{PCIAddress: "0000:01:00.0", NVLinks: []topology.NVLink{{Active: true}}}},
			NICs: []topology.NICReport{{Device: "mlx5_0", PCIAddress: "0000:02:00.0"}}}
	}
	reports := map[string]*topology.NodeReport{
		"n0": report("n0", topology.NetDevice{Name: "docker0", State: "up"}, topology.NetDevice{Name: "eno1", State: "up", SpeedBytesPerSecond: &slow},
			topology.NetDevice{Name: "ens3", State: "up", SpeedBytesPerSecond: &fast}, topology.NetDevice{Name: "ib0", State: "up", RDMADevice: "mlx5_0", SpeedBytesPerSecond: &fast}),
		"n1": report("n1", topology.NetDevice{Name: "eno1", State: "up", SpeedBytesPerSecond: &slow}, topology.NetDevice{Name: "ens3", State: "down"},
			topology.NetDevice{Name: "ib0", State: "up", RDMADevice: "mlx5_0", SpeedBytesPerSecond: &fast}),
	}
	h, err := cluster(t, withNICs(twoLevels(2, 2, 1))).HintsFor(nodeNames(0, 1), HintOptions{Reports: reports, TopoFile: "/etc/nccl-topo.xml"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range h.For("n1") {
		got[v.Name] = v.Value
	}
	if got["NCCL_SOCKET_IFNAME"] != "=eno1" || got["NCCL_TOPO_FILE"] != "/etc/nccl-topo.xml" {
		t.Errorf("settings of n1: %v", got)
	}
	half := 25e9
	reports["n1"].NICs = []topology.NICReport{{Device: "mlx5_2", Port: 1, State: "ACTIVE", RateBytesPerSecond: &half}, {Device: "mlx5_5", Port: 1, State: "DOWN"}}
	if h, err = cluster(t, withNICs(twoLevels(2, 2, 1))).HintsFor(nodeNames(0, 1), HintOptions{Reports: reports}); err != nil {
		t.Fatal(err)
	}
	got = map[string]string{}
	for _, v := range h.For("n1") {
		got[v.Name] = v.Value
	}
	if want := "=mlx5_0:1:0,mlx5_1:1:1,mlx5_3:1:3,mlx5_4:1:4,mlx5_6:1:6,mlx5_7:1:7"; got[hcaVariable] != want {
		t.Errorf("NICs of n1 by its report: %q, want %q", got[hcaVariable], want)
	}
	reports["n1"].NICs = reports["n0"].NICs
	reports["n0"].PCI[0].Parent, reports["n0"].PCI[1].Parent = "0000:00:01.0", "0000:00:01.0"
	if hiddenTree(reports["n0"]) || !hiddenTree(reports["n1"]) {
		t.Error("only a tree without a switch in common is hidden")
	}
	if _, err := cluster(t, twoLevels(1, 1, 1)).HintsFor([]string{"who"}, HintOptions{}); err == nil {
		t.Error("a node that the map does not know must be an error")
	}
}

func TestHintsRails(t *testing.T) {
	top := withNICs(twoLevels(3, 3, 1))
	top.Nodes[2].NICs[0].State = topology.Down
	zero, one := 0, 1
	top.Switches = []topology.Switch{
		{Name: "rail0", Role: topology.FabricSwitch, Group: "leaf0", Rail: &zero},
		{Name: "rail1", Role: topology.FabricSwitch, Group: "leaf0", Rail: &one},
	}
	h, err := cluster(t, top).HintsFor(nodeNames(0, 1, 2), HintOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if own := h.For("n2"); len(h.Nodes) != 1 || len(own) != 2 || own[1].Value != "=mlx5_1:1:1,mlx5_2:1:2,mlx5_3:1:3,mlx5_4:1:4,mlx5_5:1:5,mlx5_6:1:6,mlx5_7:1:7" {
		t.Errorf("settings of n2, which lacks a NIC: %+v", own)
	}
	if len(h.Common) != 2 || h.Common[1].Name != "NCCL_CROSS_NIC" || h.Common[1].Value != "0" || len(h.Findings) != 2 || h.Findings[1].Code != CodeOddRails {
		t.Errorf("hints %+v", h)
	}
}
