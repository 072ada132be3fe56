package slurm

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// movedTree is a tree with NVLink domains in which two nodes have changed places.
func movedTree() *topology.Topology {
	topo := fatTree(2, 2, 8, 2)
	for i := range topo.Tree.Groups {
		g := &topo.Tree.Groups[i]
		for j, n := range g.Nodes {
			switch n {
			case "node0001":
				g.Nodes[j] = "node0032"
			case "node0032":
				g.Nodes[j] = "node0001"
			}
		}
	}
	return topo
}

func yamlEntries(t *testing.T, topo *topology.Topology) ([]exporters.File, []Entry) {
	t.Helper()
	files, _, err := YAML(topo, Options{Version: v2605})
	if err != nil {
		t.Fatal(err)
	}
	entries, _ := ParseYAML(files[0].Data, v2605)
	return files, entries
}

func TestMoves(t *testing.T) {
	_, from := yamlEntries(t, fatTree(2, 2, 8, 2))
	_, to := yamlEntries(t, movedTree())
	moves, err := Moves(from, to)
	if err != nil {
		t.Fatal(err)
	}
	want := []Move{
		{[]string{"node0032"}, "ib:core0:pod0:leaf0:nvl0-0,nvl:nvl0-0"},
		{[]string{"node0001"}, "ib:core0:pod1:leaf3:nvl3-1,nvl:nvl3-1"},
	}
	if d := cmp.Diff(want, moves); d != "" {
		t.Errorf("moves (-want +got):\n%s", d)
	}
	if same, err := Moves(from, from); err != nil || len(same) > 0 {
		t.Errorf("nothing changed: %v %v", same, err)
	}
	for name, other := range map[string]*topology.Topology{"fewer leaves": fatTree(2, 1, 16, 2), "more nodes": fatTree(2, 2, 10, 2), "no domains": fatTree(2, 2, 8, 1)} {
		_, to := yamlEntries(t, other)
		if _, err := Moves(from, to); !errors.Is(err, ErrReconfigure) {
			t.Errorf("%s: %v, want %v", name, err, ErrReconfigure)
		}
	}
}

// TestRealMoves: the controller of 26.05 has the new places at once, without having read a file.
func TestRealMoves(t *testing.T) {
	r := realSlurms(t)[2]
	files, from := yamlEntries(t, fatTree(2, 2, 8, 2))
	_, to := yamlEntries(t, movedTree())
	c, err := r.start(t, map[string][]byte{YAMLFile: files[0].Data}, "NodeName=node[0001-0032] NodeAddr=127.0.0.1 CPUs=1 Port=17000")
	if err != nil {
		t.Fatal(err)
	}
	moves, err := Moves(from, to)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moves {
		c.run(t, m.Command()...)
	}
	ask := func(args ...string) (string, error) { return c.ask(t.Context(), args...) }
	got, err := loaded(YAMLKind, ask)
	if d := cmp.Diff(canonicalEntries(to), canonicalEntries(got)); d != "" || err != nil {
		t.Errorf("%v (-want +Slurm's):\n%s", err, d)
	}
}

// TestRealApplyMoves: Apply moves nodes by commands when that is enough, and the file says the same.
func TestRealApplyMoves(t *testing.T) {
	r := realSlurms(t)[2]
	files, _ := yamlEntries(t, fatTree(2, 2, 8, 2))
	next, to := yamlEntries(t, movedTree())
	c, err := r.start(t, map[string][]byte{YAMLFile: files[0].Data}, "NodeName=node[0001-0032] NodeAddr=127.0.0.1 CPUs=1 Port=17000")
	if err != nil {
		t.Fatal(err)
	}
	c.run(t, "scontrol", "ping")
	i := r.Install
	i.Conf, i.mount = r.seen(c.work)+"/slurm.conf", c.work
	o := ApplyOptions{Install: i, Kind: YAMLKind, Nodes: numbered("node%04d", 1, 32), Wait: 10 * time.Second}
	before := c.log.String()
	if _, err := Apply(t.Context(), c.work, next, o); err != nil {
		t.Fatal(err)
	}
	got, err := loaded(YAMLKind, func(args ...string) (string, error) { return c.ask(t.Context(), args...) })
	if d := cmp.Diff(canonicalEntries(to), canonicalEntries(got)); d != "" || err != nil {
		t.Errorf("%v (-want +Slurm's):\n%s", err, d)
	}
	if data, err := os.ReadFile(filepath.Join(c.work, YAMLFile)); err != nil || string(data) != string(next[0].Data) {
		t.Errorf("the file was not written: %v", err)
	}
	t.Logf("the controller said:\n%s", c.log.String()[len(before):])
}
