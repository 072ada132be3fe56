package ledger

import bolt "go.etcd.io/bbolt"

// setSchema pretends that another version wrote the file.
func (s *BoltStore) setSchema(v uint64) error {
	return s.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Put(headKey, head{schema: v}.encode()) })
}
