package placer

import (
	"errors"
	"fmt"
)

// Validate checks a placement that was read from a document: it names nodes, each once.
func (p *Placement) Validate() error {
	if len(p.Nodes) == 0 {
		return errors.New("nodes: must name at least one node, in rank order")
	}
	seen := make(map[string]bool, len(p.Nodes))
	for i, n := range p.Nodes {
		if n == "" || seen[n] {
			return fmt.Errorf("nodes[%d]: %q: must be a node that stands once", i, n)
		}
		seen[n] = true
	}
	return nil
}
