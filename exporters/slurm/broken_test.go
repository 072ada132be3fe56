package slurm

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/railmap/railmap/topology"
)

// TestBrokenFabrics draws fabrics with many faults at once. Every plugin gets a file, and every host that slurm.conf has is in
// it, whatever the fabric says of it.
func TestBrokenFabrics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := topology.SynthSpec{
			Pods:   rapid.IntRange(1, 3).Draw(t, "pods"),
			Leaves: rapid.IntRange(1, 4).Draw(t, "leaves"),
			Nodes:  rapid.IntRange(1, 8).Draw(t, "nodes"),
			Rails:  rapid.IntRange(1, 3).Draw(t, "rails"),
		}
		var faults []topology.Fault
		for _, f := range topology.SynthFaults {
			if n := rapid.IntRange(0, 2).Draw(t, f.Kind); n > 0 {
				faults = append(faults, topology.Fault{Kind: f.Kind, Count: n})
			}
		}
		hosts := numbered("node%04d", 0, spec.Pods*spec.Leaves*spec.Nodes)
		topo, err := topology.SynthTopology(spec, rapid.Uint64().Draw(t, "seed"), faults, topology.BuildOptions{Hosts: hosts})
		if err != nil {
			t.Skipf("a fabric too small for its faults: %v", err)
		}
		for _, kind := range []Kind{TreeKind, BlockKind, YAMLKind} {
			for _, v := range []Version{{}, {24, 11}, {26, 5}} {
				if kind == YAMLKind && v == (Version{24, 11}) {
					continue
				}
				files, _, err := Render(topo, kind, Options{Version: v, Nodes: hosts})
				if err != nil {
					t.Fatalf("%s for %s: %v", kind, v, err)
				}
				if files[0].Nodes != len(hosts) {
					t.Fatalf("%s for %s has %d of %d hosts:\n%s", kind, v, files[0].Nodes, len(hosts), files[0].Data)
				}
			}
			if _, _, err := Render(topo, kind, Options{Version: v2605}); err != nil {
				t.Fatalf("%s with the nodes of the map: %v", kind, err)
			}
		}
	})
}
