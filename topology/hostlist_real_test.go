package topology

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hostlistGrammar draws expressions. Slurm and ClusterShell accept different corners of it, so each is asked only about
// what it accepts; the rest (several brackets, padding, repeats, single values, digits in the text) is common.
type hostlistGrammar struct {
	*rand.Rand
	suffix     bool // text after the last bracket: ClusterShell, and Slurm since 23.11
	adjacent   bool // nothing or a digit before a bracket: Slurm only (ClusterShell refuses most of it)
	mixedWidth bool // [01-9], [1-09], [001-1000]: Slurm only
	loose      bool // blanks, double and trailing commas: Slurm only
}

const hostlistCases = 20_000

func (g hostlistGrammar) pick(words ...string) string { return words[g.IntN(len(words))] }

// items are the names of one expression, not yet joined.
func (g hostlistGrammar) items() []string {
	items := make([]string, 1+g.IntN(4))
	for i := range items {
		groups := []int{0, 1, 1, 1, 2, 3}[g.IntN(6)]
		var b strings.Builder
		b.WriteString(g.pick("n", "gpu-", "gpu-a100-", "rack3n", "x1000c", "N", "a.b"))
		if g.adjacent && g.IntN(8) == 0 {
			b.WriteByte('0')
		}
		for k := range groups {
			if k > 0 {
				b.WriteString(g.between())
			}
			b.WriteByte('[')
			for r := range 1 + g.IntN(3) {
				if r > 0 {
					b.WriteByte(',')
				}
				b.WriteString(g.numbers(groups))
			}
			b.WriteByte(']')
		}
		if groups == 0 {
			fmt.Fprintf(&b, "%0*d", 1+g.IntN(3), g.IntN(30))
		}
		if g.suffix && g.IntN(4) == 0 {
			b.WriteString(g.pick("-ib", ".cluster.local", "a"))
		}
		items[i] = b.String()
	}
	return items
}

func (g hostlistGrammar) between() string {
	if g.adjacent && g.IntN(3) == 0 {
		return g.pick("", "0", "2x")
	}
	return g.pick("c", "n", "-", "s0b")
}

// numbers is one range or value; with more brackets in the name it is shorter.
func (g hostlistGrammar) numbers(groups int) string {
	lo := []int{0, 1, 8, 97, 998}[g.IntN(5)] + g.IntN(3)
	width := []int{1, 1, 2, 3, 4}[g.IntN(5)]
	if g.IntN(3) == 0 {
		return fmt.Sprintf("%0*d", width, lo)
	}
	hi := lo + g.IntN(12/groups)
	first, last := fmt.Sprintf("%0*d", width, lo), fmt.Sprintf("%0*d", width, hi)
	switch {
	case g.mixedWidth && g.IntN(4) == 0:
		last = fmt.Sprint(hi)
	case !g.mixedWidth && len(first) != len(last) && first[0] == '0':
		first, last = fmt.Sprint(lo), fmt.Sprint(hi)
	}
	return first + "-" + last
}

func (g hostlistGrammar) join(items []string) string {
	if !g.loose {
		return strings.Join(items, ",")
	}
	return strings.Join(items, g.pick(",", ",", ", ", ",,", " ")) + g.pick("", "", ",")
}

// needProgram skips the test where the program is missing, and fails it where everything must be there.
func needProgram(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("RAILMAP_REQUIRE_REAL") != "":
		t.Fatalf("%s must be installed: .ci/install-deps does it", name)
	}
	t.Skipf("%s is not installed (.ci/install-deps does it)", name)
	return ""
}

// scontrol runs "scontrol show", which needs no controller for lists.
func scontrol(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("scontrol", append([]string{"show"}, args...)...)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+slurmConf(t))
	out, err := cmd.Output()
	return string(out), err
}

func slurmConf(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "slurm.conf")
	const conf = "ClusterName=c\nSlurmctldHost=localhost\nNodeName=n1\nPartitionName=p Nodes=ALL\n"
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestHostlistLikeSlurm: the same names in the same order as the installed "scontrol show hostnames". One call expands 200
// expressions, told apart by a name between them.
func TestHostlistLikeSlurm(t *testing.T) {
	needProgram(t, "scontrol")
	suffix, _ := scontrol(t, "hostnames", "n[1-2]x") // a refusal exits 0 without names
	g := hostlistGrammar{Rand: rand.New(rand.NewPCG(1, 1)), suffix: suffix != "", adjacent: true, mixedWidth: true, loose: true}
	const batch = 200
	names := 0
	for done := 0; done < hostlistCases; done += batch {
		exprs := make([]string, batch)
		for i := range exprs {
			exprs[i] = g.join(g.items())
		}
		out, err := scontrol(t, "hostnames", strings.Join(exprs, ",next.one,"))
		if err != nil {
			t.Fatalf("scontrol refuses one of %q: %v", exprs, err)
		}
		answers := strings.Split("\n"+out, "\nnext.one\n")
		if len(answers) != batch {
			t.Fatalf("%d answers for the %d expressions of %q", len(answers), batch, exprs)
		}
		for i, expr := range exprs {
			want := strings.Fields(answers[i])
			got, err := ParseHostlist(expr)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%q: got %q, %v; scontrol has %q", expr, got, err, want)
			}
			names += len(got)
		}
	}
	t.Logf("%d expressions, %d names, text after brackets: %v", hostlistCases, names, g.suffix)
}

// TestFoldLikeSlurm: the same text as "scontrol show hostlist". One list for each call, so fewer of them.
func TestFoldLikeSlurm(t *testing.T) {
	needProgram(t, "scontrol")
	g := hostlistGrammar{Rand: rand.New(rand.NewPCG(2, 2)), suffix: true, mixedWidth: true}
	for range 1000 {
		names, err := ParseHostlist(g.join(g.items()))
		if err != nil {
			t.Fatal(err)
		}
		if g.IntN(2) == 0 {
			g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		}
		out, err := scontrol(t, "hostlist", strings.Join(names, ","))
		if got, want := FoldHostlist(names), strings.TrimSpace(out); err != nil || got != want {
			t.Fatalf("%q: got %s, scontrol has %s, %v", names, got, want, err)
		}
	}
}

// TestHostlistLikeClusterShell: the same names as "nodeset -e". It makes one sorted set of all it is given, so names are
// compared as sets, and each expression of a batch has its own prefix.
func TestHostlistLikeClusterShell(t *testing.T) {
	needProgram(t, "nodeset")
	g := hostlistGrammar{Rand: rand.New(rand.NewPCG(3, 3)), suffix: true}
	const batch = 2000
	for done := 0; done < hostlistCases; done += batch {
		var in strings.Builder
		want := map[string][]string{}
		exprs := map[string]string{}
		for i := range batch {
			tag := letters(i)
			items := g.items()
			for k := range items {
				items[k] = tag + "-" + items[k]
			}
			expr := g.join(items)
			in.WriteString(expr + "\n")
			names, err := ParseHostlist(expr)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(names)
			exprs[tag], want[tag] = expr, slices.Compact(names)
		}
		cmd := exec.Command("nodeset", "-e", "-S", `\n`)
		cmd.Stdin = strings.NewReader(in.String())
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("nodeset: %v", err)
		}
		got := map[string][]string{}
		for _, name := range strings.Fields(string(out)) {
			tag, _, _ := strings.Cut(name, "-")
			got[tag] = append(got[tag], name)
		}
		for tag, names := range want {
			slices.Sort(got[tag])
			if !slices.Equal(got[tag], names) {
				t.Fatalf("%q: got %q, nodeset has %q", exprs[tag], names, got[tag])
			}
		}
	}
}

// letters writes n with letters only.
func letters(n int) string {
	s := ""
	for ; n > 0 || s == ""; n /= 26 {
		s = string(rune('a'+n%26)) + s
	}
	return s
}
