package slurm

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// ErrReconfigure is returned by Moves when more than the places of nodes has changed.
var ErrReconfigure = errors.New("switches, blocks or nodes were added or removed: the controller must read the file")

// Move puts nodes at another place of a running controller, at once and without reading files again (Slurm 25.05 and newer).
type Move struct {
	Nodes  []string
	Places string // "ib:spine0:leaf1,nvl:b2": all memberships, because the command replaces all
}

// Command is the argument list of scontrol.
func (m Move) Command() []string {
	return []string{"scontrol", "update", "NodeName=" + topology.FoldHostlist(m.Nodes), "Topology=" + m.Places}
}

// Moves are the steps from one topology.yaml to another when only nodes have changed places. Nodes that go to the same place
// make one step. The file must be written as well: a restarted controller reads it.
func Moves(from, to []Entry) ([]Move, error) {
	if !slices.EqualFunc(from, to, sameFrame) {
		return nil, ErrReconfigure
	}
	before, after := places(from), places(to)
	if len(before) != len(after) {
		return nil, ErrReconfigure
	}
	movers := map[string][]string{}
	for node, place := range after {
		old, ok := before[node]
		if !ok || strings.Count(old, ":") == 0 {
			return nil, ErrReconfigure
		}
		if old != place {
			movers[place] = append(movers[place], node)
		}
	}
	var moves []Move
	for _, place := range slices.SortedFunc(maps.Keys(movers), byName) {
		moves = append(moves, Move{sortedNames(movers[place]), place})
	}
	return moves, nil
}

// sameFrame compares two topologies without their nodes. A leaf that would be empty counts as gone: it has no line to stand in.
func sameFrame(a, b Entry) bool {
	bare := func(e Entry) Config {
		c := e.Config.Canonical()
		for i := range c.Switches {
			c.Switches[i].Nodes = nil
		}
		for i := range c.Blocks {
			c.Blocks[i].Nodes = nil
		}
		return c
	}
	return a.Name == b.Name && a.Default == b.Default && a.Plugin == b.Plugin && bare(a).equal(bare(b))
}

// places gives every node its memberships in all topologies, in their order.
func places(entries []Entry) map[string]string {
	out := map[string]string{}
	add := func(node, place string) {
		if out[node] != "" {
			place = out[node] + "," + place
		}
		out[node] = place
	}
	for _, e := range entries {
		parent := map[string]string{}
		for _, s := range e.Config.Switches {
			for _, c := range s.Children {
				parent[c] = s.Name
			}
		}
		for _, s := range e.Config.Switches {
			path := s.Name
			for up, n := parent[s.Name], 0; up != "" && n < maxDepth; up, n = parent[up], n+1 {
				path = up + ":" + path
			}
			for _, node := range s.Nodes {
				add(node, e.Name+":"+path)
			}
		}
		for _, b := range e.Config.Blocks {
			for _, node := range b.Nodes {
				add(node, e.Name+":"+b.Name)
			}
		}
	}
	return out
}
