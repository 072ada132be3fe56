package ledger

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
)

// schemaVersion is the layout of the file. Version 1: bucket "meta" (schema, revision, nextToken: 8 bytes, big endian), bucket
// "leases" (id -> CRC-32C and JSON).
const schemaVersion = 1

var (
	metaBucket   = []byte("meta")
	leasesBucket = []byte("leases")
	schemaKey    = []byte("schema")
	revisionKey  = []byte("revision")
	tokenKey     = []byte("nextToken")
)

// BoltStore keeps the ledger in one bbolt file; one process at a time.
type BoltStore struct {
	db   *bolt.DB
	path string
}

// OpenBolt opens or creates the file, checks every page and record of it, and migrates an older layout. A damaged file is
// refused with its path and what to do; it is never changed.
func OpenBolt(path string) (store *BoltStore, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := verifyFile(path); err != nil {
		return nil, fmt.Errorf("ledger %s: %w: restore a backup (railmap store restore), or move the file away to start empty", path, err)
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second})
	if errors.Is(err, bolt.ErrTimeout) {
		return nil, fmt.Errorf("ledger %s: another process has it open: stop that server first, or use an etcd store for several servers", path)
	}
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	s := &BoltStore{db: db, path: path}
	if err := s.migrate(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// verifyFile opens a file read-only and reads all of it. Damage can make bbolt panic or touch memory behind the end of the
// file; both become errors here.
func verifyFile(path string) (err error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || (err == nil && info.Size() == 0) {
		return nil
	}
	if err != nil {
		return err
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrCorrupt, p)
		}
	}()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if errors.Is(err, bolt.ErrTimeout) {
		return nil // open elsewhere: the caller says so
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		if tx.Size() > info.Size() {
			return fmt.Errorf("%w: the file is cut short", ErrCorrupt)
		}
		var first error
		for e := range tx.Check() {
			if first == nil {
				first = fmt.Errorf("%w: %w", ErrCorrupt, e)
			}
		}
		if first != nil {
			return first
		}
		_, err := readBolt(tx)
		return err
	})
}

// migrate creates the buckets, or brings an older layout up to date in one transaction.
func (s *BoltStore) migrate() error {
	return s.db.Update(func(tx *bolt.Tx) error {
		meta, err := tx.CreateBucketIfNotExists(metaBucket)
		if err != nil {
			return err
		}
		if _, err := tx.CreateBucketIfNotExists(leasesBucket); err != nil {
			return err
		}
		switch have := number(meta.Get(schemaKey)); {
		case have == 0:
			return errors.Join(meta.Put(schemaKey, bytes8(schemaVersion)), meta.Put(revisionKey, bytes8(1)), meta.Put(tokenKey, bytes8(1)))
		case have > schemaVersion:
			return fmt.Errorf("ledger %s has layout %d, this railmap knows up to %d: run the newer railmap that wrote it", s.path, have, schemaVersion)
		}
		return nil
	})
}

func number(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

func bytes8(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

func readBolt(tx *bolt.Tx) (Snapshot, error) {
	var snap Snapshot
	meta, leases := tx.Bucket(metaBucket), tx.Bucket(leasesBucket)
	if meta == nil || leases == nil {
		return snap, nil // created by an interrupted first start
	}
	snap.Revision, snap.NextToken = int64(number(meta.Get(revisionKey))), number(meta.Get(tokenKey))
	err := leases.ForEach(func(k, v []byte) error {
		l, err := decode(string(k), v)
		if err == nil {
			snap.Leases = append(snap.Leases, l)
		}
		return err
	})
	return snap, err
}

// Load reads all leases.
func (s *BoltStore) Load(context.Context) (snap Snapshot, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		snap, err = readBolt(tx)
		return err
	})
	return snap, err
}

// Since has nothing to add: no other process writes.
func (s *BoltStore) Since(_ context.Context, base int64) (Snapshot, error) {
	return Snapshot{Revision: base}, nil
}

// Commit writes a batch in one fsynced transaction.
func (s *BoltStore) Commit(_ context.Context, base int64, b Batch) (int64, error) {
	next := base + 1
	err := s.db.Update(func(tx *bolt.Tx) error {
		meta, leases := tx.Bucket(metaBucket), tx.Bucket(leasesBucket)
		if int64(number(meta.Get(revisionKey))) != base {
			return ErrConflict
		}
		for _, l := range b.Put {
			data, err := encode(l)
			if err != nil {
				return err
			}
			if err := leases.Put([]byte(l.ID), data); err != nil {
				return err
			}
		}
		for _, id := range b.Delete {
			if err := leases.Delete([]byte(id)); err != nil {
				return err
			}
		}
		return errors.Join(meta.Put(revisionKey, bytes8(uint64(next))), meta.Put(tokenKey, bytes8(b.NextToken)))
	})
	if err != nil {
		return 0, err
	}
	return next, nil
}

// Changed is nil: one process, one writer.
func (s *BoltStore) Changed() <-chan struct{} { return nil }

// Size is the size of the file in bytes.
func (s *BoltStore) Size() (int64, error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Backup writes a consistent copy of the file while the ledger runs.
func (s *BoltStore) Backup(w io.Writer) error {
	return s.db.View(func(tx *bolt.Tx) error {
		_, err := tx.WriteTo(w)
		return err
	})
}

// Close closes the file.
func (s *BoltStore) Close() error { return s.db.Close() }

// CheckFile verifies a file: pages, checksums, and that no GPU is in two live leases. It returns the number of leases.
func CheckFile(path string) (int, error) {
	if _, err := os.Stat(path); err != nil {
		return 0, err
	}
	if err := verifyFile(path); err != nil {
		return 0, fmt.Errorf("ledger %s: %w", path, err)
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return 0, fmt.Errorf("ledger %s: %w", path, err)
	}
	s := &BoltStore{db: db, path: path}
	defer s.Close()
	snap, err := s.Load(context.Background())
	if err != nil {
		return 0, fmt.Errorf("ledger %s: %w", path, err)
	}
	state := newState()
	for _, l := range snap.Leases {
		state.apply(change{nil, l})
	}
	state.nextToken = max(state.nextToken, snap.NextToken)
	return len(snap.Leases), state.check()
}

// RestoreFile puts a checked backup in the place of the ledger's file: written beside it, synced, renamed. The old file stays
// as NAME.before-restore.
func RestoreFile(backup, path string) error {
	if _, err := CheckFile(backup); err != nil {
		return fmt.Errorf("backup is not usable, nothing was changed: %w", err)
	}
	temp := path + ".restoring"
	if err := copyFile(backup, temp); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if _, err := os.Stat(path); err == nil {
		if err := os.Rename(path, path+".before-restore"); err != nil {
			return err
		}
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
