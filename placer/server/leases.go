package server

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/railmap/railmap/placer/ledger"
)

// LeaseAction is the body of bind, renew and release: the token proves who holds the lease.
type LeaseAction struct {
	Token      uint64  `json:"token"`
	Side       string  `json:"side,omitempty"`       // bind
	Job        string  `json:"job,omitempty"`        // bind
	TTLSeconds float64 `json:"ttlSeconds,omitempty"` // bind and renew; absent = as before, for bind one day
}

// LeaseList is the answer of GET /v1/leases.
type LeaseList struct {
	Leases []*ledger.Lease `json:"leases"`
}

const defaultBoundTTL = 24 * time.Hour

// handleLeases is GET /v1/leases[?live=true]: all leases, oldest grant first.
func (s *Server) handleLeases(w http.ResponseWriter, r *http.Request) error {
	if err := s.ledger.Refresh(r.Context()); err != nil {
		return err
	}
	list := LeaseList{Leases: []*ledger.Lease{}}
	live := r.URL.Query().Get("live") == "true"
	s.ledger.View(func(st *ledger.State) {
		for _, l := range st.List() {
			if !live || l.Live() {
				list.Leases = append(list.Leases, l)
			}
		}
	})
	return writeJSON(w, http.StatusOK, list)
}

// handleLease is GET /v1/leases/{id}.
func (s *Server) handleLease(w http.ResponseWriter, r *http.Request) error {
	if err := s.ledger.Refresh(r.Context()); err != nil {
		return err
	}
	var lease *ledger.Lease
	s.ledger.View(func(st *ledger.State) { lease, _ = st.Get(r.PathValue("id")) })
	if lease == nil {
		return ledger.ErrNotFound
	}
	return writeJSON(w, http.StatusOK, lease)
}

// handleBind is POST /v1/leases/{id}/bind.
func (s *Server) handleBind(w http.ResponseWriter, r *http.Request) error {
	return s.act(w, r, func(tx *ledger.Tx, a LeaseAction, ttl time.Duration) (*ledger.Lease, error) {
		if ttl == 0 {
			ttl = defaultBoundTTL
		}
		return tx.Bind(r.PathValue("id"), a.Token, a.Side, a.Job, ttl)
	})
}

// handleRenew is POST /v1/leases/{id}/renew.
func (s *Server) handleRenew(w http.ResponseWriter, r *http.Request) error {
	return s.act(w, r, func(tx *ledger.Tx, a LeaseAction, ttl time.Duration) (*ledger.Lease, error) {
		return tx.Renew(r.PathValue("id"), a.Token, ttl)
	})
}

// handleRelease is DELETE /v1/leases/{id}?token=N; an administrator may leave the token out.
func (s *Server) handleRelease(w http.ResponseWriter, r *http.Request) error {
	text := r.URL.Query().Get("token")
	token, err := strconv.ParseUint(text, 10, 64)
	force := text == "" && identityOf(r).Role == Admin
	if err != nil && !force {
		return problem(http.StatusBadRequest, codeInvalid, "token: must be the number that came with the lease")
	}
	lease, err := ledger.Do(r.Context(), s.ledger, func(tx *ledger.Tx) (*ledger.Lease, error) {
		if force {
			return tx.ForceRelease(r.PathValue("id"))
		}
		return tx.Release(r.PathValue("id"), token)
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, lease)
}

// act decodes the action and runs it at the serial point.
func (s *Server) act(w http.ResponseWriter, r *http.Request, op func(*ledger.Tx, LeaseAction, time.Duration) (*ledger.Lease, error)) error {
	var a LeaseAction
	if err := decodeBody(w, r, maxRequestBody, &a); err != nil {
		return err
	}
	ttl := time.Duration(a.TTLSeconds * float64(time.Second))
	lease, err := ledger.Do(r.Context(), s.ledger, func(tx *ledger.Tx) (*ledger.Lease, error) { return op(tx, a, ttl) })
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, lease)
}

// handleBackup is GET /v1/store/backup: a consistent copy of the ledger's file. With etcd there is none: etcd has its own.
func (s *Server) handleBackup(w http.ResponseWriter, _ *http.Request) error {
	store, ok := s.opts.Store.(interface{ Backup(io.Writer) error })
	if !ok {
		return problem(http.StatusNotFound, codeNotFound, "the ledger is not a file here: use etcdctl snapshot save")
	}
	var copied bytes.Buffer // whole, so that an error is still a status and a slow reader holds no transaction open
	if err := store.Backup(&copied); err != nil {
		return err
	}
	return page(w, "application/octet-stream", copied.Bytes())
}
