package pair

import "math"

// planner makes rounds.
type planner struct {
	site     *Site
	paths    [][]int
	direct   [][]int32 // nodes directly in each group; the last entry holds nodes of no group
	capacity []int32   // pairs that may cross each group's uplink at once
	pack     packer
}

func newPlanner(s *Site) *planner {
	b := &planner{site: s, paths: s.paths(), direct: s.members()}
	b.capacity = make([]int32, len(s.Groups))
	for g := range s.Groups {
		b.capacity[g] = safePairs(s.Groups[g].Uplink)
	}
	b.pack.b = b
	return b
}

// safePairs is how many pairs may share an uplink of so many node-worths without disturbing each other: half of what it can
// carry, because switches spread flows over the cables by a hash and two flows may meet on one cable (with half as many
// flows as cables a meeting is rare, and repeats find it). One pair is always possible; more only where the capacity is
// known.
func safePairs(uplink float64) int32 {
	if math.IsNaN(uplink) || uplink < 4 {
		return 1
	}
	return int32(min(uplink/2, math.MaxInt32))
}

// leafRounds plays the circle in every leaf group at the same time: no uplink is used. Nodes of no group are not here: what
// lies between them is unknown.
func (b *planner) leafRounds() []Round {
	var rounds []Round
	for _, nodes := range b.direct[:len(b.site.Groups)] {
		for r, pairs := range circle(len(nodes)) {
			if r == len(rounds) {
				rounds = append(rounds, Round{Tier: Leaf})
			}
			for _, p := range pairs {
				rounds[r].Runs = append(rounds[r].Runs, run(nodes[p[0]], nodes[p[1]]))
			}
		}
	}
	return rounds
}

func run(a, b int32) Run { return Run{min(a, b), max(a, b)} }

// sides are the sets of nodes that the group tier joins: leaf groups, and each node of no group by itself.
func (b *planner) sides() [][]int32 {
	var sides [][]int32
	last := len(b.direct) - 1
	for g, nodes := range b.direct {
		if g == last {
			for i := range nodes {
				sides = append(sides, nodes[i:i+1])
			}
		} else if len(nodes) > 0 {
			sides = append(sides, nodes)
		}
	}
	return sides
}

// samples raises the number of samples until every node crosses its uplink at least once.
func (b *planner) samples(k int) int {
	if k <= 0 {
		k = 2
	}
	sides := b.sides()
	for _, s := range sides {
		if n := len(sides) - 1; n > 0 {
			k = max(k, (len(s)+n-1)/n)
		}
	}
	return k
}

// groupRounds plays the circle over leaf groups. Each meeting of two groups takes k pairs; nodes take turns, so that all of a
// group cross equally often.
func (b *planner) groupRounds(k int) []Round {
	sides := b.sides()
	turn := make([]int, len(sides))
	var rounds []Round
	for _, meetings := range circle(len(sides)) {
		b.pack.reset()
		for range k {
			for _, m := range meetings {
				x, y := sides[m[0]], sides[m[1]]
				b.pack.add(run(x[turn[m[0]]%len(x)], y[turn[m[1]]%len(y)]))
				turn[m[0]]++
				turn[m[1]]++
			}
		}
		rounds = b.pack.appendTo(rounds, Group)
	}
	return rounds
}

// allRounds plays the circle over all nodes. A round that uses an uplink too much is split; where uplinks are wide enough the
// number of rounds is the smallest there is.
func (b *planner) allRounds() []Round {
	var order []int32
	for _, s := range b.sides() {
		order = append(order, s...)
	}
	var rounds []Round
	for _, pairs := range circle(len(order)) {
		b.pack.reset()
		for _, p := range pairs {
			b.pack.add(run(order[p[0]], order[p[1]]))
		}
		rounds = b.pack.appendTo(rounds, All)
	}
	return rounds
}

// loadedRounds fills the uplinks of one level after the other: groups with the same parent meet with all their nodes. What is
// above the parent stays idle. Each group is loaded once.
func (b *planner) loadedRounds() []Round {
	nodes := b.site.below(b.paths)
	height := make([]int, len(b.site.Groups)) // levels below a group
	children := map[int][]int{}
	for g := len(b.site.Groups) - 1; g >= 0; g-- { // parents come first in the tree
		if len(nodes[g]) == 0 {
			continue
		}
		if p := b.site.Groups[g].Parent; p >= 0 {
			height[p] = max(height[p], height[g]+1)
			children[p] = append([]int{g}, children[p]...)
		}
	}
	var rounds []Round
	for h := 1; ; h++ {
		var level []Round
		any := false
		for p := range b.site.Groups {
			if height[p] != h {
				continue
			}
			any = true
			level = b.loadSiblings(level, children[p], nodes)
		}
		if !any {
			return rounds
		}
		rounds = append(rounds, level...)
	}
}

// loadSiblings adds the meetings of one parent's children to the rounds of a level.
func (b *planner) loadSiblings(level []Round, groups []int, nodes [][]int32) []Round {
	seen := map[int]bool{}
	for r, meetings := range circle(len(groups)) {
		if len(seen) == len(groups) {
			break
		}
		if r == len(level) {
			level = append(level, Round{Tier: Loaded, Level: b.site.Groups[groups[0]].Level})
		}
		for _, m := range meetings {
			x, y := groups[m[0]], groups[m[1]]
			seen[x], seen[y] = true, true
			for i := range min(len(nodes[x]), len(nodes[y])) {
				level[r].Runs = append(level[r].Runs, run(nodes[x][i], nodes[y][i]))
			}
		}
	}
	return level
}

// packer puts runs into the first of a few rounds where both nodes are free and no uplink is used beyond its capacity.
type packer struct {
	b      *planner
	n      int // rounds in use
	rounds []packing
}

type packing struct {
	runs []Run
	busy []bool  // by node
	load []int32 // by group
}

func (p *packer) reset() {
	for i := range p.n {
		r := &p.rounds[i]
		for _, run := range r.runs {
			r.busy[run.A], r.busy[run.B] = false, false
		}
		clear(r.load)
		r.runs = nil
	}
	p.n = 0
}

func (p *packer) add(r Run) {
	up := uplinksBetween(p.b.paths, p.b.site.Nodes[r.A].Group, p.b.site.Nodes[r.B].Group)
	for i := 0; ; i++ {
		if i == p.n {
			p.n++
			if p.n > len(p.rounds) {
				p.rounds = append(p.rounds, packing{busy: make([]bool, len(p.b.site.Nodes)), load: make([]int32, len(p.b.site.Groups))})
			}
		}
		if p.rounds[i].take(r, up, p.b.capacity) {
			return
		}
	}
}

func (q *packing) take(r Run, up []int, capacity []int32) bool {
	if q.busy[r.A] || q.busy[r.B] {
		return false
	}
	for _, g := range up {
		if q.load[g] >= capacity[g] {
			return false
		}
	}
	for _, g := range up {
		q.load[g]++
	}
	q.busy[r.A], q.busy[r.B] = true, true
	q.runs = append(q.runs, r)
	return true
}

func (p *packer) appendTo(rounds []Round, t Tier) []Round {
	for i := range p.n {
		rounds = append(rounds, Round{Tier: t, Runs: p.rounds[i].runs})
	}
	return rounds
}

// RepeatRounds packs runs that are to be measured again, under the same rules.
func RepeatRounds(s *Site, runs []Run) []Round {
	b := newPlanner(s)
	for _, r := range runs {
		b.pack.add(r)
	}
	return b.pack.appendTo(nil, Repeat)
}
