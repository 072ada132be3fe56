package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/railmap/railmap/topology"
)

// Kind of the wire document.
const Kind = "Lease"

// Phase is where a lease stands: reserved -> bound -> released | expired.
type Phase string

// Phases. Reserved and bound leases are live: they hold their GPUs.
const (
	Reserved Phase = "reserved"
	Bound    Phase = "bound" // the scheduler's job id is known
	Released Phase = "released"
	Expired  Phase = "expired"
)

// Limits of one lease.
const (
	MaxTTL    = 30 * 24 * time.Hour
	MinTTL    = time.Second
	MaxClaims = 65536
	MaxGPUs   = 64 // GPUs of one node: a bit each
	maxText   = 253
)

// Claim is the part of a lease on one node. No GPUs listed means the whole node.
type Claim struct {
	Node string `json:"node" yaml:"node"`
	GPUs []int  `json:"gpus,omitempty" yaml:"gpus,omitempty,flow"` // GPU indices, ascending
}

// Lease is a placement held by a job for a time. Claims stand in rank order. Token grows with every grant: whoever comes with
// an older token than the one on record has lost the lease. ExpiresAt is what the wall clock said when the lease was granted
// or renewed; the monotonic clock decides.
type Lease struct {
	topology.Header `yaml:",inline"`
	ID              string     `json:"id" yaml:"id"`
	Holder          string     `json:"holder" yaml:"holder"` // who asked: a user, a wrapper, a job name
	Phase           Phase      `json:"phase" yaml:"phase"`
	Token           uint64     `json:"token" yaml:"token"`
	Side            string     `json:"side,omitempty" yaml:"side,omitempty"` // slurm, kubernetes, pbs, lsf, clearml
	Job             string     `json:"job,omitempty" yaml:"job,omitempty"`   // the scheduler's job id, once bound
	Claims          []Claim    `json:"claims" yaml:"claims"`
	TTLSeconds      float64    `json:"ttlSeconds" yaml:"ttlSeconds"`
	Generation      uint64     `json:"generation,omitempty" yaml:"generation,omitempty"` // of the topology that the placement was made on
	Renewals        int        `json:"renewals,omitempty" yaml:"renewals,omitempty"`
	GrantedAt       time.Time  `json:"grantedAt" yaml:"grantedAt"`
	ExpiresAt       time.Time  `json:"expiresAt" yaml:"expiresAt"`
	EndedAt         *time.Time `json:"endedAt,omitempty" yaml:"endedAt,omitempty"`
	IdempotencyKey  string     `json:"idempotencyKey,omitempty" yaml:"idempotencyKey,omitempty"`
	RequestDigest   string     `json:"requestDigest,omitempty" yaml:"requestDigest,omitempty"` // of the request that the key stands for
}

// KindName names the kind.
func (*Lease) KindName() string { return Kind }

// Validate checks a lease read from outside.
func (l *Lease) Validate() error {
	if l.ID == "" {
		return fmt.Errorf("id: must not be empty: %w", ErrInvalid)
	}
	return validClaims(l.Claims)
}

// Live reports whether the lease holds its GPUs.
func (l *Lease) Live() bool { return l.Phase == Reserved || l.Phase == Bound }

// TTL is the time to live as a duration.
func (l *Lease) TTL() time.Duration { return time.Duration(l.TTLSeconds * float64(time.Second)) }

// Nodes lists the nodes in rank order.
func (l *Lease) Nodes() []string {
	out := make([]string, len(l.Claims))
	for i, c := range l.Claims {
		out[i] = c.Node
	}
	return out
}

// mask is the GPUs of a claim as bits; all ones for a whole node.
func (c Claim) mask() uint64 {
	if len(c.GPUs) == 0 {
		return ^uint64(0)
	}
	m := uint64(0)
	for _, g := range c.GPUs {
		m |= 1 << g
	}
	return m
}

// validClaims checks nodes (each once) and GPU indices (ascending, below MaxGPUs).
func validClaims(claims []Claim) error {
	if len(claims) == 0 || len(claims) > MaxClaims {
		return fmt.Errorf("claims: must name 1 to %d nodes, not %d: %w", MaxClaims, len(claims), ErrInvalid)
	}
	seen := make(map[string]bool, len(claims))
	for i, c := range claims {
		if c.Node == "" || len(c.Node) > maxText || seen[c.Node] {
			return fmt.Errorf("claims[%d].node is %q: must be a node name, each once: %w", i, c.Node, ErrInvalid)
		}
		seen[c.Node] = true
		if !slices.IsSorted(c.GPUs) || len(slices.Compact(slices.Clone(c.GPUs))) != len(c.GPUs) {
			return fmt.Errorf("claims[%d].gpus: must be ascending, each once: %w", i, ErrInvalid)
		}
		if n := len(c.GPUs); n > 0 && (c.GPUs[0] < 0 || c.GPUs[n-1] >= MaxGPUs) {
			return fmt.Errorf("claims[%d].gpus: must be between 0 and %d: %w", i, MaxGPUs-1, ErrInvalid)
		}
	}
	return nil
}
