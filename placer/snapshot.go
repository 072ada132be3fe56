package placer

// Use is what a node is used for.
type Use uint8

// Uses of a node. Lent nodes serve the other side; drained nodes are closed by a scheduler or an operator.
const (
	Free Use = iota
	Busy
	Lent
	Drained
)

// State says what is taken on a cluster. A node named twice keeps the first of busy, lent, drained.
type State struct {
	Busy    []string
	Lent    []string
	Drained []string
	Gangs   []Gang // running gangs
}

// Gang is a running gang: its nodes are busy, and its ring crosses the uplink of every group that holds some but not all of
// them.
type Gang struct {
	Name  string
	Nodes []string
}

// Snapshot is a cluster with its state at one generation. It never changes, so any number of goroutines may read it.
type Snapshot struct {
	c          *Cluster
	generation uint64
	use        []Use
	crossings  []int32 // per group: running rings over its uplink
}

// Snapshot is the state of the cluster as the caller knows it. Unknown hosts are an *UnknownHostError.
func (c *Cluster) Snapshot(st State) (*Snapshot, error) {
	s := c.empty()
	s.generation = c.generation
	for _, part := range []struct {
		field string
		names []string
		use   Use
	}{{"busy", st.Busy, Busy}, {"lent", st.Lent, Lent}, {"drained", st.Drained, Drained}} {
		at, err := c.names.positions(part.field, part.names)
		if err != nil {
			return nil, err
		}
		for _, v := range at {
			if s.use[v] == Free {
				s.use[v] = part.use
			}
		}
	}
	for _, g := range st.Gangs {
		at, err := c.names.positions("gang "+g.Name, g.Nodes)
		if err != nil {
			return nil, err
		}
		for _, v := range at {
			s.use[v] = Busy
		}
		for _, e := range c.crossed(at) {
			s.crossings[e]++
		}
	}
	return s, nil
}

// empty is the cluster with nothing on it.
func (c *Cluster) empty() *Snapshot {
	return &Snapshot{c: c, use: make([]Use, len(c.nodes)), crossings: make([]int32, len(c.groups))}
}

// Generation is that of the topology and the state together.
func (s *Snapshot) Generation() uint64 { return s.generation }

// Cluster is the cluster of this snapshot.
func (s *Snapshot) Cluster() *Cluster { return s.c }

// uplinkShare is what one more ring gets of the uplink of group g: A/(1+x).
func (s *Snapshot) uplinkShare(g int32) float64 {
	return s.c.groups[g].uplink / float64(1+s.crossings[g])
}

// crossed lists the groups whose uplink a gang on the given sorted positions crosses: those that hold some of it, but not
// all, below its lowest common group.
func (c *Cluster) crossed(at []int32) []int32 {
	if len(at) < 2 {
		return nil
	}
	top := c.common(at)
	var out []int32
	for i, v := range at {
		for g := c.nodes[v].leaf; g >= 0 && g != top; g = c.groups[g].parent {
			if i > 0 && at[i-1] >= c.groups[g].first {
				break // the node before stands below g too: g and all above it are listed
			}
			out = append(out, g)
		}
	}
	return out
}

// common is the lowest group that holds all positions (sorted), -1 when no group does.
func (c *Cluster) common(at []int32) int32 {
	lo, hi := at[0], at[len(at)-1]
	g := c.nodes[lo].leaf
	for g >= 0 && c.groups[g].end <= hi {
		g = c.groups[g].parent
	}
	if g >= 0 && c.groups[g].own {
		if p := c.groups[g].parent; p >= 0 {
			return p
		}
	}
	return g
}
