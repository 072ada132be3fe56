package fabric

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// Both forms say the same.
func TestCorpusLLDP(t *testing.T) {
	var systems []SystemLLDP
	for _, name := range []string{"h0", "leaf0", "spine0"} {
		var got [2][]Neighbor
		for i, form := range []string{"json0", "json"} {
			n, err := ParseLLDP(corpus(t, "fabric", "lldp", name+"."+form), name)
			if err != nil {
				t.Fatal(err)
			}
			got[i] = n
		}
		if d := gocmp.Diff(got[0], got[1]); d != "" {
			t.Errorf("%s: json0 and json differ:\n%s", name, d)
		}
		systems = append(systems, SystemLLDP{System: name, Neighbors: got[0]})
	}
	want := []Neighbor{{"swp1", "h0", "eth0", true}, {"swp2", "h1", "eth0", true}, {"swp31", "spine0", "swp1", false}}
	if d := gocmp.Diff(want, systems[1].Neighbors); d != "" {
		t.Errorf("leaf0 (-want +got):\n%s", d)
	}
	r := LLDP(systems)
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	if k := kinds(r); k[topology.SwitchDevice] != 3 || k[topology.AdapterDevice] != 2 || len(r.Links) != 4 || len(r.Findings) > 0 {
		t.Errorf("%v, %d links, findings %v", k, len(r.Links), r.Findings)
	}
	checkSound(t, r)
}

func TestParseLLDP(t *testing.T) {
	tests := []struct {
		name, in string
		want     []Neighbor
		err      string
	}{
		{"nothing heard, json0", `{"lldp":[{}]}`, nil, ""},
		{"nothing heard, json", `{"lldp":{}}`, nil, ""},
		{"no name: the chassis id", `{"lldp":{"interface":{"e1":{"chassis":{"id":{"type":"mac","value":"aa:bb"}},"port":{"id":{"type":"ifname","value":"swp9"}}}}}}`,
			[]Neighbor{{"e1", "aa:bb", "swp9", false}}, ""},
		{"port id is a MAC: the description", `{"lldp":{"interface":{"e1":{"chassis":{"s":{"id":{"type":"mac","value":"x"}}},"port":{"id":{"type":"mac","value":"aa"},"descr":"swp3"}}}}}`,
			[]Neighbor{{"e1", "s", "swp3", false}}, ""},
		{"control bytes", `{"lldp":{"interface":{"e1":{"chassis":{"s\u001b[1m":{"id":{"type":"mac","value":"x"}}},"port":{"id":{"type":"ifname","value":"p1"}}}}}}`,
			[]Neighbor{{"e1", "s[1m", "p1", false}}, ""},
		{"not JSON", "lldp.eth0.via=LLDP", nil, "f:1: invalid character 'l' looking for beginning of value; must be what lldpcli -f json0 show neighbors prints"},
		{"other JSON", `{"items":[]}`, nil, `f: no "lldp": must be what lldpcli -f json0 show neighbors prints`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseLLDP(strings.NewReader(tt.in), "f")
			if msg := fmt.Sprint(err); err != nil && msg != tt.err || err == nil && tt.err != "" {
				t.Fatalf("error %q, want %q", msg, tt.err)
			}
			if d := gocmp.Diff(tt.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// Node reports alone make the map of a two-rail RoCE cluster; a second neighbor on one port is named.
func TestLLDPOfNodes(t *testing.T) {
	var nodes []*topology.NodeReport
	for h := range 4 {
		n := &topology.NodeReport{Node: fmt.Sprint("gpu", h)}
		for r := range 2 {
			n.NetDevices = append(n.NetDevices, topology.NetDevice{Name: fmt.Sprintf("eth%d", r), RDMADevice: fmt.Sprintf("mlx5_%d", r),
				SpeedBytesPerSecond: new(50e9), LLDPSwitch: fmt.Sprintf("leaf%d", h/2*2+r), LLDPPort: fmt.Sprintf("Ethernet1/%d", h)})
		}
		n.NetDevices = append(n.NetDevices, topology.NetDevice{Name: "mgmt0", LLDPSwitch: "office", LLDPPort: "Gi1/0/1"})
		nodes = append(nodes, n)
	}
	r := LLDPOfNodes(nodes)
	checkSound(t, r)
	topo, err := topology.Build(topology.Input{Fabrics: []*topology.FabricReport{r}, Nodes: nodes}, topology.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]int{}
	for _, n := range topo.Nodes {
		groups[n.Group]++
		if n.NominalBandwidthBytesPerSecond != 100e9 || len(n.NICs) != 2 || n.NICs[0].Device != "mlx5_0" {
			t.Errorf("%+v", n)
		}
	}
	if len(topo.Nodes) != 4 || len(groups) != 2 {
		t.Errorf("%d nodes in groups %v", len(topo.Nodes), groups)
	}
	if LLDPOfNodes([]*topology.NodeReport{{Node: "a"}}) != nil {
		t.Error("a report came of nothing")
	}
	two := LLDP([]SystemLLDP{{System: "a", Neighbors: []Neighbor{{"e0", "s1", "p1", false}, {"e0", "s2", "p1", false}}}})
	if len(two.Links) != 1 || len(two.Findings) != 1 || two.Findings[0].Code != CodeSharedPort {
		t.Errorf("%d links, findings %v", len(two.Links), two.Findings)
	}
}

func FuzzLLDP(f *testing.F) {
	f.Add([]byte(`{"lldp":[{"interface":[{"name":"eth0","chassis":[{"id":[{"type":"mac","value":"aa"}],"name":[{"value":"leaf0"}],"capability":[{"type":"Bridge","enabled":true}]}],"port":[{"id":[{"type":"ifname","value":"swp1"}]}]}]}]}`))
	f.Add([]byte(`{"lldp":{"interface":[{"swp1":{"chassis":{"h0":{"id":{"type":"mac","value":"aa"},"capability":[{"type":"Station","enabled":true}]}},"port":{"id":{"type":"local","value":"7"},"descr":"eth0"}}},{"swp1":{}}]}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		n, err := ParseLLDP(bytes.NewReader(in), "fuzz")
		if err != nil {
			return
		}
		r := LLDP([]SystemLLDP{{System: "here", Neighbors: n}})
		sound(t, r, r.Validate())
		again, _ := ParseLLDP(bytes.NewReader(in), "fuzz")
		if d := gocmp.Diff(n, again); d != "" {
			t.Fatal(d)
		}
	})
}
