package slurm

import (
	"math/bits"

	"github.com/railmap/railmap/exporters"
)

// lintBlocks checks a topology/block file, or a block entry of topology.yaml.
func lintBlocks(rep *exporters.Problems, c Config, o LintOptions) {
	if !o.Version.IsZero() && o.Version.Before(v2311) {
		rep.Errorf(0, "version", "topology/block needs Slurm 23.11 or newer, not %s", o.Version)
	}
	if len(c.Blocks) == 0 {
		rep.Errorf(0, "empty", "no block is defined: the file must name every node")
		return
	}
	checkNames(rep, "block", len(c.Blocks), func(i int) (string, int) { return c.Blocks[i].Name, c.Blocks[i].Line })
	members := newMembership(rep, "block", o.Nodes, len(o.Nodes))
	for _, b := range c.Blocks {
		if len(b.Nodes) == 0 {
			rep.Errorf(b.Line, "block-empty", "block %s has no nodes", b.Name)
		}
		members.add(b.Line, b.Name, b.Nodes)
	}
	members.missing(o.Nodes)
	if len(c.BlockLevels) > 0 {
		lintLevels(rep, c)
		return
	}
	lintSizes(rep, c, o)
}

// lintSizes checks BlockSizes: the base first, then base times powers of two.
func lintSizes(rep *exporters.Problems, c Config, o LintOptions) {
	if len(c.BlockSizes) == 0 {
		rep.Warnf(0, "sizes-missing", "no block sizes: Slurm takes the size of the first block as the base and pairs blocks up to 16 times")
		smallerThan(rep, c.Blocks, len(c.Blocks[0].Nodes), o.Version)
		return
	}
	base := c.BlockSizes[0]
	last := 0
	for _, size := range c.BlockSizes {
		switch {
		case size <= last:
			rep.Errorf(0, "sizes", "block size %d: sizes must be above 0 and ascend", size)
			return
		case size%base != 0 || bits.OnesCount(uint(size/base)) != 1:
			rep.Errorf(0, "sizes", "block size %d: must be the base %d times a power of two", size, base)
			return
		case size/base > len(c.Blocks):
			rep.Warnf(0, "sizes-beyond", "block size %d needs %d blocks, there are %d: it is never used", size, size/base, len(c.Blocks))
		case len(c.Blocks)%(size/base) != 0:
			rep.Warnf(0, "sizes-incomplete", "block size %d needs %d blocks each, and %d blocks are no multiple of that: the last ones are never joined",
				size, size/base, len(c.Blocks))
		}
		last = size
	}
	smallerThan(rep, c.Blocks, base, o.Version)
}

// smallerThan reports blocks below the base. Slurm up to 24.11 does not start with one; newer releases never use such a
// block for whole segments, and a base above every block leaves nothing to use.
func smallerThan(rep *exporters.Problems, blocks []BlockLine, base int, v Version) {
	largest := 0
	for _, b := range blocks {
		largest = max(largest, len(b.Nodes))
		switch {
		case len(b.Nodes) >= base || len(b.Nodes) == 0:
		case v.mayBeBefore(v2505):
			rep.Errorf(b.Line, "block-below-base", "block %s has %d nodes, less than the base size %d: Slurm 24.11 and older do not start", b.Name, len(b.Nodes), base)
		default:
			rep.Warnf(b.Line, "block-below-base", "block %s has %d nodes, less than the base size %d", b.Name, len(b.Nodes), base)
		}
	}
	if largest < base {
		rep.Errorf(0, "base-above-all", "the base size %d is above every block: the largest has %d nodes", base, largest)
	}
}

// lintLevels checks BlockLevels of Slurm 23.11: powers of two as exponents, ascending; the first block sets the base.
func lintLevels(rep *exporters.Problems, c Config) {
	last := -1
	for _, l := range c.BlockLevels {
		if l <= last || l > 16 {
			rep.Errorf(0, "levels", "block level %d: levels must ascend and be at most 16", l)
			return
		}
		last = l
	}
	smallerThan(rep, c.Blocks, len(c.Blocks[0].Nodes), v2311)
}
