package topology_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file under testdata, or writes the file with -update.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func hurtCluster(t *testing.T) *topology.Topology {
	return build(t, topology.BuildOptions{}, synth(t, "core:1 pod:2 leaf:2 node:10 rail:2 spine:2",
		topology.Fault{Kind: "slow", Count: 2}, topology.Fault{Kind: "cable", Count: 1}, topology.Fault{Kind: "uplink", Count: 1}))
}

func TestRenderTree(t *testing.T) {
	var buf bytes.Buffer
	if err := topology.RenderTree(&buf, hurtCluster(t)); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/tree.txt", buf.Bytes())
}

// TestRenderSVG checks that the picture is well-formed XML, names every node and every group, and stays the same.
func TestRenderSVG(t *testing.T) {
	topo := hurtCluster(t)
	topo.Nodes[0].Name, topo.Tree.Groups[2].Nodes[0] = `a<"&`, `a<"&`
	var buf bytes.Buffer
	if err := topology.RenderSVG(&buf, topo); err != nil {
		t.Fatal(err)
	}
	text := buf.String()
	dec := xml.NewDecoder(&buf)
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
	for _, n := range topo.Nodes[1:] {
		if !strings.Contains(text, "<title>"+n.Name+": ") {
			t.Errorf("node %s is not in the picture", n.Name)
		}
	}
	golden(t, "testdata/map.svg", []byte(text))
}

func TestDiff(t *testing.T) {
	old := build(t, topology.BuildOptions{}, synth(t, "leaf:2 node:4 rail:2 spine:2"))
	if c := topology.Diff(old, old); len(c) > 0 {
		t.Errorf("a map differs from itself: %v", c)
	}
	now := build(t, topology.BuildOptions{}, synth(t, "leaf:2 node:4 rail:2 spine:2", topology.Fault{Kind: "slow", Count: 1}))
	want := []topology.Change{
		{Kind: "changed", What: "node", Subject: "node0004", Message: "share: 1 -> 0.5; state: unmeasured -> degraded"},
		{Kind: "changed", What: "link", Subject: "node0004/mlx5_1 - leaf3", Message: "nominalBandwidthBytesPerSecond: 5e+10 -> 2.5e+10; health: none -> 0.5; state: unmeasured -> degraded"},
	}
	if diff := cmp.Diff(want, topology.Diff(old, now)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	gone := build(t, topology.BuildOptions{Hosts: []string{"node0000"}}, synth(t, "leaf:2 node:4 rail:2 spine:2"))
	if got := topology.Diff(old, gone); !hasChange(got, "removed", "node", "node0001") || !hasChange(topology.Diff(gone, old), "added", "node", "node0001") {
		t.Errorf("no removal of node0001 in %v", got)
	}
}

func hasChange(changes []topology.Change, kind, what, subject string) bool {
	for _, c := range changes {
		if c.Kind == kind && c.What == what && c.Subject == subject {
			return true
		}
	}
	return false
}

func TestSynthSpecErrors(t *testing.T) {
	for _, s := range []string{"pods:3", "pod:x", "pod:0", "pod:-1", "pod:2 pod:2", "node:100000 leaf:1000 pod:1000", "pod"} {
		if _, err := topology.ParseSynthSpec(s); err == nil {
			t.Errorf("%q: no error", s)
		}
	}
	if _, err := topology.Synth(topology.SynthSpec{Pods: 1, Leaves: 1, Nodes: 2, Rails: 1}, 1, []topology.Fault{{Kind: "fire", Count: 1}}); err == nil {
		t.Error("an unknown fault is no error")
	}
}

// TestSeededFaultsAreNamed draws faults one at a time: each gives a finding that a healthy fabric has not.
func TestSeededFaultsAreNamed(t *testing.T) {
	spec, err := topology.ParseSynthSpec("core:2 pod:2 leaf:4 node:8 rail:4 spine:2")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range topology.SynthFaults {
		for seed := range uint64(20) {
			topo, err := topology.SynthTopology(spec, seed, []topology.Fault{{Kind: f.Kind, Count: 1}}, topology.BuildOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(topo.Findings) == 0 {
				t.Errorf("fault %s, seed %d: no finding", f.Kind, seed)
			}
		}
	}
}
