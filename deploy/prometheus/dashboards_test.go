package prometheus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/railmap/railmap/exporters/prometheus"
	"github.com/railmap/railmap/probe"
	"github.com/railmap/railmap/topology"
)

// dashboard is Grafana's JSON as far as we use it. It is decoded strictly: a misspelled field, which Grafana would drop without
// a word, is an error.
type dashboard struct {
	UID           string         `json:"uid"`
	Title         string         `json:"title"`
	Description   string         `json:"description"`
	Tags          []string       `json:"tags"`
	SchemaVersion int            `json:"schemaVersion"`
	Version       int            `json:"version"`
	Editable      bool           `json:"editable"`
	GraphTooltip  int            `json:"graphTooltip"`
	Refresh       string         `json:"refresh"`
	Timezone      string         `json:"timezone"`
	Time          map[string]any `json:"time"`
	Annotations   struct {
		List []any `json:"list"`
	} `json:"annotations"`
	Links []struct {
		Type        string   `json:"type"`
		Title       string   `json:"title"`
		Tags        []string `json:"tags"`
		AsDropdown  bool     `json:"asDropdown"`
		IncludeVars bool     `json:"includeVars"`
	} `json:"links"`
	Templating struct {
		List []variable `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type variable struct {
	Name       string      `json:"name"`
	Label      string      `json:"label"`
	Type       string      `json:"type"`
	Query      string      `json:"query"`
	Datasource *datasource `json:"datasource"`
	Refresh    int         `json:"refresh"`
	IncludeAll bool        `json:"includeAll"`
	Multi      bool        `json:"multi"`
	AllValue   string      `json:"allValue"`
	Sort       int         `json:"sort"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type panel struct {
	ID          int         `json:"id"`
	Type        string      `json:"type"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	Collapsed   bool        `json:"collapsed"`
	Datasource  *datasource `json:"datasource"`
	GridPos     struct{ H, W, X, Y int }
	FieldConfig struct {
		Defaults struct {
			Unit       string   `json:"unit"`
			Min        *float64 `json:"min"`
			Max        *float64 `json:"max"`
			Thresholds *struct {
				Mode  string `json:"mode"`
				Steps []struct {
					Color string   `json:"color"`
					Value *float64 `json:"value"`
				} `json:"steps"`
			} `json:"thresholds"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Options *struct {
		ReduceOptions struct {
			Calcs []string `json:"calcs"`
		} `json:"reduceOptions"`
		ColorMode string `json:"colorMode"`
	} `json:"options"`
	Targets []target `json:"targets"`
}

type target struct {
	RefID        string      `json:"refId"`
	Datasource   *datasource `json:"datasource"`
	Expr         string      `json:"expr"`
	LegendFormat string      `json:"legendFormat"`
	Instant      bool        `json:"instant"`
	Format       string      `json:"format"`
}

func readDashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob("../grafana/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no dashboards", err)
	}
	all := map[string]dashboard{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		var d dashboard
		if err := dec.Decode(&d); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all[filepath.Base(f)] = d
	}
	return all
}

// plain is an expression with the variables of Grafana filled in.
func plain(expr string) string {
	return strings.NewReplacer("$instance", ".*", "$__rate_interval", "5m").Replace(expr)
}

// TestDashboards checks what Grafana would not complain about and show nothing for.
func TestDashboards(t *testing.T) {
	for name, d := range readDashboards(t) {
		if d.UID+".json" != name {
			t.Errorf("%s: uid %q: must be the name of the file, so that links stay good", name, d.UID)
		}
		ids, taken, rows := map[int]bool{}, map[[2]int]string{}, 0
		for _, p := range d.Panels {
			if ids[p.ID] || p.Title == "" {
				t.Errorf("%s: panel %d %q: must have an id of its own and a title", name, p.ID, p.Title)
			}
			ids[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if x >= 24 || taken[[2]int{x, y}] != "" {
						t.Errorf("%s: panel %q lies over %q or the edge", name, p.Title, taken[[2]int{x, y}])
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			if p.Type == "row" {
				rows++
				if !strings.HasSuffix(p.Title, "?") {
					t.Errorf("%s: row %q: must ask a question", name, p.Title)
				}
				continue
			}
			if !slices.Contains([]string{"stat", "timeseries", "table"}, p.Type) || len(p.Targets) == 0 || p.Datasource == nil || p.Datasource.UID != "${datasource}" {
				t.Errorf("%s: panel %q: must be a known type with a target and the chosen data source", name, p.Title)
			}
		}
		if rows < 2 {
			t.Errorf("%s: must have rows that ask questions", name)
		}
	}
}

// expressions are those of all rules and panels, by where they stand.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, r := range readRules(t) {
		all["rule "+r.Record+r.Alert] = r.Expr
	}
	for name, d := range readDashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				all[fmt.Sprintf("%s: %s %s", name, p.Title, target.RefID)] = plain(target.Expr)
			}
		}
	}
	return all
}

// knownMetrics maps each name that railmap exports or records to its labels.
func knownMetrics(t *testing.T) map[string][]string {
	t.Helper()
	known := map[string][]string{}
	for _, m := range prometheus.Table() {
		known[m.Name] = m.Labels
	}
	var page bytes.Buffer
	if err := probe.WriteMetrics(&page, sampleReport()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(page.String()) {
		name, labels, ok := strings.Cut(strings.Fields(line)[0], "{")
		if !strings.HasPrefix(name, "railmap_") {
			continue
		}
		known[name] = nil
		if ok {
			for _, m := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(labels, -1) {
				known[name] = append(known[name], m[1])
			}
		}
	}
	for _, r := range readRules(t) {
		if r.Record != "" {
			known[r.Record] = nil
		}
	}
	return known
}

var (
	metricName = regexp.MustCompile(`\brailmap[_:][a-z0-9_:]+(\{[^}]*\})?`)
	matcher    = regexp.MustCompile(`(\w+)\s*(=~|!=|!~|=)`)
)

// TestExpressionsUseKnownMetrics wants every name and every label to exist.
func TestExpressionsUseKnownMetrics(t *testing.T) {
	known := knownMetrics(t)
	for where, expr := range expressions(t) {
		names := metricName.FindAllString(expr, -1)
		if len(names) == 0 {
			t.Errorf("%s: no metric of railmap in %s", where, expr)
		}
		for _, use := range names {
			name, matchers, _ := strings.Cut(use, "{")
			base := name
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if _, ok := known[base]; !ok {
					base = strings.TrimSuffix(name, suffix)
				}
			}
			labels, ok := known[base]
			if !ok {
				t.Errorf("%s: railmap has no metric %s", where, name)
			}
			for _, m := range matcher.FindAllStringSubmatch(matchers, -1) {
				if m[1] != "instance" && m[1] != "le" && !slices.Contains(labels, m[1]) {
					t.Errorf("%s: %s has no label %s, only %v", where, name, m[1], labels)
				}
			}
		}
	}
}

// TestExpressionsParse lets promtool parse every expression of a panel, as a rule.
func TestExpressionsParse(t *testing.T) {
	tool := program(t, "promtool")
	var b strings.Builder
	b.WriteString("groups:\n- name: panels\n  rules:\n")
	n := 0
	for where, expr := range expressions(t) {
		fmt.Fprintf(&b, "  # %s\n  - {record: 'x:%d', expr: %q}\n", where, n, expr)
		n++
	}
	file := filepath.Join(t.TempDir(), "panels.yaml")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), tool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, b.String())
	}
}

// sampleReport is a node of which everything was measured.
func sampleReport() *topology.NodeReport {
	m := func(v float64) topology.Measurement { return topology.Measurement{Value: v, Samples: 3} }
	bandwidth := m(48e9)
	at := topologyTime()
	r := &topology.NodeReport{Node: "node0000", Verdict: topology.VerdictPass}
	r.Time = &at
	r.Stages = []topology.StageResult{{Stage: "copy", Status: "ok"}}
	r.GPUs = []topology.GPU{{Index: 0}, {Index: 1}}
	r.NICs = []topology.NICReport{{Device: "mlx5_0", Port: 1, State: "ACTIVE", BandwidthBytesPerSecond: &bandwidth}}
	r.Measurements.Memory = []topology.MemoryBandwidth{{BandwidthBytesPerSecond: m(90e9)}}
	r.Measurements.Copies = []topology.Copy{{From: "NUMA0", To: "GPU0", BandwidthBytesPerSecond: m(50e9)}, {From: "GPU0", To: "GPU1", BandwidthBytesPerSecond: m(300e9)}}
	return r
}
