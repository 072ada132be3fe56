package ledger

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
)

// Store keeps leases durably. Two exist: bbolt in one file for one server, etcd for several.
//
// Commit writes a batch whole or not at all, only if the store is still at base, and returns the new revision. It answers
// ErrConflict when it is not; any other error leaves the outcome unknown, and the ledger reads everything again.
type Store interface {
	// Load gives all leases and the next token.
	Load(ctx context.Context) (Snapshot, error)
	// Since gives the leases written after a revision; equal revisions mean that nothing was.
	Since(ctx context.Context, base int64) (Snapshot, error)
	Commit(ctx context.Context, base int64, b Batch) (int64, error)
	// Changed is signalled when another server may have written; nil for a store of one server.
	Changed() <-chan struct{}
	Close() error
}

// Snapshot is what a store holds, or what changed in it.
type Snapshot struct {
	Revision  int64
	NextToken uint64
	Leases    []*Lease
}

// Batch is what one commit writes.
type Batch struct {
	Put       []*Lease
	Delete    []string // ids of ended leases to forget
	NextToken uint64
}

// castagnoli guards each record: a flipped bit in a node name must not pass for another node.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode is the stored form of a lease: CRC-32C of the rest, big endian, then JSON.
func encode(l *Lease) ([]byte, error) {
	if mutant == "half-gang" {
		half := *l
		half.Claims = l.Claims[:(len(l.Claims)+1)/2]
		l = &half
	}
	body, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	return append(binary.BigEndian.AppendUint32(nil, crc32.Checksum(body, castagnoli)), body...), nil
}

// decode reads a stored lease and checks that it is the one that its key names.
func decode(key string, data []byte) (*Lease, error) {
	if len(data) < 4 || binary.BigEndian.Uint32(data) != crc32.Checksum(data[4:], castagnoli) {
		return nil, fmt.Errorf("lease %q: checksum is wrong: %w", key, ErrCorrupt)
	}
	var l Lease
	if err := json.Unmarshal(data[4:], &l); err != nil {
		return nil, fmt.Errorf("lease %q: %w: %w", key, err, ErrCorrupt)
	}
	if l.ID != key {
		return nil, fmt.Errorf("lease %q is stored as %q: %w", l.ID, key, ErrCorrupt)
	}
	return &l, nil
}
