package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// EtcdStore keeps the ledger in etcd, for several servers. Every commit is one transaction that compares the revision of a
// single head key and writes it again, so all commits of all servers form one serial history.
//
//	PREFIX/head            next token (decimal); its modification revision is the ledger's revision
//	PREFIX/leases/ID       CRC-32C and JSON
type EtcdStore struct {
	client  *clientv3.Client
	prefix  string
	changed chan struct{}
	stop    context.CancelFunc
	watcher sync.WaitGroup
}

// maxTxnOps keeps one transaction below etcd's default limit of 128 operations.
const maxTxnOps = 100

// OpenEtcd connects and starts to watch for other servers' commits. The client stays the caller's to configure (TLS, user);
// the store closes it.
func OpenEtcd(client *clientv3.Client, prefix string) *EtcdStore {
	ctx, stop := context.WithCancel(context.Background())
	s := &EtcdStore{client: client, prefix: strings.TrimSuffix(prefix, "/"), changed: make(chan struct{}, 1), stop: stop}
	s.watcher.Add(1)
	go s.watch(ctx)
	return s
}

func (s *EtcdStore) head() string             { return s.prefix + "/head" }
func (s *EtcdStore) key(id string) string     { return s.prefix + "/leases/" + id }
func (s *EtcdStore) leasesPrefix() string     { return s.prefix + "/leases/" }
func (s *EtcdStore) Changed() <-chan struct{} { return s.changed }

// watch signals commits. It only wakes the ledger: what changed is read by Since, so a lost event does no harm.
func (s *EtcdStore) watch(ctx context.Context) {
	defer s.watcher.Done()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	events := s.client.Watch(clientv3.WithRequireLeader(ctx), s.head())
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case _, ok := <-events:
			if !ok {
				events = s.client.Watch(clientv3.WithRequireLeader(ctx), s.head())
				continue
			}
		}
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}

// Load reads head and all leases at one revision.
func (s *EtcdStore) Load(ctx context.Context) (Snapshot, error) { return s.Since(ctx, 0) }

// Since reads, in one linearizable transaction, the head and the leases written after base.
func (s *EtcdStore) Since(ctx context.Context, base int64) (Snapshot, error) {
	unchanged := clientv3.Compare(clientv3.ModRevision(s.head()), "=", base)
	read := []clientv3.Op{clientv3.OpGet(s.head()), clientv3.OpGet(s.leasesPrefix(), clientv3.WithPrefix(), clientv3.WithMinModRev(base+1))}
	resp, err := s.client.Txn(ctx).If(unchanged).Else(read...).Commit()
	if err != nil {
		return Snapshot{}, err
	}
	if resp.Succeeded {
		return Snapshot{Revision: base}, nil
	}
	snap := Snapshot{NextToken: 1}
	for _, kv := range resp.Responses[0].GetResponseRange().Kvs {
		snap.Revision = kv.ModRevision
		if snap.NextToken, err = strconv.ParseUint(string(kv.Value), 10, 64); err != nil {
			return Snapshot{}, fmt.Errorf("%s: must hold the next token: %w", s.head(), ErrCorrupt)
		}
	}
	for _, kv := range resp.Responses[1].GetResponseRange().Kvs {
		l, err := decode(strings.TrimPrefix(string(kv.Key), s.leasesPrefix()), kv.Value)
		if err != nil {
			return Snapshot{}, err
		}
		snap.Leases = append(snap.Leases, l)
	}
	return snap, nil
}

// Commit writes a batch if no other server has written since base.
func (s *EtcdStore) Commit(ctx context.Context, base int64, b Batch) (int64, error) {
	ops := []clientv3.Op{clientv3.OpPut(s.head(), strconv.FormatUint(b.NextToken, 10))}
	for _, l := range b.Put {
		data, err := encode(l)
		if err != nil {
			return 0, err
		}
		ops = append(ops, clientv3.OpPut(s.key(l.ID), string(data)))
	}
	for _, id := range b.Delete {
		if len(ops) < maxTxnOps { // the rest is forgotten another time
			ops = append(ops, clientv3.OpDelete(s.key(id)))
		}
	}
	if len(ops) > maxTxnOps {
		return 0, fmt.Errorf("%d leases in one commit: must be at most %d", len(b.Put), maxTxnOps-1)
	}
	resp, err := s.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(s.head()), "=", base)).Then(ops...).Commit()
	if err != nil {
		return 0, err
	}
	if !resp.Succeeded {
		return 0, ErrConflict
	}
	return resp.Header.Revision, nil
}

// Close ends the watch and the client.
func (s *EtcdStore) Close() error {
	s.stop()
	s.watcher.Wait()
	err := s.client.Close()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
