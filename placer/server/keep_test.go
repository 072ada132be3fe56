package server

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/topology"
)

// TestRestartKeepsTheMap: a server that is started again without a map has the one that it had, with a higher generation, the
// reports of nodes and what schedulers use. A damaged document is left out.
func TestRestartKeepsTheMap(t *testing.T) {
	dir := t.TempDir()
	open := func() *Server {
		t.Helper()
		store, err := ledger.OpenBolt(filepath.Join(dir, "ledger.db"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(t.Context(), Options{Store: store, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), DataDir: dir, Rebuild: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	spec, err := topology.ParseSynthSpec("pod:1 leaf:2 node:4 rail:2 gpu:8")
	if err != nil {
		t.Fatal(err)
	}
	fabric, err := topology.Synth(spec, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := open()
	take := func(doc any) {
		t.Helper()
		hs := handlerServer(t, s)
		if status, text := submit(t, hs, "", doc); status != http.StatusAccepted {
			t.Fatal(status, text)
		}
	}
	take(fabric)
	await(t, "a map", func() bool { return s.worlds.cur.Load() != nil })
	report := goodReport("node0001", 1, 8)
	report.NICs = nil
	take(report)
	take(`{"apiVersion":"railmap.dev/v1","kind":"Occupancy","side":"slurm","nodes":[{"name":"node0002","use":"busy"},{"name":"node0003","use":"drained"}]}`)
	gpus := func(s *Server) int {
		w := s.worlds.cur.Load()
		return w.topo.Nodes[w.node["node0001"]].GPUCount
	}
	await(t, "the node's report on the map", func() bool { return gpus(s) == 8 })
	before := s.worlds.cur.Load().topo
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	w := s.worlds.cur.Load()
	if w == nil || len(w.topo.Nodes) != 8 || w.topo.Generation <= before.Generation {
		t.Fatalf("after the restart: %+v, before generation %d", w, before.Generation)
	}
	if w.occ["node0002"] == 0 || !w.closed["node0003"] {
		t.Error("what slurm uses is forgotten")
	}
	await(t, "the node's report", func() bool { return gpus(s) == 8 })
	if changes := topology.Diff(before, s.worlds.cur.Load().topo); len(changes) != 0 {
		t.Errorf("the map is another: %+v", changes)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "inputs", "*.json"))
	for _, f := range files {
		if err := os.WriteFile(f, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = open()
	if err := s.Close(); err != nil || len(files) != 2 {
		t.Errorf("%d files; with damaged ones: %v", len(files), err)
	}
}

// handlerServer serves a server's handler for the time of the test.
func handlerServer(t *testing.T, s *Server) string {
	t.Helper()
	return "http://" + listen(t, s)
}
