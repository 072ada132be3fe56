package placer

// Use is what a node is used for.
type Use uint8

// Uses of a node. Lent nodes serve the other side; drained nodes are closed by a scheduler or an operator.
const (
	Free Use = iota
	Busy
	Lent
	Drained
	Partial  // some GPUs of the node are in use: it takes shared requests only
	excluded // by the request itself
)

// State says what is taken on a cluster. A node named twice keeps the first of busy, lent, drained.
type State struct {
	Busy    []string
	Lent    []string
	Drained []string
	Gangs   []Gang // running gangs
	// UsedGPUs names GPUs in use on nodes that are shared, by index from 0.
	UsedGPUs map[string][]int
}

// Gang is a running gang: its nodes are busy, and its ring crosses the uplink of every group that holds some but not all of
// them.
type Gang struct {
	Name       string
	Nodes      []string
	EndSeconds *float64 // expected end, from now; nil = unknown, which counts as never
}

// Snapshot is a cluster with its state at one generation. It never changes, so any number of goroutines may read it. What
// may differ between generations stands in small chunks that successive snapshots share (draft.go).
type Snapshot struct {
	c          *Cluster
	generation uint64
	use        paged[useChunk]
	band       []*bandChunk
	link       []*linkChunk
	gpus       map[int32]uint64 // GPUs in use on shared nodes, one bit each; never changed in place
	ends       []GangEnd        // of the gangs of the state that it was made from
	layers     []layer          // the index, one layer per node class; nil without one
}

// Sizes of chunks. A change copies the chunks that it touches, so they are small; a generation copies the lists of pointers
// to them, so they are not tiny.
const (
	nodeChunk = 256
	linkSize  = 64
)

// useChunk is the use of nodes. Gen is the generation that owns the chunk: only its writer may change it.
type useChunk struct {
	gen uint64
	use [nodeChunk]Use
}

// bandChunk is the measured bandwidth of nodes and its bucket.
type bandChunk struct {
	gen    uint64
	share  [nodeChunk]float64
	bucket [nodeChunk]uint8
}

// linkChunk is the load of uplinks: running rings, and the bucket of what one more ring gets.
type linkChunk struct {
	gen       uint64
	crossings [linkSize]int32
	bucket    [linkSize]uint8
}

// Snapshot is the state of the cluster as the caller knows it. Unknown hosts are an *UnknownHostError.
func (c *Cluster) Snapshot(st State) (*Snapshot, error) {
	d := c.base.draft(c.generation)
	if err := d.apply(st); err != nil {
		return nil, err
	}
	for _, g := range st.Gangs {
		if g.EndSeconds != nil {
			d.ends = append(d.ends, GangEnd{Nodes: g.Nodes, Seconds: *g.EndSeconds})
		}
	}
	return &d.Snapshot, nil
}

// baseSnapshot is the cluster with nothing on it, without an index.
func (c *Cluster) baseSnapshot() *Snapshot {
	s := &Snapshot{c: c, generation: c.generation}
	for v := 0; v < len(c.nodes); v += nodeChunk {
		b := &bandChunk{}
		for i := v; i < min(v+nodeChunk, len(c.nodes)); i++ {
			b.share[i-v] = c.nodes[i].share
			b.bucket[i-v] = c.bucketOf(min(c.nodes[i].share, c.nodes[i].sick))
		}
		s.band = append(s.band, b)
		s.use.add(v/nodeChunk, &useChunk{})
	}
	for g := 0; g < len(c.groups); g += linkSize {
		l := &linkChunk{}
		for i := g; i < min(g+linkSize, len(c.groups)); i++ {
			l.bucket[i-g] = c.bucketOf(c.groups[i].uplink)
		}
		s.link = append(s.link, l)
	}
	return s
}

// Generation is that of the topology and the state together.
func (s *Snapshot) Generation() uint64 { return s.generation }

// Cluster is the cluster of this snapshot.
func (s *Snapshot) Cluster() *Cluster { return s.c }

// UseOf says what a node is used for; ok is false for an unknown name.
func (s *Snapshot) UseOf(name string) (use Use, ok bool) {
	v, ok := s.c.names.lookup(name)
	if !ok {
		return Free, false
	}
	return s.useAt(v), true
}

func (s *Snapshot) useAt(v int32) Use { return s.use.at(v / nodeChunk).use[v%nodeChunk] }

// freeAt tells whether a node may be given away.
func (s *Snapshot) freeAt(v int32) bool { return s.useAt(v) == Free && !s.c.nodes[v].down }

// shareAt is b_v as measured, cappedAt is b_v not above the efficiency of a sick group that the node stands in.
func (s *Snapshot) shareAt(v int32) float64 { return s.band[v/nodeChunk].share[v%nodeChunk] }

func (s *Snapshot) cappedAt(v int32) float64 { return min(s.shareAt(v), s.c.nodes[v].sick) }

func (s *Snapshot) bucketAt(v int32) uint8 { return s.band[v/nodeChunk].bucket[v%nodeChunk] }

func (s *Snapshot) crossingsAt(g int32) int32 { return s.link[g/linkSize].crossings[g%linkSize] }

func (s *Snapshot) linkBucketAt(g int32) uint8 { return s.link[g/linkSize].bucket[g%linkSize] }

// uplinkShare is what one more ring gets of the uplink of group g: A/(1+x).
func (s *Snapshot) uplinkShare(g int32) float64 {
	return s.c.groups[g].uplink / float64(1+s.crossingsAt(g))
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
		leaf := c.nodes[v].leaf
		if i > 0 && c.nodes[at[i-1]].leaf == leaf {
			continue
		}
		for g := leaf; g >= 0 && g != top; g = c.groups[g].parent {
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
	g := c.commonOf(at[0], at[len(at)-1])
	if g >= 0 && c.groups[g].own && c.groups[g].parent >= 0 {
		return c.groups[g].parent
	}
	return g
}
