package slurm

import (
	"fmt"
	"slices"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// Block renders topology.conf for topology/block (Slurm 23.11 and newer): one block per lowest group of the map, which is the
// NVLink domain where there are any, else the leaf group, in physical order, because Slurm joins neighbouring lines to larger
// blocks.
//
//	BlockName=rack0 Nodes=node[01-18]
//	BlockName=rack1 Nodes=node[19-36]
//	BlockSizes=18,36
func Block(t *topology.Topology, o Options) ([]exporters.File, []exporters.Problem, error) {
	if !o.Version.IsZero() && o.Version.Before(v2311) {
		return nil, nil, fmt.Errorf("topology/block needs Slurm 23.11 or newer, not %s: use the tree plugin", o.Version)
	}
	asked := o.Version
	if asked.IsZero() {
		o.Version = v2405 // the oldest release that reads BlockSizes
	}
	p := project(t, o)
	c := p.blockConfig(o)
	file := exporters.File{Name: ConfFile, Data: writeConf(&c), Nodes: c.nodeCount()}
	return finish(file, BlockKind, &p, o, asked)
}

// BlockConfig is what Block writes, for comparison with what a controller has loaded.
func BlockConfig(t *topology.Topology, o Options) Config {
	p := project(t, o)
	return p.blockConfig(o)
}

// span is a run of consecutive blocks that one group holds.
type span struct{ first, end int }

// blockConfig lists the blocks and chooses their sizes.
func (p *projection) blockConfig(o Options) Config {
	var c Config
	var spans []span
	for _, r := range p.roots {
		p.appendBlocks(&c, &spans, r)
	}
	regular := c.Blocks
	if len(p.unknown) > 0 {
		c.Blocks = append(c.Blocks, BlockLine{Name: unknownName, Nodes: p.unknown})
	}
	if len(c.Blocks) == 0 {
		return c
	}
	base := o.BaseSize
	if base == 0 {
		base = p.baseSize(regular, c.Blocks, o.Version)
	}
	levels := joinable(len(c.Blocks), spans)
	for _, k := range levels {
		if o.Version.mayBeBefore(v2405) && !o.Version.IsZero() {
			c.BlockLevels = append(c.BlockLevels, k)
		} else {
			c.BlockSizes = append(c.BlockSizes, base<<k)
		}
	}
	return c
}

// appendBlocks adds the blocks below a group, and the span of every group that holds more than one.
func (p *projection) appendBlocks(c *Config, spans *[]span, v *vertex) {
	first := len(c.Blocks)
	if len(v.nodes) > 0 {
		name := p.names[v.group.Name]
		if len(v.children) > 0 {
			name = p.names[v.group.Name+directTail]
		}
		c.Blocks = append(c.Blocks, BlockLine{Name: name, Nodes: v.nodes})
	}
	for _, child := range v.children {
		p.appendBlocks(c, spans, child)
	}
	if len(c.Blocks)-first > 1 {
		*spans = append(*spans, span{first, len(c.Blocks)})
	}
}

// baseSize chooses the base: the smallest block that is usable as one. Up to 24.11 that is the smallest of all, because
// Slurm does not start when one is smaller. From 25.05 on a block below half of the median is a remnant that must not shrink
// the base of the others.
func (p *projection) baseSize(regular, all []BlockLine, v Version) int {
	sizes := make([]int, 0, len(all))
	for _, b := range regular {
		sizes = append(sizes, len(b.Nodes))
	}
	if len(sizes) == 0 {
		return len(all[0].Nodes)
	}
	slices.Sort(sizes)
	median := sizes[len(sizes)/2]
	i := slices.IndexFunc(sizes, func(n int) bool { return 2*n >= median })
	usable := sizes[i]
	if !v.mayBeBefore(v2505) {
		return usable
	}
	smallest := slices.MinFunc(all, func(a, b BlockLine) int { return len(a.Nodes) - len(b.Nodes) })
	if n := len(smallest.Nodes); n < usable {
		p.warnings.Warnf(0, "small-base", "block %s has %d nodes and sets the base size, which is the largest --segment of a job, because Slurm before 25.05 reads no block below the base: without it the base could be %d",
			smallest.Name, n, usable)
		return n
	}
	return usable
}

// joinable lists the k for which Slurm may join 2^k neighbouring blocks: every joined block lies within one group, or holds
// whole groups only, so that it means something in the fabric. 0 is always among them.
func joinable(blocks int, spans []span) []int {
	levels := []int{0}
	for k := 1; 1<<k <= blocks; k++ {
		size := 1 << k
		honest := true
		for first := 0; first+size <= blocks && honest; first += size {
			honest = !slices.ContainsFunc(spans, func(s span) bool { return cuts(span{first, first + size}, s) })
		}
		if honest {
			levels = append(levels, k)
		}
	}
	return levels
}

// cuts reports whether two spans overlap without one holding the other.
func cuts(a, b span) bool {
	if a.end <= b.first || b.end <= a.first {
		return false
	}
	inside := a.first >= b.first && a.end <= b.end
	around := b.first >= a.first && b.end <= a.end
	return !inside && !around
}
