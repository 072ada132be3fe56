package topology_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// TestDocumentsRoundTrip writes a map in both formats, plain and compressed, and reads it back equal.
func TestDocumentsRoundTrip(t *testing.T) {
	want := build(t, topology.BuildOptions{}, synth(t, "leaf:2 node:4 rail:2 spine:2", topology.Fault{Kind: "slow", Count: 1}))
	for _, f := range []topology.Format{topology.JSON, topology.YAML} {
		var buf, packed bytes.Buffer
		if err := topology.Write(&buf, want, f); err != nil {
			t.Fatal(err)
		}
		zw := gzip.NewWriter(&packed)
		zw.Write(buf.Bytes())
		zw.Close()
		for _, b := range []*bytes.Buffer{&buf, &packed} {
			var got topology.Topology
			if err := topology.Read(b, "test", &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, &got); diff != "" {
				t.Errorf("%s: (-want +got):\n%s", f, diff)
			}
		}
	}
}

// TestDocumentErrors: each message names the place and what must be there.
func TestDocumentErrors(t *testing.T) {
	head := "apiVersion: railmap.dev/v1\nkind: Topology\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "empty"},
		{"unknown field", head + "nodez: []\n", "line 3: field nodez not found"},
		{"second document", head + "---\n" + head, "second document"},
		{"wrong kind", "apiVersion: railmap.dev/v1\nkind: NodeReport\n", "must be Topology"},
		{"another kind with its own fields", "apiVersion: railmap.dev/v1\nkind: Occupancy\nside: slurm\n", "kind is Occupancy: must be Topology"},
		{"wrong version", "apiVersion: v1\nkind: Topology\n", "must be \"railmap.dev/v1\""},
		{"JSON unknown field", `{"apiVersion":"railmap.dev/v1","kind":"Topology","nodez":[]}`, "nodez"},
		{"JSON trailing", `{"apiVersion":"railmap.dev/v1","kind":"Topology"} {}`, "more after the document"},
		{"not a number", head + "tree: {levels: [{name: leaf, efficiency: .nan, measured: false}], groups: []}\n", "efficiency is NaN"},
		{"negative", head + "tree: {levels: [{name: leaf, efficiency: -1, measured: false}], groups: []}\n", "efficiency is -1"},
		{"node in two groups", head + "nodes: [{name: a, group: g, state: ok}]\ntree: {levels: [{name: leaf, efficiency: 1, measured: false}], groups: [{name: g, level: leaf, nodes: [a]}, {name: h, level: leaf, nodes: [a]}]}\n", "already"},
		{"parent after child", head + "tree: {levels: [{name: leaf, efficiency: 1, measured: false}, {name: core, efficiency: 1, measured: false}], groups: [{name: g, level: leaf, parent: c}, {name: c, level: core}]}\n", "listed before it"},
		{"level does not rise", head + "tree: {levels: [{name: leaf, efficiency: 1, measured: false}], groups: [{name: c, level: leaf}, {name: g, level: leaf, parent: c}]}\n", "higher level"},
		{"node not listed", head + "nodes: [{name: a, group: g, state: ok}]\n", "must list it"},
		{"link to nowhere", head + "links: [{a: {node: x}, b: {switch: y}, class: infiniband, state: ok}]\n", "must be one of nodes or switches"},
		{"same name twice", head + "nodes: [{name: a, state: ok}, {name: a, state: ok}]\n", "unique"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got topology.Topology
			err := topology.Read(strings.NewReader(c.text), "map.yaml", &got)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "map.yaml") {
				t.Errorf("error %v: must name map.yaml and say %q", err, c.want)
			}
		})
	}
}

func FuzzReadTopology(f *testing.F) {
	f.Add([]byte("apiVersion: railmap.dev/v1\nkind: Topology\nnodes: [{name: a, state: ok}]\n"))
	f.Add([]byte(`{"apiVersion":"railmap.dev/v1","kind":"Topology","nodes":[{"name":"a","state":"ok"}]}`))
	f.Add([]byte("{"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, data []byte) {
		var topo topology.Topology
		if topology.Read(bytes.NewReader(data), "fuzz", &topo) != nil {
			return
		}
		var buf bytes.Buffer
		if err := topology.Write(&buf, &topo, topology.JSON); err != nil {
			t.Fatal(err)
		}
		var again topology.Topology
		if err := topology.Read(&buf, "again", &again); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
	})
}
