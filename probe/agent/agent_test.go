package agent

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railmap/railmap/probe"
	"github.com/railmap/railmap/probe/pair"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// start runs an agent on a recorded tree until the test ends.
func start(t *testing.T, o Options) (url string) {
	t.Helper()
	l := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, l, o) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// tree is an empty node; the lease is taken and given back in it.
func tree(t *testing.T) string {
	dir := t.TempDir()
	for _, d := range []string{"sys", "proc", "run/railmap"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// poll asks until the answer holds the text.
func poll(t *testing.T, url, want string) {
	t.Helper()
	text := ""
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		r, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if text = string(b); strings.Contains(text, want) {
			return
		}
	}
	t.Errorf("%s: %q does not hold %q", url, text, want)
}

func TestAgentServes(t *testing.T) {
	url := start(t, Options{Probe: probe.Options{Root: tree(t), NodeName: "n1"}})
	poll(t, url+"/healthz", "ok")
	poll(t, url+"/metrics", "railmap_probe_verdict")
	poll(t, url+"/report", `"node": "n1"`)
}

// An agent joins a sweep while its node is idle, stays away while it holds a lease, and leaves when it gets one.
func TestAgentJoinsWhenIdle(t *testing.T) {
	token := []byte("a token for tests only")
	l := listen(t)
	busy := tree(t)
	lease := filepath.Join(busy, probe.LeaseFile)
	if err := os.WriteFile(lease, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for node, root := range map[string]string{"idle1": tree(t), "idle2": tree(t), "busy": busy} {
		start(t, Options{Probe: probe.Options{Root: root, NodeName: node}, PairsEvery: 20 * time.Millisecond,
			Pairs: &pair.JoinOptions{Coordinator: l.Addr().String(), Token: token, Node: node}})
	}
	r, err := pair.Coordinate(t.Context(), l, pair.Options{Token: token, Members: 2, Tiers: []pair.Tier{pair.All}, Window: 20 * time.Millisecond, Repeats: -1})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Pairs) != 2 || r.Pairs[0].A != "idle1" || r.Pairs[0].BandwidthBytesPerSecond == nil {
		t.Errorf("%+v", r.Pairs)
	}
}
