package slurm

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// futureNodes are nodes that need no slurmd: a controller loads its topology for them all the same.
func futureNodes(names []string) string {
	return "NodeName=" + topology.FoldHostlist(names) + " NodeAddr=127.0.0.1 CPUs=1 State=FUTURE"
}

// load starts a controller with rendered files, includes the fragment, and returns what it complains of.
func load(t *testing.T, s realSlurm, topo *topology.Topology, kind Kind) (*controller, []string) {
	t.Helper()
	files, _, err := Render(topo, kind, Options{Version: s.version})
	if err != nil {
		t.Fatal(err)
	}
	beside := map[string][]byte{}
	for _, f := range files {
		beside[f.Name] = f.Data
	}
	var names []string
	for _, n := range topo.Nodes {
		names = append(names, n.Name)
	}
	c, err := s.start(t, beside, "include "+FragmentFile+"\n"+futureNodes(names))
	if err != nil {
		t.Fatal(err)
	}
	return c, complaints(c.log.String())
}

// TestRealSlurm loads rendered files in three releases and reads back what the controller made of them.
func TestRealSlurm(t *testing.T) {
	shapes := []struct {
		name      string
		topo      *topology.Topology
		complaint string // the only one that is right
	}{
		{"64 nodes", fatTree(1, 4, 16, 1), ""},
		{"64 nodes, 3 levels", fatTree(4, 4, 4, 1), ""},
		{"144 nodes, NVLink domains", fatTree(2, 2, 36, 2), ""},
		{"1024 nodes", fatTree(1, 64, 16, 1), ""},
		{"1024 nodes, 3 levels", fatTree(8, 8, 16, 1), ""},
		{"4096 nodes", fatTree(1, 128, 32, 1), ""},
		{"4096 nodes, 3 levels", fatTree(16, 16, 16, 1), ""},
		{"ragged", ragged(), ""},
		{"in pieces", pieces(), "no switch can reach all nodes"},
	}
	for _, s := range realSlurms(t) {
		for _, shape := range shapes {
			t.Run("tree/"+s.release+"/"+shape.name, func(t *testing.T) {
				c, said := load(t, s, shape.topo, TreeKind)
				checkComplaints(t, said, shape.complaint)
				checkShown(t, c, TreeConfig(shape.topo, Options{Version: s.version}))
			})
			if s.version.Before(v2405) {
				continue
			}
			t.Run("block/"+s.release+"/"+shape.name, func(t *testing.T) {
				c, said := load(t, s, shape.topo, BlockKind)
				checkComplaints(t, said, "")
				checkShown(t, c, BlockConfig(shape.topo, Options{Version: s.version}))
			})
			if s.version.Before(v2505) {
				continue
			}
			t.Run("yaml/"+s.release+"/"+shape.name, func(t *testing.T) {
				c, said := load(t, s, shape.topo, YAMLKind)
				checkComplaints(t, said, shape.complaint)
				checkTopoconf(t, c, shape.topo, Options{Version: s.version})
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

func checkShown(t *testing.T, c *controller, want Config) {
	t.Helper()
	got, err := ParseShow([]byte(c.run(t, "scontrol", "show", "topology")))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Canonical(), got.Canonical()); d != "" {
		t.Errorf("scontrol show topology (-ours +Slurm's):\n%s", d)
	}
}

func checkTopoconf(t *testing.T, c *controller, topo *topology.Topology, o Options) {
	t.Helper()
	files, _, err := YAML(topo, o)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := ParseYAML(files[0].Data, o.Version)
	got, problems := ParseTopoconf([]byte(c.run(t, "scontrol", "show", "topoconf")))
	if Refused(problems) {
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
// on what Slurm really does. It takes about 400 controllers, hence RAILMAP_HEAVY=1.
func TestRealVerdicts(t *testing.T) {
	if os.Getenv("RAILMAP_HEAVY") == "" {
		t.Skip("starts some 400 controllers: set RAILMAP_HEAVY=1")
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
