package slurm

import (
	"fmt"

	"github.com/railmap/railmap/topology"
)

// fabric builds maps by hand: the exporter needs only the tree and the names of the nodes.
type fabric struct {
	topo topology.Topology
}

// group appends a group below parent; children must follow their parent depth first.
func (f *fabric) group(name, level, parent string, nodes ...string) {
	f.topo.Tree.Groups = append(f.topo.Tree.Groups, topology.Group{Name: name, Level: level, Parent: parent, Nodes: nodes})
	for _, n := range nodes {
		f.topo.Nodes = append(f.topo.Nodes, topology.Node{Name: n, Group: name})
	}
}

// loose adds a node that is in no group.
func (f *fabric) loose(name string) {
	f.topo.Nodes = append(f.topo.Nodes, topology.Node{Name: name})
}

// numbered gives node names first, first+1, ...
func numbered(format string, first, count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf(format, first+i)
	}
	return names
}

// fatTree is pods × leaves × nodes; with one pod the tree has two levels. Domains, when above 1, split each leaf.
func fatTree(pods, leaves, nodes, domains int) *topology.Topology {
	var f fabric
	f.topo.Tree.Levels = []topology.Level{{Name: topology.LeafLevel}, {Name: topology.PodLevel}}
	root := "core0"
	next := 1
	if pods > 1 {
		f.topo.Tree.Levels = append(f.topo.Tree.Levels, topology.Level{Name: topology.CoreLevel})
		f.group(root, topology.CoreLevel, "")
	} else {
		root = ""
	}
	if domains > 1 {
		f.topo.Tree.Levels = append([]topology.Level{{Name: topology.DomainLevel}}, f.topo.Tree.Levels...)
	}
	for p := range pods {
		pod := fmt.Sprintf("pod%d", p)
		f.group(pod, topology.PodLevel, root)
		for l := range leaves {
			leaf := fmt.Sprintf("leaf%d", p*leaves+l)
			if domains <= 1 {
				f.group(leaf, topology.LeafLevel, pod, numbered("node%04d", next, nodes)...)
				next += nodes
				continue
			}
			f.group(leaf, topology.LeafLevel, pod)
			for d := range domains {
				f.group(fmt.Sprintf("nvl%d-%d", p*leaves+l, d), topology.DomainLevel, leaf, numbered("node%04d", next, nodes/domains)...)
				next += nodes / domains
			}
		}
	}
	return &f.topo
}
