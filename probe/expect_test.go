package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/railmap/railmap/topology"
)

func TestExpectationsKnowModels(t *testing.T) {
	e, err := DefaultExpectations()
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]string{
		"NVIDIA H200": "H200", "NVIDIA H100 80GB HBM3": "H100", "NVIDIA H100 PCIe": "H100 PCIe", "NVIDIA H100 NVL": "H100 NVL", "NVIDIA A100-SXM4-80GB": "A100",
		"NVIDIA A100 80GB PCIe": "A100 PCIe", "Tesla V100-SXM2-32GB": "V100 SXM2", "Tesla V100-PCIE-16GB": "V100", "NVIDIA GB200": "GB200", "NVIDIA B200": "B200",
		"NVIDIA L40S": "L40", "NVIDIA L4": "L4", "Tesla T4": "T4", "NVIDIA A10G": "", "Radeon": "", "": "",
	} {
		got := ""
		if g := e.gpu(model); g != nil {
			got = g.Model
		}
		if got != want {
			t.Errorf("%q is %q, want %q", model, got, want)
		}
	}
	for _, g := range e.GPUs {
		for _, b := range []*Band{g.Host, g.Peer, g.AllReduce} {
			if b != nil && b.Source == "" {
				t.Errorf("%s: a figure without a source", g.Model)
			}
		}
	}
	for _, rate := range []float64{12.5e9, 25e9, 50e9, 100e9} {
		if e.nic(rate) == nil {
			t.Errorf("no expectation for a port of %g bytes per second", rate)
		}
	}
}

func TestExpectationsAreExtended(t *testing.T) {
	own, err := ReadExpectations(strings.NewReader("gpus:\n  - model: H100\n    host: {expected: 60e9, floor: 59e9, source: ours}\n"), "own")
	if err != nil {
		t.Fatal(err)
	}
	table, err := DefaultExpectations()
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Extend(own).gpu("NVIDIA H100 80GB HBM3").Host.Floor; got != 59e9 {
		t.Errorf("floor %g, want ours", got)
	}
	for _, text := range []string{"gpu: []", "gpus:\n  - model: \"\"", "gpus:\n  - model: x\n    host: {expected: 1, floor: 2}", "gpus:\n  - model: x\n    host: {expected: .nan, floor: 0}",
		"nics:\n  - rate: -1", "gpus: []\n---\ngpus: []"} {
		if _, err := ReadExpectations(strings.NewReader(text), "own"); err == nil || !strings.Contains(err.Error(), "own") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func FuzzExpectations(f *testing.F) {
	f.Add("gpus:\n  - model: H100\n    host: {expected: 60e9, floor: 59e9}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := ReadExpectations(strings.NewReader(text), "fuzz"); err == nil {
			e.gpu("NVIDIA H100")
			e.nic(50e9)
		}
	})
}

func TestVerdict(t *testing.T) {
	for want, severities := range map[string][]topology.Severity{"pass": {topology.Info}, "warn": {topology.Info, topology.Warning}, "fail": {topology.Warning, topology.Error}} {
		var f []topology.Finding
		for _, s := range severities {
			f = append(f, topology.Finding{Severity: s})
		}
		if got := verdict(f); got != want {
			t.Errorf("%v: %s, want %s", severities, got, want)
		}
	}
}

func TestRoundsMeetEverybodyOnce(t *testing.T) {
	for n := range 17 {
		met := map[Match]int{}
		for i, round := range Rounds(n) {
			busy := map[int]bool{}
			for _, m := range round {
				if m.A >= m.B || busy[m.A] || busy[m.B] {
					t.Errorf("n=%d round %d: %v", n, i, round)
				}
				busy[m.A], busy[m.B] = true, true
				met[m]++
			}
		}
		if len(met) != n*(n-1)/2 {
			t.Errorf("n=%d: %d pairs, want %d", n, len(met), n*(n-1)/2)
		}
	}
}

func TestMetricsAreText(t *testing.T) {
	r := &topology.NodeReport{Node: "n", Verdict: "warn", GPUs: []topology.GPU{{Index: 0}}, NICs: []topology.NICReport{{Device: "mlx5_0", Port: 1, State: "ACTIVE"}}}
	r.Measurements.Copies = []topology.Copy{{From: "GPU0", To: "NUMA0", BandwidthBytesPerSecond: topology.Measurement{Value: 55e9}}}
	var b bytes.Buffer
	if err := WriteMetrics(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"railmap_probe_verdict{verdict=\"warn\"} 1\n", "railmap_probe_host_copy_bytes_per_second{from=\"GPU0\",to=\"NUMA0\"} 5.5e+10\n",
		"railmap_probe_nic_active{port=\"mlx5_0/1\"} 1\n", "# TYPE railmap_probe_findings gauge\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("metrics lack %q:\n%s", want, b.String())
		}
	}
}

// TestSubmitKeepsReports: reports wait on disk while the server is away and arrive in order when it is back; a refused one
// does not block those behind it.
func TestSubmitKeepsReports(t *testing.T) {
	var status atomic.Int32
	status.Store(http.StatusServiceUnavailable)
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var doc topology.NodeReport
		if json.NewDecoder(r.Body).Decode(&doc) == nil && status.Load() < 300 {
			got = append(got, doc.Node+" "+r.Header.Get("Authorization")+" "+r.URL.Path)
		}
		w.WriteHeader(int(status.Load()))
	}))
	defer server.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Submitter{URL: server.URL + "/", Spool: filepath.Join(t.TempDir(), "spool"), TokenFile: token, Pause: time.Millisecond}
	submit := func(name string) (int, error) {
		return s.Submit(context.Background(), &topology.NodeReport{Node: name})
	}
	for i, name := range []string{"first", "second", "third"} {
		if n, err := submit(name); err != nil || n != i+1 {
			t.Fatalf("%s: %d wait, %v", name, n, err)
		}
	}
	status.Store(http.StatusAccepted)
	if n, err := submit("fourth"); err != nil || n != 0 {
		t.Fatalf("%d wait, %v", n, err)
	}
	want := "first Bearer secret /v1/reports|second Bearer secret /v1/reports|third Bearer secret /v1/reports|fourth Bearer secret /v1/reports"
	if strings.Join(got, "|") != want {
		t.Errorf("arrived: %q", got)
	}
	status.Store(http.StatusBadRequest)
	if _, err := submit("fifth"); err == nil || !strings.Contains(err.Error(), "refuses") {
		t.Errorf("error %v", err)
	}
	for range 2 * maxSpool {
		status.Store(http.StatusServiceUnavailable)
		if _, err := (Submitter{URL: "http://localhost:1", Spool: s.Spool, Pause: time.Microsecond}).Submit(t.Context(), &topology.NodeReport{Node: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if queue, _ := s.waiting(); len(queue) > maxSpool {
		t.Errorf("%d reports wait, at most %d", len(queue), maxSpool)
	}
}

// TestFetchPeers takes the newest report of nodes spread over the map and passes over nodes that have none.
func TestFetchPeers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, isReport := strings.CutPrefix(r.URL.Path, "/v1/reports/")
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v1/topology":
			var nodes []map[string]string
			for i := range 240 {
				nodes = append(nodes, map[string]string{"name": fmt.Sprintf("n%03d", i)})
			}
			json.NewEncoder(w).Encode(map[string]any{"kind": "Topology", "nodes": nodes})
		case !isReport || name == "n010":
			w.WriteHeader(http.StatusNotFound)
		default:
			report := func(product string) map[string]any {
				return map[string]any{"apiVersion": topology.APIVersion, "kind": topology.KindNodeReport, "node": name, "product": product}
			}
			json.NewEncoder(w).Encode(map[string]any{"reports": []any{report("new"), report("old")}})
		}
	}))
	defer server.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	peers, err := FetchPeers(t.Context(), server.URL+"/", token)
	if err != nil {
		t.Fatal(err)
	}
	if len(peers) != maxPeers-1 || peers[0].Node != "n000" || peers[1].Node != "n020" || peers[0].Product != "new" {
		t.Errorf("%d peers, first %+v", len(peers), peers[0])
	}
	if _, err := FetchPeers(t.Context(), server.URL, ""); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a token: %v", err)
	}
}
