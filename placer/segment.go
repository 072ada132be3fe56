package placer

import (
	"fmt"
	"slices"
)

// segmentValues replaces the node bandwidths eff[from:] of one leaf group by those of its segments of d nodes: the j-th
// segment is as good as the (j·d)-th best node. Left-over nodes drop out.
func segmentValues(eff []float64, from, d int) []float64 {
	leaf := eff[from:]
	slices.Sort(leaf)
	slices.Reverse(leaf)
	n := 0
	for i := d - 1; i < len(leaf); i += d {
		leaf[n] = leaf[i]
		n++
	}
	return eff[:from+n]
}

// Layout is how a training job splits its GPUs: tensor × pipeline × data = all GPUs of the gang. Ranks run over tensor
// first, then data, then pipeline, as Megatron-LM orders them, so a pipeline stage is a run of consecutive nodes: its data
// groups talk most and stay together, while the light traffic between stages crosses leaf groups.
type Layout struct {
	Tensor   int `json:"tensor" yaml:"tensor"` // inside a node
	Pipeline int `json:"pipeline" yaml:"pipeline"`
	Data     int `json:"data" yaml:"data"`
}

// Stage is one pipeline stage and its nodes in rank order; neighbours share a node when a stage is not whole nodes.
type Stage struct {
	Stage      int      `json:"stage" yaml:"stage"`
	Nodes      []string `json:"nodes" yaml:"nodes,flow"`
	LeafGroups int      `json:"leafGroups" yaml:"leafGroups"` // that the stage stands in
}

// validate checks that the layout fills the gang.
func (l *Layout) validate(nodes, perNode int) error {
	if l == nil {
		return nil
	}
	if perNode < 1 {
		return fmt.Errorf("layout: gpusPerNode must be given with it")
	}
	if l.Tensor < 1 || l.Pipeline < 1 || l.Data < 1 || perNode%l.Tensor != 0 {
		return fmt.Errorf("layout: tensor must divide gpusPerNode (%d), pipeline and data must be at least 1", perNode)
	}
	if float64(l.Tensor)*float64(l.Pipeline)*float64(l.Data) != float64(nodes)*float64(perNode) {
		return fmt.Errorf("layout: tensor × pipeline × data is %d: must be the GPUs of the gang, %d", l.Tensor*l.Pipeline*l.Data, nodes*perNode)
	}
	return nil
}

// segmentBase is the number of nodes whose divisors make good segments: a pipeline stage, or the gang; 0 = no wish.
func (r *Request) segmentBase() int {
	switch {
	case r.SegmentNodes > 0:
		return 0
	case r.Layout != nil:
		if gpus := r.Layout.Tensor * r.Layout.Data; gpus%r.GPUsPerNode == 0 {
			return gpus / r.GPUsPerNode
		}
	case r.ChooseSegment:
		return r.size()
	}
	return 0
}

// solveSegments prefers the largest segments that cost no more bandwidth than the tolerance (at least 1 %) allows.
func (p *problem) solveSegments(r *Request) (*choice, error) {
	best, err := p.solve(r)
	base := r.segmentBase()
	if err != nil || base < 2 {
		return best, err
	}
	allowed := best.share * (1 - max(r.Tolerance, minimumTolerance))
	for d := min(base, len(p.c.harm)-1); d > 1; d-- {
		if base%d != 0 {
			continue
		}
		q := *p
		q.seg = d
		if c, err := q.solve(r); err == nil && c.share >= allowed {
			return c, nil
		}
	}
	return best, nil
}

// segmentOf is the largest number of nodes into which the set splits such that every part stands in one leaf group: the
// greatest common divisor of the counts per leaf group. It is what Slurm's --segment may be for this placement.
func (c *Cluster) segmentOf(order []int32) int {
	d, run := 0, 0
	for i, v := range order {
		run++
		if i+1 == len(order) || c.nodes[order[i+1]].leaf != c.nodes[v].leaf {
			d = gcd(d, run)
			run = 0
		}
	}
	return d
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// stages splits the ordered nodes into the pipeline stages of a layout.
func (c *Cluster) stages(l *Layout, perNode int, order []int32) []Stage {
	if l == nil {
		return nil
	}
	out := make([]Stage, l.Pipeline)
	gpus := l.Tensor * l.Data
	for i := range out {
		part := order[i*gpus/perNode : (i*gpus+gpus-1)/perNode+1]
		out[i] = Stage{Stage: i, Nodes: c.nodeNames(part)}
		last := int32(-1)
		for _, v := range part {
			if leaf := c.nodes[v].leaf; leaf != last {
				out[i].LeafGroups, last = out[i].LeafGroups+1, leaf
			}
		}
	}
	return out
}
