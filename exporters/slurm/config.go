package slurm

// Config is a topology as Slurm files describe it: switches for topology/tree or blocks for topology/block. Renderers make
// it from the map, the parsers from files and from what a controller says about itself.
type Config struct {
	Switches    []SwitchLine
	Blocks      []BlockLine
	BlockSizes  []int // nodes; ascending, each the first times a power of two
	BlockLevels []int // powers of two, Slurm 23.11 only; BlockSizes is empty then
}

// SwitchLine is one SwitchName line. Either Nodes or Children is empty: a leaf holds nodes, the others hold switches.
type SwitchLine struct {
	Name     string
	Nodes    []string
	Children []string
	Line     int // where it was read; 0 when it was not
}

// BlockLine is one BlockName line.
type BlockLine struct {
	Name  string
	Nodes []string
	Line  int
}

// nodeCount counts the nodes of all leaves or blocks.
func (c *Config) nodeCount() int {
	n := 0
	for i := range c.Switches {
		n += len(c.Switches[i].Nodes)
	}
	for i := range c.Blocks {
		n += len(c.Blocks[i].Nodes)
	}
	return n
}
