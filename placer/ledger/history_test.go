package ledger

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// A history is what clients saw of one node: who took it, who gave it back, when each call began and ended. A node is a lock
// with a holder; the history is right when some order of the calls, each between its beginning and end, explains it.
type nodeCall struct {
	node string
	take bool // false: give back
	who  uint64
}

// nodeAnswer is what a call returned: done, refused, or unknown.
type nodeAnswer int

const (
	done nodeAnswer = iota
	refused
	unknown
)

// nodeModel: state 0 = free, else the token of the holder.
var nodeModel = porcupine.NondeterministicModel{
	Partition: partitionByNode,
	Init:      func() []any { return []any{uint64(0)} },
	Step: func(state, input, output any) []any {
		held, call, answer := state.(uint64), input.(nodeCall), output.(nodeAnswer)
		switch {
		case call.take && answer == done && held == 0:
			return []any{call.who}
		case call.take && answer == refused && held != 0:
			return []any{held}
		case call.take && answer == unknown && held == 0:
			return []any{uint64(0), call.who}
		case call.take && answer == unknown:
			return []any{held}
		case !call.take && answer == done && held == call.who:
			return []any{uint64(0)}
		case !call.take && answer == unknown && held == call.who:
			return []any{held, uint64(0)}
		case !call.take && answer == unknown:
			return []any{held}
		}
		return nil
	},
	Equal: func(a, b any) bool { return a == b },
}

func partitionByNode(history []porcupine.Operation) [][]porcupine.Operation {
	by := map[string][]porcupine.Operation{}
	for _, op := range history {
		n := op.Input.(nodeCall).node
		by[n] = append(by[n], op)
	}
	var out [][]porcupine.Operation
	for _, ops := range by {
		out = append(out, ops)
	}
	return out
}

// recorder collects a history. A call without an answer may take effect at any time later.
type recorder struct {
	mu    sync.Mutex
	ops   []porcupine.Operation
	start time.Time
}

func (r *recorder) record(client int, call nodeCall, begin time.Time, answer nodeAnswer) {
	ret := time.Since(r.start).Nanoseconds()
	if answer == unknown {
		ret = math.MaxInt64
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, porcupine.Operation{ClientId: client, Input: call, Call: begin.Sub(r.start).Nanoseconds(), Output: answer, Return: ret})
}

// traffic runs clients that take single nodes and give them back, through any of the ledgers, until calls are used up.
func traffic(t *testing.T, pick func(client int) *Ledger, clients, calls, nodes int) *recorder {
	t.Helper()
	r := &recorder{start: time.Now()}
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 7))
			for i := range calls / clients {
				r.takeAndGive(pick(c), c, uint64(c)<<32|uint64(i)+1, fmt.Sprintf("n%d", rng.IntN(nodes)))
			}
		})
	}
	wg.Wait()
	return r
}

func (r *recorder) takeAndGive(l *Ledger, client int, who uint64, node string) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	begin := time.Now()
	lease, err := Do(ctx, l, func(tx *Tx) (*Lease, error) {
		return tx.Reserve(Grant{Holder: fmt.Sprint(who), Claims: []Claim{{Node: node}}, TTL: time.Hour, IdempotencyKey: fmt.Sprint(who)})
	})
	switch {
	case err == nil:
		r.record(client, nodeCall{node, true, who}, begin, done)
	case errors.Is(err, ErrHeld):
		r.record(client, nodeCall{node, true, who}, begin, refused)
		return
	default:
		r.record(client, nodeCall{node, true, who}, begin, unknown)
		return
	}
	begin = time.Now()
	_, err = Do(ctx, l, func(tx *Tx) (*Lease, error) { return tx.Release(lease.ID, lease.Token) })
	answer := done
	if err != nil {
		answer = unknown
	}
	r.record(client, nodeCall{node, false, who}, begin, answer)
}

func checkHistory(t *testing.T, r *recorder) {
	t.Helper()
	model := nodeModel.ToModel()
	switch porcupine.CheckOperationsTimeout(model, r.ops, 30*time.Second) {
	case porcupine.Illegal:
		t.Fatalf("no order of %d calls explains what the clients saw", len(r.ops))
	case porcupine.Unknown:
		t.Fatal("the check did not end in 30 s")
	}
	t.Logf("%d calls, linearizable", len(r.ops))
}

// TestHistoryBolt: 16 clients, 5,000 calls.
func TestHistoryBolt(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"), Options{})
	defer l.Close()
	checkHistory(t, traffic(t, func(int) *Ledger { return l }, 16, 5000, 8))
}

// TestHistoryFaultyStore: two servers on one store that loses answers and fails commits at random.
func TestHistoryFaultyStore(t *testing.T) {
	store := newMemStore()
	store.shared = true
	rng := rand.New(rand.NewPCG(1, 1))
	for range 4000 {
		store.fail = append(store.fail, []string{"", "", "", "", "", "", "", "before", "after"}[rng.IntN(9)])
	}
	var servers []*Ledger
	for range 2 {
		l, err := Open(t.Context(), store, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		servers = append(servers, l)
	}
	checkHistory(t, traffic(t, func(c int) *Ledger { return servers[c%2] }, 8, 1500, 8))
}

// TestCheckerBites falsifies one answer: the check must notice.
func TestCheckerBites(t *testing.T) {
	l := openTest(t, filepath.Join(t.TempDir(), "ledger.db"), Options{})
	defer l.Close()
	r := traffic(t, func(int) *Ledger { return l }, 4, 200, 2)
	for i := range r.ops {
		if r.ops[i].Input.(nodeCall).take && r.ops[i].Output == refused {
			r.ops[i].Output = done
			break
		}
	}
	if porcupine.CheckOperationsTimeout(nodeModel.ToModel(), r.ops, 30*time.Second) != porcupine.Illegal {
		t.Error("a falsified answer passed for right")
	}
}

// TestHistoryEtcd: three members, three servers, 2,000 calls, while members are killed and started again.
func TestHistoryEtcd(t *testing.T) {
	members := startEtcd(t, 3)
	histories := 2
	if testing.Short() {
		histories = 1
	}
	for h := range histories {
		var servers []*Ledger
		for range 3 {
			servers = append(servers, openEtcd(t, members, fmt.Sprintf("/history%d", h)))
		}
		stop := make(chan struct{})
		killed := make(chan int)
		go func() { killed <- killMembers(t, members, stop) }()
		r := traffic(t, func(c int) *Ledger { return servers[c%3] }, 12, 2000, 8)
		close(stop)
		t.Logf("%d members killed", <-killed)
		checkHistory(t, r)
		for _, s := range servers {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// killMembers kills one member at a time and starts it again, so that two of three always live.
func killMembers(t *testing.T, members []*member, stop <-chan struct{}) (n int) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return n
		case <-time.After(1500 * time.Millisecond):
		}
		m := members[i%len(members)]
		m.kill()
		n++
		select {
		case <-stop:
		case <-time.After(500 * time.Millisecond):
		}
		m.start(t)
		time.Sleep(2 * time.Second) // let it join before the next one goes
	}
}
