package nccl

import (
	"math"
	"math/bits"
)

// limit is the tightest bound of the network on a job, in GB/s of bus bandwidth, and what sets it.
type limit struct {
	speed float64
	kind  BindingKind
	index int32   // unit for a node, group for an uplink or pair
	load  float64 // crossings of an uplink, for the message
}

func (l *limit) lower(speed float64, kind BindingKind, index int32, load float64) {
	if speed < l.speed {
		*l = limit{speed, kind, index, load}
	}
}

// network holds what one job asks of the fabric.
type network struct {
	f     *Fabric
	crew  *crew
	units []unit
	out   []float64 // upward ring crossings by group
	tree  []float64 // double-binary-tree edges through the uplink, by group
	below []int32   // units below the group
	ring  limit
	trees limit
	all   limit   // AllToAll: GB/s out of a unit
	meet  []int32 // ring edges by the level at which their ends meet; the last: nowhere
	at    []int32 // group of each unit, -1 = unknown
}

// newNetwork walks the edges of ring and trees over the groups of the fabric:
//
//	ring edge u -> v:  crosses the uplink of every group on the way up from u to the lowest common group, and down to v.
//	                   A bus bandwidth B asks B of each crossing, one way.
//	tree edge:         carries a quarter of the bus bandwidth each way (half of the data up and down, at half the algorithm
//	                   bandwidth), in each of the two trees.
//	AllToAll:          k of n units below an uplink send k(n-k)/(n-1) node-worths through it.
func newNetwork(j *Job, crew *crew, crossNic int) *network {
	units := crew.units
	n := &network{f: j.Fabric, crew: crew, units: units}
	free := limit{speed: math.Inf(1)}
	n.ring, n.trees, n.all = free, free, free
	if n.f == nil || len(units) < 2 {
		return n
	}
	groups := len(n.f.groups)
	buffer := make([]float64, 2*groups)
	n.out, n.tree, n.below = buffer[:groups], buffer[groups:], make([]int32, groups)
	n.at = make([]int32, len(units))
	n.meet = make([]int32, len(n.f.levels)+1)
	n.nodes(j)
	n.ringEdges()
	n.wrapHop(crossNic)
	n.treeEdges()
	n.uplinks()
	return n
}

// nodes bounds by what single nodes reach. A node inside a tree sends twice the buffer, one of two nodes sends it once.
func (n *network) nodes(j *Job) {
	twice := 1.
	if len(n.units) == 2 {
		twice = 2
	}
	if j.ShareCap > 0 && n.f.worth > 0 {
		speed := j.ShareCap * n.f.worth
		n.ring.lower(speed, BindingShare, -1, 0)
		n.trees.lower(speed*twice, BindingShare, -1, 0)
		n.all.lower(speed, BindingShare, -1, 0)
	}
	for i := range n.units {
		place := n.units[i].place
		if n.at[i] = -1; place < 0 {
			continue
		}
		n.at[i] = n.f.nodes[place].group
		if n.at[i] >= 0 {
			n.below[n.at[i]]++
		}
		if speed := n.f.nodes[place].network; speed > 0 {
			n.ring.lower(speed, BindingNode, int32(i), 0)
			n.trees.lower(speed*twice, BindingNode, int32(i), 0)
			n.all.lower(speed, BindingNode, int32(i), 0)
		}
	}
	for g := len(n.below) - 1; g >= 0; g-- { // parents stand before their children
		if up := n.f.groups[g].parent; up >= 0 {
			n.below[up] += n.below[g]
		}
	}
}

// climb visits the groups whose uplinks the way from a to b passes (up from a with up, down to b with down) and returns
// the lowest common group, -1 when there is none.
func (f *Fabric) climb(a, b int32, up, down []float64, weight float64) int32 {
	for a != b {
		if a < 0 || b < 0 {
			if a < 0 {
				a, b, up, down = b, a, down, up
			}
			up[a] += weight
			a = f.groups[a].parent
			continue
		}
		if f.groups[a].depth >= f.groups[b].depth {
			up[a] += weight
			a = f.groups[a].parent
		} else {
			down[b] += weight
			b = f.groups[b].parent
		}
	}
	return a
}

// ringEdges follows the ring. Every crossing down into a group is matched by one up, as the ring is closed, so that upward
// crossings are enough.
func (n *network) ringEdges() {
	down := make([]float64, len(n.f.groups))
	for i := range n.units {
		next := i + 1
		if next == len(n.units) {
			next = 0
		}
		a, b := n.at[i], n.at[next]
		if a < 0 || b < 0 {
			n.meet[len(n.meet)-1]++
			continue
		}
		common := n.f.climb(a, b, n.out, down, 1)
		if common < 0 {
			n.meet[len(n.meet)-1]++
			continue
		}
		g := &n.f.groups[common]
		n.meet[g.level]++
		if g.pair > 0 {
			n.ring.lower(g.pair, BindingPair, common, 0)
		}
	}
}

// wrapHop: with crossNic 2 rings change NIC by node parity, so an odd number of nodes makes half of the channels change rail
// on the hop from the last node to the first. Where each rail has its own leaf that hop goes over the uplink; where rails
// are isolated it has to pass another GPU, and the job halves (seen with 3 of 4 servers in nccl issue 1856).
func (n *network) wrapHop(crossNic int) {
	if crossNic != 2 || len(n.units)%2 == 0 {
		return
	}
	a, b := n.at[len(n.units)-1], n.at[0]
	if a < 0 || b < 0 {
		return
	}
	if n.f.isolated && n.f.worth > 0 {
		n.ring.lower(n.f.worth*nominalShare/2, BindingRail, a, 0)
		return
	}
	if a == b && n.f.groups[a].rails {
		n.out[a] += .5
	}
}

// treeEdges follows NCCL's double binary tree over the unit index. The second tree is the first one mirrored (even count) or
// shifted by one (odd count).
func (n *network) treeEdges() {
	count := len(n.units)
	for i := 1; i < count; i++ {
		up := treeParent(i, count)
		n.treeEdge(i, up)
		if count%2 == 0 {
			n.treeEdge(count-1-i, count-1-up)
		} else {
			n.treeEdge((i+1)%count, (up+1)%count)
		}
	}
}

func (n *network) treeEdge(a, b int) {
	ga, gb := n.at[a], n.at[b]
	if ga >= 0 && gb >= 0 {
		n.f.climb(ga, gb, n.tree, n.tree, 1)
	}
}

// treeParent is the parent of node i > 0 in NCCL's first tree over n nodes (src/graph/trees.cc).
func treeParent(i, n int) int {
	low := 1 << bits.TrailingZeros(uint(i))
	if up := (i ^ low) | low<<1; up < n {
		return up
	}
	return i ^ low
}

// uplinks bounds by the load on each uplink.
func (n *network) uplinks() {
	count := float64(len(n.units))
	for i := range n.f.groups {
		g := &n.f.groups[i]
		if g.uplink <= 0 || n.below[i] == 0 {
			continue
		}
		at := int32(i)
		if n.out[i] > 0 {
			n.ring.lower(g.uplink/n.out[i], BindingUplink, at, n.out[i])
		}
		if n.tree[i] > 0 {
			n.trees.lower(4*g.uplink/n.tree[i], BindingUplink, at, n.tree[i])
		}
		if k := float64(n.below[i]); k < count {
			n.all.lower(g.uplink*(count-1)/(k*(count-k)), BindingUplink, at, k)
		}
	}
}

// of returns the bound that counts for an algorithm.
func (n *network) of(a Algorithm) *limit {
	switch a {
	case Tree, NVLSTree:
		return &n.trees
	case P2P:
		return &n.all
	}
	return &n.ring
}
