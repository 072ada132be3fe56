package topology

import "fmt"

// Matrix is what pairs of nodes, or of leaf groups, are expected to reach, one way. Row and column have the order of Names.
type Matrix struct {
	Names []string `json:"names" yaml:"names,flow"`
	// BandwidthBytesPerSecond is absent (null) between a node and itself, where nothing joins a pair, and where no nominal
	// bandwidth is known.
	BandwidthBytesPerSecond [][]*float64 `json:"bandwidthBytesPerSecond" yaml:"bandwidthBytesPerSecond,flow"`
	// Levels names the level at which a pair meets; "" where nothing joins it.
	Levels [][]string `json:"levels" yaml:"levels,flow"`
}

// NodeMatrix gives the pairs of the named nodes: min(share of a, share of b, efficiency of the level where they meet) ×
// nominal bandwidth. It is an error to ask for a node that the map does not have.
func (t *Topology) NodeMatrix(names []string) (*Matrix, error) {
	f := newLevelFinder(t)
	at := make([]int, len(names))
	for i, n := range names {
		x, ok := f.node[n]
		if !ok {
			return nil, fmt.Errorf("node %q is not in the map", n)
		}
		at[i] = x
	}
	m := newMatrix(names)
	for i, x := range at {
		for j, y := range at {
			g := f.commonGroup(f.group[x], f.group[y])
			if i == j || g < 0 {
				continue
			}
			a, b := &t.Nodes[x], &t.Nodes[y]
			limit := min(f.efficiency(g), share(a), share(b))
			m.set(i, j, limit*min(a.NominalBandwidthBytesPerSecond, b.NominalBandwidthBytesPerSecond), f.tree.Groups[g].Level)
		}
	}
	return m, nil
}

// GroupMatrix gives the pairs of leaf groups, for healthy nodes; on the diagonal stand two nodes of one group.
func (t *Topology) GroupMatrix() *Matrix {
	f := newLevelFinder(t)
	var names []string
	var at []int
	for i, g := range t.Tree.Groups {
		if g.Level == LeafLevel {
			names, at = append(names, g.Name), append(at, i)
		}
	}
	nominal := map[int]float64{}
	for i, n := range t.Nodes {
		if g := f.leafOf(f.group[i]); g >= 0 {
			nominal[g] = max(nominal[g], n.NominalBandwidthBytesPerSecond)
		}
	}
	m := newMatrix(names)
	for i, x := range at {
		for j, y := range at {
			if g := f.commonGroup(x, y); g >= 0 {
				m.set(i, j, f.efficiency(g)*min(nominal[x], nominal[y]), f.tree.Groups[g].Level)
			}
		}
	}
	return m
}

func newMatrix(names []string) *Matrix {
	m := &Matrix{Names: names}
	for range names {
		m.BandwidthBytesPerSecond = append(m.BandwidthBytesPerSecond, make([]*float64, len(names)))
		m.Levels = append(m.Levels, make([]string, len(names)))
	}
	return m
}

func (m *Matrix) set(i, j int, bandwidth float64, level string) {
	m.Levels[i][j] = level
	if bandwidth > 0 {
		m.BandwidthBytesPerSecond[i][j] = &bandwidth
	}
}

// share is the node's share of nominal; unknown counts as healthy.
func share(n *Node) float64 {
	if n.Share == nil {
		return 1
	}
	return *n.Share
}

// leafOf is the leaf group at or above a group, -1 when there is none.
func (f *levelFinder) leafOf(g int) int {
	for g >= 0 && f.tree.Groups[g].Level != LeafLevel {
		g = f.up[g]
	}
	return g
}

// efficiency of a group: measured for it, or that of its level.
func (f *levelFinder) efficiency(g int) float64 {
	group := &f.tree.Groups[g]
	if group.Efficiency != nil {
		return *group.Efficiency
	}
	for _, l := range f.tree.Levels {
		if l.Name == group.Level {
			return l.Efficiency
		}
	}
	return 1
}
