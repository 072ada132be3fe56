package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/placer/server"
	"github.com/railmap/railmap/topology"
)

// ServeOptions say how the placement service is measured: server and load generator on this machine.
type ServeOptions struct {
	Program string // the railmap to start
	Nodes   int    // of the synthetic map, a multiple of 32
	Leases  int    // live when the server starts, one node each
	Clients int
	Phase   time.Duration // of each kind of load
	Reports int           // node reports sent; 0 = one a node
}

// ServeResult is what was measured. Latencies are those of the clients.
type ServeResult struct {
	Nodes                    int        `json:"nodes" yaml:"nodes"`
	Leases                   int        `json:"leases" yaml:"leases"`
	Clients                  int        `json:"clients" yaml:"clients"`
	ReadySeconds             float64    `json:"readySeconds" yaml:"readySeconds"`
	ReadyRSSBytes            int64      `json:"readyRSSBytes" yaml:"readyRSSBytes"`
	Place                    LoadResult `json:"place" yaml:"place"`
	PlaceWithLease           LoadResult `json:"placeWithLease" yaml:"placeWithLease"`
	Reports                  LoadResult `json:"reports" yaml:"reports"`
	ReportsSeconds           float64    `json:"reportsSeconds" yaml:"reportsSeconds"`
	AfterRSSBytes            int64      `json:"afterRSSBytes" yaml:"afterRSSBytes"`
	SecondStartReadySeconds  float64    `json:"secondStartReadySeconds" yaml:"secondStartReadySeconds"` // with the history of the reports on disk
	SecondStartReadyRSSBytes int64      `json:"secondStartReadyRSSBytes" yaml:"secondStartReadyRSSBytes"`
	LoadAverage              string     `json:"loadAverage" yaml:"loadAverage"` // of the machine, before
}

// LoadResult is one kind of load.
type LoadResult struct {
	Requests          int     `json:"requests" yaml:"requests"`
	Failed            int     `json:"failed" yaml:"failed"`
	RequestsPerSecond float64 `json:"requestsPerSecond" yaml:"requestsPerSecond"`
	P50Seconds        float64 `json:"p50Seconds" yaml:"p50Seconds"`
	P99Seconds        float64 `json:"p99Seconds" yaml:"p99Seconds"`
}

// Serve measures a real server process.
func Serve(ctx context.Context, o ServeOptions) (*ServeResult, error) {
	dir, err := os.MkdirTemp("", "railmap-bench-serve-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r := &ServeResult{Nodes: o.Nodes, Leases: o.Leases, Clients: o.Clients, LoadAverage: loadAverage()}
	names, err := prepareServe(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	p, err := startServer(ctx, o.Program, dir)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if r.ReadySeconds, err = p.awaitReady(ctx); err != nil {
		return nil, err
	}
	r.ReadyRSSBytes = p.residentBytes()
	if err := o.load(ctx, p.url, names, r); err != nil {
		return nil, err
	}
	r.AfterRSSBytes = p.residentBytes()
	p.stop()
	again, err := startServer(ctx, o.Program, dir)
	if err != nil {
		return nil, err
	}
	defer again.stop()
	if r.SecondStartReadySeconds, err = again.awaitReady(ctx); err != nil {
		return nil, err
	}
	r.SecondStartReadyRSSBytes = again.residentBytes()
	return r, nil
}

// prepareServe writes the map and a ledger with live leases.
func prepareServe(ctx context.Context, dir string, o ServeOptions) ([]string, error) {
	spec, err := topology.ParseSynthSpec(fmt.Sprintf("core:1 pod:%d leaf:%d node:32 rail:8 gpu:8", max(1, o.Nodes/1024), min(32, max(1, o.Nodes/32))))
	if err != nil {
		return nil, err
	}
	topo, err := topology.SynthTopology(spec, 1, nil, topology.BuildOptions{})
	if err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, "topology.json"))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(topology.Write(f, topo, topology.JSON), f.Close()); err != nil {
		return nil, err
	}
	var names []string
	for i := range topo.Nodes {
		names = append(names, topo.Nodes[i].Name)
	}
	store, err := ledger.OpenBolt(filepath.Join(dir, "data", "ledger.db"))
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(ctx, store, ledger.Options{})
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	errs := make([]error, 64)
	for w := range errs {
		wg.Go(func() {
			for i := w; i < min(o.Leases, len(names)) && errs[w] == nil; i += len(errs) {
				_, errs[w] = ledger.Do(ctx, l, func(tx *ledger.Tx) (*ledger.Lease, error) {
					return tx.Reserve(ledger.Grant{Holder: "bench", Claims: []ledger.Claim{{Node: names[2*i%len(names)]}}, TTL: time.Hour})
				})
			}
		})
	}
	wg.Wait()
	return names, errors.Join(append(errs, l.Close())...)
}

// load puts each kind of load on the server.
func (o *ServeOptions) load(ctx context.Context, url string, names []string, r *ServeResult) error {
	transport := &http.Transport{MaxIdleConnsPerHost: o.Clients}
	defer transport.CloseIdleConnections()
	c, err := server.NewClient(url, "", transport)
	if err != nil {
		return err
	}
	until := time.Now().Add(o.Phase)
	r.Place = o.drive(ctx, func(rng *rand.Rand, _ int) (time.Duration, error) {
		begin := time.Now()
		_, err := c.Place(ctx, &server.PlaceRequest{Request: placer.Request{Nodes: 1 + rng.IntN(64), Brief: true}})
		return time.Since(begin), err
	}, func(int) bool { return time.Now().Before(until) })
	until = time.Now().Add(o.Phase)
	r.PlaceWithLease = o.drive(ctx, func(rng *rand.Rand, _ int) (time.Duration, error) {
		begin := time.Now()
		resp, err := c.Place(ctx, &server.PlaceRequest{Request: placer.Request{Nodes: 1 + rng.IntN(16), Brief: true}, Lease: &server.LeaseRequest{Holder: "bench"}})
		took := time.Since(begin)
		if err == nil {
			_, err = c.Release(ctx, resp.Lease.ID, resp.Lease.Token)
		}
		return took, err
	}, func(int) bool { return time.Now().Before(until) })
	count := o.Reports
	if count == 0 {
		count = len(names)
	}
	begin := time.Now()
	r.Reports = o.drive(ctx, func(_ *rand.Rand, i int) (time.Duration, error) {
		begin := time.Now()
		err := c.Submit(ctx, nodeReport(names[i%len(names)]))
		return time.Since(begin), err
	}, func(i int) bool { return i < count })
	r.ReportsSeconds = time.Since(begin).Seconds()
	return nil
}

// drive runs clients until more says no; i counts the requests of all.
func (o *ServeOptions) drive(ctx context.Context, one func(rng *rand.Rand, i int) (time.Duration, error), more func(i int) bool) LoadResult {
	var mu sync.Mutex
	var all []time.Duration
	next, failed := 0, 0
	begin := time.Now()
	var wg sync.WaitGroup
	for w := range o.Clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for ctx.Err() == nil {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if !more(i) {
					return
				}
				took, err := one(rng, i)
				mu.Lock()
				all = append(all, took)
				if err != nil {
					failed++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	out := LoadResult{Requests: len(all), Failed: failed, RequestsPerSecond: float64(len(all)) / time.Since(begin).Seconds()}
	if slices.Sort(all); len(all) > 0 {
		out.P50Seconds, out.P99Seconds = all[len(all)/2].Seconds(), all[len(all)*99/100].Seconds()
	}
	return out
}

// nodeReport is about what a probe of an 8-GPU node sends: 8 GPUs, 9 NICs, 64 paths: 20 kB.
func nodeReport(node string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"apiVersion":"railmap.dev/v1","kind":"NodeReport","time":%q,"node":%q,"bootId":"b","gpus":[`, time.Now().UTC().Format(time.RFC3339), node)
	for i := range 8 {
		fmt.Fprintf(&b, `%s{"index":%d,"uuid":"GPU-%s-%d","model":"NVIDIA H100 80GB HBM3","pciAddress":"0000:%02x:00.0","numaNode":%d,"memoryBytes":85899345920}`, comma(i), i, node, i, 16*i+27, i/4)
	}
	b.WriteString(`],"nics":[`)
	for i := range 9 {
		fmt.Fprintf(&b, `%s{"device":"mlx5_%d","port":1,"linkLayer":"InfiniBand","state":"ACTIVE","rateBytesPerSecond":50e9,"pciAddress":"0000:%02x:00.1","bandwidthBytesPerSecond":{"value":48e9,"samples":5,"method":"ib_write_bw"}}`, comma(i), i, 16*i+27)
	}
	b.WriteString(`],"paths":[`)
	n := 0
	for i := range 8 {
		for k := range 8 {
			if i != k {
				fmt.Fprintf(&b, `%s{"a":"GPU%d","b":"GPU%d","type":"NV18"}`, comma(n), i, k)
				n++
			}
		}
	}
	b.WriteString(`],"measurements":{"copies":[`)
	n = 0
	for i := range 8 {
		for k := range 8 {
			if i != k {
				fmt.Fprintf(&b, `%s{"from":"GPU%d","to":"GPU%d","bandwidthBytesPerSecond":{"value":3.9e11,"samples":3,"method":"memcpy"}}`, comma(n), i, k)
				n++
			}
		}
	}
	b.WriteString(`]}}`)
	return []byte(b.String())
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(data))[:3], " ")
}
