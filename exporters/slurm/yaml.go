package slurm

import (
	"fmt"
	"strings"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// Names of the topologies in topology.yaml, for PartitionName=... Topology=.
const (
	treeTopology  = "ib"
	blockTopology = "nvl"
	flatTopology  = "plain"
)

// YAML renders topology.yaml (Slurm 25.05 and newer) with up to three topologies: "ib", the tree, for everybody; "nvl", the
// NVLink domains as blocks, when the map has any; and "plain" for partitions without a fabric. Names are always quoted,
// because other YAML libraries read some bare ones as numbers.
func YAML(t *topology.Topology, o Options) ([]exporters.File, []exporters.Problem, error) {
	if !o.Version.IsZero() && o.Version.Before(v2505) {
		return nil, nil, fmt.Errorf("topology.yaml needs Slurm 25.05 or newer, not %s: use the tree or block plugin", o.Version)
	}
	asked := o.Version
	if asked.IsZero() {
		o.Version = v2505
	}
	p := project(t, o)
	entries := []Entry{{Name: treeTopology, Plugin: TreeKind, Default: true, Config: Config{Switches: p.switches()}}}
	if hasDomains(t) {
		entries = append(entries, Entry{Name: blockTopology, Plugin: BlockKind, Config: p.blockConfig(o)})
	}
	entries = append(entries, Entry{Name: flatTopology, Plugin: FlatKind})
	file := exporters.File{Name: YAMLFile, Data: writeYAML(entries), Nodes: entries[0].Config.nodeCount()}
	return finish(file, YAMLKind, &p, o, asked)
}

func hasDomains(t *topology.Topology) bool {
	for _, l := range t.Tree.Levels {
		if l.Name == topology.DomainLevel {
			return true
		}
	}
	return false
}

// writeYAML prints entries in the order and form of the Slurm documentation.
func writeYAML(entries []Entry) []byte {
	b := []byte(header + "---\n")
	for _, e := range entries {
		b = fmt.Appendf(b, "- topology: %q\n  cluster_default: %t\n", e.Name, e.Default)
		switch e.Plugin {
		case TreeKind:
			b = append(b, "  tree:\n    switches:\n"...)
			for _, s := range e.Config.Switches {
				key, names := "nodes", s.Nodes
				if len(s.Children) > 0 {
					key, names = "children", s.Children
				}
				b = fmt.Appendf(b, "    - switch: %q\n      %s: %q\n", s.Name, key, topology.FoldHostlist(names))
			}
		case BlockKind:
			sizes := fmt.Sprint(e.Config.BlockSizes)
			b = fmt.Appendf(b, "  block:\n    block_sizes: %s\n    blocks:\n", strings.ReplaceAll(sizes, " ", ", "))
			for _, bl := range e.Config.Blocks {
				b = fmt.Appendf(b, "    - block: %q\n      nodes: %q\n", bl.Name, topology.FoldHostlist(bl.Nodes))
			}
		case FlatKind:
			b = append(b, "  flat: true\n"...)
		}
	}
	return b
}
