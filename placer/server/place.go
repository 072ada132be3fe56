package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/placer/ledger"
)

// PlaceRequest is the body of POST /v1/placements: what to place, and the lease to hold it with, if any.
type PlaceRequest struct {
	Request placer.Request `json:"request"`
	Lease   *LeaseRequest  `json:"lease,omitempty"`
}

// LeaseRequest asks for a lease on the placement.
type LeaseRequest struct {
	Holder     string  `json:"holder"`
	Side       string  `json:"side,omitempty"`
	Job        string  `json:"job,omitempty"`        // when the scheduler's job is known already
	TTLSeconds float64 `json:"ttlSeconds,omitempty"` // absent = 15 minutes
}

// PlaceResponse is the answer: the placement, and the lease that holds it.
type PlaceResponse struct {
	Placement *placer.Placement `json:"placement"`
	Lease     *ledger.Lease     `json:"lease,omitempty"`
}

const defaultTTL = 15 * time.Minute

// place answers one request. With a lease the choice is made inside the ledger's serial point: what it sees as free is free.
func (s *Server) place(ctx context.Context, req *PlaceRequest, key string) (*PlaceResponse, error) {
	if req.Lease == nil {
		w, err := s.worlds.get()
		if err != nil {
			return nil, problem(http.StatusServiceUnavailable, codeNoMap, err.Error())
		}
		p, err := choose(w, &req.Request)
		if err != nil {
			return nil, err
		}
		return &PlaceResponse{Placement: p}, nil
	}
	digest := digestOf(req)
	return ledger.Do(ctx, s.ledger, func(tx *ledger.Tx) (*PlaceResponse, error) {
		if l, err := tx.Repeated(key, digest); l != nil || err != nil {
			return &PlaceResponse{Lease: l, Placement: s.recall(l)}, err
		}
		w, err := s.worlds.get()
		if err != nil {
			return nil, problem(http.StatusServiceUnavailable, codeNoMap, err.Error())
		}
		return s.grant(tx, w, req, key, digest)
	})
}

// grant chooses nodes and reserves them, inside the serial point. The engines take the nodes at once, and give them back if
// the commit fails.
func (s *Server) grant(tx *ledger.Tx, w *world, req *PlaceRequest, key, digest string) (*PlaceResponse, error) {
	p, err := choose(w, &req.Request)
	if err != nil {
		return nil, err
	}
	ttl := defaultTTL
	if req.Lease.TTLSeconds != 0 {
		ttl = time.Duration(req.Lease.TTLSeconds * float64(time.Second))
	}
	lease, err := tx.Reserve(ledger.Grant{Holder: req.Lease.Holder, Side: req.Lease.Side, Job: req.Lease.Job, Claims: claims(p),
		TTL: ttl, Generation: p.Generation, IdempotencyKey: key, RequestDigest: digest})
	if err != nil {
		return nil, err
	}
	w.hold(lease, true)
	tx.OnUndo(func() { w.hold(lease, false) })
	return &PlaceResponse{Placement: p, Lease: lease}, nil
}

// choose places on the current snapshot.
func choose(w *world, r *placer.Request) (*placer.Placement, error) {
	return placer.Place(w.engine.Snapshot(), r)
}

// claims turns a placement into claims: the GPUs that it names, or whole nodes.
func claims(p *placer.Placement) []ledger.Claim {
	out := make([]ledger.Claim, len(p.Nodes))
	for i, n := range p.Nodes {
		out[i].Node = n
		if i < len(p.GPUs) {
			out[i].GPUs = slices.Sorted(slices.Values(p.GPUs[i]))
		}
	}
	return out
}

// recall rebuilds the placement of a repeated request from its lease: the nodes in rank order.
func (s *Server) recall(l *ledger.Lease) *placer.Placement {
	if l == nil {
		return nil
	}
	p := &placer.Placement{Generation: l.Generation, Nodes: l.Nodes(), Reasons: []string{"the same request was answered before: this is that lease"}}
	for i, c := range l.Claims {
		if len(c.GPUs) > 0 && p.GPUs == nil {
			p.GPUs = make([][]int, len(l.Claims))
		}
		if p.GPUs != nil {
			p.GPUs[i] = c.GPUs
		}
	}
	p.APIVersion, p.Kind = l.APIVersion, p.KindName()
	return p
}

// digestOf is what an idempotency key stands for.
func digestOf(req *PlaceRequest) string {
	body, err := json.Marshal(req)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:16])
}

// handlePlace is POST /v1/placements.
func (s *Server) handlePlace(w http.ResponseWriter, r *http.Request) error {
	if id := identityOf(r); id.Role != Admin {
		if err := s.limits.allow("place "+id.Name, placePerSec, placeBurst); err != nil {
			return err
		}
	}
	var req PlaceRequest
	if err := decodeBody(w, r, maxRequestBody, &req); err != nil {
		return err
	}
	if err := req.Request.Validate(); err != nil {
		return problem(http.StatusBadRequest, codeInvalid, err.Error())
	}
	if req.Lease != nil && req.Lease.Holder == "" {
		req.Lease.Holder = identityOf(r).Name
	}
	if err := s.ifMatch(r); err != nil {
		return err
	}
	start := time.Now()
	resp, err := s.place(r.Context(), &req, r.Header.Get("Idempotency-Key"))
	s.opts.Observe.Placement(outcome(err), time.Since(start), resp)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, resp)
}

// outcome is the label of a placement in the metrics.
func outcome(err error) string {
	switch {
	case err == nil:
		return "placed"
	case errors.Is(err, ledger.ErrHeld):
		return "conflict"
	}
	if _, ok := errors.AsType[*placer.InfeasibleError](err); ok {
		return "infeasible"
	}
	return "error"
}
