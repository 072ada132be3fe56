package placer

import (
	"math"
	"slices"
	"sort"
)

// The index counts, per group and bandwidth bucket, the free nodes that carry at least the bucket's lower edge themselves and
// through every uplink below the group:
//
//	row(g)[q] = number of free nodes v below g with bucket(eff_g(v)) >= q
//
// "k nodes at edge(q) below g" is then one comparison, and the best bucket of a level one walk over its rows. Buckets are
// 0.5 % wide where gangs live, wider below, and every level efficiency is an edge, so that a gang that only its level limits
// is found at its exact value.
const (
	maxBuckets   = 64
	rowsPerBlock = 2
	maxClasses   = 8
)

// countRow is one group's counts.
type countRow [maxBuckets]int32

// rowBlock is the unit of copying.
type rowBlock struct {
	gen  uint64
	rows [rowsPerBlock]countRow
}

// layer is the index of one class of nodes. Rows are numbered by Cluster.row. The two columns that every walk over a level
// reads, free nodes and nodes worth having, stand once more close together.
type layer struct {
	rows paged[rowBlock]
	sums paged[sumChunk]
}

// sumChunk is row[0] and row[Cluster.keep] of sumSize rows of groups with nodes, which are numbered first.
type sumChunk struct {
	gen   uint64
	free  [sumSize]int32
	worth [sumSize]int32
}

const sumSize = 32

func (l *layer) row(r int32) *countRow { return &l.rows.at(r / rowsPerBlock).rows[r%rowsPerBlock] }

// bucketEdges are the lower edges of the buckets, ascending; the first is 0, "any".
func bucketEdges(etas []float64) []float64 {
	edges := []float64{0}
	for _, e := range etas {
		if e > 0 && e <= 1 && len(edges) < 16 {
			edges = append(edges, e)
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	for i := 0; i <= 40 && len(edges) < maxBuckets; i++ { // 1, 0.995, ... 0.8
		edges = insertEdge(edges, 1-float64(i)*.005)
	}
	for e := .775; e > 0.05 && len(edges) < maxBuckets; e -= .025 {
		edges = insertEdge(edges, e)
	}
	return edges
}

// insertEdge adds an edge unless one stands within a tenth of a percent.
func insertEdge(edges []float64, e float64) []float64 {
	e = math.Round(e*1000) / 1000
	i := sort.SearchFloat64s(edges, e)
	if i < len(edges) && edges[i]-e < .001 || i > 0 && e-edges[i-1] < .001 {
		return edges
	}
	return slices.Insert(edges, i, e)
}

// bucketOf is the highest bucket whose lower edge v reaches.
func (c *Cluster) bucketOf(v float64) uint8 {
	lo, hi := 0, len(c.edges)-1
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if c.edges[mid] <= v {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return uint8(lo)
}

// hotGroup is what a walk over a level reads of a group.
type hotGroup struct {
	flat   float64
	parent int32
	leaf   bool
}

// numberRows gives every group its row, groups with nodes first, and lists the groups of each level.
func (c *Cluster) numberRows() {
	c.row = make([]int32, len(c.groups))
	c.byLevel = make([][]int32, len(c.levels))
	c.largest = make([]int32, len(c.levels))
	next := int32(0)
	for g := range c.groups {
		if len(c.groups[g].children) == 0 {
			c.leafRows++
		}
	}
	for _, leaves := range []bool{true, false} {
		for g := range c.groups {
			if grp := &c.groups[g]; (len(grp.children) == 0) == leaves {
				c.row[g] = next
				next++
			}
		}
	}
	c.hot = make([]hotGroup, len(c.groups))
	for g := range c.groups {
		grp := &c.groups[g]
		c.hot[g] = hotGroup{flat: grp.flat, parent: grp.parent, leaf: len(grp.children) == 0}
		c.byLevel[grp.level] = append(c.byLevel[grp.level], int32(g))
		c.largest[grp.level] = max(c.largest[grp.level], grp.end-grp.first)
	}
}

// classify numbers the kinds of nodes that requests can tell apart. More than maxClasses kinds share the last class, and
// requests that tell kinds apart then take the exact way.
func (c *Cluster) classify() {
	seen := map[class]uint8{}
	for i := range c.nodes {
		n := &c.nodes[i]
		k := class{n.model, n.pool, n.gpus}
		id, ok := seen[k]
		if !ok && len(seen) < maxClasses {
			id = uint8(len(seen))
			seen[k] = id
			c.classes = append(c.classes, k)
		} else if !ok {
			id, c.blurred = maxClasses-1, true
		}
		n.class = id
	}
}

// class is a kind of nodes.
type class struct {
	model, pool string
	gpus        int16
}

// allows tells whether a request may use nodes of this class.
func (k *class) allows(r *Request) bool {
	return (r.GPUModel == "" || k.model == r.GPUModel) && (r.Pools == nil || slices.Contains(r.Pools, k.pool)) &&
		(r.GPUsPerNode == 0 || k.gpus == 0 || int(k.gpus) >= r.GPUsPerNode)
}

// buildIndex fills the layers of a draft from its state: per leaf a histogram, then sums up and towards lower buckets.
func (d *draft) buildIndex() {
	c := d.c
	d.layers = make([]layer, len(c.classes))
	for l := range d.layers {
		for i := 0; i*rowsPerBlock < len(c.groups); i++ {
			d.layers[l].rows.add(i, &rowBlock{gen: d.own})
		}
		for i := 0; i*sumSize < int(c.leafRows); i++ {
			d.layers[l].sums.add(i, &sumChunk{gen: d.own})
		}
	}
	for v := range c.nodes {
		n := &c.nodes[v]
		if d.freeAt(int32(v)) {
			d.layers[n.class].row(c.row[n.leaf])[d.bucketAt(int32(v))]++
		}
	}
	for l := range d.layers {
		d.sumUp(&d.layers[l])
	}
}

// sumUp turns the leaves' histograms into counts and adds them to the groups above, children before parents.
func (d *draft) sumUp(l *layer) {
	c := d.c
	for g := len(c.groups) - 1; g >= 0; g-- {
		grp := &c.groups[g]
		row := l.row(c.row[g])
		if len(grp.children) == 0 {
			for q := maxBuckets - 2; q >= 0; q-- {
				row[q] += row[q+1]
			}
		}
		if grp.parent < 0 {
			continue
		}
		up := l.row(c.row[grp.parent])
		for q := range row[:int(d.linkBucketAt(int32(g)))+1] {
			up[q] += row[q]
		}
	}
	for r := range c.leafRows {
		ch := l.sums.at(r / sumSize)
		ch.free[r%sumSize], ch.worth[r%sumSize] = l.row(r)[0], l.row(r)[c.keep]
	}
}
