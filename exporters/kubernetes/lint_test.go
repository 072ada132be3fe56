package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/exporters"
)

// nodes renders a small healthy map as the text under test.
func nodes(t testing.TB) string {
	files, err := Labels(fabric(2, 2, 2, false), Options{Preset: "topograph-v1"})
	if err != nil {
		t.Fatal(err)
	}
	return string(files[0].Data)
}

// codes lists "line code" of problems.
func codes(problems []exporters.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, fmt.Sprintf("%d %s", p.Line, p.Code))
	}
	return out
}

func TestLintFindsSeededFaults(t *testing.T) {
	tests := []struct {
		name, old, new string
		want           []string
	}{
		{"healthy", "", "", nil},
		{"missing level", "    fabric.topograph.run/tier-1: \"pod0\"\n", "", []string{"4 label-level-missing"}},
		{"missing order", "    railmap.dev/order: \"00000\"\n", "", []string{"4 label-level-missing"}},
		{"number as value", `"00000"`, "00000", []string{"13 label-value"}},
		{"boolean as value", `"leaf0"`, "yes", []string{"9 label-value"}},
		{"bad value", `"leaf0"`, `"leaf 0"`, []string{"9 label-value"}},
		{"long value", `"leaf0"`, `"` + strings.Repeat("l", 64) + `"`, []string{"9 label-value"}},
		{"bad key", "fabric.topograph.run/tier-0: \"leaf0\"", "fabric topograph/tier-0: \"leaf0\"", []string{"4 label-level-missing", "9 label-key"}},
		{"measured text", `share-percent: "100"`, `share-percent: "99.5"`, []string{"14 label-integer"}},
		{"key twice", "    railmap.dev/order: \"00000\"\n", "    railmap.dev/order: \"00000\"\n    railmap.dev/order: \"00009\"\n", []string{"14 key-repeated"}},
		{"node twice", "name: node0001", "name: node0000", []string{"16 node-repeated"}},
		{"node name", "name: node0001", "name: Node_1", []string{"16 node-name"}},
		{"taints", "metadata:\n  name: node0000", "spec: {taints: []}\nmetadata:\n  name: node0000", []string{"6 node-taints"}},
		{"unpadded", `"leaf3"`, `"leaf10"`, []string{"0 label-unpadded"}},
		{"two parents", `"leaf3"`, `"leaf0"`, []string{"76 label-two-parents"}},
		{"not YAML", "kind: Node", "kind: {", []string{"4 document"}},
		{"no kind", "kind: Node\n", "", []string{"4 document"}},
		{"no object", "---\napiVersion", "---\n[1]\n---\napiVersion", []string{"4 document"}},
		{"foreign manager", "metadata:\n  name: node0000",
			"metadata:\n  uid: u\n  managedFields: [{manager: kubectl-label, fieldsV1: {\"f:metadata\": {\"f:labels\": {\"f:fabric.topograph.run/tier-0\": {}, \"f:zone\": {}}}}}, " +
				"{manager: railmap-topology, fieldsV1: {\"f:metadata\": {\"f:labels\": {\"f:fabric.topograph.run/tier-0\": {}}}}}]\n  name: node0000",
			[]string{"8 label-foreign-manager"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := 1
			if tt.name == "two parents" || tt.name == "unpadded" {
				n = -1
			}
			text := strings.Replace(nodes(t), tt.old, tt.new, n)
			problems := Lint([]byte(text))
			if d := cmp.Diff(tt.want, codes(problems)); d != "" {
				t.Errorf("(-want +got):\n%s\n%v", d, problems)
			}
		})
	}
}

func TestLintLongKey(t *testing.T) {
	text := strings.ReplaceAll(nodes(t), "fabric.topograph.run/tier-0", strings.Repeat("a", 50)+".example.com/tier-0")
	if got := codes(Lint([]byte(text))); len(got) != 8 || !strings.HasSuffix(got[0], "label-key-long") {
		t.Errorf("problems = %v", got)
	}
}

func TestLintReadsLists(t *testing.T) {
	list := `{"apiVersion":"v1","kind":"List","items":[
{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","uid":"1","labels":{"railmap.dev/leaf":"x"}},"spec":{"taints":[{"key":"k"}]}},
{"apiVersion":"v1","kind":"Node","metadata":{"name":"b","uid":"2","labels":{"kubernetes.io/hostname":"b"}}}]}`
	if d := cmp.Diff([]string{"3 label-level-missing"}, codes(Lint([]byte(list)))); d != "" {
		t.Error(d)
	}
	labels, err := ReadLabels([]byte(list))
	want := map[string]map[string]string{"a": {"railmap.dev/leaf": "x"}, "b": {"kubernetes.io/hostname": "b"}}
	if d := cmp.Diff(want, labels); err != nil || d != "" {
		t.Error(err, d)
	}
}

// TestReadLabelsBothWays holds the fast reader of our own files against the YAML decoder.
func TestReadLabelsBothWays(t *testing.T) {
	text := nodes(t)
	fast, ok := readOwn([]byte(text))
	if !ok {
		t.Fatal("our own file is read the slow way")
	}
	slow, err := ReadLabels([]byte(strings.ReplaceAll(text, "kind: Node", "kind:  Node")))
	if d := cmp.Diff(slow, fast); err != nil || d != "" {
		t.Error(err, d)
	}
	if _, err := ReadLabels([]byte("a: [")); err == nil {
		t.Error("broken YAML is read")
	}
}

func FuzzLint(f *testing.F) {
	f.Add([]byte(nodes(f)))
	f.Add([]byte("kind: List\napiVersion: v1\nitems: [{kind: Node, apiVersion: v1}]\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":{}}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		problems := Lint(data)
		if !slices.IsSortedFunc(problems, func(a, b exporters.Problem) int { return a.Line - b.Line }) {
			t.Errorf("problems out of order: %v", problems)
		}
		readOwn(data)
	})
}
