package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/topology"
)

// recordedFile is one recording of a real slurmctld: states, requests, what it chose, and the exact optimum.
type recordedFile struct {
	Slurm          string         `json:"slurm"`
	Topology       string         `json:"topology"`
	Nodes          int            `json:"nodes"`
	Leaf           int            `json:"leaf"`
	LeavesPerSpine int            `json:"leaves_per_spine"`
	Cases          []recordedCase `json:"cases"`
}

type recordedCase struct {
	Occupied int             `json:"occ"` // percent
	Gang     int             `json:"gang"`
	Switches int             `json:"switches"` // --switches; 0 = not asked
	Busy     string          `json:"busy"`
	Chosen   string          `json:"chosen"`
	Spines   int             `json:"spines"`
	Leaves   int             `json:"leaves"`
	Optimum  []recordedPoint `json:"optimum"`
	ServerUs float64         `json:"server_us"`
}

type recordedPoint struct {
	Spines int `json:"spines"`
	Leaves int `json:"leaves"`
}

// RecordedRow compares one case. Points are pods (spines) and leaves used.
type RecordedRow struct {
	File         string  `json:"file" yaml:"file"`
	Slurm        string  `json:"slurm" yaml:"slurm"`
	Plugin       string  `json:"plugin" yaml:"plugin"`
	Nodes        int     `json:"nodes" yaml:"nodes"`
	Busy         int     `json:"busyPercent" yaml:"busyPercent"`
	Gang         int     `json:"gang" yaml:"gang"`
	SlurmPods    int     `json:"slurmPods,omitempty" yaml:"slurmPods,omitempty"` // absent = refused
	SlurmLeaves  int     `json:"slurmLeaves,omitempty" yaml:"slurmLeaves,omitempty"`
	Pods         int     `json:"pods" yaml:"pods"`
	Leaves       int     `json:"leaves" yaml:"leaves"`
	Optimum      string  `json:"optimum" yaml:"optimum"`
	Optimal      bool    `json:"optimal" yaml:"optimal"`   // no choice is better in one and as good in the other
	NotWorse     bool    `json:"notWorse" yaml:"notWorse"` // than Slurm, in both
	SlurmSeconds float64 `json:"slurmSeconds" yaml:"slurmSeconds"`
	Seconds      float64 `json:"seconds" yaml:"seconds"` // thread CPU of the same question to the engine, median of 101
}

// Recorded runs the placer on every recorded state below dir.
func Recorded(dir string) ([]RecordedRow, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: holds no recording (*.json)", dir)
	}
	defer lockThread()()
	slices.Sort(paths)
	var rows []RecordedRow
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		var f recordedFile
		if err := json.Unmarshal(data, &f); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		more, err := f.compare(filepath.Base(p))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func (f *recordedFile) compare(name string) ([]RecordedRow, error) {
	if f.Nodes < 1 || f.Leaf < 1 || f.LeavesPerSpine < 1 || f.Nodes > 1<<20 {
		return nil, fmt.Errorf("nodes, leaf and leaves_per_spine must be positive")
	}
	cluster, err := placer.NewCluster(f.tree(), placer.Options{})
	if err != nil {
		return nil, err
	}
	var rows []RecordedRow
	for _, c := range f.Cases {
		if c.Switches > 0 {
			continue // the same state again, with a constraint on the number of switches
		}
		row, err := f.one(cluster, &c)
		if err != nil {
			return nil, fmt.Errorf("gang %d at %d %%: %w", c.Gang, c.Occupied, err)
		}
		row.File = name
		rows = append(rows, *row)
	}
	return rows, nil
}

// nodeName is how the recordings name node i: a width that fits all numbers, from 1.
func (f *recordedFile) nodeName(i int) string {
	return fmt.Sprintf("node%0*d", len(fmt.Sprint(f.Nodes)), i+1)
}

// tree is the recorded cluster: healthy nodes, so that only the shape matters.
func (f *recordedFile) tree() *topology.Topology {
	t := &topology.Topology{Generation: 1}
	t.Tree.Levels = []topology.Level{{Name: topology.LeafLevel, Efficiency: 1}, {Name: topology.PodLevel, Efficiency: .92}, {Name: topology.CoreLevel, Efficiency: .83}}
	t.Tree.Groups = []topology.Group{{Name: "core", Level: topology.CoreLevel}}
	for i := 0; i < f.Nodes; i++ {
		leaf := i / f.Leaf
		if pod := leaf / f.LeavesPerSpine; i%(f.Leaf*f.LeavesPerSpine) == 0 {
			t.Tree.Groups = append(t.Tree.Groups, topology.Group{Name: fmt.Sprintf("spine%d", pod), Level: topology.PodLevel, Parent: "core"})
		}
		if i%f.Leaf == 0 {
			t.Tree.Groups = append(t.Tree.Groups, topology.Group{Name: fmt.Sprintf("leaf%d", leaf), Level: topology.LeafLevel, Parent: fmt.Sprintf("spine%d", leaf/f.LeavesPerSpine)})
		}
		g := &t.Tree.Groups[len(t.Tree.Groups)-1]
		g.Nodes = append(g.Nodes, f.nodeName(i))
		t.Nodes = append(t.Nodes, topology.Node{Name: f.nodeName(i), Group: g.Name, State: topology.OK})
	}
	return t
}

func (f *recordedFile) one(cluster *placer.Cluster, c *recordedCase) (*RecordedRow, error) {
	busy, err := topology.ParseHostlist(c.Busy)
	if err != nil && c.Busy != "" {
		return nil, err
	}
	engine, err := placer.NewEngine(cluster, placer.State{Busy: busy})
	if err != nil {
		return nil, err
	}
	req := &placer.Request{Nodes: c.Gang, Tolerance: placer.DefaultTolerance, Brief: true}
	var p *placer.Placement
	var times []float64
	for range 101 {
		start := threadCPU()
		if p, err = placer.Place(engine.Snapshot(), req); err != nil {
			return nil, err
		}
		times = append(times, (threadCPU() - start).Seconds())
	}
	row := &RecordedRow{Slurm: f.Slurm, Plugin: f.Topology, Nodes: f.Nodes, Busy: c.Occupied, Gang: c.Gang,
		SlurmPods: c.Spines, SlurmLeaves: c.Leaves, SlurmSeconds: c.ServerUs / 1e6, Seconds: median(times)}
	row.Pods, row.Leaves = f.count(p.Nodes)
	var points []string
	for _, o := range c.Optimum {
		points = append(points, fmt.Sprintf("%d:%d", o.Spines, o.Leaves))
		row.Optimal = row.Optimal || o.Spines == row.Pods && o.Leaves == row.Leaves
	}
	row.Optimum = strings.Join(points, " ")
	row.NotWorse = c.Spines == 0 || row.Pods <= c.Spines && row.Leaves <= c.Leaves
	return row, nil
}

// count is the number of pods and leaves that nodes stand in.
func (f *recordedFile) count(nodes []string) (pods, leaves int) {
	p, l := map[int]bool{}, map[int]bool{}
	for _, n := range nodes {
		var i int
		if _, err := fmt.Sscanf(n, "node%d", &i); err == nil {
			l[(i-1)/f.Leaf] = true
			p[(i-1)/f.Leaf/f.LeavesPerSpine] = true
		}
	}
	return len(p), len(l)
}
