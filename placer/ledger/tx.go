package ledger

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/railmap/railmap/topology"
)

// Tx is one request's view of the ledger inside the committing goroutine: what it reads includes everything granted before
// it, what it writes is kept only when the request returns no error and the store has it. A request may be run again when
// another server was faster, so it must have no effect of its own besides its result.
type Tx struct {
	state   *State
	changes []change
	onUndo  []func()
	now     time.Time // wall clock, for the record only
	version string
}

// State is the ledger as this request sees it.
func (tx *Tx) State() *State { return tx.state }

// Grant asks for GPUs.
type Grant struct {
	Holder         string
	Side           string
	Claims         []Claim // rank order
	TTL            time.Duration
	Generation     uint64
	IdempotencyKey string // the same key and digest give the same lease again, also after it has ended
	RequestDigest  string
	Job            string // known already: the lease is bound from the start
}

// Reserve grants a lease on all claims or on none.
func (tx *Tx) Reserve(g Grant) (*Lease, error) {
	if l, err := tx.Repeated(g.IdempotencyKey, g.RequestDigest); l != nil || err != nil {
		return l, err
	}
	if err := validClaims(g.Claims); err != nil {
		return nil, err
	}
	if err := validText(g.Holder, g.Side, g.Job, g.IdempotencyKey); err != nil {
		return nil, err
	}
	if err := validTTL(g.TTL); err != nil {
		return nil, err
	}
	if err := tx.state.conflict(g.Claims); err != nil && mutant != "no-conflict-check" {
		return nil, err
	}
	l := &Lease{Header: topology.Header{APIVersion: topology.APIVersion, Kind: Kind, ToolVersion: tx.version}, ID: newID(), Holder: g.Holder,
		Phase: Reserved, Token: tx.state.nextToken, Side: g.Side, Job: g.Job, Claims: g.Claims, TTLSeconds: g.TTL.Seconds(), Generation: g.Generation,
		GrantedAt: tx.now, ExpiresAt: tx.now.Add(g.TTL), IdempotencyKey: g.IdempotencyKey, RequestDigest: g.RequestDigest}
	if l.Job != "" {
		l.Phase = Bound
	}
	if mutant == "same-token" {
		l.Token = 1
	}
	tx.put(nil, l)
	return l, nil
}

// Repeated finds the lease that an earlier request with this key was answered with; nil when there is none.
func (tx *Tx) Repeated(key, digest string) (*Lease, error) {
	if key == "" {
		return nil, nil
	}
	id, ok := tx.state.byKey[key]
	if !ok {
		return nil, nil
	}
	l := tx.state.leases[id]
	if l.RequestDigest != digest {
		return nil, fmt.Errorf("key %q: %w", key, ErrKeyReused)
	}
	return l, nil
}

// Bind records the scheduler's job and gives the lease a new time to live. Binding to the same job again changes nothing but
// the time.
func (tx *Tx) Bind(id string, token uint64, side, job string, ttl time.Duration) (*Lease, error) {
	l, err := tx.holder(id, token)
	if err != nil {
		return nil, err
	}
	if job == "" {
		return nil, fmt.Errorf("job: must not be empty: %w", ErrInvalid)
	}
	if err := validText(side, job); err != nil {
		return nil, err
	}
	if l.Job != "" && (l.Job != job || (side != "" && l.Side != side)) {
		return nil, fmt.Errorf("lease %s is bound to job %s: must be released before another job can have it: %w", id, l.Job, ErrInvalid)
	}
	if err := validTTL(ttl); err != nil {
		return nil, err
	}
	n := *l
	n.Phase, n.Job = Bound, job
	if side != "" {
		n.Side = side
	}
	tx.extend(&n, ttl)
	tx.put(l, &n)
	return &n, nil
}

// Renew gives a live lease its time again, or another one.
func (tx *Tx) Renew(id string, token uint64, ttl time.Duration) (*Lease, error) {
	l, err := tx.holder(id, token)
	if err != nil {
		return nil, err
	}
	if ttl == 0 {
		ttl = l.TTL()
	}
	if err := validTTL(ttl); err != nil {
		return nil, err
	}
	n := *l
	n.Renewals++
	tx.extend(&n, ttl)
	tx.put(l, &n)
	return &n, nil
}

func (tx *Tx) extend(l *Lease, ttl time.Duration) {
	l.TTLSeconds, l.ExpiresAt = ttl.Seconds(), tx.now.Add(ttl)
}

// Release gives the GPUs back. Releasing an ended lease with its own token is done already: no error.
func (tx *Tx) Release(id string, token uint64) (*Lease, error) {
	l, ok := tx.state.Get(id)
	if ok && l.Token == token && !l.Live() {
		return l, nil
	}
	l, err := tx.holder(id, token)
	if err != nil {
		return nil, err
	}
	return tx.end(l, Released), nil
}

// ForceRelease ends a lease without its token: for administrators.
func (tx *Tx) ForceRelease(id string) (*Lease, error) {
	l, ok := tx.state.Get(id)
	if !ok {
		return nil, fmt.Errorf("lease %s: %w", id, ErrNotFound)
	}
	if !l.Live() {
		return l, nil
	}
	return tx.end(l, Released), nil
}

func (tx *Tx) end(l *Lease, p Phase) *Lease {
	n := *l
	now := tx.now
	n.Phase, n.EndedAt = p, &now
	tx.put(l, &n)
	return &n
}

// holder finds a live lease and checks its token.
func (tx *Tx) holder(id string, token uint64) (*Lease, error) {
	l, ok := tx.state.Get(id)
	switch {
	case !ok:
		return nil, fmt.Errorf("lease %s: %w", id, ErrNotFound)
	case l.Token != token && mutant != "no-token-check":
		return nil, fmt.Errorf("lease %s, token %d: %w", id, token, ErrStaleToken)
	case !l.Live():
		return nil, fmt.Errorf("lease %s is %s: %w", id, l.Phase, ErrEnded)
	}
	return l, nil
}

func (tx *Tx) put(before, after *Lease) {
	c := change{before, after}
	tx.state.apply(c)
	tx.changes = append(tx.changes, c)
}

// OnUndo has f called when what this request did so far is taken back: its error, or a commit that failed. It is for state
// that follows the ledger's, kept by the same goroutine.
func (tx *Tx) OnUndo(f func()) { tx.onUndo = append(tx.onUndo, f) }

// undo takes back everything this request wrote, newest first. Tokens are not given out again.
func (tx *Tx) undo() {
	for i := len(tx.changes) - 1; i >= 0; i-- {
		c := tx.changes[i]
		tx.state.apply(change{c.after, c.before})
	}
	for i := len(tx.onUndo) - 1; i >= 0; i-- {
		tx.onUndo[i]()
	}
	tx.changes, tx.onUndo = nil, nil
}

func validTTL(ttl time.Duration) error {
	if ttl < MinTTL || ttl > MaxTTL {
		return fmt.Errorf("time to live is %s: must be between %s and %s: %w", ttl, MinTTL, MaxTTL, ErrInvalid)
	}
	return nil
}

func validText(values ...string) error {
	for _, v := range values {
		if len(v) > maxText {
			return fmt.Errorf("%.20q...: must be at most %d bytes: %w", v, maxText, ErrInvalid)
		}
	}
	return nil
}

// newID is 96 random bits: ids of different servers never meet.
func newID() string {
	var b [12]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return "l-" + hex.EncodeToString(b[:])
}
