package pbs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/exporters"
)

const setup = `create resource leaf type=string_array,flag=h
create resource spine type=string_array,flag=h
create resource nccl_gbps type=float,flag=h
`

func lint(text ...string) []string {
	var files []exporters.File
	for i, s := range text {
		files = append(files, exporters.File{Name: fmt.Sprintf("%c", 'a'+i), Data: []byte(s)})
	}
	var out []string
	for _, p := range Lint(files) {
		out = append(out, fmt.Sprintf("%s:%d %s", p.File, p.Line, p.Code))
	}
	return out
}

func TestLint(t *testing.T) {
	tests := []struct {
		name, line string
		want       []string
	}{
		{"good", "set node n01 resources_available.leaf = leaf0", nil},
		{"short words", "s n n01 resources_available.leaf=leaf0", nil},
		{"quoted blank", "set node n01 resources_available.leaf = 'a b'", nil},
		{"exponent", "set node n01 resources_available.nccl_gbps = 1e3", nil},
		{"several nodes", "set node n01,n02 resources_available.spine = spine0", nil},
		{"default", "set node @default resources_available.nccl_gbps = 1", nil},
		{"several attributes", "set node n01 resources_available.leaf = a, resources_available.spine = b", nil},
		{"goes on", "set node n01 \\\n resources_available.leaf = a", nil},
		{"group key", "set server node_group_key = \"leaf,spine\"\nset node n01 resources_available.leaf = a,resources_available.spine = b", nil},
		{"server with a name", "set server default scheduling = True", nil},
		{"printed", "set server node_group_key = leaf\nset server node_group_key += spine\nset sched only_explicit_psets = True\nset node n1 resources_available.leaf = x, resources_available.spine = y", nil},

		{"unknown resource", "set node n01 resources_available.nosuch = 1", []string{"b:1 resource-unknown"}},
		{"twice", "create resource leaf type=string_array,flag=h", []string{"b:1 resource-repeated"}},
		{"digit", "create resource 9bad type=string", []string{"b:1 syntax"}},
		{"dot", "create resource bad.name type=string", []string{"b:1 resource-name"}},
		{"type", "create resource good type=text", []string{"b:1 resource-type"}},
		{"blank", "set node n01 resources_available.leaf = a b", []string{"b:1 syntax"}},
		{"comma", "set server node_group_key = leaf,spine", []string{"b:1 syntax"}},
		{"text for a float", "set node n01 resources_available.nccl_gbps = fast", []string{"b:1 value-type"}},
		{"unknown key", "set server node_group_key = nosuch", []string{"b:1 resource-unknown"}},
		{"key of a float", "set server node_group_key = \"leaf,nccl_gbps\"\nset node n1 resources_available.leaf = x", []string{"b:0 level-missing", "b:1 value-type"}},
		{"not ASCII", "set node n01 resources_available.leaf = l\u00e9af", []string{"b:1 syntax"}},
		{"deleted", "delete resource leaf", []string{"b:1 resource-deleted"}},
		{"open quote", "set node n01 resources_available.leaf = 'a", []string{"b:1 syntax"}},
		{"no value", "set node n01 resources_available.leaf =", []string{"b:1 syntax"}},
		{"no verb", "make node n01", []string{"b:1 syntax"}},
		{"no object", "set host n01 a=b", []string{"b:1 syntax"}},
		{"no name", "set node n;1 a=b", []string{"b:1 syntax"}},
		{"open line", "set node n01 \\", []string{"b:1 syntax"}},
		{"two groups", "set node n01 resources_available.leaf = \"a,b\"", []string{"b:1 node-two-groups"}},
		{"two groups by line", "set node n01 resources_available.leaf = a\nset node n01 resources_available.leaf = b", []string{"b:2 node-two-groups"}},
		{"added group", "set node n01 resources_available.leaf = a\nset node n01 resources_available.leaf += b", []string{"b:2 node-two-groups"}},
		{"missing level", "set node n01 resources_available.leaf = a,resources_available.spine = s\nset node n02 resources_available.leaf = a", []string{"b:2 level-missing"}},
		{"mixed", "create resource pod type=string\nset node n01 resources_available.leaf = a", []string{"b:1 create-mixed"}},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, lint(setup, tt.line)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// TestLintLikeThePrintedServer reads what a real server prints of itself, and the lines that a real qmgr took and refused.
func TestLintLikeThePrintedServer(t *testing.T) {
	dir := "../../../shared/corpus/slurm/pbs"
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Skipf("no recorded answers: %v", err)
		}
		return string(data)
	}
	printed := read("qmgr-print-server.txt")
	if got := lint(printed, read("qmgr-print-node.txt"), read("qmgr-print-sched.txt")); len(got) != 2 || !strings.HasSuffix(got[0], "level-missing") {
		t.Errorf("a server's own words: %v", got) // the host of the vnodes, pbs1, has no leaf and no spine
	}
	if got := lint(read("in-setup.qmgr"), read("in-topo.qmgr")); len(got) != 0 {
		t.Errorf("loaded files: %v", got)
	}
	accepted := regexp.MustCompile(`(?m)^\$ qmgr -c '(.*)'\n(?s:(.*?))rc=(\d+)$`)
	for _, m := range accepted.FindAllStringSubmatch(read("qmgr-errors.txt"), -1) {
		line, refused := m[1], m[3] != "0"
		if strings.Contains(line, "n99") || strings.HasPrefix(line, "delete") {
			continue // the lint does not know the server's nodes, and is stricter about deletion
		}
		got := exporters.Refused(Lint([]exporters.File{{Name: "a", Data: []byte(setup)}, {Name: "b", Data: []byte(line)}}))
		if got != refused {
			t.Errorf("%s: refused %v by the server, %v by the lint", line, refused, got)
		}
	}
}

func FuzzLint(f *testing.F) {
	f.Add([]byte(setup))
	f.Add([]byte("set node n01,n02 resources_available.leaf = \"a,b\"\nunset node n01 x\nimport hook h application/x-python default -\n"))
	f.Add([]byte("s s a+=b,c -= 'd'\\\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		Lint([]exporters.File{{Name: "a", Data: data}})
		ReadNodes(data)
	})
}
