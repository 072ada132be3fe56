package slurm

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/railmap/railmap/topology"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares with testdata/name, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// ragged has what is awkward: nodes on a spine, a remnant leaf, an empty leaf, a name Slurm cannot read, loose nodes.
func ragged() *topology.Topology {
	var f fabric
	f.topo.Tree.Levels = []topology.Level{{Name: topology.LeafLevel}, {Name: topology.PodLevel}, {Name: topology.CoreLevel}}
	f.group("core", topology.CoreLevel, "")
	f.group("pod0", topology.PodLevel, "core", "store1", "store2")
	f.group("leaf0", topology.LeafLevel, "pod0", numbered("node%02d", 1, 4)...)
	f.group("MF0;sw-1:MQM9700/U1", topology.LeafLevel, "pod0", numbered("node%02d", 5, 4)...)
	f.group("pod1", topology.PodLevel, "core")
	f.group("leaf2", topology.LeafLevel, "pod1", numbered("node%02d", 9, 4)...)
	f.group("leaf3", topology.LeafLevel, "pod1", "node13")
	f.group("leaf4", topology.LeafLevel, "pod1")
	f.loose("node21")
	f.loose("node20")
	return &f.topo
}

func pieces() *topology.Topology {
	var f fabric
	f.group("ibA", topology.PodLevel, "")
	f.group("a0", topology.LeafLevel, "ibA", "n1", "n2")
	f.group("a1", topology.LeafLevel, "ibA", "n3", "n4")
	f.group("b0", topology.LeafLevel, "", "n5", "n6")
	f.loose("n7")
	return &f.topo
}

// odd has adapters that still carry their firmware's names.
func odd() *topology.Topology {
	var f fabric
	f.group("leaf0", topology.LeafLevel, "", "gpu1", "MT4129 ConnectX7   Mellanox Technologies", "gpu2")
	f.loose("0x0002c903;3")
	return &f.topo
}

func TestGolden(t *testing.T) {
	single := fatTree(1, 1, 4, 1)
	single.Nodes = append(single.Nodes, topology.Node{Name: "node9"})
	var none fabric
	none.loose("n10")
	none.loose("n9")
	for _, c := range []struct {
		name     string
		topo     *topology.Topology
		kind     Kind
		options  Options
		warnings string
	}{
		{"tree-2-levels", fatTree(1, 4, 16, 1), TreeKind, Options{Version: Version{24, 11}}, ""},
		{"tree-3-levels", fatTree(2, 4, 4, 1), TreeKind, Options{}, ""},
		{"tree-domains", fatTree(1, 2, 8, 2), TreeKind, Options{}, ""},
		{"tree-ragged", ragged(), TreeKind, Options{}, "unknown-nodes?"},
		{"tree-pieces", pieces(), TreeKind, Options{}, "several-roots? unknown-nodes?"},
		{"tree-one-leaf-and-unknown", single, TreeKind, Options{}, "unknown-nodes?"},
		{"tree-no-fabric", &none.topo, TreeKind, Options{}, "unknown-nodes?"},
		{"tree-other-nodes", fatTree(1, 2, 4, 1), TreeKind, Options{Nodes: expandForTest(t, "node[0001-0006],cpu1")}, "not-in-slurm? unknown-nodes?"},
		{"tree-odd-names", odd(), TreeKind, Options{}, "name-unusable?"},
		{"block-2-levels", fatTree(1, 4, 16, 1), BlockKind, Options{}, ""},
		{"block-domains", fatTree(2, 2, 36, 2), BlockKind, Options{Version: Version{25, 11}}, ""},
		{"block-three-leaves-a-pod", fatTree(2, 3, 4, 1), BlockKind, Options{}, ""},
		{"block-ragged", ragged(), BlockKind, Options{Version: Version{24, 11}}, "small-base? unknown-nodes?"},
		{"block-ragged-25", ragged(), BlockKind, Options{Version: Version{25, 5}}, "unknown-nodes? block-below-base?"},
		{"block-23.11", fatTree(1, 4, 16, 1), BlockKind, Options{Version: Version{23, 11}}, ""},
		{"yaml", fatTree(2, 2, 8, 2), YAMLKind, Options{Version: Version{26, 5}}, ""},
		{"yaml-no-domains", fatTree(1, 2, 4, 1), YAMLKind, Options{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, problems, err := Render(c.topo, c.kind, c.options)
			if err != nil {
				t.Fatal(err)
			}
			if got := codes(problems); got != c.warnings {
				t.Errorf("warnings %q, want %q\n%v", got, c.warnings, problems)
			}
			var all []byte
			for _, f := range files {
				all = fmt.Appendf(all, "==> %s: %d nodes\n%s", f.Name, f.Nodes, f.Data)
			}
			golden(t, c.name+".golden", all)
		})
	}
}

// TestRefuses: nothing is rendered that a release does not read.
func TestRefuses(t *testing.T) {
	many := fatTree(101, 10, 1, 1)
	for _, c := range []struct {
		name    string
		topo    *topology.Topology
		kind    Kind
		options Options
		want    string
	}{
		{"block on 22.05", fatTree(1, 2, 4, 1), BlockKind, Options{Version: Version{22, 5}}, "needs Slurm 23.11"},
		{"yaml on 24.11", fatTree(1, 2, 4, 1), YAMLKind, Options{Version: Version{24, 11}}, "needs Slurm 25.05"},
		{"no nodes", &topology.Topology{}, TreeKind, Options{}, "no switch is defined"},
		{"no nodes in common", fatTree(1, 2, 4, 1), BlockKind, Options{Nodes: []string{}}, "no block is defined"},
		{"1,112 switches", many, TreeKind, Options{}, "too-many-switches"},
		{"unknown plugin", fatTree(1, 2, 4, 1), "ring", Options{}, "must be tree, block or yaml"},
		{"block smaller than the first on 23.11", ragged(), BlockKind, Options{Version: Version{23, 11}}, "block-below-base"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, _, err := Render(c.topo, c.kind, c.options)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if len(files) > 0 {
				t.Errorf("rendered %d files in spite of the error", len(files))
			}
		})
	}
	if _, _, err := Tree(many, Options{ManySwitches: true}); err != nil {
		t.Errorf("forced: %v", err)
	}
}

// drawTopology draws a tree of any shape over nodes with awkward names.
func drawTopology(t *rapid.T) *topology.Topology {
	var f fabric
	nodes := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-c]{1,2}[0-9]{0,4}(-ib|\.x[0-9])?`), 1, 40, rapid.ID[string]).Draw(t, "nodes")
	slices.SortFunc(nodes, byName)
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`([A-Ba-b]|[;:/ _-]|[0-9]){1,6}`), 1, 12, rapid.ID[string]).Draw(t, "groups")
	open := []string{}
	for _, name := range names {
		depth := rapid.IntRange(0, len(open)).Draw(t, "depth")
		open = open[:depth]
		parent := ""
		if depth > 0 {
			parent = open[depth-1]
		}
		n := rapid.IntRange(0, len(nodes)).Draw(t, "count")
		f.group(name, topology.LeafLevel, parent, nodes[:n]...)
		nodes = nodes[n:]
		open = append(open, name)
	}
	for _, n := range nodes {
		f.loose(n)
	}
	return &f.topo
}

// TestEveryNodeOnce: whatever the map looks like, each node is written once, and the lint agrees with what is written.
func TestEveryNodeOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topo := drawTopology(t)
		for _, kind := range []Kind{TreeKind, BlockKind, YAMLKind} {
			files, _, err := Render(topo, kind, Options{Version: Version{26, 5}})
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			var config Config
			if kind == YAMLKind {
				entries, _ := ParseYAML(files[0].Data, v2605)
				config = entries[0].Config
			} else {
				config, _ = ParseConf(files[0].Data, kind, v2605)
			}
			var got, want []string
			for _, s := range config.Switches {
				got = append(got, s.Nodes...)
			}
			for _, b := range config.Blocks {
				got = append(got, b.Nodes...)
			}
			for _, n := range topo.Nodes {
				want = append(want, n.Name)
			}
			slices.Sort(got)
			slices.Sort(want)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%s nodes (-want +got):\n%s\n%s", kind, d, files[0].Data)
			}
			if files[0].Nodes != len(want) {
				t.Fatalf("%s says it has %d nodes, has %d", kind, files[0].Nodes, len(want))
			}
		}
	})
}

// TestSameBytes: the order of nodes in the map changes nothing, and neither does a second run.
func TestSameBytes(t *testing.T) {
	for _, kind := range []Kind{TreeKind, BlockKind, YAMLKind} {
		first, _, err := Render(ragged(), kind, Options{Version: Version{26, 5}})
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(20) {
			topo := ragged()
			r := rand.New(rand.NewPCG(seed, 1))
			r.Shuffle(len(topo.Nodes), func(i, j int) { topo.Nodes[i], topo.Nodes[j] = topo.Nodes[j], topo.Nodes[i] })
			again, _, err := Render(topo, kind, Options{Version: Version{26, 5}})
			if err != nil {
				t.Fatal(err)
			}
			for i := range again {
				if !bytes.Equal(first[i].Data, again[i].Data) {
					t.Fatalf("%s with seed %d differs:\n%s", first[i].Name, seed, cmp.Diff(string(first[i].Data), string(again[i].Data)))
				}
			}
		}
	}
}

// TestStableNames: a new group renames no old one, unless it has a better claim to the very same name.
func TestStableNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Ca-c0-9;:/ _.-]{1,70}`)
		raw := rapid.SliceOfNDistinct(name, 1, 20, rapid.ID[string]).Draw(t, "raw")
		all := safeNames(raw, unknownName)
		seen := map[string]string{"unknown": ""}
		for _, r := range raw {
			n := all[r]
			if bad := validName(n); bad != "" {
				t.Fatalf("%q -> %q: %s", r, n, bad)
			}
			if other, ok := seen[strings.ToLower(n)]; ok {
				t.Fatalf("%q and %q both become %q", r, other, n)
			}
			seen[strings.ToLower(n)] = r
		}
		some := safeNames(raw[:len(raw)-1], unknownName)
		last := strings.ToLower(cleanName(raw[len(raw)-1]))
		for r, n := range some {
			if all[r] != n && strings.ToLower(n) != last {
				t.Fatalf("%q was %q and became %q when %q came", r, n, all[r], raw[len(raw)-1])
			}
		}
	})
}
