package fabric

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// nodeList writes what kubectl get nodes -o json prints, with the parts that nobody reads.
func nodeList(t *testing.T, nodes map[string]map[string]string) string {
	t.Helper()
	var items []any
	names := make([]string, 0, len(nodes))
	for n := range nodes {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		labels := map[string]string{"kubernetes.io/hostname": n, "beta.kubernetes.io/arch": "amd64"}
		for k, v := range nodes[n] {
			labels[k] = v
		}
		items = append(items, map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": n, "labels": labels, "uid": "x"},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}})
	}
	b, err := json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": items, "metadata": map[string]string{"resourceVersion": ""}}, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func labelsOf(t *testing.T, preset string, nodes map[string]map[string]string) *topology.FabricReport {
	t.Helper()
	r, err := Labels(strings.NewReader(nodeList(t, nodes)), "nodes.json", preset)
	if err != nil {
		t.Fatal(err)
	}
	checkSound(t, r)
	return r
}

// tree prints who hangs on what: "n1<leaf1 leaf1<spine1".
func tree(r *topology.FabricReport) string {
	var s []string
	for _, l := range r.Links {
		a, b := r.Devices[l.A.Device], r.Devices[l.B.Device]
		if b.Kind == topology.AdapterDevice || b.Tier != nil && a.Tier != nil && *b.Tier < *a.Tier {
			a, b = b, a
		}
		s = append(s, a.Host+a.Name+"<"+b.Name)
	}
	slices.Sort(s)
	return strings.Join(s, " ")
}

func TestLabelPresets(t *testing.T) {
	for _, tt := range []struct {
		preset string
		a, b   map[string]string
		want   string
	}{
		{"topograph-v1", map[string]string{"fabric.topograph.run/tier-0": "l1", "fabric.topograph.run/tier-1": "s1", "fabric.topograph.run/tier-2": "c1"},
			map[string]string{"fabric.topograph.run/tier-0": "l2", "fabric.topograph.run/tier-1": "s1", "fabric.topograph.run/tier-2": "c1"}, "a<l1 b<l2 l1<s1 l2<s1 s1<c1"},
		{"topograph-v0", map[string]string{"network.topology.nvidia.com/leaf": "l1", "network.topology.nvidia.com/spine": "s1", "network.topology.nvidia.com/core": "c1"},
			map[string]string{"network.topology.nvidia.com/leaf": "l2", "network.topology.nvidia.com/spine": "s2", "network.topology.nvidia.com/core": "c1"}, "a<l1 b<l2 l1<s1 l2<s2 s1<c1 s2<c1"},
		{"topograph-v0-old", map[string]string{"network.topology.nvidia.com/block": "b1", "network.topology.nvidia.com/spine": "s1", "network.topology.nvidia.com/datacenter": "d"},
			map[string]string{"network.topology.nvidia.com/block": "b2", "network.topology.nvidia.com/spine": "s1", "network.topology.nvidia.com/datacenter": "d"}, "a<b1 b1<s1 b2<s1 b<b2 s1<d"},
		{"soperator", map[string]string{"topology.nebius.com/tier-1": "l1", "topology.nebius.com/tier-2": "s"},
			map[string]string{"topology.nebius.com/tier-1": "l2", "topology.nebius.com/tier-2": "s"}, "a<l1 b<l2 l1<s l2<s"},
		{"oci-rdma", map[string]string{"oci.oraclecloud.com/rdma.local_block_id": "l1", "oci.oraclecloud.com/rdma.network_block_id": "n", "oci.oraclecloud.com/rdma.hpc_island_id": "i"},
			map[string]string{"oci.oraclecloud.com/rdma.local_block_id": "l2", "oci.oraclecloud.com/rdma.network_block_id": "n", "oci.oraclecloud.com/rdma.hpc_island_id": "i"}, "a<l1 b<l2 l1<n l2<n n<i"},
		{"oci-host", map[string]string{"oci.oraclecloud.com/host.rack_id": "r1", "oci.oraclecloud.com/host.network_block_id": "n"},
			map[string]string{"oci.oraclecloud.com/host.rack_id": "r2", "oci.oraclecloud.com/host.network_block_id": "n"}, "a<r1 b<r2 r1<n r2<n"},
		{"aws", map[string]string{"topology.k8s.aws/network-node-layer-1": "nn-1", "topology.k8s.aws/network-node-layer-2": "nn-2", "topology.k8s.aws/network-node-layer-3": "nn-3"},
			map[string]string{"topology.k8s.aws/network-node-layer-1": "nn-1", "topology.k8s.aws/network-node-layer-2": "nn-2", "topology.k8s.aws/network-node-layer-3": "nn-4"}, "a<nn-3 b<nn-4 nn-2<nn-1 nn-3<nn-2 nn-4<nn-2"},
		{"gke", map[string]string{"cloud.google.com/gce-topology-block": "b", "cloud.google.com/gce-topology-subblock": "s1", "cloud.google.com/gce-topology-host": "h1"},
			map[string]string{"cloud.google.com/gce-topology-block": "b", "cloud.google.com/gce-topology-subblock": "s2", "cloud.google.com/gce-topology-host": "h2"}, "a<s1 b<s2 s1<b s2<b"},
		{"kueue-docs", map[string]string{"cloud.provider.com/topology-block": "b1", "cloud.provider.com/topology-rack": "r1"},
			map[string]string{"cloud.provider.com/topology-block": "b2", "cloud.provider.com/topology-rack": "r1"}, "a<b1/r1 b1/r1<b1 b2/r1<b2 b<b2/r1"},
		{"volcano", map[string]string{"volcano.sh/hypernode": "h1", "volcano.sh/hypercluster": "c"},
			map[string]string{"volcano.sh/tor": "h2", "volcano.sh/hypercluster": "c"}, "a<h1 b<h2 h1<c h2<c"},
		{"k8s-core", map[string]string{"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z1"},
			map[string]string{"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z2"}, "a<z1 b<z2 z1<r z2<r"},
	} {
		nodes := map[string]map[string]string{"a": tt.a, "b": tt.b}
		for _, preset := range []string{tt.preset, AutoPreset} {
			r := labelsOf(t, preset, nodes)
			if got := tree(r); got != tt.want || len(r.Findings) > 0 {
				t.Errorf("%s as %s: %s, want %s; findings %v", tt.preset, preset, got, tt.want, r.Findings)
			}
		}
	}
	if got, want := len(LabelPresets()), 11; got != want {
		t.Errorf("%d presets, %d tested: add a case for the new one", got, want)
	}
	r := labelsOf(t, "example.com/rack,example.com/row", map[string]map[string]string{"a": {"example.com/rack": "k1", "example.com/row": "w"}})
	if got := tree(r); got != "a<k1 k1<w" {
		t.Errorf("own keys: %s", got)
	}
}

func TestMixedLabels(t *testing.T) {
	const p = "fabric.topograph.run/tier-"
	nodes := map[string]map[string]string{}
	for i := range 6 {
		nodes[fmt.Sprintf("n%d", i)] = map[string]string{p + "0": "leaf", p + "1": "new"}
	}
	nodes["n4"][p+"1"], nodes["n5"][p+"1"] = "stale", "stale"
	nodes["n6"] = map[string]string{p + "0": "leaf"}
	nodes["n7"] = map[string]string{p + "1": "new"}
	nodes["cpu"] = nil
	r := labelsOf(t, "", nodes)
	if got, want := tree(r), "leaf<new n0<leaf n1<leaf n2<leaf n3<leaf n4<leaf n5<leaf n6<leaf"; got != want {
		t.Errorf("tree %s, want %s", got, want)
	}
	var got []string
	for _, f := range r.Findings {
		got = append(got, string(f.Severity)+" "+f.Code+" "+f.Subject)
	}
	want := []string{"warning missing-label n6", "warning missing-label n7", "warning mixed-labels n4", "warning mixed-labels n5", "info missing-label cpu"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if n := kinds(r); n[topology.AdapterDevice] != 9 || n[topology.SwitchDevice] != 3 {
		t.Errorf("devices %v, want 9 nodes and 3 switches", n)
	}
}

func TestLabelDetails(t *testing.T) {
	const p = "fabric.topograph.run/tier-"
	r := labelsOf(t, "topograph-v1", map[string]map[string]string{
		"a": {p + "0": "x9f86d081884c7d65", p + "1": "sw", "nvidia.com/gpu.clique": "00000000-0000-0000-0000-000000000000.0"},
		"b": {p + "0": "sw", p + "1": "sw", "nvidia.com/gpu.clique": "6b29fc40-ca47-1067-b31d-00dd010662da.3"},
	})
	if got, want := tree(r), "a<x9f86d081884c7d65 b<sw sw<sw@1 x9f86d081884c7d65<sw@1"; got != want {
		t.Errorf("a value on two tiers: %s, want %s", got, want)
	}
	if codes(r) != CodeHashedLabel {
		t.Errorf("findings %v", r.Findings)
	}
	domains := map[string]string{}
	for _, d := range r.Devices {
		if d.Host != "" {
			domains[d.Host] = d.NVLinkDomain
		}
	}
	if domains["a"] != "" || domains["b"] != "6b29fc40-ca47-1067-b31d-00dd010662da.3" {
		t.Errorf("NVLink domains %v; an all-zero UUID is none", domains)
	}
}

func TestLabelErrors(t *testing.T) {
	for _, tt := range []struct{ name, in, preset, want string }{
		{"empty", "", "", "nodes.json:1: must be a JSON node list"},
		{"not a list", "[]", "", "nodes.json:1: must be a JSON node list"},
		{"pods", `{"kind":"List","items":[{"kind":"Pod","metadata":{"name":"a"}}]}`, "", `items[0]: kind is "Pod": must be Node`},
		{"other kind", `{"kind":"Deployment"}`, "", `kind is "Deployment": must be NodeList, List or Node`},
		{"no name", `{"kind":"List","items":[{"kind":"Node"}]}`, "", "items[0]: metadata.name must not be empty"},
		{"cut", "{\"kind\":\"List\",\n\"items\":[{\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"}},\n", "", "nodes.json:2: input ends inside the node list"},
		{"no nodes", `{"kind":"List","items":[]}`, "", "holds no node"},
		{"no labels", `{"kind":"Node","metadata":{"name":"a"}}`, "", "no node carries a leaf label of a known preset"},
		{"no such label", `{"kind":"Node","metadata":{"name":"a"}}`, "gke", "no node carries the label cloud.google.com/gce-topology-subblock"},
		{"no such preset", `{"kind":"Node","metadata":{"name":"a"}}`, "mine", `preset "mine": must be auto`},
		{"twice", `{"kind":"List","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"a"}}]}`, "", "node a is listed twice"},
		{"wrong type", "{\"kind\":\"List\",\n\"items\":[{\"metadata\":{\"name\":7}}]}", "", "nodes.json:2:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Labels(strings.NewReader(tt.in), "nodes.json", tt.preset)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want it to contain %q", err, tt.want)
			}
		})
	}
}

func TestReadFindsLabels(t *testing.T) {
	r := parse(t, nodeList(t, map[string]map[string]string{"a": {"topology.kubernetes.io/zone": "z"}}))
	if r.Source != SourceLabels || tree(r) != "a<z" {
		t.Errorf("source %s, %s", r.Source, tree(r))
	}
}
