package server

import (
	"embed"
	"net/http"
	"path"
)

//go:embed openapi.json
var openAPI []byte

//go:embed ui
var ui embed.FS

func (s *Server) handleHealth(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := w.Write([]byte("ok\n"))
	return err
}

// Readiness is the answer of /readyz.
type Readiness struct {
	Ready  bool     `json:"ready"`
	Checks []string `json:"checks"` // what is missing; empty when ready
}

// handleReady is GET /readyz: the ledger is open, there is a map, the server is not stopping.
func (s *Server) handleReady(w http.ResponseWriter, _ *http.Request) error {
	out := Readiness{Checks: []string{}}
	if !s.ready.Load() {
		out.Checks = append(out.Checks, "the server is starting or stopping")
	}
	if _, err := s.worlds.get(); err != nil {
		out.Checks = append(out.Checks, err.Error())
	}
	out.Ready = len(out.Checks) == 0
	status := http.StatusOK
	if !out.Ready {
		status = http.StatusServiceUnavailable
	}
	return writeJSON(w, status, out)
}

func (s *Server) handleMetrics(w http.ResponseWriter, r *http.Request) error {
	if s.opts.Metrics == nil {
		return problem(http.StatusNotFound, codeNotFound, "metrics are not served here")
	}
	s.opts.Metrics.ServeHTTP(w, r)
	return nil
}

func (s *Server) handleReload(w http.ResponseWriter, _ *http.Request) error {
	if s.opts.Reload == nil {
		return problem(http.StatusNotFound, codeNotFound, "this server has no configuration file")
	}
	if err := s.opts.Reload(); err != nil {
		return problem(http.StatusUnprocessableEntity, codeInvalid, err.Error(), "the last good configuration stays in use")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func page(w http.ResponseWriter, contentType string, body []byte) error {
	w.Header().Set("Content-Type", contentType)
	_, err := w.Write(body)
	return err
}

func (s *Server) handleOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	return page(w, "application/json", openAPI)
}

func (s *Server) handleDocs(w http.ResponseWriter, _ *http.Request) error {
	return asset(w, "docs.html")
}

// handlePage is GET /. The page holds no data: its script asks the API, with the rights of whoever looks.
func (s *Server) handlePage(w http.ResponseWriter, _ *http.Request) error {
	return asset(w, "index.html")
}

// handleAsset is GET /ui/{file}: scripts and styles.
func (s *Server) handleAsset(w http.ResponseWriter, r *http.Request) error {
	return asset(w, r.PathValue("file"))
}

// asset sends an embedded file by its plain name.
func asset(w http.ResponseWriter, name string) error {
	types := map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
	body, err := ui.ReadFile("ui/" + path.Base(name))
	if err != nil || types[path.Ext(name)] == "" {
		return problem(http.StatusNotFound, codeNotFound, "no such file")
	}
	return page(w, types[path.Ext(name)], body)
}
