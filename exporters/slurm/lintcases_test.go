package slurm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// TestLint has one bad file per rule, against a cluster n[1-8]. A question mark after a code marks a warning.
func TestLint(t *testing.T) {
	const good = "SwitchName=s0 Nodes=n[1-4]\nSwitchName=s1 Nodes=n[5-8]\n"
	for _, c := range []struct {
		name, file, want string
		kind             Kind
		version          Version
	}{
		{"good", good + "SwitchName=top Switches=s[0-1]\n", "", TreeKind, Version{}},
		{"no top", good, "several-roots?", TreeKind, Version{}},
		{"empty", "# nothing\n", "empty", TreeKind, Version{}},
		{"byte order mark", "\ufeff" + good, "byte-order-mark", TreeKind, Version{}},
		{"escaped comment", `SwitchName=s0 Nodes=n1\#`, "parse", TreeKind, Version{}},
		{"plus equals", "SwitchName=s0 Nodes+=n[1-8]", "parse", TreeKind, Version{}},
		{"open quote", `SwitchName="s0 Nodes=n[1-8]`, "parse", TreeKind, Version{}},
		{"include", "Include other.conf", "parse", TreeKind, Version{}},
		{"key twice", "SwitchName=s0 Nodes=n[1-4] Nodes=n[5-8]", "key-twice", TreeKind, Version{}},
		{"control character", "SwitchName=s0 Nodes=n[1-8]\x01", "parse", TreeKind, Version{}},
		{"two parents", good + "SwitchName=a Switches=s[0-1]\nSwitchName=b Switches=s[0-1]\n", "several-roots? two-parents two-parents", TreeKind, Version{}},
		{"name with a colon", "SwitchName=a:b Nodes=n[1-8]\n", "name", TreeKind, Version{}},
		{"name of 64", "SwitchName=" + strings.Repeat("L", 64) + " Nodes=n[1-8]\n", "name", TreeKind, Version{}},
		{"number too large for a name", "SwitchName=s12345678901234567890 Nodes=n[1-8]\n", "name", TreeKind, Version{}},
		{"number too large for a node", "SwitchName=s Nodes=n[1-8],n18446744073709551616\n", "number-too-large", TreeKind, Version{}},
		{"text after the bracket", "SwitchName=s Nodes=n[1-8]-ib\n", "node-missing node-unknown text-after-bracket?", TreeKind, Version{}},
		{"text after the bracket, 22.05", "SwitchName=s Nodes=n[1-8]-ib\n", "text-after-bracket", TreeKind, v2205},
		{"text after the bracket, 24.11", "SwitchName=s Nodes=n[1-8]-ib\n", "node-missing node-unknown", TreeKind, Version{24, 11}},
		{"product too large", "SwitchName=s Nodes=n[0-65535]n[0-65535]n[0-65535]\n", "list-too-long", TreeKind, Version{}},
		{"nothing but commas", "SwitchName=s Nodes=,,\n", "list-empty", TreeKind, Version{}},
		{"closing bracket", "SwitchName=s Nodes=n1]\n", "list-syntax", TreeKind, Version{}},
		{"bracket in a bracket", "SwitchName=s Nodes=n[1-[2]]\n", "list-syntax", TreeKind, Version{}},
		{"link speed", "SwitchName=s Nodes=n[1-8] LinkSpeed=fast\n", "link-speed", TreeKind, Version{}},
		{"block", "BlockName=b Nodes=n[1-8]\nBlockSizes=8\n", "", BlockKind, Version{}},
		{"block on 22.05", "BlockName=b Nodes=n[1-8]\nBlockSizes=8\n", "version", BlockKind, v2205},
		{"levels on 23.11", "BlockName=b Nodes=n[1-4]\nBlockName=c Nodes=n[5-8]\nBlockLevels=0,1\n", "", BlockKind, v2311},
		{"levels on 24.11", "BlockName=b Nodes=n[1-8]\nBlockLevels=0\n", "block-levels", BlockKind, Version{24, 11}},
		{"small block on 25.05", "BlockName=b Nodes=n[1-6]\nBlockName=c Nodes=n[7-8]\nBlockSizes=4\n", "block-below-base?", BlockKind, v2505},
		{"small block on 24.11", "BlockName=b Nodes=n[1-6]\nBlockName=c Nodes=n[7-8]\nBlockSizes=4\n", "block-below-base", BlockKind, Version{24, 11}},
		{"huge size", "BlockName=b Nodes=n[1-8]\nBlockSizes=99999999999999999999\n", "sizes", BlockKind, Version{}},
		{"yaml on 24.11", "- {topology: x, cluster_default: true, flat: true}\n", "version", YAMLKind, Version{24, 11}},
		{"yaml alias", "- &a {topology: x}\n- *a\n", "no-plugin no-plugin topology-name type", YAMLKind, Version{}},
		{"yaml bare date", "- {topology: x, cluster_default: true, tree: {switches: [{switch: 1:30, nodes: 'n[1-8]'}]}}\n", "quote", YAMLKind, Version{}},
		{"ring on 26.05", "- {topology: x, cluster_default: true, ring: {rings: []}}\n", "not-checked?", YAMLKind, v2605},
		{"ring on 25.05", "- {topology: x, cluster_default: true, ring: {rings: []}}\n", "not-checked? version", YAMLKind, v2505},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := LintOptions{Version: c.version, Nodes: numbered("n%d", 1, 8)}
			problems := Lint([]byte(c.file), c.kind, o)
			if got := codes(problems); got != c.want {
				t.Errorf("got %q, want %q\n%v", got, c.want, problems)
			}
			for _, p := range problems {
				if p.Message == "" || strings.HasSuffix(p.Message, ".") || strings.Contains(p.Message, "failed to") {
					t.Errorf("message %q", p.Message)
				}
			}
		})
	}
}

// TestLintReadsFolded: the lint expands what FoldHostlist writes to the same names, without a word.
func TestLintReadsFolded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-b]{0,2}[0-9]{1,12}(x[0-9]{0,18})?`), 1, 50).Draw(t, "names")
		var rep exporters.Problems
		h := hosts{rep: &rep, dots: true, left: maxHosts}
		folded := topology.FoldHostlist(names)
		got := h.expand(1, "Nodes", folded)
		if d := cmp.Diff(names, got); d != "" || len(rep) > 0 {
			t.Fatalf("%s %v (-want +got):\n%s", folded, rep, d)
		}
	})
}
