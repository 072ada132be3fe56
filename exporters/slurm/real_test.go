package slurm

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// cluster is a map and the nodes of slurm.conf; nil: those of the map.
type cluster struct {
	topo  *topology.Topology
	nodes []string
}

func (c cluster) options(s realSlurm) Options { return Options{Version: s.version, Nodes: c.nodes} }

// fabricOf builds the map of a synthetic fabric with faults, as railmap topology synth does, for all the hosts that the
// fabric should have: what a fault hides from the fabric is then a node that the map has no group for.
func fabricOf(t *testing.T, spec string, faults ...topology.Fault) cluster {
	t.Helper()
	shape, err := topology.ParseSynthSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	o := topology.BuildOptions{Hosts: numbered("node%04d", 0, shape.Pods*shape.Leaves*shape.Nodes)}
	topo, err := topology.SynthTopology(shape, 7, faults, o)
	if err != nil {
		t.Fatal(err)
	}
	return cluster{topo, o.Hosts}
}

// load starts a controller with rendered files, includes the fragment, and returns what it complains of.
func load(t *testing.T, s realSlurm, m cluster, kind Kind) (testController, []string) {
	t.Helper()
	files, _, err := Render(m.topo, kind, m.options(s))
	if err != nil {
		t.Fatal(err)
	}
	beside := map[string][]byte{}
	for _, f := range files {
		beside[f.Name] = f.Data
	}
	c, err := s.start(t, beside, "include "+FragmentFile+"\n"+futureNodes(newScope(m.topo, m.nodes).nodes))
	if err != nil {
		t.Fatal(err)
	}
	return c, complaints(c.log.String())
}

// TestRealSlurm loads rendered files in three releases and reads back what the controller made of them.
func TestRealSlurm(t *testing.T) {
	shapes := []struct {
		name      string
		cluster   cluster
		complaint string // the only one that is right
	}{
		{"64 nodes", fabricOf(t, "leaf:4 node:16 rail:8"), ""},
		{"64 nodes, 3 levels", fabricOf(t, "core:1 pod:4 leaf:4 node:4"), ""},
		{"1024 nodes", fabricOf(t, "leaf:64 node:16"), ""},
		{"1024 nodes, 3 levels", fabricOf(t, "core:1 pod:8 leaf:8 node:16"), ""},
		{"4096 nodes", fabricOf(t, "leaf:128 node:32"), ""},
		{"4096 nodes, 3 levels", fabricOf(t, "core:1 pod:16 leaf:16 node:16"), ""},
		{"lost cables", fabricOf(t, "leaf:4 node:16", topology.Fault{Kind: "cable", Count: 2}), ""},
		{"lost uplinks, spine and names", fabricOf(t, "core:1 pod:4 leaf:4 node:4 rail:2",
			topology.Fault{Kind: "uplink", Count: 5}, topology.Fault{Kind: "switch", Count: 1}, topology.Fault{Kind: "unnamed", Count: 3}), ""},
		{"twins, swapped rails, slow links", fabricOf(t, "core:1 pod:2 leaf:8 node:8 rail:4", topology.Fault{Kind: "swap", Count: 3},
			topology.Fault{Kind: "twin", Count: 2}, topology.Fault{Kind: "slow-uplink", Count: 4}), ""},
		{"144 nodes, NVLink domains", cluster{topo: fatTree(2, 2, 36, 2)}, ""},
		{"ragged", cluster{topo: ragged()}, ""},
		{"in pieces", cluster{topo: pieces()}, "no switch can reach all nodes"},
	}
	for _, s := range realSlurms(t) {
		for _, shape := range shapes {
			t.Run("tree/"+s.release+"/"+shape.name, func(t *testing.T) {
				c, said := load(t, s, shape.cluster, TreeKind)
				checkComplaints(t, said, shape.complaint)
				checkShown(t, c, TreeConfig(shape.cluster.topo, shape.cluster.options(s)))
			})
			if s.version.Before(v2405) {
				continue
			}
			t.Run("block/"+s.release+"/"+shape.name, func(t *testing.T) {
				c, said := load(t, s, shape.cluster, BlockKind)
				checkComplaints(t, said, "")
				checkShown(t, c, BlockConfig(shape.cluster.topo, shape.cluster.options(s)))
			})
			if s.version.Before(v2505) {
				continue
			}
			t.Run("yaml/"+s.release+"/"+shape.name, func(t *testing.T) {
				c, said := load(t, s, shape.cluster, YAMLKind)
				checkComplaints(t, said, shape.complaint)
				checkTopoconf(t, c, shape.cluster.topo, shape.cluster.options(s))
			})
		}
	}
}

func checkComplaints(t *testing.T, said []string, want string) {
	t.Helper()
	for _, line := range said {
		if want == "" || !strings.Contains(line, want) {
			t.Errorf("the controller says: %s", line)
		}
	}
	if want != "" && len(said) == 0 {
		t.Errorf("the controller does not say %q", want)
	}
}

func checkShown(t *testing.T, c testController, want Config) {
	t.Helper()
	got, err := ParseShow([]byte(c.run(t, "scontrol", "show", "topology")))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Canonical(), got.Canonical()); d != "" {
		t.Errorf("scontrol show topology (-ours +Slurm's):\n%s", d)
	}
}

func checkTopoconf(t *testing.T, c testController, topo *topology.Topology, o Options) {
	t.Helper()
	files, _, err := YAML(topo, o)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := ParseYAML(files[0].Data, o.Version)
	got, problems := ParseTopoconf([]byte(c.run(t, "scontrol", "show", "topoconf")))
	if exporters.Refused(problems) {
		t.Fatal(problems)
	}
	if d := cmp.Diff(canonicalEntries(want), canonicalEntries(got)); d != "" {
		t.Errorf("scontrol show topoconf (-ours +Slurm's):\n%s", d)
	}
}

func canonicalEntries(entries []Entry) []Entry {
	var out []Entry
	for _, e := range entries {
		out = append(out, Entry{Name: e.Name, Default: e.Default, Plugin: e.Plugin, Config: e.Config.Canonical()})
	}
	return out
}

// TestRealVerdicts holds the recorded verdicts of all corpus cases against the installed releases, so that the lint is tested
// on what Slurm really does. It takes about 300 controllers, hence RAILMAP_HEAVY=1.
func TestRealVerdicts(t *testing.T) {
	if os.Getenv("RAILMAP_HEAVY") == "" {
		t.Skip("starts some 300 controllers: set RAILMAP_HEAVY=1")
	}
	cases := readCorpus(t)
	for _, s := range realSlurms(t) {
		for _, c := range cases {
			want := c.verdicts[s.release]
			if want == "n/a" || want == "" {
				continue
			}
			t.Run(s.release+"/"+c.file, func(t *testing.T) {
				t.Parallel()
				name, plugin := ConfFile, "TopologyPlugin=topology/"+string(c.kind)+"\n"
				if c.kind == YAMLKind {
					name, plugin = YAMLFile, ""
				}
				running, err := s.start(t, map[string][]byte{name: c.data}, plugin+futureNodes(expandForTest(t, c.nodes)))
				got, log := "ok", ""
				if r, ok := errors.AsType[*refusal](err); ok {
					got, log = "refused", r.log
				} else if err != nil {
					t.Fatal(err)
				} else if running.run(t, "scontrol", "ping"); len(complaints(running.log.String())) > 0 {
					got, log = "warn", running.log.String()
				}
				if got != want {
					t.Errorf("%s, recorded %s\n%s", got, want, log)
				}
			})
		}
	}
}
