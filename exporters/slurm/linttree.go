package slurm

import "github.com/railmap/railmap/exporters"

// lintTree checks the switches of a topology/tree file, or of one entry of topology.yaml.
func lintTree(rep *exporters.Problems, switches []SwitchLine, o LintOptions) {
	if len(switches) == 0 {
		rep.Errorf(0, "empty", "no switch is defined: the file must name every node")
		return
	}
	if len(switches) > maxSwitches && !o.ManySwitches {
		rep.Errorf(0, "too-many-switches", "%d switches: more than %d make slurmctld slow to start; merge equal switches, or force it", len(switches), maxSwitches)
	}
	checkNames(rep, "switch", len(switches), func(i int) (string, int) { return switches[i].Name, switches[i].Line })
	members := newMembership(rep, "leaf", o.Nodes, len(o.Nodes))
	tiny := 0
	leaves := 0
	for _, s := range switches {
		switch {
		case len(s.Nodes) > 0 && len(s.Children) > 0:
			rep.Errorf(s.Line, "nodes-and-switches", "switch %s has nodes and switches: must have one of them", s.Name)
		case len(s.Nodes) == 0 && len(s.Children) == 0:
			rep.Errorf(s.Line, "no-nodes-no-switches", "switch %s has neither nodes nor switches", s.Name)
		case len(s.Nodes) > 0:
			leaves++
			if len(s.Nodes) == 1 {
				tiny++
			}
		}
		members.add(s.Line, s.Name, s.Nodes)
	}
	if leaves > 1 && tiny == leaves {
		rep.Warnf(0, "tiny-leaves", "every leaf has one node: Slurm can then keep no job together")
	}
	members.missing(o.Nodes)
	lintShape(rep, switches)
}

// lintShape checks that the switches form trees: one parent each, no cycle, not too deep.
func lintShape(rep *exporters.Problems, switches []SwitchLine) {
	index := make(map[string]int, len(switches))
	for i, s := range switches {
		index[s.Name] = i
	}
	parent := make([]int, len(switches))
	for i := range parent {
		parent[i] = -1
	}
	for i, s := range switches {
		for _, name := range s.Children {
			c, ok := index[name]
			switch {
			case !ok:
				rep.Errorf(s.Line, "child-missing", "switch %s lists %s, which no line defines", s.Name, clip(name))
			case c == i:
				rep.Errorf(s.Line, "cycle", "switch %s lists itself", s.Name)
			case parent[c] == i:
				rep.Errorf(s.Line, "child-twice", "switch %s lists %s twice", s.Name, name)
			case parent[c] >= 0:
				rep.Errorf(s.Line, "two-parents", "switch %s is below %s already: must have one parent; merge equal spines into one switch", name, switches[parent[c]].Name)
			default:
				parent[c] = i
			}
		}
	}
	lintDepth(rep, switches, parent)
}

// lintDepth measures how far every switch is from its root, each once.
func lintDepth(rep *exporters.Problems, switches []SwitchLine, parent []int) {
	const walking = -1
	depth := make([]int, len(switches)) // 0 = not known yet
	roots, cyclic := 0, false
	var path []int
	for i := range switches {
		if parent[i] < 0 {
			roots++
		}
		at := i
		for path = path[:0]; at >= 0 && depth[at] == 0; at = parent[at] {
			depth[at] = walking
			path = append(path, at)
		}
		if at >= 0 && depth[at] == walking && !cyclic {
			cyclic = true
			rep.Errorf(switches[at].Line, "cycle", "switch %s is below itself: the switches must form a tree", switches[at].Name)
		}
		above := 0
		if at >= 0 && depth[at] > 0 {
			above = depth[at]
		}
		for j := len(path) - 1; j >= 0; j-- {
			above++
			depth[path[j]] = above
		}
	}
	for i, s := range switches {
		if depth[i] > maxDepth && len(s.Nodes) > 0 && !cyclic {
			rep.Errorf(s.Line, "depth", "leaf %s is %d switches deep: must be at most %d", s.Name, depth[i], maxDepth)
		}
	}
	if roots > 1 {
		rep.Warnf(0, "several-roots", "no switch reaches all nodes: the file has %d separate trees, and no job can span two of them", roots)
	}
}
