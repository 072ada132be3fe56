package ledger

import (
	"fmt"
	"slices"

	"github.com/railmap/railmap/topology"
)

// State is the ledger's content in memory: leases by id, and which lease holds which GPUs of a node. It is a plain value of
// its history: no clock, no store, no goroutine. A change is applied by replacing a lease; it can be undone by putting the
// old one back.
type State struct {
	leases    map[string]*Lease
	holds     map[string][]hold // node -> live claims
	byKey     map[string]string // idempotency key -> lease id
	nextToken uint64
}

type hold struct {
	lease string
	mask  uint64
}

// change is one lease before and after; nil = did not or does not exist.
type change struct{ before, after *Lease }

func (c change) id() string {
	if c.after != nil {
		return c.after.ID
	}
	return c.before.ID
}

// newState is the empty ledger. Tokens start at 1: a zero token is never valid.
func newState() *State {
	return &State{leases: map[string]*Lease{}, holds: map[string][]hold{}, byKey: map[string]string{}, nextToken: 1}
}

// Get finds a lease, live or ended.
func (s *State) Get(id string) (*Lease, bool) {
	l, ok := s.leases[id]
	return l, ok
}

// List gives all leases by id order of tokens: oldest grant first.
func (s *State) List() []*Lease {
	out := make([]*Lease, 0, len(s.leases))
	for _, l := range s.leases {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b *Lease) int { return topology.CompareNames(a.ID, b.ID) })
	slices.SortStableFunc(out, func(a, b *Lease) int {
		switch {
		case a.Token < b.Token:
			return -1
		case a.Token > b.Token:
			return 1
		}
		return 0
	})
	return out
}

// CountPhases adds the number of leases in each phase.
func (s *State) CountPhases(to map[Phase]int) {
	for _, l := range s.leases {
		to[l.Phase]++
	}
}

// HeldGPUs is the GPUs of a node that live leases hold, as bits; all ones for a whole node.
func (s *State) HeldGPUs(node string) uint64 {
	m := uint64(0)
	for _, h := range s.holds[node] {
		m |= h.mask
	}
	return m
}

// HeldNodes calls f for each node with a live claim, in no order.
func (s *State) HeldNodes(f func(node string, gpus uint64)) {
	for node := range s.holds {
		f(node, s.HeldGPUs(node))
	}
}

// conflict names the first claim that overlaps a live lease.
func (s *State) conflict(claims []Claim) error {
	for _, c := range claims {
		m := c.mask()
		for _, h := range s.holds[c.Node] {
			if h.mask&m != 0 {
				return fmt.Errorf("node %s is %w %s", c.Node, ErrHeld, h.lease)
			}
		}
	}
	return nil
}

// apply replaces one lease; undo is apply of the reversed change.
func (s *State) apply(c change) {
	if c.before != nil {
		s.drop(c.before)
	}
	if c.after == nil {
		return
	}
	l := c.after
	s.leases[l.ID] = l
	if l.IdempotencyKey != "" {
		s.byKey[l.IdempotencyKey] = l.ID
	}
	if l.Live() {
		for _, cl := range l.Claims {
			s.holds[cl.Node] = append(s.holds[cl.Node], hold{l.ID, cl.mask()})
		}
	}
	s.nextToken = max(s.nextToken, l.Token+1)
}

func (s *State) drop(l *Lease) {
	delete(s.leases, l.ID)
	if l.IdempotencyKey != "" && s.byKey[l.IdempotencyKey] == l.ID {
		delete(s.byKey, l.IdempotencyKey)
	}
	if !l.Live() {
		return
	}
	for _, cl := range l.Claims {
		rest := slices.DeleteFunc(s.holds[cl.Node], func(h hold) bool { return h.lease == l.ID })
		if len(rest) == 0 {
			delete(s.holds, cl.Node)
		} else {
			s.holds[cl.Node] = rest
		}
	}
}

// check verifies the invariants: no GPU in two live leases, tokens below nextToken, the index complete.
func (s *State) check() error {
	seen := map[string]uint64{}
	for _, l := range s.List() {
		if l.Token >= s.nextToken {
			return fmt.Errorf("lease %s has token %d, which was never given out: %w", l.ID, l.Token, ErrCorrupt)
		}
		if !l.Live() {
			continue
		}
		for _, c := range l.Claims {
			if seen[c.Node]&c.mask() != 0 {
				return fmt.Errorf("node %s: a GPU is held by two live leases, one of them %s: %w", c.Node, l.ID, ErrCorrupt)
			}
			seen[c.Node] |= c.mask()
		}
	}
	return nil
}
