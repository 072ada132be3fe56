package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// nodeAffinity is what the API server reads of the fragment (k8s.io/api/core/v1, NodeAffinity).
type nodeAffinity struct {
	Affinity struct {
		NodeAffinity struct {
			Required *struct {
				NodeSelectorTerms []selectorTerm `yaml:"nodeSelectorTerms"`
			} `yaml:"requiredDuringSchedulingIgnoredDuringExecution"`
			Preferred []struct {
				Weight     int          `yaml:"weight"`
				Preference selectorTerm `yaml:"preference"`
			} `yaml:"preferredDuringSchedulingIgnoredDuringExecution"`
		} `yaml:"nodeAffinity"`
	} `yaml:"affinity"`
}

type selectorTerm struct {
	MatchExpressions []requirement `yaml:"matchExpressions"`
}

type requirement struct {
	Key      string   `yaml:"key"`
	Operator string   `yaml:"operator"`
	Values   []string `yaml:"values"`
}

func strict(t *testing.T, data []byte, into any) {
	t.Helper()
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	dec.KnownFields(true)
	if err := dec.Decode(into); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
}

func hosts(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("node%04d", n-i)
	}
	return names
}

func TestAffinity(t *testing.T) {
	got, err := Affinity([]string{"node0010", "Node0002", "node0003"}, AffinityOptions{Lease: "job-7", MinBusGbps: 350})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "affinity.yaml", got)
	got, err = Affinity([]string{"yes", "007"}, AffinityOptions{Preferred: true})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "affinity-preferred.yaml", got)
	var doc nodeAffinity
	strict(t, got, &doc)
	p := doc.Affinity.NodeAffinity.Preferred
	if len(p) != 1 || p[0].Weight != 100 || !cmp.Equal(p[0].Preference.MatchExpressions[0].Values, []string{"yes", "007"}) {
		t.Errorf("names that look like other types: %+v", doc)
	}
}

func TestAffinityAboveTheListLimit(t *testing.T) {
	for _, n := range []int{MaxListNodes, MaxListNodes + 1} {
		got, err := Affinity(hosts(n), AffinityOptions{Lease: "job-7"})
		if err != nil {
			t.Fatal(err)
		}
		var doc nodeAffinity
		strict(t, got, &doc)
		want := requirement{Key: HostnameKey, Operator: "In", Values: hosts(n)}
		if n > MaxListNodes {
			want = requirement{Key: LeasePrefix + "/job-7", Operator: "In", Values: []string{"1"}}
		}
		if d := cmp.Diff([]requirement{want}, doc.Affinity.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions); d != "" {
			t.Error(d)
		}
	}
	if _, err := Affinity(hosts(MaxListNodes+1), AffinityOptions{}); err == nil || !strings.Contains(err.Error(), "lease") {
		t.Errorf("without a lease: %v", err)
	}
	labels, err := LeaseLabels(hosts(3), "job-7")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "lease-labels.yaml", labels)
}

func TestIndexSelectors(t *testing.T) {
	var all []byte
	for _, w := range []Workload{IndexedJob, JobSet, PyTorchJob, StatefulSet, LeaderWorkerSet} {
		got, err := IndexSelectors([]string{"node0010", "node0002"}, w)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, got...)
	}
	golden(t, "index.yaml", all)
	if _, err := IndexSelectors([]string{"a"}, "cronjob"); err == nil {
		t.Error("unknown workload: no error")
	}
	if _, err := IndexSelectors(nil, IndexedJob); err == nil {
		t.Error("no nodes: no error")
	}
}

func TestJobPatch(t *testing.T) {
	got, err := JobPatch([]string{"node0010", "node0002"}, AffinityOptions{})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "job-patch.yaml", got)
	if _, err := JobPatch(nil, AffinityOptions{}); err == nil {
		t.Error("no nodes: no error")
	}
}

func TestAffinityRefuses(t *testing.T) {
	tests := []struct {
		name  string
		nodes []string
		opts  AffinityOptions
		want  string
	}{
		{"none", nil, AffinityOptions{}, "at least one"},
		{"twice", []string{"a", "A"}, AffinityOptions{}, "once"},
		{"no DNS name", []string{"gpu_01"}, AffinityOptions{}, "DNS name"},
		{"injection", []string{"a\n- b"}, AffinityOptions{}, "DNS name"},
		{"long", []string{strings.Repeat("a", 64)}, AffinityOptions{}, "63"},
		{"key", []string{"a"}, AffinityOptions{HostKey: "a b"}, "label key"},
		{"lease", hosts(300), AffinityOptions{Lease: "job 7"}, "lease"},
	}
	for _, tt := range tests {
		if _, err := Affinity(tt.nodes, tt.opts); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: err = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestLabelValue(t *testing.T) {
	long := strings.Repeat("l", 64)
	tests := []struct{ in, want string }{
		{"leaf-007", "leaf-007"},
		{"S-b8cef603000a", "S-b8cef603000a"},
		{long, "x84b59bc384c94725"},
		{"leaf 7/a", "leaf-7-a.x"},
		{"", "xcbf29ce484222325"},
		{"---", "x"},
		{"löwe", "l-we.x"},
	}
	seen := map[string]string{}
	for _, tt := range tests {
		got := labelValue(tt.in)
		if checkLabelValue(got) != nil || got == "" {
			t.Errorf("labelValue(%q) = %q, which no API server takes", tt.in, got)
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("labelValue(%q) = %q, want %q...", tt.in, got, tt.want)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q have one value %q", tt.in, other, got)
		}
		seen[got] = tt.in
	}
}

func TestPodGroup(t *testing.T) {
	var all []byte
	for _, api := range []string{PodGroupPlugins, PodGroupUpstream} {
		got, err := PodGroup(api, "train", "default", 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(append(all, "---\n"...), got...)
	}
	golden(t, "podgroup.yaml", all)
	if p := Lint(all); len(p) > 0 {
		t.Errorf("our own lint says %v", p)
	}
	for _, in := range []struct {
		api, name string
		pods      int
	}{{"v1", "train", 1}, {PodGroupPlugins, "Train 1", 1}, {PodGroupPlugins, "train", 0}} {
		if _, err := PodGroup(in.api, in.name, "default", in.pods); err == nil {
			t.Errorf("PodGroup(%v): no error", in)
		}
	}
}
