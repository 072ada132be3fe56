package ledger

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// memStore is a store in memory whose commits can be made to fail: before they are written, or after (the answer is lost).
// Several ledgers may share one, as servers share etcd.
type memStore struct {
	mu       sync.Mutex
	revision int64
	token    uint64
	leases   map[string][]byte
	written  map[string]int64
	fail     []string // what the next commits do: "", "before", "after"
	shared   bool
	wake     chan struct{}
}

var errInjected = errors.New("injected")

func newMemStore() *memStore {
	return &memStore{leases: map[string][]byte{}, written: map[string]int64{}, token: 1, wake: make(chan struct{}, 1)}
}

func (m *memStore) Load(ctx context.Context) (Snapshot, error) { return m.Since(ctx, 0) }

func (m *memStore) Since(_ context.Context, base int64) (Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	snap := Snapshot{Revision: m.revision, NextToken: m.token}
	for id, rev := range m.written {
		if rev > base {
			l, err := decode(id, m.leases[id])
			if err != nil {
				return Snapshot{}, err
			}
			snap.Leases = append(snap.Leases, l)
		}
	}
	slices.SortFunc(snap.Leases, func(a, b *Lease) int { return int(a.Token) - int(b.Token) })
	return snap, nil
}

func (m *memStore) Commit(_ context.Context, base int64, b Batch) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if base != m.revision {
		return 0, ErrConflict
	}
	how := ""
	if len(m.fail) > 0 {
		how, m.fail = m.fail[0], m.fail[1:]
	}
	if how == "before" {
		return 0, errInjected
	}
	m.revision++
	m.token = b.NextToken
	for _, l := range b.Put {
		data, err := encode(l)
		if err != nil {
			return 0, err
		}
		m.leases[l.ID], m.written[l.ID] = data, m.revision
	}
	for _, id := range b.Delete {
		delete(m.leases, id)
		delete(m.written, id)
	}
	if how == "after" {
		return 0, errInjected
	}
	return m.revision, nil
}

func (m *memStore) Changed() <-chan struct{} {
	if !m.shared {
		return nil
	}
	return m.wake
}

func (m *memStore) Close() error { return nil }
