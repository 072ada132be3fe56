package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/placer/ledger"
)

// Problem is the body of every error (RFC 9457, application/problem+json). Code is stable; Hints say what to do next.
type Problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty"`
	Instance string   `json:"instance,omitempty"`
	Code     string   `json:"code"`
	Hints    []string `json:"hints,omitempty"`
}

// Error is the detail.
func (p *Problem) Error() string { return p.Detail }

// Codes of problems.
const (
	codeInvalid      = "invalid"
	codeTooLarge     = "too-large"
	codeMediaType    = "media-type"
	codeUnauthorized = "unauthorized"
	codeForbidden    = "forbidden"
	codeNotFound     = "not-found"
	codeConflict     = "conflict"
	codeStaleToken   = "stale-token"
	codeEnded        = "lease-ended"
	codeKeyReused    = "key-reused"
	codeGeneration   = "generation-changed"
	codeInfeasible   = "infeasible"
	codeRateLimited  = "rate-limited"
	codeUnavailable  = "unavailable"
	codeNoMap        = "no-map"
	codeInternal     = "internal"
)

func problem(status int, code, detail string, hints ...string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code, Hints: hints}
}

// problemOf turns the errors of the packages below into problems. What it does not know is a fault of the server: the detail
// is logged, not sent.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*placer.InfeasibleError](err); ok {
		return problem(http.StatusUnprocessableEntity, codeInfeasible, e.Error(), e.Remedy)
	}
	if e, ok := errors.AsType[*placer.UnknownHostError](err); ok {
		return problem(http.StatusUnprocessableEntity, codeInvalid, e.Error())
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return problem(http.StatusRequestEntityTooLarge, codeTooLarge, err.Error(), "send a smaller document")
	}
	for _, c := range []struct {
		err    error
		status int
		code   string
		hint   string
	}{
		{ledger.ErrHeld, http.StatusConflict, codeConflict, "ask for a placement again: the answer will avoid what is held"},
		{ledger.ErrNotFound, http.StatusNotFound, codeNotFound, "list the leases (railmap lease list)"},
		{ledger.ErrStaleToken, http.StatusConflict, codeStaleToken, "the lease went to another holder: stop using its GPUs"},
		{ledger.ErrEnded, http.StatusConflict, codeEnded, "ask for a new placement"},
		{ledger.ErrKeyReused, http.StatusConflict, codeKeyReused, "use a new Idempotency-Key for a new request"},
		{ledger.ErrInvalid, http.StatusBadRequest, codeInvalid, ""},
		{ledger.ErrUnavailable, http.StatusServiceUnavailable, codeUnavailable, "ask again with the same Idempotency-Key"},
		{ledger.ErrClosed, http.StatusServiceUnavailable, codeUnavailable, "the server is stopping: ask again"},
		{context.DeadlineExceeded, http.StatusServiceUnavailable, codeUnavailable, "ask again"},
		{context.Canceled, http.StatusServiceUnavailable, codeUnavailable, ""},
	} {
		if errors.Is(err, c.err) {
			p := problem(c.status, c.code, err.Error())
			if c.hint != "" {
				p.Hints = []string{c.hint}
			}
			return p
		}
	}
	return problem(http.StatusInternalServerError, codeInternal, "the server made a mistake: its log has the details")
}

// writeProblem sends a problem. Retry-After goes with 429 and 503.
func writeProblem(w http.ResponseWriter, r *http.Request, p *Problem, retryAfter int) {
	copied := *p
	copied.Instance = r.URL.Path
	w.Header().Set("Content-Type", "application/problem+json")
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, retryAfter)))
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(copied)
}
