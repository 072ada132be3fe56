package placer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"github.com/railmap/railmap/topology"
)

// Cluster is the unchanging part of a map, laid out for search: nodes stand in depth-first order, so that the nodes below
// any group are one range of positions. It is safe for use by many goroutines.
type Cluster struct {
	generation uint64
	levels     []string // lowest first
	nodes      []node
	groups     []group // depth first, parents before children
	names      *names
	uniform    bool // every group's efficiency is at least its parent's; false = closed forms are lower bounds
	predict    Predictor
	harm       []float64 // see harm.go
	ideal      *idealCache

	edges    []float64 // lower edges of the bandwidth buckets, see index.go
	keep     uint8     // bucket of nodes that later gangs want
	leafRows int32     // rows of groups with nodes; they come first
	row      []int32   // row of the index per group
	hot      []hotGroup
	byLevel  [][]int32 // groups per level
	largest  []int32   // nodes of the largest group per level
	classes  []class   // kinds of nodes
	blurred  bool      // more kinds than classes
	base     *Snapshot // nothing on it
	marks    atomic.Uint64
}

// Options change how a cluster is read. The zero value is right.
type Options struct {
	// Predict turns a share of nominal bandwidth into a bus bandwidth; nil = share × the smallest nominal node bandwidth.
	Predict Predictor
	// JobMix is the mix of gang sizes expected later, by which the harm of breaking a leaf is priced; nil = DefaultJobMix.
	JobMix []JobClass
	// Pools names the pool (partition, side) of nodes, for requests that may use some pools only; absent = no pool, "".
	Pools map[string]string
}

// Predictor predicts what an ordered gang reaches; messageBytes 0 means large messages. It must be a pure function.
type Predictor func(nodes []string, share float64, r *Request) Prediction

// node is one host.
type node struct {
	name     string
	leaf     int32   // index of the group that holds it
	share    float64 // b_v when the topology was made
	sick     float64 // lowest efficiency of the sick groups it stands in; +Inf = none
	nominal  float64 // bytes per second; 0 = unknown
	gpus     int16   // 0 = unknown
	down     bool
	class    uint8 // index in Cluster.classes
	model    string
	pool     string
	domain   string
	limiting string
}

// group is one vertex of the tree. A group with both children and nodes of its own keeps those nodes in an unnamed child
// (own = true) so that nodes hang below groups without children only; a node that is not attached gets such a group alone.
type group struct {
	name     string
	level    int32 // index in Cluster.levels
	parent   int32 // -1 for a root
	first    int32 // positions of its nodes: [first, end)
	end      int32
	children []int32
	own      bool
	uplink   float64 // A_e in node-worths; +Inf = unlimited or unknown
	eta      float64 // as given
	flat     float64 // eta, not below that of any group above (sick groups cap their nodes instead)
}

// NewCluster reads the tree of a topology. Errors name what is inconsistent.
func NewCluster(t *topology.Topology, opts Options) (*Cluster, error) {
	if len(t.Nodes) == 0 {
		return nil, ErrEmptyCluster
	}
	b := &clusterBuilder{t: t, c: &Cluster{generation: t.Generation, predict: opts.Predict, uniform: true}}
	if err := b.build(); err != nil {
		return nil, err
	}
	c := b.c
	for i := range c.nodes {
		c.nodes[i].pool = opts.Pools[c.nodes[i].name]
	}
	c.settleEfficiency()
	c.classify()
	c.numberRows()
	c.edges = bucketEdges(c.efficiencies())
	c.keep = c.bucketOf(worthShare)
	c.base = c.baseSnapshot()
	c.names = newNames(c.nodes)
	if _, err := c.names.positions("pools", slices.Sorted(maps.Keys(opts.Pools))); err != nil {
		return nil, err
	}
	c.harm = harmTable(opts.JobMix, c.largestLeaf())
	c.ideal = &idealCache{}
	return c, nil
}

// Size is the number of nodes.
func (c *Cluster) Size() int { return len(c.nodes) }

// Names lists all nodes in depth-first order.
func (c *Cluster) Names() []string {
	out := make([]string, len(c.nodes))
	for i := range c.nodes {
		out[i] = c.nodes[i].name
	}
	return out
}

// settleEfficiency prepares for the closed form, which needs efficiencies that do not increase on the way up. A group that
// is slower than one above it (a sick leaf switch) caps its own nodes and then counts as fast as the one above: every value
// computed from that is reachable, so the result is a safe lower bound.
func (c *Cluster) settleEfficiency() {
	cap := make([]float64, len(c.groups))
	for i := range c.groups {
		g := &c.groups[i]
		g.flat, cap[i] = g.eta, math.Inf(1)
		if g.parent < 0 {
			continue
		}
		cap[i] = cap[g.parent]
		if above := c.groups[g.parent].flat; g.eta < above {
			c.uniform = false
			cap[i] = min(cap[i], g.eta)
			g.flat = above
		}
	}
	for i := range c.nodes {
		c.nodes[i].sick = cap[c.nodes[i].leaf]
	}
}

// efficiencies lists the level efficiencies that occur.
func (c *Cluster) efficiencies() []float64 {
	var out []float64
	for i := range c.groups {
		if !slices.Contains(out, c.groups[i].flat) && len(out) < maxBuckets {
			out = append(out, c.groups[i].flat)
		}
	}
	return out
}

func (c *Cluster) largestLeaf() int {
	m := 1
	for i := range c.groups {
		if g := &c.groups[i]; len(g.children) == 0 {
			m = max(m, int(g.end-g.first))
		}
	}
	return m
}

// shareOfNominal is the prediction without a model of NCCL: share × the smallest nominal bandwidth of the nodes.
func (c *Cluster) shareOfNominal(order []int32, share float64, r *Request) Prediction {
	p := Prediction{Method: "share", MessageBytes: r.MessageBytes}
	low := math.Inf(1)
	for _, v := range order {
		if b := c.nodes[v].nominal; b > 0 && b < low {
			low = b
		}
	}
	if !math.IsInf(low, 1) && len(order) > 1 {
		p.BusBandwidthBytesPerSecond = share * low
	}
	return p
}

// clusterBuilder turns the documents' lists into positions.
type clusterBuilder struct {
	t      *topology.Topology
	c      *Cluster
	level  map[string]int32
	index  map[string]int            // group name -> index in t.Tree.Groups
	byNode map[string]*topology.Node // node name -> node
	placed map[string]bool
	kids   map[string][]int // parent name -> indexes in t.Tree.Groups
}

func (b *clusterBuilder) build() error {
	tree := &b.t.Tree
	b.level = make(map[string]int32, len(tree.Levels))
	for i, l := range tree.Levels {
		b.level[l.Name] = int32(i)
		b.c.levels = append(b.c.levels, l.Name)
		if !(l.Efficiency > 0) || l.Efficiency > 1e6 {
			return fmt.Errorf("tree.levels[%d].efficiency is %v: must be above 0", i, l.Efficiency)
		}
	}
	b.byNode = make(map[string]*topology.Node, len(b.t.Nodes))
	for i := range b.t.Nodes {
		b.byNode[b.t.Nodes[i].Name] = &b.t.Nodes[i]
	}
	if err := b.readGroups(); err != nil {
		return err
	}
	b.c.nodes = make([]node, 0, len(b.t.Nodes))
	b.placed = make(map[string]bool, len(b.t.Nodes))
	for i := range tree.Groups {
		if tree.Groups[i].Parent == "" {
			if err := b.add(i, -1, 0); err != nil {
				return err
			}
		}
	}
	return b.addUnattached()
}

func (b *clusterBuilder) readGroups() error {
	groups := b.t.Tree.Groups
	b.index = make(map[string]int, len(groups))
	b.kids = make(map[string][]int)
	for i := range groups {
		g := &groups[i]
		if _, ok := b.index[g.Name]; ok || g.Name == "" {
			return fmt.Errorf("tree.groups[%d].name is %q: must be unique and not empty", i, g.Name)
		}
		if _, ok := b.level[g.Level]; !ok {
			return fmt.Errorf("tree.groups[%d] (%s): level %q is not in tree.levels", i, g.Name, g.Level)
		}
		if _, ok := b.index[g.Parent]; g.Parent != "" && !ok {
			return fmt.Errorf("tree.groups[%d] (%s): parent %q must stand before it in tree.groups", i, g.Name, g.Parent)
		}
		b.index[g.Name] = i
		if g.Parent != "" {
			b.kids[g.Parent] = append(b.kids[g.Parent], i)
		}
	}
	return nil
}

// add appends group i of the topology and everything below it; it returns what is wrong.
func (b *clusterBuilder) add(i int, parent int32, depth int) error {
	g := &b.t.Tree.Groups[i]
	if depth > len(b.c.levels) {
		return fmt.Errorf("tree group %s: deeper than tree.levels", g.Name)
	}
	id := b.append(group{name: g.Name, level: b.level[g.Level], parent: parent, uplink: value(g.Uplink, math.Inf(1)),
		eta: value(g.Efficiency, b.t.Tree.Levels[b.level[g.Level]].Efficiency)})
	if parent >= 0 && b.c.groups[parent].level <= b.c.groups[id].level {
		return fmt.Errorf("tree group %s: its level %s must be below its parent's", g.Name, g.Level)
	}
	kids := b.kids[g.Name]
	holder := id
	if len(kids) > 0 && len(g.Nodes) > 0 {
		holder = b.append(group{name: g.Name, level: b.c.groups[id].level, parent: id, uplink: math.Inf(1), eta: b.c.groups[id].eta, own: true})
	}
	for _, name := range g.Nodes {
		n, ok := b.byNode[name]
		if !ok {
			return fmt.Errorf("tree group %s: node %s is not in nodes", g.Name, name)
		}
		if b.placed[name] {
			return fmt.Errorf("tree group %s: node %s already stands in another group", g.Name, name)
		}
		b.addNode(n, holder)
	}
	b.c.groups[holder].end = int32(len(b.c.nodes))
	for _, k := range kids {
		if err := b.add(k, id, depth+1); err != nil {
			return err
		}
	}
	b.c.groups[id].end = int32(len(b.c.nodes))
	return nil
}

// append adds one group and tells its parent.
func (b *clusterBuilder) append(g group) int32 {
	id := int32(len(b.c.groups))
	g.first = int32(len(b.c.nodes))
	b.c.groups = append(b.c.groups, g)
	if g.parent >= 0 {
		p := &b.c.groups[g.parent]
		p.children = append(p.children, id)
	}
	return id
}

func (b *clusterBuilder) addNode(n *topology.Node, holder int32) {
	b.placed[n.Name] = true
	b.c.nodes = append(b.c.nodes, node{name: n.Name, leaf: holder, share: value(n.Share, 1), nominal: n.NominalBandwidthBytesPerSecond,
		gpus: int16(min(n.GPUCount, math.MaxInt16)), down: n.State == topology.Down, model: n.GPUModel, domain: n.NVLinkDomain, limiting: n.Limiting})
}

// addUnattached gives every node outside the tree a group of its own: it can hold a gang of one.
func (b *clusterBuilder) addUnattached() error {
	if len(b.placed) < len(b.t.Nodes) && len(b.c.levels) == 0 {
		b.c.levels = []string{topology.LeafLevel}
	}
	var rest []*topology.Node
	for i := range b.t.Nodes {
		if n := &b.t.Nodes[i]; !b.placed[n.Name] {
			rest = append(rest, n)
		}
	}
	slices.SortFunc(rest, func(x, y *topology.Node) int { return topology.CompareNames(x.Name, y.Name) })
	for _, n := range rest {
		id := b.append(group{parent: -1, uplink: math.Inf(1), eta: 1, own: true})
		b.addNode(n, id)
		b.c.groups[id].end = int32(len(b.c.nodes))
	}
	for i := range b.c.nodes {
		if s := b.c.nodes[i].share; !validShare(s) {
			return fmt.Errorf("node %s: share is %v: must be between 0 and 1000", b.c.nodes[i].name, s)
		}
	}
	return nil
}

func value(p *float64, absent float64) float64 {
	if p == nil {
		return absent
	}
	return *p
}
