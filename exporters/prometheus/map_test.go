package prometheus

import (
	"errors"
	"flag"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/railmap/railmap/topology"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func scrape(t *testing.T, m *Map) string {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(m)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func synth(t *testing.T, spec string, faults ...topology.Fault) *topology.Topology {
	t.Helper()
	s, err := topology.ParseSynthSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	topo, err := topology.SynthTopology(s, 1, faults, topology.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

func TestMapPage(t *testing.T) {
	topo := synth(t, "pod:2 leaf:2 node:4 rail:2 gpu:8", topology.Fault{Kind: "slow", Count: 1}, topology.Fault{Kind: "cable", Count: 1})
	got := scrape(t, NewMap(func() Status { return Status{Topology: topo} }, Build{"v1.0.0", "abc", "go1.26"}))
	const golden = "testdata/page.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("page differs from %s (-want +got):\n%s", golden, diff)
	}
}

// Before the first map there is only the version.
func TestMapWithoutMap(t *testing.T) {
	got := scrape(t, NewMap(func() Status { return Status{} }, Build{"v1", "", "go1"}))
	if strings.Count(got, "\nrailmap_") != 1 || !strings.Contains(got, "railmap_build_info") {
		t.Errorf("page without a map:\n%s", got)
	}
}

// The number of series depends on the kinds of things, not on how many there are.
func TestMapIsBounded(t *testing.T) {
	count := func(spec string) map[string]int {
		topo := synth(t, spec)
		series := map[string]int{}
		for line := range strings.Lines(scrape(t, NewMap(func() Status { return Status{Topology: topo} }, Build{}))) {
			if name, _, ok := strings.Cut(line, "{"); ok && !strings.HasPrefix(line, "#") {
				series[name]++
			}
		}
		return series
	}
	small, large := count("pod:2 leaf:1 node:2"), count("pod:4 leaf:8 node:32 rail:2")
	if diff := cmp.Diff(small, large); diff != "" {
		t.Errorf("series grow with the cluster (-small +large):\n%s", diff)
	}
	for _, row := range Table() {
		if large[row.Name] > row.Bound {
			t.Errorf("%s has %d series, bound %d", row.Name, large[row.Name], row.Bound)
		}
	}
}

// The table is sorted, unique and follows the naming rules of Prometheus.
func TestTable(t *testing.T) {
	var names []string
	for _, row := range Table() {
		names = append(names, row.Name)
		if !strings.HasPrefix(row.Name, "railmap_") || !strings.HasSuffix(row.Help, ".") || row.Bound < 1 {
			t.Errorf("bad row %+v", row)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(names)) != len(names) {
		t.Errorf("names are not sorted and unique: %q", names)
	}
}

// TestServiceIsInTheTable: what the service counts has a row, within its bound.
func TestServiceIsInTheTable(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	s := NewService(r)
	s.Report("stale")
	s.Placement(Placed{Outcome: "placed", Nodes: 4, Leaves: 1, Quality: .9})
	s.Commit(1e6)
	s.Request("GET /v1/topology", "GET", 200, 1e6)
	s.Export("slurm", time.Unix(1, 0), nil)
	s.Export("slurm", time.Unix(2, 0), errors.New("no"))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if m := row(f.GetName()); m.Bound == 0 || m.Help != f.GetHelp() || len(f.GetMetric()) > m.Bound {
			t.Errorf("%s: not in the table, or out of its bound", f.GetName())
		}
	}
	if len(families)+len(mapMetrics()) != len(Table()) {
		t.Errorf("%d + %d metrics, the table has %d", len(families), len(mapMetrics()), len(Table()))
	}
}
