package nccl

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table of README.md")

// TestPublished holds the plain model against results that others published: Ring at 1 GiB and more, and the errors that
// predictions state. The README shows the same table.
func TestPublished(t *testing.T) {
	rows, err := ReadPublished(corpus(t, "published.csv"))
	if err != nil {
		t.Fatal(err)
	}
	s := ScorePublished(rows)
	for _, e := range s.Errors {
		t.Logf("%3d %-32s n=%d g=%d %-14s %12d %-8s %7.1f %7.1f %.3f", e.ID, e.System, e.Nodes, e.GPUs, e.Collective, e.SizeBytes,
			e.Algorithm, e.Measured/1e9, e.Predicted/1e9, e.Ratio)
	}
	t.Logf("skipped %+v", s.Skipped)
	for _, c := range append(s.Classes, s.LargeRing, s.LargeRingGroups, s.LargeRingWithoutFacts) {
		t.Logf("%+v", c)
	}
	if s.LargeRing.MedianError > .04 || s.LargeRing.P90Error > .12 {
		t.Errorf("Ring at 1 GiB and more: median error %g, 90th percentile %g; must be at most 0.04 and 0.12", s.LargeRing.MedianError, s.LargeRing.P90Error)
	}
	if s.Modelled < 100 {
		t.Errorf("%d rows modelled, must be 100 or more", s.Modelled)
	}
	for _, c := range s.Classes {
		row := map[string]int{oneNode: 0, severalNodes: 1}[c.Nodes]
		for i, name := range sizeClassNames() {
			if name == c.SizeClass && publishedErrors[row][i] != c.MedianError {
				t.Errorf("publishedErrors[%d][%d] is %g, the data say %g", row, i, publishedErrors[row][i], c.MedianError)
			}
		}
	}
}

func TestReadPublishedErrors(t *testing.T) {
	head := strings.Join(publishedColumns, ",") + "\n"
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", "header: EOF; must name the columns id,"},
		{"column missing", "id,system\n", "column gpu is missing"},
		{"number", head + "x,s,H100,1,8,8,0,0,f,all_reduce,1,1,,,\n", `line 2: id "x": must be a whole number`},
		{"collective", head + "1,s,H100,1,8,8,0,0,f,gossip,1,1,,,\n", `line 2: collective "gossip"`},
		{"busbw", head + "1,s,H100,1,8,8,0,0,f,all_reduce,1,NaN,,,\n", `line 2: busbw_GBps "NaN": must be a number`},
	} {
		_, err := ReadPublished(strings.NewReader(tc.in))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func FuzzReadPublished(f *testing.F) {
	f.Add(strings.Join(publishedColumns, ",") + "\n1,s,H100,1,8,8,0,0,f,all_reduce,1024,1,,,\n")
	f.Fuzz(func(t *testing.T, in string) {
		rows, err := ReadPublished(strings.NewReader(in))
		if err != nil {
			return
		}
		for i := range rows {
			rows[i].Nodes = min(rows[i].Nodes, 100) // a row of a million nodes is right but slow
		}
		ScorePublished(rows)
	})
}

// TestReadmeTable keeps the table of the README equal to what the data say.
func TestReadmeTable(t *testing.T) {
	rows, err := ReadPublished(corpus(t, "published.csv"))
	if err != nil {
		t.Fatal(err)
	}
	s := ScorePublished(rows)
	var b strings.Builder
	b.WriteString("| size | nodes | rows | ratio p10 | ratio median | ratio p90 | error median | error p90 |\n|---|---|---|---|---|---|---|---|\n")
	for _, c := range append(s.Classes, s.LargeRing, s.LargeRingGroups, s.LargeRingWithoutFacts) {
		fmt.Fprintf(&b, "| %s | %s | %d | %.2f | %.2f | %.2f | %.1f %% | %.1f %% |\n", c.SizeClass, c.Nodes, c.Rows, c.P10Ratio, c.MedianRatio, c.P90Ratio,
			100*c.MedianError, 100*c.P90Error)
	}
	fmt.Fprintf(&b, "\n%d of %d rows are modelled. Left out:", s.Modelled, s.Rows)
	for i, r := range s.Skipped {
		if i > 0 {
			b.WriteString(";")
		}
		fmt.Fprintf(&b, " %d %s", r.Rows, r.Reason)
	}
	b.WriteString(".\n")
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), "<!-- published -->\n")
	_, tail, ok2 := strings.Cut(rest, "<!-- /published -->")
	if !ok || !ok2 {
		t.Fatal("README.md must have the marks <!-- published --> and <!-- /published -->")
	}
	want := head + "<!-- published -->\n" + b.String() + "<!-- /published -->" + tail
	if *update {
		if err := os.WriteFile("README.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(page) {
		t.Error("README.md: the table differs from the data; go test -run TestReadmeTable -update . writes it")
	}
}
