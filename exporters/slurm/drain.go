package slurm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// DrainFile is the name of the file that Drains renders.
const DrainFile = "slurm-drain.sh"

// Drains renders one scontrol line for every node that should get no jobs: it is down, no group of the map holds it, or its
// bandwidth is below the share floor of nominal (0 to 1). Degraded nodes leave by drain and not by topology or Weight: a
// topology that changes with every sick node makes the controller read it again, and Weight is stronger than topology.
// Figures are left out of reasons, so that the file changes only when the list does.
func Drains(t *topology.Topology, floor float64, o Options) exporters.File {
	s := newScope(t, o.Nodes)
	var b strings.Builder
	b.WriteString("#!/bin/sh\n" + header)
	b.WriteString("# Look at the reasons, then run it. scontrol update NodeName=NAME State=RESUME brings a node back.\n")
	nodes := slices.Clone(t.Nodes)
	slices.SortFunc(nodes, func(x, y topology.Node) int { return byName(x.Name, y.Name) })
	for i := range nodes {
		n := &nodes[i]
		reason := drainReason(n, floor, len(t.Tree.Groups) > 0)
		if reason == "" || s.wanted != nil && !s.wanted[n.Name] || !plain(n.Name) {
			continue
		}
		fmt.Fprintf(&b, "scontrol update NodeName=%s State=DRAIN Reason=%q\n", n.Name, "railmap: "+reason)
	}
	return exporters.File{Name: DrainFile, Data: []byte(b.String()), Nodes: len(s.nodes)}
}

// drainReason says why a node should be drained, or "".
func drainReason(n *topology.Node, floor float64, fabric bool) string {
	switch {
	case n.State == topology.Down:
		return "down" + because(n)
	case n.Group == "" && fabric:
		return "not attached to the fabric"
	case n.Share != nil && *n.Share < floor:
		return fmt.Sprintf("below %.0f %% of its network bandwidth%s", 100*floor, because(n))
	}
	return ""
}

func because(n *topology.Node) string {
	if n.Limiting == "" || !plain(n.Limiting) {
		return ""
	}
	return ", see " + n.Limiting
}

// plain tells whether a name can stand in a shell command without quotes.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if !nameByte(s[i]) && strings.IndexByte("._/:", s[i]) < 0 {
			return false
		}
	}
	return s != "" && s[0] != '-'
}
