package exporters_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/exporters/kubernetes"
	"github.com/railmap/railmap/probe/fabric"
	"github.com/railmap/railmap/topology"
)

// leaves gives the node sets of the leaf groups, without their names.
func leaves(t *testing.T, topo *topology.Topology) [][]string {
	t.Helper()
	flat, err := exporters.Flatten(topo)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(flat.Levels, topology.LeafLevel)
	var sets [][]string
	last := ""
	for _, n := range flat.Nodes {
		if n.Groups[at] != last || len(sets) == 0 {
			sets = append(sets, nil)
		}
		last = n.Groups[at]
		sets[len(sets)-1] = append(sets[len(sets)-1], n.Name)
	}
	slices.SortFunc(sets, slices.Compare)
	return sets
}

// nodeList is what kubectl get nodes -o json prints when the labels of a file are applied.
func nodeList(t *testing.T, data []byte) []byte {
	t.Helper()
	labels, err := kubernetes.ReadLabels(data)
	if err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	list := object{"apiVersion": "v1", "kind": "List"}
	items := []object{}
	for name, l := range labels {
		items = append(items, object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": name, "labels": l}})
	}
	list["items"] = items
	out, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLabelsComeBackAsTheSameMap: what a preset writes, the label reader of the same preset maps to the same leaf groups.
func TestLabelsComeBackAsTheSameMap(t *testing.T) {
	spec, err := topology.ParseSynthSpec("core:1 pod:2 leaf:6 node:3 rail:2")
	if err != nil {
		t.Fatal(err)
	}
	topo, err := topology.SynthTopology(spec, 1, nil, topology.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := leaves(t, topo)
	tried := 0
	for _, p := range kubernetes.Presets() {
		if !slices.Contains(fabric.LabelPresets(), p.Name) {
			continue
		}
		tried++
		files, err := kubernetes.Labels(topo, kubernetes.Options{Preset: p.Name})
		if err != nil {
			t.Fatal(err)
		}
		report, err := fabric.Labels(bytes.NewReader(nodeList(t, files[0].Data)), p.Name, p.Name)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		back, err := topology.Build(topology.Input{Fabrics: []*topology.FabricReport{report}}, topology.BuildOptions{})
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		if d := cmp.Diff(want, leaves(t, back)); d != "" {
			t.Errorf("%s (-map +labels):\n%s", p.Name, d)
		}
	}
	if tried < 8 {
		t.Errorf("only %d presets are known on both sides", tried)
	}
}
