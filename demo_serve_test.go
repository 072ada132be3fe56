package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/railmap/railmap/topology"
)

// The demo serves until it is interrupted, and that is no error.
func TestServeMap(t *testing.T) {
	topo, err := topology.SynthTopology(topology.SynthSpec{Pods: 1, Leaves: 2, Nodes: 2, Rails: 1, GPUs: 8}, 1, nil, topology.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	e := &env{stdin: strings.NewReader(""), stdout: w, stderr: &bytes.Buffer{}, now: time.Now}
	done := make(chan error, 1)
	go func() {
		err := serveMap(ctx, e, "127.0.0.1:0", topo)
		w.Close()
		done <- err
	}()
	url := ""
	lines := bufio.NewScanner(r)
	for url == "" && lines.Scan() {
		url = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(lines.Text())
	}
	if url == "" {
		t.Fatal("no address was printed:", <-done)
	}
	for path, want := range map[string]string{"": "<svg ", "healthz": "ok\n", "metrics": `railmap_topology_nodes{state="ready"} 4`} {
		if got := get(t, url+path, http.StatusOK); !strings.Contains(got, want) {
			t.Errorf("/%s has no %q:\n%.300s", path, want, got)
		}
	}
	get(t, url+"nosuch", http.StatusNotFound)
	stop()
	if err := <-done; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func get(t *testing.T, url string, status int) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		t.Fatalf("%s: status %d, want %d, %v", url, resp.StatusCode, status, err)
	}
	return string(body)
}
