package slurm

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

func TestDrains(t *testing.T) {
	topo := fatTree(1, 2, 4, 1)
	share := func(v float64) *float64 { return &v }
	topo.Nodes[1].State = topology.Down
	topo.Nodes[2].Share, topo.Nodes[2].Limiting = share(0.49), "mlx5_3"
	topo.Nodes[3].Share = share(0.5)
	topo.Nodes[4].Share = share(0.1) // not a node of slurm.conf
	topo.Nodes = append(topo.Nodes, topology.Node{Name: "node0099"}, topology.Node{Name: "node;rm", State: topology.Down})
	o := Options{Nodes: expandForTest(t, "node[0001-0004,0099]")}
	file := Drains(topo, 0.5, o)
	golden(t, "drain.golden", file.Data)
	if out, err := exec.Command("sh", "-n", filepath.Join("testdata", "drain.golden")).CombinedOutput(); err != nil {
		t.Errorf("sh -n: %v\n%s", err, out)
	}
	if got := Drains(fatTree(1, 1, 2, 1), 0.5, Options{}); len(got.Data) == 0 || got.Nodes != 2 {
		t.Errorf("no node to drain: %+v", got)
	}
}

func TestParseNodes(t *testing.T) {
	got := parseNodes("NodeName=n1 Arch=x86_64 CoresPerSocket=1\nNodeName=n-2.x NodeAddr=1\n\nNo nodes in the system\n")
	if d := cmp.Diff([]string{"n1", "n-2.x"}, got); d != "" {
		t.Error(d)
	}
}
