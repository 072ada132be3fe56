package prometheus

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/railmap/railmap/probe"
	"github.com/railmap/railmap/probe/fakenode"
	"github.com/railmap/railmap/topology"
)

// topologyTime is now as documents have it.
func topologyTime() time.Time { return time.Now().UTC().Truncate(time.Second) }

// TestRealPrometheus scrapes a real server whose fabric has a slow uplink and a slow cable of a node, and a page as node_exporter
// shows it: every panel has data, the alerts for both fire, and clear when the fabric is repaired.
func TestRealPrometheus(t *testing.T) {
	program(t, "prometheus")
	dir := t.TempDir()
	l := &live{dir: dir, railmap: filepath.Join(dir, "railmap")}
	l.command(t, "go", "build", "-o", l.railmap, "../..")
	l.command(t, l.railmap, "topology", "synth", "leaf:4 node:4 rail:2 gpu:8 uplink:1 spine:2", "--fault", "slow-uplink=1", "--fault", "slow=1", "--report", "-o", dir+"/slow.json")
	l.command(t, l.railmap, "topology", "synth", "leaf:4 node:4 rail:2 gpu:8 uplink:1 spine:2", "--report", "-o", dir+"/good.json")
	l.serve(t)
	l.command(t, l.railmap, "submit", "--server", l.server, dir+"/slow.json", l.report(t))
	l.work(t)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := probe.WriteMetrics(w, sampleReport()); err != nil {
			t.Error(err)
		}
	}))
	defer node.Close()
	l.prometheus(t, strings.TrimPrefix(l.server, "http://"), strings.TrimPrefix(node.URL, "http://"))

	slow := []string{"LinkDegraded", "UplinkDegraded"}
	fires := func(name string) bool { return slices.Contains(l.alerts(t), name) }
	l.until(t, "both alerts fire", func() bool { return fires(slow[0]) && fires(slow[1]) })
	if fires("NodeReportStale") || fires("NodeProbeFailed") || fires("ConfigReloadFailed") {
		t.Errorf("alerts %v: only links are slow", l.alerts(t)) // StoreCommitSlow may be true on a busy machine
	}
	l.panels(t)
	l.command(t, l.railmap, "submit", "--server", l.server, dir+"/good.json")
	l.until(t, "the alerts clear", func() bool { return !fires(slow[0]) && !fires(slow[1]) })
}

// panels waits until every panel of every dashboard has data.
func (l *live) panels(t *testing.T) {
	empty := expressions(t)
	giveUp := time.Now().Add(45 * time.Second)
	l.until(t, "data in every panel", func() bool {
		l.place(t)
		for where, expr := range empty {
			if strings.HasPrefix(where, "rule ") || len(l.query(t, expr)) > 0 {
				delete(empty, where)
			}
		}
		return len(empty) == 0 || time.Now().After(giveUp)
	})
	for where := range empty {
		t.Errorf("no data: %s", where)
	}
}

type live struct{ dir, railmap, server, url string }

func (l *live) command(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// start runs a program until the test ends, and returns what it writes to standard error.
func (l *live) start(t *testing.T, args ...string) *bufio.Scanner {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return bufio.NewScanner(out)
}

func (l *live) serve(t *testing.T) {
	lines := l.start(t, l.railmap, "serve", "--log-format", "json", "--listen", "127.0.0.1:0", "--data", l.dir+"/data")
	for l.server == "" && lines.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			l.server = "http://" + line.Address
		}
	}
	if l.server == "" {
		t.Fatal("railmap serve does not serve")
	}
	go drain(lines)
}

func drain(lines *bufio.Scanner) {
	for lines.Scan() {
	}
}

// report writes what a probe of one of the nodes says.
func (l *live) report(t *testing.T) string {
	t.Helper()
	root := l.dir + "/root"
	if err := fakenode.H100x8().WriteTree(root); err != nil {
		t.Fatal(err)
	}
	r, err := probe.Run(t.Context(), probe.Options{Root: root, NodeName: "node0000", Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	now := topologyTime()
	r.Time = &now
	f, err := os.Create(l.dir + "/node.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := topology.Write(f, r, topology.JSON); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// work gives the server something to count.
func (l *live) work(t *testing.T) {
	l.until(t, "a map", func() bool {
		return exec.CommandContext(t.Context(), l.railmap, "place", "--server", l.server, "-N", "2", "--lease", "10m", "--lease-file", l.dir+"/lease.json").Run() == nil
	})
	l.command(t, l.railmap, "lease", "bind", "--server", l.server, "--lease-file", l.dir+"/lease.json", "--side", "slurm", "--job", "7")
}

// place asks for one placement: rates need counters that grow.
func (l *live) place(t *testing.T) {
	l.command(t, l.railmap, "place", "--server", l.server, "-N", "2", "--lease", "10s", "--lease-file", l.dir+"/short.json")
	l.command(t, l.railmap, "lease", "release", "--server", l.server, "--lease-file", l.dir+"/short.json")
}

// prometheus starts it with our rules, of which the alerts wait for nothing.
func (l *live) prometheus(t *testing.T, server, node string) {
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	quick := regexp.MustCompile(`(?m)^    for: \d+m$`).ReplaceAll(rules, []byte("    for: 0s"))
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yaml]\nscrape_configs:\n"+
		"- {job_name: railmap, static_configs: [{targets: ['%s']}]}\n- {job_name: node, static_configs: [{targets: ['%s']}]}\n", server, node)
	for name, data := range map[string][]byte{"rules.yaml": quick, "prometheus.yml": []byte(config)} {
		if err := os.WriteFile(filepath.Join(l.dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	go drain(l.start(t, "prometheus", "--config.file="+l.dir+"/prometheus.yml", "--storage.tsdb.path="+l.dir+"/tsdb", "--web.listen-address="+address))
	l.url = "http://" + address
}

// get reads an answer of Prometheus's API; false while there is none.
func (l *live) get(path string, into any) bool {
	resp, err := http.Get(l.url + path)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(into) == nil
}

func (l *live) query(t *testing.T, expr string) []any {
	t.Helper()
	var answer struct {
		Data struct {
			Result []any
		}
	}
	l.get("/api/v1/query?query="+url.QueryEscape(expr), &answer)
	return answer.Data.Result
}

// alerts are the names of those that fire.
func (l *live) alerts(t *testing.T) []string {
	t.Helper()
	var answer struct {
		Data struct {
			Alerts []struct {
				State  string
				Labels map[string]string
			}
		}
	}
	if !l.get("/api/v1/alerts", &answer) {
		return []string{"no answer"}
	}
	var names []string
	for _, a := range answer.Data.Alerts {
		names = append(names, a.Labels["alertname"])
	}
	return names
}

func (l *live) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in a minute: %s; alerts: %v", what, l.alerts(t))
		}
	}
}
