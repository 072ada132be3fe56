package server

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/railmap/railmap/topology"
)

// generations kept for diffs.
const keepGenerations = 8

// handleTopology is GET /v1/topology[?wait=30s&since=G]: the whole map, with its generation as ETag. With since it waits for a
// newer one, at most as long as wait says, and answers 304 when none came.
func (s *Server) handleTopology(w http.ResponseWriter, r *http.Request) error {
	cur, err := s.awaitTopology(r)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", etag(cur))
	if r.Header.Get("If-None-Match") == etag(cur) || r.URL.Query().Get("since") == strconv.FormatUint(cur.Generation, 10) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return writeJSON(w, http.StatusOK, cur)
}

func (s *Server) currentTopology() (*topology.Topology, error) {
	w, err := s.worlds.get()
	if err != nil {
		return nil, problem(http.StatusServiceUnavailable, codeNoMap, err.Error())
	}
	return w.topo, nil
}

// awaitTopology is the current map, or the next one when the caller has the current already and is ready to wait.
func (s *Server) awaitTopology(r *http.Request) (*topology.Topology, error) {
	wait, err := waitOf(r)
	if err != nil {
		return nil, err
	}
	ch, err := s.events.subscribe()
	if err != nil {
		return nil, err
	}
	defer s.events.unsubscribe(ch)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		cur, err := s.currentTopology()
		if err != nil || wait == 0 || r.URL.Query().Get("since") != strconv.FormatUint(cur.Generation, 10) {
			return cur, err
		}
		select {
		case <-ch:
		case <-s.events.done:
			return cur, nil
		case <-timer.C:
			return cur, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

func waitOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxWait {
		return 0, problem(http.StatusBadRequest, codeInvalid, fmt.Sprintf("wait is %q: must be a duration up to %s, such as 30s", text, maxWait))
	}
	return min(d, writeTimeout-5*time.Second), nil
}

// handleSVG is GET /v1/topology.svg.
func (s *Server) handleSVG(w http.ResponseWriter, r *http.Request) error {
	t, err := s.currentTopology()
	if err != nil {
		return err
	}
	w.Header().Set("ETag", etag(t))
	if r.Header.Get("If-None-Match") == etag(t) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	var buf bytes.Buffer
	if err := topology.RenderSVG(&buf, t); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	_, err = w.Write(buf.Bytes())
	return err
}

// NodeView is one node with what is on it.
type NodeView struct {
	Node     topology.Node               `json:"node"`
	GPUsUsed []int                       `json:"gpusUsed"`
	Uses     map[string]topology.NodeUse `json:"uses,omitempty"` // by side: drained, down, reserved
	Findings []topology.Finding          `json:"findings,omitempty"`
}

// handleNode is GET /v1/topology/nodes/{node}.
func (s *Server) handleNode(w http.ResponseWriter, r *http.Request) error {
	cur, err := s.worlds.get()
	if err != nil {
		return problem(http.StatusServiceUnavailable, codeNoMap, err.Error())
	}
	i, ok := cur.node[r.PathValue("node")]
	if !ok {
		return problem(http.StatusNotFound, codeNotFound, "no such node in the map")
	}
	v := NodeView{Node: cur.topo.Nodes[i], GPUsUsed: []int{}, Uses: map[string]topology.NodeUse{}}
	cur.mu.Lock()
	used := cur.used[v.Node.Name]
	cur.mu.Unlock()
	for _, o := range s.intake.occupancies() {
		for _, n := range o.Nodes {
			if n.Name == v.Node.Name && n.Use != topology.UseFree && n.Use != topology.UseBusy {
				v.Uses[o.Side] = n.Use
			}
		}
	}
	for g := range cur.gpus(v.Node.Name) {
		if used&(1<<g) != 0 {
			v.GPUsUsed = append(v.GPUsUsed, g)
		}
	}
	for _, f := range cur.topo.Findings {
		if f.Subject == v.Node.Name || len(f.Subject) > len(v.Node.Name) && f.Subject[:len(v.Node.Name)+1] == v.Node.Name+"/" {
			v.Findings = append(v.Findings, f)
		}
	}
	return writeJSON(w, http.StatusOK, v)
}

// handleFindings is GET /v1/topology/findings: of the map, and of the intake (quarantine).
func (s *Server) handleFindings(w http.ResponseWriter, r *http.Request) error {
	findings := []topology.Finding{}
	if w, err := s.worlds.get(); err == nil {
		findings = append(findings, w.topo.Findings...)
		w.mu.Lock()
		findings = append(findings, w.notes...)
		w.mu.Unlock()
	}
	findings = append(findings, s.intake.findings()...)
	return writeJSON(w, http.StatusOK, map[string]any{"findings": topology.SortFindings(slices.Clone(findings))})
}

// handleDiff is GET /v1/topology/diff?from=G: what changed from an earlier generation (the last eight are kept) to now.
func (s *Server) handleDiff(w http.ResponseWriter, r *http.Request) error {
	now, err := s.currentTopology()
	if err != nil {
		return err
	}
	from, err := strconv.ParseUint(r.URL.Query().Get("from"), 10, 64)
	if err != nil {
		return problem(http.StatusBadRequest, codeInvalid, "from: must be a generation number")
	}
	old := s.intake.generation(from)
	if old == nil {
		return problem(http.StatusNotFound, codeNotFound, fmt.Sprintf("generation %d is not kept here", from), fmt.Sprintf("the last %d generations are", keepGenerations))
	}
	changes := topology.Diff(old, now)
	if changes == nil {
		changes = []topology.Change{}
	}
	return writeJSON(w, http.StatusOK, map[string]any{"from": from, "to": now.Generation, "changes": changes})
}

// handleExport is GET /v1/exports/{target}: the files that an exporter makes of the current map. Where they are written is
// the caller's business: no path comes from a request.
func (s *Server) handleExport(w http.ResponseWriter, r *http.Request) error {
	render, ok := s.opts.Exports[r.PathValue("target")]
	if !ok {
		names := make([]string, 0, len(s.opts.Exports))
		for n := range s.opts.Exports {
			names = append(names, n)
		}
		slices.Sort(names)
		return problem(http.StatusNotFound, codeNotFound, "no such target", fmt.Sprintf("targets: %v", names))
	}
	t, err := s.currentTopology()
	if err != nil {
		return err
	}
	files, err := render(t)
	s.opts.Observe.Export(r.PathValue("target"), err)
	if err != nil {
		return problem(http.StatusUnprocessableEntity, codeInvalid, err.Error())
	}
	return writeJSON(w, http.StatusOK, map[string]any{"generation": t.Generation, "files": files})
}
