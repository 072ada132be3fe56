package kubernetes

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

func ptr[T any](v T) *T { return &v }

// fabric makes a healthy map: pods × leaves × nodes, one NVLink domain per leaf when domains is set.
func fabric(pods, leaves, nodes int, domains bool) *topology.Topology {
	t := &topology.Topology{Tree: topology.Tree{Levels: []topology.Level{{Name: topology.LeafLevel}, {Name: topology.PodLevel}, {Name: topology.CoreLevel}}}}
	if domains {
		t.Tree.Levels = slices.Insert(t.Tree.Levels, 0, topology.Level{Name: topology.DomainLevel})
	}
	t.Tree.Groups = append(t.Tree.Groups, topology.Group{Name: "core", Level: topology.CoreLevel})
	for p := range pods {
		pod := fmt.Sprintf("pod%d", p)
		t.Tree.Groups = append(t.Tree.Groups, topology.Group{Name: pod, Level: topology.PodLevel, Parent: "core"})
		for l := range leaves {
			leaf := topology.Group{Name: fmt.Sprintf("leaf%d", p*leaves+l), Level: topology.LeafLevel, Parent: pod}
			var names []string
			for n := range nodes {
				name := fmt.Sprintf("node%04d", (p*leaves+l)*nodes+n)
				names = append(names, name)
				t.Nodes = append(t.Nodes, topology.Node{Name: name, Group: leaf.Name, State: topology.OK, Share: ptr(1.0)})
			}
			if domains {
				t.Tree.Groups = append(t.Tree.Groups, leaf, topology.Group{Name: fmt.Sprintf("nvl%d", p*leaves+l), Level: topology.DomainLevel, Parent: leaf.Name, Nodes: names})
				continue
			}
			leaf.Nodes = names
			t.Tree.Groups = append(t.Tree.Groups, leaf)
		}
	}
	return t
}

// wounded is a small map with everything that may be wrong.
func wounded() *topology.Topology {
	t := fabric(2, 6, 2, false)
	t.Nodes[3].Share = ptr(0.74)
	t.Nodes[3].MeasuredBandwidthBytesPerSecond = &topology.Measurement{Value: 37.3e9}
	t.Nodes[3].NICs = []topology.NodeNIC{{Rail: ptr(0), State: topology.OK}, {Rail: ptr(1), State: topology.Down}, {State: topology.OK}}
	t.Nodes[4].Share = nil
	t.Nodes = append(t.Nodes, topology.Node{Name: "Lost-1", State: topology.Down})
	return t
}

func TestLabelsOfEveryPreset(t *testing.T) {
	for _, p := range Presets() {
		files, err := Labels(wounded(), Options{Preset: p.Name})
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "labels-"+p.Name+".yaml", files[0].Data)
		if files[0].Nodes != 25 || files[1].Name != KustomizationName {
			t.Errorf("%s: %d nodes, second file %s", p.Name, files[0].Nodes, files[1].Name)
		}
		if findings := Lint(files[0].Data); len(findings) > 0 {
			t.Errorf("%s: our own lint says %+v", p.Name, findings)
		}
	}
	files, err := Labels(fabric(1, 2, 2, true), Options{Preset: "soperator", TierPrefix: "topologyconf.slurm.nebius.ai"})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "labels-domains.yaml", files[0].Data)
	golden(t, "kustomization.yaml", files[1].Data)
}

// TestLabelsAreCompleteAndTell checks the two promises of labels on random broken trees: every node has every level, and two
// nodes have the same value exactly if they share the group (so nothing that is unknown looks near).
func TestLabelsAreCompleteAndTell(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		top := fabric(rapid.IntRange(1, 3).Draw(rt, "pods"), rapid.IntRange(1, 4).Draw(rt, "leaves"), rapid.IntRange(1, 3).Draw(rt, "nodes"), rapid.Bool().Draw(rt, "domains"))
		breakTree(rt, top)
		preset := rapid.SampledFrom(Presets()).Draw(rt, "preset")
		files, err := Labels(top, Options{Preset: preset.Name})
		if err != nil {
			rt.Fatal(err)
		}
		labels, err := ReadLabels(files[0].Data)
		if err != nil || len(labels) != len(top.Nodes) {
			rt.Fatalf("%d nodes of %d, %v", len(labels), len(top.Nodes), err)
		}
		flat, _ := exporters.Flatten(top)
		for _, k := range preset.KeyLevels(flat.Levels) {
			values := map[string]string{}
			c := slices.Index(flat.Levels, k.Level)
			for _, n := range flat.Nodes {
				v := labels[n.Name][k.Key]
				if v == "" {
					rt.Fatalf("%s has no %s", n.Name, k.Key)
				}
				group := "only " + n.Name
				if c >= 0 && n.Groups[c] != "" {
					group = n.Groups[c]
				}
				if other, ok := values[v]; ok && other != group {
					rt.Fatalf("%s %q stands for %s and %s", k.Key, v, other, group)
				}
				values[v] = group
			}
		}
	})
}

// breakTree takes groups away from their parents and nodes out of their groups.
func breakTree(rt *rapid.T, top *topology.Topology) {
	for i := range top.Tree.Groups {
		g := &top.Tree.Groups[i]
		switch rapid.IntRange(0, 9).Draw(rt, "fault") {
		case 0:
			g.Parent = ""
		case 1:
			if g.Parent != "" {
				g.Parent = "core"
			}
		case 2:
			for j := range top.Nodes {
				if slices.Contains(g.Nodes, top.Nodes[j].Name) {
					top.Nodes[j].Group = ""
				}
			}
			g.Nodes = nil
		}
	}
}

func TestLabelsSameBytesForShuffledInput(t *testing.T) {
	top := wounded()
	var want []exporters.File
	r := rand.New(rand.NewSource(1))
	for range 20 {
		files, err := Labels(top, Options{Preset: "topograph-v1"})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = files
		}
		if d := cmp.Diff(want, files); d != "" {
			t.Fatal(d)
		}
		r.Shuffle(len(top.Nodes), func(i, j int) { top.Nodes[i], top.Nodes[j] = top.Nodes[j], top.Nodes[i] })
		r.Shuffle(len(top.Tree.Groups), func(i, j int) { top.Tree.Groups[i], top.Tree.Groups[j] = top.Tree.Groups[j], top.Tree.Groups[i] })
	}
}

func TestLabelsTextOrderIsRingOrder(t *testing.T) {
	top := fabric(3, 5, 3, false)
	files, err := Labels(top, Options{Preset: "railmap"})
	if err != nil {
		t.Fatal(err)
	}
	labels, err := ReadLabels(files[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	path := func(n string) string {
		l := labels[n]
		return strings.Join([]string{l["railmap.dev/core"], l["railmap.dev/pod"], l["railmap.dev/leaf"], l[OrderKey]}, "|")
	}
	flat, _ := exporters.Flatten(top)
	for i := 1; i < len(flat.Nodes); i++ {
		a, b := flat.Nodes[i-1].Name, flat.Nodes[i].Name
		if path(a) >= path(b) || labels[a][OrderKey] >= labels[b][OrderKey] {
			t.Errorf("%s (%s) must sort before %s (%s) as text", a, path(a), b, path(b))
		}
	}
}

func TestLabelsOfTheClustersNodes(t *testing.T) {
	opts := Options{Nodes: []string{"node0002", "cpu-1", "lost-1"}}
	files, err := Labels(wounded(), opts)
	if err != nil {
		t.Fatal(err)
	}
	labels, err := ReadLabels(files[0].Data)
	if err != nil || len(labels) != 3 || labels["cpu-1"]["railmap.dev/leaf"] != "unk-cpu-1" || labels["cpu-1"][FabricKey] != "" || labels["node0002"][FabricKey] == "" || labels["lost-1"][OrderKey] == "" {
		t.Errorf("labels = %v, %v", labels, err)
	}
	if p := Lint(files[0].Data); len(p) > 0 {
		t.Errorf("our own lint says %v", p)
	}
}

func TestLabelsKeepMeasuredValuesQuiet(t *testing.T) {
	top := wounded()
	files, err := Labels(top, Options{})
	if err != nil {
		t.Fatal(err)
	}
	previous, err := ReadLabels(files[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	top.Nodes[3].MeasuredBandwidthBytesPerSecond.Value *= 0.99
	top.Nodes[3].Share = ptr(0.755)
	again, err := Labels(top, Options{Previous: previous})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(files[0].Data), string(again[0].Data)); d != "" {
		t.Errorf("1 %% of jitter moved labels:\n%s", d)
	}
	top.Nodes[3].MeasuredBandwidthBytesPerSecond.Value *= 0.8
	again, err = Labels(top, Options{Previous: previous})
	if err != nil {
		t.Fatal(err)
	}
	if cmp.Equal(files[0].Data, again[0].Data) {
		t.Error("a loss of 20 % moved no label")
	}
}

func TestLabelsRefuse(t *testing.T) {
	tests := []struct {
		name   string
		change func(*topology.Topology)
		opts   Options
		want   string
	}{
		{"no nodes", func(t *topology.Topology) { *t = topology.Topology{} }, Options{}, "no nodes of the cluster"},
		{"case", func(t *topology.Topology) {
			t.Nodes[0].Name, t.Nodes[24].Name = "lost-1", "Lost-1"
			t.Tree.Groups[2].Nodes = nil
		}, Options{}, "case"},
		{"name", func(t *topology.Topology) { t.Nodes[24].Name = "gpu_1" }, Options{}, "alias"},
		{"preset", func(*topology.Topology) {}, Options{Preset: "x"}, "must be one of"},
		{"custom key", func(*topology.Topology) {}, Options{Preset: "keys=a b"}, "label key"},
		{"custom key twice", func(*topology.Topology) {}, Options{Preset: "keys=a/b,a/b"}, "once"},
		{"prefix", func(*topology.Topology) {}, Options{Preset: "gke", TierPrefix: "x"}, "fixed keys"},
		{"bad prefix", func(*topology.Topology) {}, Options{Preset: "soperator", TierPrefix: "X/"}, "label key"},
	}
	for _, tt := range tests {
		top := wounded()
		tt.change(top)
		if _, err := Labels(top, tt.opts); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: err = %v, want %q", tt.name, err, tt.want)
		}
	}
}
