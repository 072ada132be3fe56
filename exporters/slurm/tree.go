package slurm

import (
	"fmt"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// Tree renders topology.conf for topology/tree and the slurm.conf lines for it: one switch per group of the map, leaves
// depth first, each group after its children. A fabric in pieces gives several roots; Slurm then lets no job span them.
// Nodes in no group go to the leaf "unknown", below the root when there is one root, so that every job that ran still runs.
//
//	SwitchName=leaf0 Nodes=node[0001-0032]
//	SwitchName=leaf1 Nodes=node[0033-0064]
//	SwitchName=pod0 Switches=leaf[0-1]
func Tree(t *topology.Topology, o Options) ([]exporters.File, []exporters.Problem, error) {
	p := project(t, o)
	c := Config{Switches: p.switches()}
	file := exporters.File{Name: ConfFile, Data: writeConf(&c), Nodes: c.nodeCount()}
	return finish(file, TreeKind, &p, o, o.Version)
}

// TreeConfig is the tree that Tree writes, for comparison with what a controller has loaded.
func TreeConfig(t *topology.Topology, o Options) Config {
	p := project(t, o)
	return Config{Switches: p.switches()}
}

// switches turns the projection into lines.
func (p *projection) switches() []SwitchLine {
	var out []SwitchLine
	var tops []string
	for _, r := range p.roots {
		tops = append(tops, p.appendSwitch(&out, r))
	}
	if len(p.unknown) == 0 {
		return out
	}
	out = append(out, SwitchLine{Name: unknownName, Nodes: p.unknown})
	if len(p.roots) != 1 {
		return out
	}
	unknown := out[len(out)-1]
	if root := &out[len(out)-2]; len(root.Children) > 0 {
		root.Children = append(root.Children, unknownName)
		out[len(out)-1], out[len(out)-2] = *root, unknown
		return out
	}
	return append(out, SwitchLine{Name: topName, Children: []string{tops[0], unknownName}})
}

// appendSwitch writes a group behind its children and returns its name.
func (p *projection) appendSwitch(out *[]SwitchLine, v *vertex) string {
	name := p.names[v.group.Name]
	if len(v.children) == 0 {
		*out = append(*out, SwitchLine{Name: name, Nodes: v.nodes})
		return name
	}
	var children []string
	if len(v.nodes) > 0 { // Slurm reads nodes or switches in a line, not both
		direct := p.names[v.group.Name+directTail]
		*out = append(*out, SwitchLine{Name: direct, Nodes: v.nodes})
		children = append(children, direct)
	}
	for _, c := range v.children {
		children = append(children, p.appendSwitch(out, c))
	}
	*out = append(*out, SwitchLine{Name: name, Children: children})
	return name
}

// header is the first line of every rendered file. It says nothing that changes when the map does not.
const header = "# Written by railmap from the map of the cluster; the next export replaces it.\n"

// writeConf prints a topology.conf, one switch or block in a line.
func writeConf(c *Config) []byte {
	b := make([]byte, 0, 256+48*(len(c.Switches)+len(c.Blocks)))
	b = append(b, header...)
	for _, s := range c.Switches {
		if len(s.Children) > 0 {
			b = fmt.Appendf(b, "SwitchName=%s Switches=%s\n", s.Name, topology.FoldHostlist(s.Children))
		} else {
			b = fmt.Appendf(b, "SwitchName=%s Nodes=%s\n", s.Name, topology.FoldHostlist(s.Nodes))
		}
	}
	for _, bl := range c.Blocks {
		b = fmt.Appendf(b, "BlockName=%s Nodes=%s\n", bl.Name, topology.FoldHostlist(bl.Nodes))
	}
	b = appendInts(b, "BlockSizes=", c.BlockSizes)
	b = appendInts(b, "BlockLevels=", c.BlockLevels)
	return b
}

func appendInts(b []byte, key string, values []int) []byte {
	for i, v := range values {
		if i == 0 {
			b = append(b, key...)
		} else {
			b = append(b, ',')
		}
		b = fmt.Append(b, v)
	}
	if len(values) > 0 {
		b = append(b, '\n')
	}
	return b
}
