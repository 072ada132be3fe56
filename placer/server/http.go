package server

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/railmap/railmap/topology"
)

// endpoint is one route: who may call it and what answers.
type endpoint struct {
	pattern string
	role    Role // the least role; Anyone = no identity needed
	handle  func(http.ResponseWriter, *http.Request) error
}

// endpoints is the whole API, in the order of the documentation.
func (s *Server) endpoints() []endpoint {
	return []endpoint{
		{"GET /healthz", Anyone, s.handleHealth},
		{"GET /readyz", Anyone, s.handleReady},
		{"GET /openapi.json", Anyone, s.handleOpenAPI},
		{"GET /docs", Anyone, s.handleDocs},
		{"GET /metrics", Anyone, s.handleMetrics},
		{"GET /{$}", Anyone, s.handlePage},
		{"GET /ui/{file}", Anyone, s.handleAsset},
		{"POST /v1/reports", Reporter, s.handleReport},
		{"GET /v1/reports/{node}", Requester, s.handleHistory},
		{"GET /v1/topology", Requester, s.handleTopology},
		{"GET /v1/topology.svg", Requester, s.handleSVG},
		{"GET /v1/topology/nodes/{node}", Requester, s.handleNode},
		{"GET /v1/topology/findings", Requester, s.handleFindings},
		{"GET /v1/topology/diff", Requester, s.handleDiff},
		{"POST /v1/placements", Requester, s.handlePlace},
		{"GET /v1/leases", Requester, s.handleLeases},
		{"GET /v1/leases/{id}", Requester, s.handleLease},
		{"POST /v1/leases/{id}/bind", Requester, s.handleBind},
		{"POST /v1/leases/{id}/renew", Requester, s.handleRenew},
		{"DELETE /v1/leases/{id}", Requester, s.handleRelease},
		{"GET /v1/exports/{target}", Requester, s.handleExport},
		{"GET /v1/events", Requester, s.handleEvents},
		{"GET /v1/store/backup", Admin, s.handleBackup},
		{"POST /-/reload", Admin, s.handleReload},
	}
}

// Handler is the whole API with identity, limits, logging and problems.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, e := range s.endpoints() {
		mux.HandleFunc(e.pattern, s.wrap(e))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, r, problem(http.StatusNotFound, codeNotFound, "no such path: see /docs"), 0)
	})
	cross := http.NewCrossOriginProtection()
	return cross.Handler(mux)
}

// wrap gives one endpoint its manners.
func (s *Server) wrap(e endpoint) http.HandlerFunc {
	method, _, _ := strings.Cut(e.pattern, " ")
	return func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec := &recorder{ResponseWriter: w, status: http.StatusOK}
		s.opts.Observe.InFlight(1)
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("handler panicked", "pattern", e.pattern, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				if !rec.wrote {
					writeProblem(rec, r, problemOf(errors.New("panic")), 0)
				}
			}
			s.opts.Observe.InFlight(-1)
			s.opts.Observe.Request(e.pattern, method, rec.status, time.Since(start))
		}()
		rec.Header().Set("X-Content-Type-Options", "nosniff")
		rec.Header().Set("Content-Security-Policy", "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
		if id := r.Header.Get("X-Request-Id"); id != "" && len(id) <= 128 {
			rec.Header().Set("X-Request-Id", id)
		}
		r, err := s.opts.Auth.admit(r, e.role)
		if err == nil {
			err = e.handle(rec, r)
		}
		if err != nil {
			p := problemOf(err)
			if p.Code == codeInternal {
				s.log.Error("request failed", "pattern", e.pattern, "err", err)
			}
			writeProblem(rec, r, p, retryAfter(err))
		}
	}
}

// recorder remembers the status.
type recorder struct {
	http.ResponseWriter
	status int
	wrote  bool
}

func (r *recorder) WriteHeader(status int) {
	if !r.wrote {
		r.status, r.wrote = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.wrote = true
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// readBody reads at most limit bytes, after decompression; a body that unpacks to more than maxGzipRatio times its size is
// refused.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	packed, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, bodyError(err)
	}
	if r.Header.Get("Content-Encoding") != "gzip" && !bytes.HasPrefix(packed, []byte{0x1f, 0x8b}) {
		return packed, nil
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, problem(http.StatusBadRequest, codeInvalid, "body is not gzip as it says: "+err.Error())
	}
	most := min(limit, maxGzipRatio*int64(len(packed)))
	data, err := io.ReadAll(io.LimitReader(zr, most+1))
	if err != nil {
		return nil, problem(http.StatusBadRequest, codeInvalid, "body: "+err.Error())
	}
	if int64(len(data)) > most {
		return nil, problem(http.StatusRequestEntityTooLarge, codeTooLarge, fmt.Sprintf("body unpacks to more than %d bytes", most))
	}
	return data, nil
}

func bodyError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return problem(http.StatusRequestEntityTooLarge, codeTooLarge, err.Error(), "send a smaller document")
	}
	return problem(http.StatusBadRequest, codeInvalid, "body: "+err.Error())
}

// decodeBody reads one strict JSON value.
func decodeBody(w http.ResponseWriter, r *http.Request, limit int64, v any) error {
	if ct := r.Header.Get("Content-Type"); ct != "" {
		if mt, _, err := mime.ParseMediaType(ct); err != nil || mt != "application/json" {
			return problem(http.StatusUnsupportedMediaType, codeMediaType, "Content-Type must be application/json")
		}
	}
	data, err := readBody(w, r, limit)
	if err != nil {
		return err
	}
	if err := checkDepth(data); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return problem(http.StatusBadRequest, codeInvalid, "body: "+strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return problem(http.StatusBadRequest, codeInvalid, "body holds more after the JSON value: must hold one")
	}
	return nil
}

// checkDepth refuses deep nesting before anything is decoded.
func checkDepth(data []byte) error {
	depth, inString, escaped := 0, false, false
	for _, c := range data {
		switch {
		case escaped:
			escaped = false
		case inString:
			inString, escaped = c != '"', c == '\\'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > maxJSONDepth {
				return problem(http.StatusBadRequest, codeInvalid, fmt.Sprintf("body is nested deeper than %d", maxJSONDepth))
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return topology.Write(w, v, topology.JSON)
}

// ifMatch refuses a request that was made for another generation of the map.
func (s *Server) ifMatch(r *http.Request) error {
	want := r.Header.Get("If-Match")
	if want == "" || want == "*" {
		return nil
	}
	w, err := s.worlds.get()
	if err != nil {
		return problem(http.StatusServiceUnavailable, codeNoMap, err.Error())
	}
	if want != etag(w.topo) {
		return problem(http.StatusPreconditionFailed, codeGeneration, fmt.Sprintf("the map is at generation %s, not %s", etag(w.topo), want), "read the map again")
	}
	return nil
}

func etag(t *topology.Topology) string { return `"` + strconv.FormatUint(t.Generation, 10) + `"` }
