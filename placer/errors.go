package placer

import (
	"errors"
	"fmt"
	"strings"
)

// ErrEmptyCluster says that a topology has no node that could be placed on.
var ErrEmptyCluster = errors.New("topology has no node: build it from a fabric or node reports first")

// InfeasibleError says that no set of nodes satisfies a request now, and what would make one.
type InfeasibleError struct {
	Nodes   int    // nodes asked for
	Within  string // level asked for; empty = anywhere
	Largest int    // largest gang that fits now under the same constraints
	Reason  string // "needs 40 nodes; the largest usable leaf has 17 (12 busy, 3 excluded)"
	Remedy  string // what would make it feasible
}

// Error says why and what to do.
func (e *InfeasibleError) Error() string {
	if e.Remedy == "" {
		return "infeasible: " + e.Reason
	}
	return "infeasible: " + e.Reason + ": " + e.Remedy
}

// UnknownHostError names hosts that the topology does not have, with the nearest names that it has.
type UnknownHostError struct {
	Field string              // "busy", "exclude", "include", ...
	Names []string            // the unknown names, in the order given
	Near  map[string][]string // unknown name -> similar known names, best first; absent when nothing is near
}

// Error lists at most eight names.
func (e *UnknownHostError) Error() string {
	var parts []string
	for i, n := range e.Names {
		if i == 8 {
			parts = append(parts, fmt.Sprintf("and %d more", len(e.Names)-8))
			break
		}
		if near := e.Near[n]; len(near) > 0 {
			parts = append(parts, fmt.Sprintf("%s (did you mean %s?)", n, strings.Join(near, " or ")))
			continue
		}
		parts = append(parts, n)
	}
	return fmt.Sprintf("%s: not in the topology: %s", e.Field, strings.Join(parts, ", "))
}
