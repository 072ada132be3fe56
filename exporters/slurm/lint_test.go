package slurm

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// corpus holds topology files with the verdicts of real controllers.
const corpus = "../../../shared/corpus/slurm/cases"

// corpusCase is one line of its cases.tsv: the nodes of the cluster and what a lint should say (accept, warn, refuse).
type corpusCase struct {
	file, nodes, what, lint string
	kind                    Kind
	data                    []byte
	verdicts                map[string]string // release -> ok, warn, refused, n/a
}

func readCorpus(t *testing.T) []corpusCase {
	t.Helper()
	rows := readTSV(t, filepath.Join(corpus, "cases.tsv"))
	verdicts := map[string]map[string]string{}
	v := readTSV(t, filepath.Join(corpus, "verdicts.tsv"))
	for _, row := range v[1:] {
		verdicts[row[0]] = map[string]string{}
		for i, version := range v[0][1:] {
			verdicts[row[0]][version] = row[i+1]
		}
	}
	var out []corpusCase
	for _, row := range rows[1:] {
		data, err := os.ReadFile(filepath.Join(corpus, row[0]))
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := strings.Cut(row[0], "/")
		out = append(out, corpusCase{row[0], row[1], row[2], row[3], Kind(kind), data, verdicts[row[0]]})
	}
	return out
}

func readTSV(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("no corpus: %v", err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes = '\t', true
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// expandForTest expands a good hostlist.
func expandForTest(t *testing.T, list string) []string {
	t.Helper()
	var rep exporters.Problems
	h := hosts{rep: &rep, dots: true, left: maxHosts, version: v2605}
	names := h.expand(0, "nodes", list)
	if len(rep) > 0 {
		t.Fatalf("expand %q: %v", list, rep)
	}
	return names
}

// TestLintCorpus holds the lint to the proposed verdict of every case.
func TestLintCorpus(t *testing.T) {
	for _, c := range readCorpus(t) {
		t.Run(c.file, func(t *testing.T) {
			problems := Lint(c.data, c.kind, LintOptions{Nodes: expandForTest(t, c.nodes)})
			got := "accept"
			if exporters.Refused(problems) {
				got = "refuse"
			} else if len(problems) > 0 {
				got = "warn"
			}
			if got != c.lint {
				t.Errorf("%s: %s\ngot %s, want %s: %v\n%s", c.file, c.what, got, c.lint, problems, clip(string(c.data)))
			}
		})
	}
}

// TestLintCorpusByVersion: what a release refuses, the lint for that release refuses too.
func TestLintCorpusByVersion(t *testing.T) {
	for _, c := range readCorpus(t) {
		for release, verdict := range c.verdicts {
			v, err := ParseVersion(release)
			if err != nil {
				t.Fatal(err)
			}
			problems := Lint(c.data, c.kind, LintOptions{Version: v, Nodes: expandForTest(t, c.nodes)})
			if (verdict == "refused" || verdict == "n/a") && !exporters.Refused(problems) {
				t.Errorf("%s: Slurm %s says %s, the lint does not refuse: %v", c.file, release, verdict, problems)
			}
			if verdict == "warn" && len(problems) == 0 {
				t.Errorf("%s: Slurm %s warns, the lint says nothing", c.file, release)
			}
		}
	}
}

func codes(problems []exporters.Problem) string {
	var out []string
	for _, p := range problems {
		c := p.Code
		if p.Severity == topology.Warning {
			c += "?"
		}
		out = append(out, c)
	}
	return strings.Join(out, " ")
}
