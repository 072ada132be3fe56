package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/topology"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testMap is a synthetic cluster of 4 pods × 2 leaf groups × 8 nodes.
func testMap(t testing.TB) *topology.Topology {
	t.Helper()
	spec, err := topology.ParseSynthSpec("core:1 pod:4 leaf:2 node:8 rail:2 gpu:8")
	if err != nil {
		t.Fatal(err)
	}
	topo, err := topology.SynthTopology(spec, 1, nil, topology.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

// start runs a server on a map and a ledger file of its own.
func start(t testing.TB, change func(*Options)) (*Server, *httptest.Server) {
	t.Helper()
	store, err := ledger.OpenBolt(filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Store: store, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Topology: testMap(t), DataDir: t.TempDir()}
	if change != nil {
		change(&opts)
	}
	s, err := New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		hs.CloseClientConnections()
		hs.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, hs
}

// call makes one request and decodes a JSON answer.
func call(t testing.TB, method, url string, body, into any) int {
	t.Helper()
	var r io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, r)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if into != nil && len(data) > 0 {
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatalf("%s: %v in %s", url, err, data)
		}
	}
	return resp.StatusCode
}

// TestNoNodeTwice lets 16 wrappers ask for gangs at once until nothing is left: each node is given out once.
func TestNoNodeTwice(t *testing.T) {
	s, hs := start(t, nil)
	var mu sync.Mutex
	owner := map[string]string{}
	refused := 0
	var wg sync.WaitGroup
	for c := range 16 {
		wg.Go(func() {
			for range 3 {
				var resp PlaceResponse
				code := call(t, "POST", hs.URL+"/v1/placements", PlaceRequest{Request: placer.Request{Nodes: 3}, Lease: &LeaseRequest{Holder: fmt.Sprint(c)}}, &resp)
				mu.Lock()
				if code != http.StatusOK {
					refused++
				} else {
					for _, n := range resp.Placement.Nodes {
						if owner[n] != "" {
							t.Errorf("node %s was given to %s and to %s", n, owner[n], resp.Lease.ID)
						}
						owner[n] = resp.Lease.ID
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(owner) != 63 || refused != 27 {
		t.Errorf("%d of 64 nodes given out, %d requests refused; want 63 (21 gangs of 3) and 27", len(owner), refused)
	}
	s.Ledger().View(func(st *ledger.State) {
		n := 0
		st.HeldNodes(func(string, uint64) { n++ })
		if n != len(owner) {
			t.Errorf("the ledger holds %d nodes, clients %d", n, len(owner))
		}
	})
}

// TestReleasedNodesAreFree: what is given back can be placed on again, with a new token.
func TestReleasedNodesAreFree(t *testing.T) {
	_, hs := start(t, nil)
	req := PlaceRequest{Request: placer.Request{Nodes: 64}, Lease: &LeaseRequest{Holder: "all"}}
	var a, b PlaceResponse
	if code := call(t, "POST", hs.URL+"/v1/placements", req, &a); code != http.StatusOK {
		t.Fatalf("first: %d", code)
	}
	var p Problem
	if code := call(t, "POST", hs.URL+"/v1/placements", req, &p); code != http.StatusUnprocessableEntity || p.Code != codeInfeasible {
		t.Fatalf("second: %d %+v", code, p)
	}
	if code := call(t, "DELETE", fmt.Sprintf("%s/v1/leases/%s?token=%d", hs.URL, a.Lease.ID, a.Lease.Token), nil, nil); code != http.StatusOK {
		t.Fatalf("release: %d", code)
	}
	if code := call(t, "POST", hs.URL+"/v1/placements", req, &b); code != http.StatusOK || b.Lease.Token <= a.Lease.Token {
		t.Fatalf("third: %d, token %d after %d", code, b.Lease.Token, a.Lease.Token)
	}
}

// TestSharedNodes: two leases of 4 GPUs fit on one node of 8, a third goes elsewhere; whole-node gangs avoid it.
func TestSharedNodes(t *testing.T) {
	_, hs := start(t, nil)
	used := map[string]int{}
	for range 2 {
		var resp PlaceResponse
		call(t, "POST", hs.URL+"/v1/placements", PlaceRequest{Request: placer.Request{Nodes: 1, GPUsPerNode: 4, Include: []string{"node0000"}}, Lease: &LeaseRequest{Holder: "x"}}, &resp)
		for _, g := range resp.Lease.Claims[0].GPUs {
			used[fmt.Sprint(g)]++
		}
	}
	if len(used) != 8 {
		t.Errorf("GPUs given out: %v, want each of 8 once", used)
	}
	var p Problem
	if code := call(t, "POST", hs.URL+"/v1/placements", PlaceRequest{Request: placer.Request{Nodes: 1, GPUsPerNode: 4, Include: []string{"node0000"}}, Lease: &LeaseRequest{Holder: "x"}}, &p); code != http.StatusUnprocessableEntity {
		t.Errorf("a third half: %d %+v", code, p)
	}
}

func contextWithCancel(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(t.Context()))
}
