package main

import (
	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/placer/occupancy"
	"github.com/railmap/railmap/topology"
)

// readOccupancy reads what schedulers print about their nodes and jobs, for the nodes of a map. What was not understood is
// told on stderr.
func readOccupancy(e *env, paths []string, topo *topology.Topology) (placer.State, error) {
	var sources []occupancy.Source
	for _, path := range paths {
		f, err := openInput(e, path)
		if err != nil {
			return placer.State{}, err
		}
		defer f.Close()
		name := path
		if path == "-" {
			name = "standard input"
		}
		sources = append(sources, occupancy.Source{Name: name, Reader: f})
	}
	reports, err := occupancy.ReadAll(sources...)
	if err != nil {
		return placer.State{}, usagef("--occupancy: %v", err)
	}
	for _, r := range reports {
		tellFindings(e, r.Side, r.Findings)
	}
	st, findings := placer.Occupied(topo, e.now(), reports...)
	tellFindings(e, "occupancy", findings)
	return st, nil
}
