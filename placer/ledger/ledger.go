package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Options of a ledger. The zero value is right for production.
type Options struct {
	Wall        func() time.Time // what the record calls now; nil = time.Now. It decides nothing.
	Retention   time.Duration    // how long an ended lease is remembered, for retries and people; 0 = 24 h
	MaxBatch    int              // requests in one commit; 0 = 64
	ToolVersion string
	OnCommit    func(d time.Duration, leases int, err error) // for metrics; called from the committing goroutine
	OnChange    func(before, after *Lease)                   // after a change is durable, also one of another server; for events and audit
}

// Ledger is the one place where GPUs are given out. All methods are safe for concurrent use.
type Ledger struct {
	store    Store
	opts     Options
	requests chan *request
	quit     chan struct{}
	done     chan struct{}
	closing  sync.Once

	mu   sync.RWMutex
	view *State // committed; what readers see

	// Owned by the committing goroutine.
	work     *State // view plus what is being tried
	revision int64
	stale    bool       // the outcome of a commit is unknown: read everything again
	deadline *deadlines // live leases: when their time is over
	forget   *deadlines // ended leases: when they are dropped
}

type request struct {
	ctx    context.Context
	op     func(*Tx) (any, error)
	result any
	err    error
	done   chan struct{}
}

// Open loads a store and starts the ledger. Live leases start their full time again: nobody knows how long we were away.
func Open(ctx context.Context, store Store, opts Options) (*Ledger, error) {
	if opts.Wall == nil {
		opts.Wall = time.Now
	}
	if opts.Retention == 0 {
		opts.Retention = 24 * time.Hour
	}
	if opts.MaxBatch == 0 {
		opts.MaxBatch = 64
	}
	l := &Ledger{store: store, opts: opts, requests: make(chan *request, 1024), quit: make(chan struct{}), done: make(chan struct{}),
		deadline: newDeadlines(), forget: newDeadlines()}
	if err := l.reload(ctx); err != nil {
		return nil, err
	}
	go l.run()
	return l, nil
}

// Close ends the ledger after the commit in flight. Requests that wait get ErrClosed. The store is closed too.
func (l *Ledger) Close() error {
	l.closing.Do(func() { close(l.quit) })
	<-l.done
	return l.store.Close()
}

// Do runs a request at the serial point and returns its result when the outcome is durable. The request sees everything
// granted before it; whatever it wrote is dropped when it returns an error. It may run more than once, and may still run
// after ctx has ended: it must touch nothing but its own variables.
func Do[T any](ctx context.Context, l *Ledger, op func(*Tx) (T, error)) (T, error) {
	v, err := l.do(ctx, func(tx *Tx) (any, error) { return op(tx) })
	t, _ := v.(T)
	return t, err
}

func (l *Ledger) do(ctx context.Context, op func(*Tx) (any, error)) (any, error) {
	r := &request{ctx: ctx, op: op, done: make(chan struct{})}
	select {
	case l.requests <- r:
	case <-l.quit:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case <-r.done:
		return r.result, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	case <-l.done:
		select {
		case <-r.done:
			return r.result, r.err
		default:
			return nil, ErrClosed
		}
	}
}

// View calls f with the committed state, which f must not keep. Writes wait meanwhile: be short.
func (l *Ledger) View(f func(*State)) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	f(l.view)
}

// Refresh makes sure that the view includes everything acknowledged before the call, by any server.
func (l *Ledger) Refresh(ctx context.Context) error {
	if l.store.Changed() == nil {
		return nil
	}
	_, err := l.do(ctx, func(*Tx) (any, error) { return nil, nil })
	return err
}

// run is the committing goroutine.
func (l *Ledger) run() {
	defer close(l.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(l.untilNext())
		select {
		case r := <-l.requests:
			l.serve(l.gather(r))
		case <-timer.C:
			l.serve(nil)
		case <-l.store.Changed():
			l.serve(nil)
		case <-l.quit:
			return
		}
	}
}

// gather takes what else is waiting, so that one fsync serves many requests.
func (l *Ledger) gather(first *request) []*request {
	batch := []*request{first}
	for len(batch) < l.opts.MaxBatch {
		select {
		case r := <-l.requests:
			batch = append(batch, r)
		default:
			return batch
		}
	}
	return batch
}

// commitTimeout bounds one try to reach the store; retries bounds the tries after losing a race.
const (
	commitTimeout = 5 * time.Second
	retries       = 20
	maxExpire     = 24 // leases ended in one commit; the rest follow at once
	maxChanges    = maxTxnOps - 4
)

// serve tries a batch, commits it, and tries again on the newest state when another server was faster.
func (l *Ledger) serve(batch []*request) {
	var err error
	for range retries {
		ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
		if err = l.catchUp(ctx); err == nil {
			err = l.attempt(ctx, batch)
		}
		cancel()
		if !errors.Is(err, ErrConflict) {
			break
		}
	}
	if err != nil {
		for _, r := range batch {
			r.err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	for _, r := range batch {
		close(r.done)
	}
}

// attempt runs every request on the working state, then commits all that succeeded at once.
func (l *Ledger) attempt(ctx context.Context, batch []*request) error {
	tx := &Tx{state: l.work, now: l.opts.Wall(), version: l.opts.ToolVersion}
	l.expire(tx)
	drop := l.forget.due(time.Now(), maxExpire)
	for _, r := range batch {
		l.try(r, tx)
	}
	if len(tx.changes) == 0 && len(drop) == 0 {
		return nil
	}
	start := time.Now()
	rev, err := l.store.Commit(ctx, l.revision, newBatch(tx.changes, drop, l.work.nextToken))
	if l.opts.OnCommit != nil {
		l.opts.OnCommit(time.Since(start), len(tx.changes), err)
	}
	if mutant == "answer-before-commit" {
		err = nil
	}
	if err != nil {
		tx.undo()
		l.stale = !errors.Is(err, ErrConflict) && mutant != "no-reload"
		return err
	}
	l.revision = rev
	for _, id := range drop {
		l.forget.remove(id)
		if old := l.work.leases[id]; old != nil {
			tx.changes = append(tx.changes, change{before: old})
			l.work.apply(change{before: old})
		}
	}
	l.publish(tx.changes)
	return nil
}

// try runs one request and adds what it wrote to the commit, or takes it back.
func (l *Ledger) try(r *request, commit *Tx) {
	one := &Tx{state: l.work, now: commit.now, version: commit.version}
	if r.result, r.err = nil, context.Cause(r.ctx); r.err == nil {
		r.result, r.err = r.op(one)
	}
	if r.err == nil && len(commit.changes)+len(one.changes) > maxChanges {
		r.err = fmt.Errorf("%d leases change at once: must be fewer: %w", len(one.changes), ErrInvalid)
	}
	if r.err != nil {
		r.result = nil
		one.undo()
		return
	}
	commit.changes = append(commit.changes, one.changes...)
	commit.onUndo = append(commit.onUndo, one.onUndo...)
}

func newBatch(changes []change, drop []string, nextToken uint64) Batch {
	b := Batch{Delete: drop, NextToken: nextToken}
	last := map[string]int{}
	for _, c := range changes {
		if i, ok := last[c.id()]; ok {
			b.Put[i] = c.after
			continue
		}
		last[c.id()] = len(b.Put)
		b.Put = append(b.Put, c.after)
	}
	return b
}

// publish shows committed changes to readers and keeps the deadlines.
func (l *Ledger) publish(changes []change) {
	l.mu.Lock()
	for _, c := range changes {
		l.view.apply(c)
	}
	l.mu.Unlock()
	for _, c := range changes {
		l.schedule(c)
		if l.opts.OnChange != nil {
			l.opts.OnChange(c.before, c.after)
		}
	}
}

// schedule starts the time of a lease from now: never earlier than its holder was told.
func (l *Ledger) schedule(c change) {
	l.deadline.remove(c.id())
	l.forget.remove(c.id())
	switch {
	case c.after == nil:
	case c.after.Live():
		l.deadline.set(c.id(), time.Now().Add(c.after.TTL()))
	default:
		l.forget.set(c.id(), time.Now().Add(l.opts.Retention))
	}
}

// expire ends the leases whose time is over.
func (l *Ledger) expire(tx *Tx) {
	if mutant == "no-expiry" {
		return
	}
	for _, id := range l.deadline.due(time.Now(), maxExpire) {
		if lease, ok := l.work.Get(id); ok && lease.Live() {
			tx.end(lease, Expired)
		}
	}
}

// untilNext is the time to the next deadline, at least a millisecond, at most a minute.
func (l *Ledger) untilNext() time.Duration {
	if l.stale {
		return 50 * time.Millisecond // readers see an old state: read the store again soon
	}
	wait := time.Minute
	for _, d := range []*deadlines{l.deadline, l.forget} {
		if at, ok := d.next(); ok {
			wait = min(wait, time.Until(at))
		}
	}
	return max(wait, time.Millisecond)
}

// catchUp takes in what other servers wrote, or everything when the outcome of a commit is unknown.
func (l *Ledger) catchUp(ctx context.Context) error {
	if l.stale {
		return l.reload(ctx)
	}
	if l.store.Changed() == nil {
		return nil
	}
	snap, err := l.store.Since(ctx, l.revision)
	if err != nil {
		return err
	}
	var changes []change
	for _, lease := range snap.Leases {
		changes = append(changes, change{l.work.leases[lease.ID], lease})
	}
	for _, c := range changes {
		l.work.apply(c)
	}
	l.work.nextToken = max(l.work.nextToken, snap.NextToken)
	l.revision = snap.Revision
	l.publish(changes)
	return nil
}

// reload reads the whole store. Deadlines of leases that we knew already and that did not change are kept.
func (l *Ledger) reload(ctx context.Context) error {
	snap, err := l.store.Load(ctx)
	if err != nil {
		return err
	}
	work, view := newState(), newState()
	for _, lease := range snap.Leases {
		work.apply(change{nil, lease})
		view.apply(change{nil, lease})
	}
	work.nextToken = max(work.nextToken, snap.NextToken)
	if err := work.check(); err != nil {
		return err
	}
	old := l.work
	l.mu.Lock()
	l.view = view
	l.mu.Unlock()
	l.work, l.revision, l.stale = work, snap.Revision, false
	l.announce(old)
	return nil
}

// announce schedules and reports what a reload changed. Leases that did not change keep the deadline they have.
func (l *Ledger) announce(old *State) {
	if old == nil {
		old = newState()
	}
	for id, now := range l.work.leases {
		was := old.leases[id]
		if sameTerm(was, now) {
			continue
		}
		l.schedule(change{was, now})
		if l.opts.OnChange != nil && was != nil {
			l.opts.OnChange(was, now)
		}
	}
	for id, was := range old.leases {
		if l.work.leases[id] == nil {
			l.schedule(change{before: was})
		}
	}
}

// sameTerm reports whether a lease is in the same phase of its life, with no renewal since.
func sameTerm(a, b *Lease) bool {
	return a != nil && a.Phase == b.Phase && a.Renewals == b.Renewals && a.Token == b.Token && a.ExpiresAt.Equal(b.ExpiresAt)
}
