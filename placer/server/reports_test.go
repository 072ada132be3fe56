package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/topology"
)

// goodReport is what a node with one GPU count and one NIC says at a minute of an hour.
func goodReport(node string, minute int, gpus int) *topology.NodeReport {
	r := &topology.NodeReport{Node: node, BootID: "boot-1"}
	r.APIVersion, r.Kind = topology.APIVersion, topology.KindNodeReport
	at := time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)
	r.Time = &at
	for i := range gpus {
		r.GPUs = append(r.GPUs, topology.GPU{Index: i, Model: "H100"})
	}
	r.NICs = []topology.NICReport{{Device: "mlx5_0", Port: 1, RateBytesPerSecond: new(50e9), BandwidthBytesPerSecond: &topology.Measurement{Value: 48e9}}}
	return r
}

func submit(t testing.TB, url, token string, doc any) (int, string) {
	t.Helper()
	data, ok := doc.(string)
	if !ok {
		var buf bytes.Buffer
		if err := topology.Write(&buf, doc, topology.JSON); err != nil {
			t.Fatal(err)
		}
		data = buf.String()
	}
	resp := send(t, "POST", url+"/v1/reports", token, data)
	return resp.StatusCode, readBodyText(t, resp)
}

// TestOrderOfReports plays reports of ten nodes in random order, some twice, some with another boot id: the map is the one of
// the newest reports, and older ones are refused as stale.
func TestOrderOfReports(t *testing.T) {
	for round := range 20 {
		rng := rand.New(rand.NewPCG(uint64(round), 2))
		s, hs := start(t, func(o *Options) { o.DataDir = "" })
		var all []*topology.NodeReport
		for n := range 10 {
			for minute := range 4 {
				r := goodReport(fmt.Sprintf("node%04d", n), minute, 1+minute)
				if rng.IntN(3) == 0 {
					r.BootID = "boot-2"
				}
				all = append(all, r, r)
			}
		}
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		newest := map[string]time.Time{}
		for _, r := range all {
			status, text := submit(t, hs.URL, "", r)
			want := http.StatusAccepted
			if r.Time.Before(newest[r.Node]) {
				want = http.StatusConflict
			} else {
				newest[r.Node] = *r.Time
			}
			if status != want {
				t.Fatalf("report of %s at %s after %s: %d, want %d: %s", r.Node, r.Time, newest[r.Node], status, want, text)
			}
		}
		built, err := s.buildNow()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range built.Nodes[:10] {
			if n.GPUCount != 4 {
				t.Fatalf("%s has %d GPUs, the newest report says 4", n.Name, n.GPUCount)
			}
		}
	}
}

// byzantine are reports of node0000 that lie, by what is wrong with them.
func byzantine() map[string]any {
	lie := func(change func(*topology.NodeReport)) *topology.NodeReport {
		r := goodReport("node0000", 5, 8)
		change(r)
		return r
	}
	raw := func(old, now string) string {
		data, _ := json.Marshal(goodReport("node0000", 5, 8))
		return strings.Replace(string(data), old, now, 1)
	}
	future := time.Now().Add(48 * time.Hour)
	return map[string]any{
		"NaN":              "apiVersion: railmap.dev/v1\nkind: NodeReport\nnode: node0000\nnics: [{device: a, port: 1, bandwidthBytesPerSecond: {value: .nan}}]\n",
		"infinity":         "apiVersion: railmap.dev/v1\nkind: NodeReport\nnode: node0000\nnics: [{device: a, port: 1, bandwidthBytesPerSecond: {value: .inf}}]\n",
		"1e999":            raw("48000000000", "1e999"),
		"number as text":   raw(`"port":1`, `"port":"1"`),
		"negative":         lie(func(r *topology.NodeReport) { r.NICs[0].BandwidthBytesPerSecond.Value = -1 }),
		"1e18":             lie(func(r *topology.NodeReport) { r.NICs[0].BandwidthBytesPerSecond.Value = 1e18 }),
		"2.1 x nominal":    lie(func(r *topology.NodeReport) { r.NICs[0].BandwidthBytesPerSecond.Value = 105e9 }),
		"port of the moon": lie(func(r *topology.NodeReport) { r.NICs[0].RateBytesPerSecond = new(1e14) }),
		"no rate, too fast": lie(func(r *topology.NodeReport) {
			r.NICs[0].RateBytesPerSecond, r.NICs[0].BandwidthBytesPerSecond.Value = nil, 1e13
		}),
		"instant": lie(func(r *topology.NodeReport) { r.NICs[0].LatencySeconds = &topology.Measurement{Value: 1e-12} }),
		"copy faster than light": lie(func(r *topology.NodeReport) {
			r.Measurements.Copies = []topology.Copy{{From: "GPU0", To: "GPU1", BandwidthBytesPerSecond: topology.Measurement{Value: 5e12}}}
		}),
		"collective": lie(func(r *topology.NodeReport) {
			r.Measurements.Collective = []topology.Collective{{Name: "all_reduce", BusBandwidthBytesPerSecond: topology.Measurement{Value: 9e12}}}
		}),
		"foreign node":    goodReport("node0001", 5, 8),
		"no node":         goodReport("", 5, 8),
		"from the future": lie(func(r *topology.NodeReport) { r.Time = &future }),
		"unknown field":   raw(`"node":`, `"nodes":1,"node":`),
		"second document": raw(`{`, `{"a":1}{`),
		"other kind":      `{"apiVersion":"railmap.dev/v1","kind":"Topology"}`,
		"no kind":         `{}`, "no JSON": `{"kind":`, "empty": ``, "binary": "\x00\x01\x02",
		"deep":                  `{"apiVersion":"railmap.dev/v1","kind":"NodeReport","node":` + strings.Repeat("[", 100_000),
		"a million links":       `{"apiVersion":"railmap.dev/v1","kind":"FabricReport","links":[` + strings.Repeat(`{"a":{"device":0,"port":1},"b":{"device":1,"port":1}},`, 1_000_000),
		"pairs of others":       `{"apiVersion":"railmap.dev/v1","kind":"PairReport","pairs":[{"a":"node0002","b":"node0003","bandwidthBytesPerSecond":{"value":1}}]}`,
		"occupancy of all":      `{"apiVersion":"railmap.dev/v1","kind":"Occupancy","side":"slurm","nodes":[{"name":"node0001","use":"busy"}]}`,
		"gzip bomb":             bomb(),
		"a thousand and 1 GPUs": lie(func(r *topology.NodeReport) { r.GPUs = make([]topology.GPU, 20_000) }),
	}
}

// TestByzantineReports: whatever a broken or hostile node says of itself or others is refused, and the placement of other nodes
// stays the same to the byte.
func TestByzantineReports(t *testing.T) {
	_, hs, token := byzantineServer(t, nil)
	place := `{"request":{"nodes":20,"exclude":["node0000"]}}`
	ask := func() string {
		return readBodyText(t, send(t, "POST", hs, token[Requester], place))
	}
	before := ask()
	names := []string{}
	lies := byzantine()
	for name := range lies {
		names = append(names, name)
	}
	slices.Sort(names)
	refused := 0
	for _, name := range names {
		s, url, secrets := byzantineServer(t, nil) // a fresh one: the rate limit must not be what refuses
		base := strings.TrimSuffix(url, "/v1/placements")
		status, text := submit(t, base, secrets[Reporter], lies[name])
		if status < 400 || status >= 500 || status == http.StatusTooManyRequests {
			t.Errorf("%s: %d %s", name, status, text)
		} else {
			refused++
		}
		if err := s.rebuild(t.Context()); err != nil {
			t.Errorf("%s: the map cannot be made any more: %v", name, err)
		}
		if got := readBodyText(t, send(t, "POST", url, secrets[Requester], place)); got != before {
			t.Errorf("%s changes the placement of other nodes:\n%s\nbefore:\n%s", name, got, before)
		}
	}
	t.Logf("%d of %d lies refused", refused, len(lies))
}

// byzantineServer gives the URL of placements and the tokens by role.
func byzantineServer(t *testing.T, change func(*Options)) (*Server, string, map[Role]string) {
	t.Helper()
	secrets, list := tokens(t)
	s, hs := start(t, func(o *Options) {
		o.Auth, o.DataDir = Auth{Required: true, Tokens: func() []Token { return list }}, ""
		if change != nil {
			change(o)
		}
	})
	return s, hs.URL + "/v1/placements", secrets
}

// TestQuarantine: a node that tells the impossible is named with the reason, until it reports well again.
func TestQuarantine(t *testing.T) {
	s, hs := start(t, nil)
	bad := goodReport("node0000", 5, 8)
	bad.NICs[0].BandwidthBytesPerSecond.Value = 1e12
	if status, text := submit(t, hs.URL, "", bad); status != http.StatusUnprocessableEntity {
		t.Fatal(status, text)
	}
	if f := s.intake.findings(); len(f) != 1 || f[0].Subject != "node0000" || !strings.Contains(f[0].Message, "mlx5_0") {
		t.Errorf("findings: %+v", f)
	}
	if !s.Status().Quarantined["node0000"] {
		t.Error("the status does not say that node0000 is in quarantine")
	}
	if status, text := submit(t, hs.URL, "", goodReport("node0000", 6, 8)); status != http.StatusAccepted {
		t.Fatal(status, text)
	}
	if f := s.intake.findings(); len(f) != 0 {
		t.Errorf("findings after a good report: %+v", f)
	}
}

// TestTwoEndsDisagree: of two figures for one pair that are more than 20 % apart the smaller one counts, and a finding says so.
func TestTwoEndsDisagree(t *testing.T) {
	s, hs, _ := startOnFabric(t)
	for source, value := range map[string]float64{"a": 90e9, "b": 30e9} {
		doc := fmt.Sprintf(`{"apiVersion":"railmap.dev/v1","kind":"PairReport","source":%q,"pairs":[{"a":"node0000","b":"node0001","bandwidthBytesPerSecond":{"value":%g}}]}`, source, value)
		if source == "b" {
			doc = strings.Replace(doc, `"a":"node0000","b":"node0001"`, `"a":"node0001","b":"node0000"`, 1)
		}
		if status, text := submit(t, hs.URL, "", doc); status != http.StatusAccepted {
			t.Fatal(status, text)
		}
	}
	built, err := s.buildNow()
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, f := range built.Findings {
		codes[f.Code] = true
	}
	if len(codes) == 0 {
		t.Errorf("no finding about ends that disagree")
	}
	for _, n := range built.Nodes[:2] {
		if m := n.MeasuredBandwidthBytesPerSecond; m != nil && m.Value > 30e9*1.01 {
			t.Errorf("%s counts with %g, the smaller figure is 30e9", n.Name, m.Value)
		}
	}
}

// startOnFabric starts without a map and sends the fabric report of a synthetic cluster: 8 nodes.
func startOnFabric(t *testing.T) (*Server, *httptest.Server, *topology.FabricReport) {
	t.Helper()
	s, hs := start(t, func(o *Options) { o.Topology, o.Rebuild = nil, time.Millisecond })
	spec, err := topology.ParseSynthSpec("pod:1 leaf:2 node:4 rail:2 gpu:8")
	if err != nil {
		t.Fatal(err)
	}
	fabric, err := topology.Synth(spec, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if status, text := submit(t, hs.URL, "", fabric); status != http.StatusAccepted {
		t.Fatal(status, text)
	}
	await(t, "a map", func() bool { return call(t, "GET", hs.URL+"/readyz", nil, nil) == http.StatusOK })
	return s, hs, fabric
}

// TestStolenGUIDs: a node that says the adapters of another are its own does not take its place.
func TestStolenGUIDs(t *testing.T) {
	s, hs, fabric := startOnFabric(t)
	owner := map[string][]topology.FabricDevice{}
	for _, d := range fabric.Devices {
		if d.Kind == topology.AdapterDevice {
			owner[strings.Fields(d.Description)[0]] = append(owner[strings.Fields(d.Description)[0]], d)
		}
	}
	thief := &topology.NodeReport{Node: "node0000"}
	thief.APIVersion, thief.Kind = topology.APIVersion, topology.KindNodeReport
	for _, name := range []string{"node0001", "node0002"} {
		for i, d := range owner[name] {
			n := topology.NICReport{Device: fmt.Sprintf("mlx5_%d%s", i, name), Port: 1, NodeGUID: d.GUID, LinkLayer: "InfiniBand"}
			if len(d.Ports) > 0 {
				n.PortGUID = d.Ports[0].GUID
			}
			thief.NICs = append(thief.NICs, n)
		}
	}
	if len(thief.NICs) != 4 {
		t.Fatalf("%d adapters to steal, want 4", len(thief.NICs))
	}
	secrets, list := tokens(t)
	s.opts.Auth = Auth{Required: true, Tokens: func() []Token { return list }}
	if status, text := submit(t, hs.URL, secrets[Reporter], thief); status != http.StatusForbidden || !strings.Contains(text, "belongs to node0001") {
		t.Errorf("%d %s", status, text)
	}
	if f := s.intake.findings(); len(f) != 1 || f[0].Subject != "node0000" {
		t.Errorf("findings: %+v", f)
	}
	built, err := s.buildNow()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, n := range built.Nodes {
		names[n.Name] = n.Group != ""
	}
	if len(built.Nodes) != 8 || !names["node0001"] || !names["node0002"] {
		t.Errorf("nodes after the theft: %v", names)
	}
}

// TestFabricMakesTheMap: without a map to start with, /readyz says what is missing; a fabric report makes the map; reports of
// nodes change it; a long poll sees the change.
func TestFabricMakesTheMap(t *testing.T) {
	_, hs := start(t, func(o *Options) {
		o.Topology, o.Rebuild = nil, time.Millisecond
	})
	if status := call(t, "GET", hs.URL+"/readyz", nil, nil); status != http.StatusServiceUnavailable {
		t.Errorf("ready without a map: %d", status)
	}
	var p Problem
	if status := call(t, "POST", hs.URL+"/v1/placements", PlaceRequest{Request: placer.Request{Nodes: 1}}, &p); status != http.StatusServiceUnavailable || p.Code != codeNoMap {
		t.Errorf("placement without a map: %d %+v", status, p)
	}
	spec, err := topology.ParseSynthSpec("pod:1 leaf:2 node:4 rail:2 gpu:8")
	if err != nil {
		t.Fatal(err)
	}
	fabric, err := topology.Synth(spec, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if status, text := submit(t, hs.URL, "", fabric); status != http.StatusAccepted {
		t.Fatal(status, text)
	}
	var first topology.Topology
	for deadline := time.Now().Add(10 * time.Second); call(t, "GET", hs.URL+"/v1/topology", nil, &first) != http.StatusOK; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no map after a fabric report")
		}
	}
	next := make(chan topology.Topology, 1)
	go func() {
		var after topology.Topology
		call(t, "GET", fmt.Sprintf("%s/v1/topology?wait=20s&since=%d", hs.URL, first.Generation), nil, &after)
		next <- after
	}()
	report := goodReport("node0003", 1, 8)
	report.NICs = nil
	if status, text := submit(t, hs.URL, "", report); status != http.StatusAccepted {
		t.Fatal(status, text)
	}
	after := <-next
	if len(first.Nodes) != 8 || after.Generation != first.Generation+1 {
		t.Errorf("%d nodes, generation %d after %d", len(first.Nodes), after.Generation, first.Generation)
	}
}

// TestSameAnswerSameBytes: 100 times, with reports in any order, the placement is the same to the byte.
func TestSameAnswerSameBytes(t *testing.T) {
	want := ""
	for round := range 10 {
		rng := rand.New(rand.NewPCG(uint64(round), 9))
		_, hs := start(t, func(o *Options) { o.DataDir = "" })
		docs := []any{randomOccupancy(rand.New(rand.NewPCG(1, 1)))}
		for n := range 6 {
			docs = append(docs, goodReport(fmt.Sprintf("node%04d", n), 1, 8))
		}
		rng.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
		for _, d := range docs {
			if status, text := submit(t, hs.URL, "", d); status != http.StatusAccepted {
				t.Fatal(status, text)
			}
		}
		for range 10 {
			var p PlaceResponse
			if status := call(t, "POST", hs.URL+"/v1/placements", PlaceRequest{Request: placer.Request{Nodes: 12, Collective: placer.AllToAll}}, &p); status != http.StatusOK {
				t.Fatal(status)
			}
			p.Placement.Generation = 0 // counts the changes, not their order
			got, _ := json.Marshal(p)
			if want == "" {
				want = string(got)
			}
			if string(got) != want {
				t.Fatalf("round %d:\n%s\nwant\n%s", round, got, want)
			}
		}
	}
}
