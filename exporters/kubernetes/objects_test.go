package kubernetes

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

type renderer struct {
	name   string
	render func(*topology.Topology, Options) ([]exporters.File, error)
}

func renderers() []renderer {
	return []renderer{
		{"kueue", Kueue}, {"kai", KAI}, {"koordinator", Koordinator}, {"volcano", Volcano},
		{"nfd", func(t *topology.Topology, o Options) ([]exporters.File, error) { return NFDObjects(t, "nfd", o) }},
	}
}

// slow is wounded with a leaf whose nodes lost a rail, a leaf that measures low and a pod with weak uplinks.
func slow() *topology.Topology {
	t := wounded()
	t.Tree.Levels[0].Efficiency, t.Tree.Levels[1].Efficiency = 1, 0.95
	for i := range t.Tree.Groups {
		switch g := &t.Tree.Groups[i]; {
		case g.Name == "leaf4":
			g.Efficiency, g.Uplink = ptr(0.8), ptr(2.0)
		case g.Level == topology.LeafLevel && g.Parent == "pod0":
			g.Uplink = ptr(2.0)
		case g.Level == topology.LeafLevel:
			g.Uplink = ptr(1.5)
		}
	}
	t.Nodes[0].Share, t.Nodes[1].Share = ptr(0.875), ptr(0.875)
	return t
}

func TestObjects(t *testing.T) {
	for _, r := range renderers() {
		for _, preset := range []string{"topograph-v1", "kueue-docs", "railmap"} {
			files, err := r.render(slow(), Options{Preset: preset})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, r.name+"-"+preset+".yaml", files[0].Data)
			if p := Lint(files[0].Data); len(p) > 0 {
				t.Errorf("%s %s: our own lint says %v", r.name, preset, p)
			}
		}
		files, err := r.render(fabric(2, 2, 2, true), Options{Preset: "topograph-v0", Name: "dc1"})
		if err != nil {
			t.Fatal(err)
		}
		golden(t, r.name+"-domains.yaml", files[0].Data)
		if p := Lint(files[0].Data); len(p) > 0 {
			t.Errorf("%s domains: our own lint says %v", r.name, p)
		}
	}
	files, err := NFDFile(slow(), "node0003", time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC), Options{})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "nfd-feature-file", files[0].Data)
	files, err = Slinky(map[string][]Membership{"node2": {{"ib", "leaf0"}, {"nvl", "block3"}}, "GPU-10": {{"ib", "leaf1"}}})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "slinky.yaml", files[0].Data)
	if p := Lint(files[0].Data); len(p) > 0 {
		t.Errorf("slinky: our own lint says %v", p)
	}
}

func TestObjectsSameBytesForShuffledInput(t *testing.T) {
	for _, r := range renderers() {
		top := slow()
		var want []exporters.File
		rnd := rand.New(rand.NewSource(1))
		for range 20 {
			files, err := r.render(top, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = files
			}
			if d := cmp.Diff(want, files); d != "" {
				t.Fatalf("%s: %s", r.name, d)
			}
			rnd.Shuffle(len(top.Nodes), func(i, j int) { top.Nodes[i], top.Nodes[j] = top.Nodes[j], top.Nodes[i] })
			rnd.Shuffle(len(top.Tree.Groups), func(i, j int) { top.Tree.Groups[i], top.Tree.Groups[j] = top.Tree.Groups[j], top.Tree.Groups[i] })
		}
	}
}

func TestKueueFlavorLabels(t *testing.T) {
	files, err := Kueue(fabric(1, 2, 2, false), Options{Flavor: "h100", FlavorLabels: []string{"pool=train", "gpu=h100"}, SkipOrder: true})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(files[0].Data); !strings.Contains(text, "    gpu: \"h100\"\n    pool: \"train\"\n") || strings.Contains(text, OrderKey) {
		t.Error(text)
	}
	for _, labels := range [][]string{{"a"}, {"a=b", "a=c"}, {"a b=c"}, {"a=b c"}, strings.Split("a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1", " ")} {
		if _, err := Kueue(fabric(1, 2, 2, false), Options{FlavorLabels: labels}); err == nil {
			t.Errorf("node labels %v: no error", labels)
		}
	}
}

func TestObjectsRefuse(t *testing.T) {
	long := Options{Preset: "keys=" + strings.Repeat("a", 60) + ".com/leaf"}
	odd := fabric(1, 1, 2, false)
	odd.Nodes[0].Name, odd.Tree.Groups[2].Nodes[0] = "a_b", "a_b"
	for _, r := range renderers() {
		for name, in := range map[string]struct {
			t *topology.Topology
			o Options
		}{
			"empty map": {&topology.Topology{}, Options{}},
			"name":      {fabric(1, 1, 2, false), Options{Name: "A b"}},
			"flavor":    {fabric(1, 1, 2, false), Options{Flavor: "A b"}},
			"node name": {odd, Options{}},
		} {
			if _, err := r.render(in.t, in.o); err == nil {
				t.Errorf("%s: %s: no error", r.name, name)
			}
		}
		if _, err := r.render(fabric(1, 1, 2, false), long); (err == nil) != (r.name == "nfd") {
			t.Errorf("%s: long key: %v", r.name, err)
		}
	}
	long63 := strings.Repeat("n", 64)
	deep := fabric(1, 1, 2, false)
	deep.Nodes = append(deep.Nodes, topology.Node{Name: long63})
	deep.Tree.Groups[1].Nodes = []string{long63} // directly in a pod that also has a leaf
	if _, err := Volcano(deep, Options{}); err == nil || !strings.Contains(err.Error(), "63") {
		t.Errorf("long member name: %v", err)
	}
	if _, err := NFDObjects(deep, "nfd", Options{}); err == nil || !strings.Contains(err.Error(), "63") {
		t.Errorf("long node name in a label: %v", err)
	}
	if _, err := NFDObjects(fabric(1, 1, 2, false), "nfd", Options{Preset: "keys=topology.kubernetes.io/zone"}); err == nil {
		t.Error("NFD takes keys of kubernetes.io")
	}
	if _, err := NFDFile(fabric(1, 1, 2, false), "nobody", time.Time{}, Options{}); err == nil {
		t.Error("NFD file of an unknown node")
	}
	for _, units := range []map[string][]Membership{nil, {"a": nil}, {"a": {{"ib", "x:y"}}}, {"a": {{"", "x"}}}, {"a": {{"ib", "x"}}, "A": {{"ib", "x"}}}} {
		if _, err := Slinky(units); err == nil {
			t.Errorf("Slinky(%v): no error", units)
		}
	}
}

// TestObjectNames: group names of all kinds become different DNS names.
func TestObjectNames(t *testing.T) {
	var groups []*topology.Group
	for _, n := range []string{"leaf2", "leaf10", "Leaf2", "SPINE;MF0", "SPINE MF0", "ä", strings.Repeat("x", 90), "---", "S-b8cef603000a2340"} {
		groups = append(groups, &topology.Group{Name: n, Level: topology.LeafLevel})
	}
	names := objectNames(groups)
	seen := map[string]bool{}
	for g, n := range names {
		if !isSubdomain(n) || len(n) > 63 || seen[n] {
			t.Errorf("group %q has the name %q", g, n)
		}
		seen[n] = true
	}
	if names["leaf10"] != "leaf10" || names["S-b8cef603000a2340"] != "s-b8cef603000a2340" {
		t.Errorf("names = %v", names)
	}
}

func TestLintObjects(t *testing.T) {
	render := map[string]string{}
	for _, r := range renderers() {
		files, err := r.render(fabric(2, 2, 2, false), Options{})
		if err != nil {
			t.Fatal(err)
		}
		render[r.name] = string(files[0].Data)
	}
	for name, api := range map[string]string{"plugins": PodGroupPlugins, "upstream": PodGroupUpstream} {
		group, err := PodGroup(api, "train", "default", 64)
		if err != nil {
			t.Fatal(err)
		}
		render[name] = string(group)
	}
	tests := []struct{ target, old, new, want string }{
		{"kueue", "  - nodeLabel: railmap.dev/pod\n", "  - nodeLabel: railmap.dev/core\n", "level-repeated"},
		{"kueue", "  - nodeLabel: kubernetes.io/hostname\n", "", "level-host"},
		{"kueue", "  - nodeLabel: railmap.dev/pod\n", "  - nodeLabel: kubernetes.io/hostname\n", "level-host"},
		{"kueue", "railmap.dev/pod", "a b", "schema"},
		{"kueue", "railmap.dev/pod", strings.Repeat("p", 60) + ".dev/pod", "schema"},
		{"kueue", "nodeLabel", "label", "schema"},
		{"kueue", "  nodeLabels:\n    railmap.dev/fabric: \"fabric\"\n", "", "schema"},
		{"kueue", "\"fabric\"", "true", "schema"},
		{"kueue", "name: fabric", "name: Fabric", "object-name"},
		{"kueue", "kind: ResourceFlavor\nmetadata:\n  name: gpu\nspec:\n  nodeLabels:\n    railmap.dev/fabric: \"fabric\"\n  topologyName: fabric", "kind: Topology\nmetadata: {name: fabric}\nspec: {levels: [{nodeLabel: kubernetes.io/hostname}]}", "object-repeated"},
		{"kai", "    alias: pod\n", "    alias: [pod]\n", "schema"},
		{"kai", "levels:", "level:", "schema"},
		{"koordinator", "name: default", "name: fabric", "object-name"},
		{"koordinator", "parentTopologyLayer: SpineLayer", "parentTopologyLayer: DatacenterLayer", "layer-chain"},
		{"koordinator", "topologyLayer: SpineLayer\n", "topologyLayer: BlockLayer\n", "layer-repeated"},
		{"koordinator", "    labelKey:\n    - railmap.dev/leaf\n", "", "layer-key"},
		{"volcano", "tier: 1", "tier: \"1\"", "schema"},
		{"volcano", "tier: 3", "tier: 1", "hypernode-tier"},
		{"volcano", "name: leaf1\n", "name: leaf7\n", "hypernode-member"},
		{"volcano", "name: leaf1\n", "name: leaf0\n", "object-repeated"},
		{"volcano", "name: pod1\n", "name: pod0\n", "object-repeated"},
		{"volcano", "network-topology-source: railmap", "network-topology-source: ufm", "hypernode-source"},
		{"volcano", "type: Node", "type: Host", "schema"},
		{"volcano", "type: Node", "type: HyperNode", "hypernode-member"},
		{"volcano", "      labelMatch:\n", "      exactMatch: {name: a}\n      labelMatch:\n", "schema"},
		{"volcano", "        name: leaf3", "        name: leaf0", "hypernode-parents"},
		{"plugins", "minMember: 64", "minMember: 0", "schema"},
		{"upstream", "minCount: 64", "minCount: many", "schema"},
		{"upstream", "    gang:\n", "    basic: {}\n    gang:\n", "schema"},
		{"nfd", "nfd.node.kubernetes.io/node-name: \"node0000\"", "a: b", "schema"},
		{"nfd", "    railmap.dev/leaf: \"leaf0\"\n", "    railmap.dev/leaf: leaf 0\n", "schema"},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprint(i, " ", tt.target, " ", tt.want), func(t *testing.T) {
			text := strings.Replace(render[tt.target], tt.old, tt.new, 1)
			if text == render[tt.target] {
				t.Fatalf("nothing was changed in\n%s", text)
			}
			problems := Lint([]byte(text))
			if !strings.Contains(fmt.Sprint(codes(problems)), tt.want) {
				t.Errorf("problems = %v, want %s\n%s", problems, tt.want, text)
			}
		})
	}
}
