package ledger

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// schemaVersion is the layout of the file. Version 1: bucket "meta" with one record "head" (CRC-32C of the rest, then schema,
// revision, next token and number of leases, 8 bytes each, big endian), bucket "leases" (id -> CRC-32C and JSON).
const schemaVersion = 1

var (
	metaBucket   = []byte("meta")
	leasesBucket = []byte("leases")
	headKey      = []byte("head")
)

// head is the record that every commit writes.
type head struct{ schema, revision, nextToken, count uint64 }

func (h head) encode() []byte {
	var body []byte
	for _, v := range []uint64{h.schema, h.revision, h.nextToken, h.count} {
		body = binary.BigEndian.AppendUint64(body, v)
	}
	return append(binary.BigEndian.AppendUint32(nil, crc32.Checksum(body, castagnoli)), body...)
}

func decodeHead(data []byte) (head, error) {
	if len(data) != 36 || binary.BigEndian.Uint32(data) != crc32.Checksum(data[4:], castagnoli) {
		return head{}, fmt.Errorf("%w: the head record is missing or its checksum is wrong", ErrCorrupt)
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(data[4+8*i:]) }
	return head{at(0), at(1), at(2), at(3)}, nil
}

// BoltStore keeps the ledger in one bbolt file; one process at a time.
type BoltStore struct {
	db   *bolt.DB
	path string
}

// OpenBolt opens or creates the file, checks every page and record of it, and migrates an older layout. A damaged file is
// refused with its path and what to do; it is never changed.
func OpenBolt(path string) (*BoltStore, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if _, err := verifyFile(path); err != nil {
		return nil, fmt.Errorf("ledger %s: %w: restore a backup (railmap store restore), or move the file away to start empty", path, err)
	}
	// The list of free pages is not written: it would be one more thing that damage can turn against live pages.
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second, NoFreelistSync: true, NoSync: mutant == "no-sync"})
	if errors.Is(err, bolterrors.ErrTimeout) {
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

// verifyFile walks a file before bbolt maps it: pages, order of keys, checksum of every record, their number, and that no GPU
// is in two live leases. A file that does not exist yet, or is empty, is fine. It returns the number of leases.
func verifyFile(path string) (int, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || (err == nil && info.Size() == 0) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	f, root, err := readBoltFile(path)
	if err != nil {
		return 0, err
	}
	state := newState()
	var h head
	buckets := 0
	_, _, err = f.walk(root, func(name, value []byte, bucket bool) error {
		isMeta := bytes.Equal(name, metaBucket)
		if !bucket || !isMeta && !bytes.Equal(name, leasesBucket) {
			return fmt.Errorf("%w: %q is no part of a ledger", ErrCorrupt, name)
		}
		buckets++
		return f.bucket(value, func(key, value []byte, _ bool) error {
			if isMeta && bytes.Equal(key, headKey) {
				h, err = decodeHead(value)
				return err
			}
			if isMeta {
				return fmt.Errorf("%w: %q is no part of a ledger", ErrCorrupt, key)
			}
			l, err := decode(string(key), value)
			if err == nil {
				state.apply(change{nil, l})
			}
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	if buckets != 0 && (buckets != 2 || h.schema == 0) {
		return 0, fmt.Errorf("%w: the head record or a bucket is missing", ErrCorrupt)
	}
	if n := uint64(len(state.leases)); n != h.count {
		return 0, fmt.Errorf("%w: %d leases, the last commit left %d", ErrCorrupt, n, h.count)
	}
	state.nextToken = max(state.nextToken, h.nextToken)
	return len(state.leases), state.check()
}

// migrate creates the buckets, or brings an older layout up to date in one transaction.
func (s *BoltStore) migrate() error {
	h, err := s.head()
	if err != nil {
		return fmt.Errorf("ledger %s: %w", s.path, err)
	}
	switch {
	case h.schema > schemaVersion:
		return fmt.Errorf("ledger %s has layout %d, this railmap knows up to %d: run the newer railmap that wrote it", s.path, h.schema, schemaVersion)
	case h.schema == schemaVersion:
		return nil
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		meta, err := tx.CreateBucketIfNotExists(metaBucket)
		if err != nil {
			return err
		}
		if _, err := tx.CreateBucketIfNotExists(leasesBucket); err != nil {
			return err
		}
		return meta.Put(headKey, head{schema: schemaVersion, revision: 1, nextToken: 1}.encode())
	})
}

// head reads the head record; the zero head when the file is new.
func (s *BoltStore) head() (h head, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		if meta := tx.Bucket(metaBucket); meta != nil {
			h, err = decodeHead(meta.Get(headKey))
		}
		return err
	})
	return h, err
}

// Load reads all leases.
func (s *BoltStore) Load(context.Context) (Snapshot, error) {
	var snap Snapshot
	err := s.db.View(func(tx *bolt.Tx) error {
		h, err := decodeHead(tx.Bucket(metaBucket).Get(headKey))
		if err != nil {
			return err
		}
		snap.Revision, snap.NextToken = int64(h.revision), h.nextToken
		return tx.Bucket(leasesBucket).ForEach(func(k, v []byte) error {
			l, err := decode(string(k), v)
			if err == nil {
				snap.Leases = append(snap.Leases, l)
			}
			return err
		})
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
		h, err := decodeHead(meta.Get(headKey))
		if err != nil {
			return err
		}
		if int64(h.revision) != base {
			return ErrConflict
		}
		for _, l := range b.Put {
			data, err := encode(l)
			if err != nil {
				return err
			}
			if leases.Get([]byte(l.ID)) == nil {
				h.count++
			}
			if err := leases.Put([]byte(l.ID), data); err != nil {
				return err
			}
		}
		for _, id := range b.Delete {
			if leases.Get([]byte(id)) != nil {
				h.count--
			}
			if err := leases.Delete([]byte(id)); err != nil {
				return err
			}
		}
		h.revision, h.nextToken = uint64(next), b.NextToken
		return meta.Put(headKey, h.encode())
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
	if err := unlocked(path); err != nil {
		return 0, err
	}
	n, err := verifyFile(path)
	if err != nil {
		return 0, fmt.Errorf("ledger %s: %w", path, err)
	}
	return n, nil
}

// unlocked fails when a process has the file open: it may change under whoever reads it.
func unlocked(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil { // the lock that bbolt holds
		return fmt.Errorf("ledger %s: a running server has it open: stop the server, or back it up and look at the copy", path)
	}
	return nil
}

// RestoreFile puts a checked backup in the place of the ledger's file: written beside it, synced, renamed. The old file stays
// as NAME.before-restore.
func RestoreFile(backup, path string) error {
	if _, err := CheckFile(backup); err != nil {
		return fmt.Errorf("backup is not usable, nothing was changed: %w", err)
	}
	if err := unlocked(path); err != nil {
		return err
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
