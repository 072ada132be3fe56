package slurm

import (
	"fmt"
	"strings"

	"github.com/railmap/railmap/topology"
)

// JobOptions are the options of sbatch, salloc and srun that give a job exactly these nodes.
//
// topology/tree takes any node list below one root. topology/block refuses a list that cuts several blocks (24.11 always, newer
// releases without a matching --segment), so there the other nodes of the map are excluded instead, and the segment is the
// largest that every block's part is a multiple of. In both cases ranks follow Slurm's node order, not the order of nodes:
// pass HostFile to srun for that.
func JobOptions(t *topology.Topology, nodes []string, kind Kind, o Options) ([]string, error) {
	if len(nodes) == 0 {
		return nil, fmt.Errorf("a job must have nodes")
	}
	for _, n := range nodes {
		if strings.Contains(n, "/") {
			return nil, fmt.Errorf("node %q: Slurm would read a name with \"/\" as a file", n)
		}
	}
	count := fmt.Sprintf("--nodes=%d", len(nodes))
	list := "--nodelist=" + topology.FoldHostlist(sortedNames(nodes))
	if kind == TreeKind {
		return []string{count, list}, nil
	}
	if kind != BlockKind {
		return nil, fmt.Errorf("slurm plugin %q: must be %s or %s", kind, TreeKind, BlockKind)
	}
	parts, err := blockParts(BlockConfig(t, o), nodes)
	if err != nil {
		return nil, err
	}
	if parts.whole || len(parts.counts) == 1 {
		return []string{count, list}, nil
	}
	segment := largestSegment(parts.counts, parts.base)
	others := topology.FoldHostlist(parts.others)
	if others == "" {
		return []string{count, fmt.Sprintf("--segment=%d", segment)}, nil
	}
	return []string{count, "--exclude=" + others, fmt.Sprintf("--segment=%d", segment)}, nil
}

// parts is how a job's nodes lie in the blocks.
type parts struct {
	counts []int // nodes of the job in each block that has any
	whole  bool  // every such block is in the job as a whole
	base   int
	others []string // nodes that are not in the job
}

func blockParts(c Config, nodes []string) (parts, error) {
	in := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		in[n] = true
	}
	p := parts{whole: true}
	if len(c.BlockSizes) > 0 {
		p.base = c.BlockSizes[0]
	}
	found := 0
	for _, b := range c.Blocks {
		n := 0
		for _, name := range b.Nodes {
			if in[name] {
				n++
			} else {
				p.others = append(p.others, name)
			}
		}
		if n > 0 {
			found += n
			p.counts = append(p.counts, n)
			p.whole = p.whole && n == len(b.Nodes)
		}
	}
	if found != len(in) {
		return p, fmt.Errorf("%d of the %d nodes are in no block of the map", len(in)-found, len(in))
	}
	return p, nil
}

// largestSegment is the largest divisor of all counts that is not above the base.
func largestSegment(counts []int, base int) int {
	g := 0
	for _, n := range counts {
		for n != 0 { // Euclid
			g, n = n, g%n
		}
	}
	for s := g; s > 1; s-- {
		if g%s == 0 && (base == 0 || s <= base) {
			return s
		}
	}
	return 1
}

// HostFile lists the nodes in rank order, each once per task, for SLURM_HOSTFILE: "srun -m arbitrary -n N" inside the
// allocation then starts rank 0 on the first line, and so on, in every release and with every plugin.
func HostFile(nodes []string, tasksPerNode int) []byte {
	var b strings.Builder
	for _, n := range nodes {
		for range max(1, tasksPerNode) {
			b.WriteString(n + "\n")
		}
	}
	return []byte(b.String())
}
