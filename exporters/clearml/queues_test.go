package clearml

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// fabric makes a map of pods × leaves × nodes, and one node outside.
func fabric(pods, leaves, nodes int) *topology.Topology {
	t := &topology.Topology{Tree: topology.Tree{Levels: []topology.Level{{Name: topology.LeafLevel}, {Name: topology.PodLevel}, {Name: topology.CoreLevel}}}}
	t.Tree.Groups = append(t.Tree.Groups, topology.Group{Name: "core", Level: topology.CoreLevel})
	for p := range pods {
		pod := fmt.Sprintf("pod%d", p)
		t.Tree.Groups = append(t.Tree.Groups, topology.Group{Name: pod, Level: topology.PodLevel, Parent: "core"})
		for l := range leaves {
			g := topology.Group{Name: fmt.Sprintf("leaf%d", p*leaves+l), Level: topology.LeafLevel, Parent: pod}
			for n := range nodes {
				name := fmt.Sprintf("node%04d", (p*leaves+l)*nodes+n)
				g.Nodes = append(g.Nodes, name)
				t.Nodes = append(t.Nodes, topology.Node{Name: name, Group: g.Name})
			}
			t.Tree.Groups = append(t.Tree.Groups, g)
		}
	}
	t.Nodes = append(t.Nodes, topology.Node{Name: "lost"})
	return t
}

func wounded() *topology.Topology {
	t := fabric(2, 2, 2)
	share := 0.74
	t.Nodes[3].Share, t.Nodes[3].GPUCount = &share, 8
	t.Tree.Groups[2].Name = "MF0;sw 1/U1"
	return t
}

func TestQueues(t *testing.T) {
	files, err := Queues(wounded(), Options{Sides: []string{"hpc", "k8s"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		golden(t, f.Name, f.Data)
	}
	if p := Lint(files[0].Data); len(p) > 0 {
		t.Errorf("our own lint says %v", p)
	}
	shares, err := ReadShares(files[0].Data)
	if err != nil || shares["hpc-leaf1"] != 70 {
		t.Errorf("shares = %v, %v", shares, err)
	}
	if _, err := ReadShares([]byte("{")); err == nil {
		t.Error("broken file: no error")
	}
}

func TestQueuesSameBytesForShuffledInput(t *testing.T) {
	top := wounded()
	var want []exporters.File
	r := rand.New(rand.NewSource(1))
	for range 20 {
		files, err := Queues(top, Options{Previous: map[string]int64{"any-leaf1": 70}})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = files
		}
		if d := cmp.Diff(want, files); d != "" {
			t.Fatal(d)
		}
		r.Shuffle(len(top.Nodes), func(i, j int) { top.Nodes[i], top.Nodes[j] = top.Nodes[j], top.Nodes[i] })
		r.Shuffle(len(top.Tree.Groups), func(i, j int) { top.Tree.Groups[i], top.Tree.Groups[j] = top.Tree.Groups[j], top.Tree.Groups[i] })
	}
}

func TestQueuesRefuse(t *testing.T) {
	same := fabric(1, 2, 1)
	same.Tree.Groups[2].Name, same.Tree.Groups[3].Name = "a b", "a_b"
	for name, in := range map[string]struct {
		t *topology.Topology
		o Options
	}{
		"empty map":  {&topology.Topology{}, Options{}},
		"side":       {wounded(), Options{Sides: []string{"a b"}}},
		"side twice": {wounded(), Options{Sides: []string{"a", "a"}}},
		"fallback":   {wounded(), Options{Fallback: "a b"}},
		"same queue": {same, Options{}},
	} {
		if _, err := Queues(in.t, in.o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// api answers like a ClearML server: it knows the fields of each call and refuses all others.
func api(t *testing.T) *httptest.Server {
	fields := map[string][]string{
		"/queues.create":                 {"name", "tags", "system_tags"},
		"/queues.add_or_update_metadata": {"queue", "metadata", "replace_metadata"},
		"/tasks.edit":                    {"task", "container", "runtime", "force"},
		"/tasks.enqueue":                 {"task", "queue", "queue_name", "verify_watched_queue", "update_execution_queue", "status_reason", "status_message", "force"},
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known, ok := fields[r.URL.Path]
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || !ok || r.Method != http.MethodPost {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		for f := range body {
			if !slices.Contains(known, f) {
				t.Errorf("%s: the server knows no field %q", r.URL.Path, f)
			}
		}
		if m, ok := body["metadata"].([]any); ok {
			for _, e := range m {
				entry := e.(map[string]any)
				if len(entry) != 3 || entry["key"] == "" || entry["type"] == "" {
					t.Errorf("metadata entry %v", entry)
				}
			}
		}
		_, both := body["queue_name"]
		if _, id := body["queue"]; r.URL.Path == "/tasks.enqueue" && both && id {
			t.Error("queue and queue_name cannot stand together")
		}
		fmt.Fprint(w, `{"data":{"id":"q1"}}`)
	}))
}

func TestRequestsAgainstTheSchema(t *testing.T) {
	server := api(t)
	defer server.Close()
	post := func(path string, body any) {
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.Post(server.URL+path, "application/json", bytes.NewReader(data))
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(err, res)
		}
		res.Body.Close()
	}
	files, err := Queues(wounded(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var file queuesFile
	if err := json.Unmarshal(files[0].Data, &file); err != nil {
		t.Fatal(err)
	}
	for _, q := range file.Queues {
		post("/queues.create", q.Create)
		post("/queues.add_or_update_metadata", map[string]any{"queue": "q1", "metadata": q.Metadata})
	}
	requests, err := Enqueue("0123456789abcdef0123456789abcdef", "hpc-leaf0", TaskOptions{Env: map[string]string{"NCCL_IB_HCA": "=mlx5_0,mlx5_1", "NCCL_CROSS_NIC": "0"}, Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		post(r.Path, r.Body)
	}
	data, err := EncodeRequests(requests)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "enqueue.json", data)
}

func TestEnqueueRefuses(t *testing.T) {
	tests := []struct {
		task, queue string
		env         map[string]string
	}{
		{"", "q", nil}, {"a b", "q", nil}, {"a", "", nil}, {"a", "q\n", nil},
		{"a", "q", map[string]string{"A B": "x"}}, {"a", "q", map[string]string{"A": "x y"}}, {"a", "q", map[string]string{"A": "x\""}},
	}
	for _, tt := range tests {
		if _, err := Enqueue(tt.task, tt.queue, TaskOptions{Env: tt.env}); err == nil {
			t.Errorf("Enqueue(%q, %q, %v): no error", tt.task, tt.queue, tt.env)
		}
	}
}

func TestLint(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{"queues":[{"create":{"name":"any-a","tags":["railmap"]},"metadata":[]}]}`, ""},
		{`{"queues":[]}`, "empty"},
		{`{"queues":[{"create":{"name":"a","tags":["railmap"]}}]}`, "schema"},
		{`{"queues":[{"create":{"name":"abc","label":"x"}}]}`, "schema"},
		{`{"queues":[{"create":{"name":"abc","tags":["railmap"]}},{"create":{"name":"abc","tags":["railmap"]}}]}`, "queue-repeated"},
		{`{"queues":[{"create":{"name":"abc","tags":[]}}]}`, "tag-missing"},
		{`{"queues":[{"create":{"name":"abc","tags":["railmap"]},"metadata":[{"key":"a","type":"int","value":"1"},{"key":"a","type":"int","value":"1"}]}]}`, "schema"},
		{"{", "schema"},
	}
	for _, tt := range tests {
		problems := Lint([]byte(tt.text))
		if tt.want == "" && len(problems) > 0 || !strings.Contains(fmt.Sprint(problems), tt.want) {
			t.Errorf("%s: %v, want %q", tt.text, problems, tt.want)
		}
	}
}

func FuzzLint(f *testing.F) {
	f.Add([]byte(`{"queues":[{"create":{"name":"any-a","tags":["railmap"]},"metadata":[{"key":"a","type":"int","value":"1"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) { Lint(data) })
}

// BenchmarkQueues renders 16,384 nodes.
func BenchmarkQueues(b *testing.B) {
	top := fabric(16, 32, 32)
	for b.Loop() {
		if _, err := Queues(top, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
