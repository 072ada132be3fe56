package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/railmap/railmap/topology"
)

// keepReports is how many reports of one node are kept on disk.
const keepReports = 10

// history keeps the last reports of every node as files: DIR/reports/NODE/TIME.json. A file is written beside its place and
// renamed, so a crash leaves no half report; losing the newest one costs nothing but a probe.
type history struct {
	dir string // "" = none is kept
	mu  sync.Mutex
}

func openHistory(dataDir string) (*history, error) {
	if dataDir == "" {
		return &history{}, nil
	}
	h := &history{dir: filepath.Join(dataDir, "reports")}
	return h, os.MkdirAll(h.dir, 0o700)
}

// nodeDir is the folder of a node; the name is escaped, so that no name leaves the folder.
func (h *history) nodeDir(node string) string { return filepath.Join(h.dir, "n-"+url.PathEscape(node)) }

func (h *history) add(r *topology.NodeReport) error {
	if h.dir == "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	dir := h.nodeDir(r.Node)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := topology.Write(&buf, r, topology.JSON); err != nil {
		return err
	}
	when := time.Now()
	if r.Time != nil {
		when = *r.Time
	}
	name := filepath.Join(dir, when.UTC().Format("20060102T150405.000000000Z")+".json")
	if err := os.WriteFile(name+".new", buf.Bytes(), 0o600); err != nil {
		return err
	}
	if err := os.Rename(name+".new", name); err != nil {
		return err
	}
	return h.prune(dir)
}

func (h *history) prune(dir string) error {
	files, err := reportFiles(dir)
	if err != nil {
		return err
	}
	for len(files) > keepReports {
		if err := os.Remove(filepath.Join(dir, files[0])); err != nil {
			return err
		}
		files = files[1:]
	}
	return nil
}

// reportFiles lists the reports of a folder, oldest first.
func reportFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out, nil
}

// newest reads the last report of every node; a damaged file is skipped: the node will report again.
func (h *history) newest() []*topology.NodeReport {
	if h.dir == "" {
		return nil
	}
	dirs, err := os.ReadDir(h.dir)
	if err != nil {
		return nil
	}
	var out []*topology.NodeReport
	for _, d := range dirs {
		dir := filepath.Join(h.dir, d.Name())
		files, err := reportFiles(dir)
		if err != nil || len(files) == 0 {
			continue
		}
		var r topology.NodeReport
		if topology.ReadFile(filepath.Join(dir, files[len(files)-1]), &r) == nil {
			out = append(out, &r)
		}
	}
	return out
}

// handleHistory is GET /v1/reports/{node}: the kept reports, newest first.
func (s *Server) handleHistory(w http.ResponseWriter, r *http.Request) error {
	dir := s.intake.history.nodeDir(r.PathValue("node"))
	files, err := reportFiles(dir)
	if s.intake.history.dir == "" || err != nil || len(files) == 0 {
		return problem(http.StatusNotFound, codeNotFound, "no report of this node is kept")
	}
	slices.Reverse(files)
	reports := []json.RawMessage{}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil || !json.Valid(data) {
			return fmt.Errorf("history %s: %w", f, err)
		}
		reports = append(reports, data)
	}
	return writeJSON(w, http.StatusOK, map[string]any{"reports": reports})
}
