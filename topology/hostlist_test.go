package topology

import (
	"encoding/csv"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseHostlist(t *testing.T) {
	tests := []struct{ expr, want string }{
		{"", ""},
		{" , ,\t\n", ""},
		{"a", "a"},
		{"n1", "n1"},
		{"n1,n2", "n1 n2"},
		{"n1 n2", "n1 n2"},
		{" n1, n2,,n3,", "n1 n2 n3"},
		{"n[1-3]", "n1 n2 n3"},
		{"n[3,1-2]", "n3 n1 n2"},
		{"n[1-2,1]", "n1 n2 n1"},
		{"n[01-03]", "n01 n02 n03"},
		{"n[01-3]", "n01 n02 n03"},
		{"n[1-03]", "n1 n2 n3"},
		{"n[8-11]", "n8 n9 n10 n11"},
		{"n[08-11]", "n08 n09 n10 n11"},
		{"n[003,1,02]", "n003 n1 n02"},
		{"[1-2]", "1 2"},
		{"n[5]", "n5"},
		{"n[1][2]", "n12"},
		{"n[1-2][3-4]", "n13 n14 n23 n24"},
		{"n[1-2]0[3-4]", "n103 n104 n203 n204"},
		{"r[1-2]c[0-1]n[01-02]", "r1c0n01 r1c0n02 r2c0n01 r2c0n02 r1c1n01 r1c1n02 r2c1n01 r2c1n02"},
		{"n[1-2]-ib,n3.x", "n1-ib n2-ib n3.x"},
		{"n[1-2]x[3-4]y", "n1x3y n1x4y n2x3y n2x4y"},
		{"n18446744073709551616", "n18446744073709551616"},
		{"n[2147483647-2147483648]", "n2147483647 n2147483648"},
		{"aws:i-0abc,é[1-2]", "aws:i-0abc é1 é2"},
	}
	for _, tt := range tests {
		got, err := ParseHostlist(tt.expr)
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("ParseHostlist(%q) = %q, %v; want %q", tt.expr, got, err, tt.want)
		}
	}
}

func TestParseHostlistErrors(t *testing.T) {
	tests := []struct{ expr, want string }{
		{"n[", `character 2, at "[": bracket is not closed`},
		{"n[1-3", "bracket is not closed"},
		{"n[1-[2]]", "bracket is not closed"},
		{"n1-3]", `character 5, at "]": bracket is closed but not opened`},
		{"a,n[1-2]]", "character 9"},
		{"n[]", `character 3, at "]": a number is missing`},
		{"n[,1]", "a number is missing"},
		{"n[1,]", `character 5, at "]": a number is missing`},
		{"n[1-]", "a number is missing"},
		{"n[-1]", "a number is missing"},
		{"n[1-2-3]", "made of digits"},
		{"n[a-c]", `character 3, at "a-c]": ranges must be made of digits`},
		{"n[1 -2]", "made of digits"},
		{"n[1-3:2]", "made of digits"},
		{"n[0-9x2]", "made of digits"},
		{"n[9-1]", "range 9-1 runs backwards"},
		{"n[1-65537]", "range 1-65537 has more than 65536 numbers"},
		{"n[2147483649]", "must be at most 2147483648"},
		{"n[99999999999999999999]", "must be at most 2147483648"},
		{"a[1]b[1]c[1]d[1]", "more than 3 brackets"},
		{"n[1-1024]r[1-1025]", "stands for more than 1048576 names"},
		{strings.Repeat("n[1-65536],", 16) + "n1", "more than 1048576 names up to here"},
		{strings.Repeat("x", 256), "must be at most 255"},
		{strings.Repeat("x", 250) + "[1-100000]", "range 1-100000 has more"},
		{strings.Repeat("x", 250) + "[100000-100001]", "the name is 256 bytes long"},
		{strings.Repeat(",", MaxHostlistBytes+1), "hostlist is 1048577 bytes long"},
		{"n[1-9]!n3", `character '!' may not stand in a name`},
		{"@group", "may not stand in a name"},
		{"n*", "may not stand in a name"},
		{"n\x00", "may not stand in a name"},
		{"n\xff", "byte 0xff is not UTF-8"},
	}
	for _, tt := range tests {
		got, err := ParseHostlist(tt.expr)
		if got != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseHostlist(%.40q) = %d names, %v; want an error with %q", tt.expr, len(got), err, tt.want)
		}
	}
}

func TestFoldHostlist(t *testing.T) {
	tests := []struct{ names, want, sorted string }{
		{"", "", ""},
		{"n1", "n1", "n1"},
		{"n n1", "n,n1", "n,n1"},
		{"n001 n002 n003 n020 r1c02 r1c03", "n[001-003,020],r1c[02-03]", "n[001-003,020],r1c[02-03]"},
		{"n10 n9 n8", "n[10,9,8]", "n[8-10]"},
		{"n1 n1", "n[1,1]", "n1"},
		{"n1 m1 n2", "n1,m1,n2", "m1,n[1-2]"},
		{"n8 n9 n10 n11", "n[8-11]", "n[8-11]"},
		{"n08 n09 n10", "n[08-10]", "n[08-10]"},
		{"n1 n02 n3", "n[1,02,3]", "n[1,02,3]"},
		{"n001 n01 n1", "n[001,01,1]", "n[001,01,1]"},
		{"n99 n0100", "n[99,0100]", "n[99,0100]"},
		{"n099 n100", "n[099-100]", "n[099-100]"},
		{"n01-ib n02-ib", "n01-ib,n02-ib", "n01-ib,n02-ib"},
		{"1 2 3", "[1-3]", "[1-3]"},
		{"n2147483648 n2147483649", "n2147483648,n2147483649", "n2147483648,n2147483649"},
	}
	for _, tt := range tests {
		names := strings.Fields(tt.names)
		if got := FoldHostlist(names); got != tt.want {
			t.Errorf("FoldHostlist(%q) = %q, want %q", tt.names, got, tt.want)
		}
		if got := SortedHostlist(names); got != tt.sorted {
			t.Errorf("SortedHostlist(%q) = %q, want %q", tt.names, got, tt.sorted)
		}
		if got := strings.Join(names, " "); got != tt.names {
			t.Errorf("SortedHostlist changed its argument to %q", got)
		}
	}
}

// A range longer than what one bracket may hold is written as two, so that the result can be read again.
func TestFoldHostlistLongRange(t *testing.T) {
	names := make([]string, 65537)
	for i := range names {
		names[i] = fmt.Sprint("n", i)
	}
	got := FoldHostlist(names)
	if want := "n[0-65535,65536]"; got != want {
		t.Errorf("folded to %q, want %q", got, want)
	}
	if back, err := ParseHostlist(got); err != nil || !slices.Equal(back, names) {
		t.Errorf("read back %d names, %v", len(back), err)
	}
}

// TestHostlistRecorded compares with what three versions of Slurm answered. Where versions differ the newest counts.
func TestHostlistRecorded(t *testing.T) {
	f, err := os.Open("../../shared/corpus/slurm/hostlists.tsv")
	if err != nil {
		t.Skip("no recorded answers of Slurm: ", err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	newest := map[string][]string{}
	for _, row := range rows[1:] {
		if old, ok := newest[row[0]]; !ok || old[1] <= row[1] {
			newest[row[0]] = row
		}
	}
	// What Slurm mangles without a word is not copied.
	differ := map[string]string{
		"n[1-]":                      "error", // Slurm: n1, half a range
		"n1-3]":                      "error", // Slurm: a host with a bracket in its name
		"n[99999999998-99999999999]": "error", // beyond our limit for numbers
		"n18446744073709551615,n18446744073709551616": "names", // Slurm saturates: two hosts of one name
	}
	for expr, row := range newest {
		got, err := ParseHostlist(expr)
		hosts, _ := strconv.Atoi(row[2])
		switch differ[expr] {
		case "error":
			if err == nil {
				t.Errorf("%q: read as %q, want an error", expr, got)
			}
			continue
		case "names":
			if strings.Join(got, ",") != expr {
				t.Errorf("%q: read as %q, want the names as they are", expr, got)
			}
			continue
		}
		if hosts < 0 {
			if err == nil {
				t.Errorf("%q: read as %q, Slurm refuses it", expr, got)
			}
			continue
		}
		want, _, _ := strings.Cut(row[3], ",...")
		head := strings.Join(got[:min(len(got), 40)], ",")
		if err != nil || len(got) != hosts || head != want {
			t.Errorf("%q: %d names %q, %v; Slurm has %d names %q", expr, len(got), head, err, hosts, want)
		}
		if back := FoldHostlist(got); row[4] != "" && back != row[4] {
			t.Errorf("%q: folded to %q, Slurm has %q", expr, back, row[4])
		}
	}
	if len(newest) < 70 {
		t.Errorf("only %d recorded expressions", len(newest))
	}
}

// drawNames makes lists with what folding could confuse: padding, repeats, neighbours, several numbers, text at the end.
func drawNames(t *rapid.T) []string {
	prefix := rapid.SampledFrom([]string{"n", "n", "n0", "gpu-a100-", "r1c", "", "x.y-"})
	suffix := rapid.SampledFrom([]string{"", "", "", "", "-ib", ".cluster", "a"})
	name := rapid.Custom(func(t *rapid.T) string {
		n := fmt.Sprintf("%0*d", rapid.IntRange(1, 4).Draw(t, "width"), rapid.IntRange(0, 120).Draw(t, "number"))
		return prefix.Draw(t, "prefix") + n + suffix.Draw(t, "suffix")
	})
	names := rapid.SliceOfN(name, 0, 60).Draw(t, "names")
	if rapid.Bool().Draw(t, "sorted") {
		slices.SortFunc(names, CompareNames)
	}
	return names
}

func TestFoldHostlistProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := drawNames(t)
		folded := FoldHostlist(names)
		back, err := ParseHostlist(folded)
		if err != nil {
			t.Fatalf("%q: %v", folded, err)
		}
		if diff := cmp.Diff(names, append([]string{}, back...)); diff != "" {
			t.Fatalf("names before and after folding to %q differ (-want +got):\n%s", folded, diff)
		}
		if again := FoldHostlist(back); again != folded {
			t.Fatalf("folded to %q, then to %q", folded, again)
		}
		sorted, err := ParseHostlist(SortedHostlist(names))
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(names)
		slices.SortFunc(want, CompareNames)
		if !slices.Equal(sorted, slices.Compact(want)) {
			t.Fatalf("sorted list is %q", sorted)
		}
	})
}

func FuzzParseHostlist(f *testing.F) {
	for _, s := range []string{"", "n1", "n[1-3,7]", "r[1-2]c[0-1]n[01-02]x", "n[1-", "n[9-1]", "n]", "é[1-2],a b", "n[2147483648]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		names, err := ParseHostlist(expr)
		if err != nil {
			if names != nil {
				t.Fatal("names beside an error")
			}
			return
		}
		if len(names) > 10_000 {
			return
		}
		folded := FoldHostlist(names)
		back, err := ParseHostlist(folded)
		if err != nil || !slices.Equal(back, names) {
			t.Fatalf("%q is %q, folded %q, read back %q, %v", expr, names, folded, back, err)
		}
	})
}

// TestHostlistRefusalIsCheap: an expression that would expand to millions of names is refused before anything is made.
func TestHostlistRefusalIsCheap(t *testing.T) {
	huge := []string{
		"n[1-1000]c[1-1000]r[1-1000]",
		strings.Repeat("n[1-65536],", 60_000),
		strings.Repeat("n[1,2,3,4,5,6,7,8],", 50_000) + "x[1-65536]y[1-65536]",
		strings.Repeat("z", MaxHostlistBytes+1),
		"n[" + strings.Repeat("1-65536,", 100_000) + "1]",
	}
	for _, expr := range huge {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ParseHostlist(expr)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%.30q is accepted", expr)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got >= 1<<20 {
			t.Errorf("%.30q: %d bytes allocated before the refusal, want less than 1 MiB", expr, got)
		}
	}
}

func manyNames(n int) []string {
	names := make([]string, 0, n)
	for i := range n {
		names = append(names, fmt.Sprintf("gpu-r%03dn%02d", i/64, i%64))
	}
	return names
}

func BenchmarkFoldHostlist(b *testing.B) {
	contiguous := manyNames(250_000)
	gaps := slices.DeleteFunc(manyNames(500_000), func(s string) bool { return (s[len(s)-1]-'0')%2 == 1 })
	for _, c := range []struct {
		name  string
		names []string
		fold  func([]string) string
	}{
		{"fold/names=250000", contiguous, FoldHostlist},
		{"fold-gaps/names=250000", gaps, FoldHostlist},
		{"sort-and-fold/names=250000", contiguous, SortedHostlist},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.fold(c.names)
			}
		})
	}
}

func BenchmarkParseHostlist(b *testing.B) {
	expr := FoldHostlist(manyNames(250_000))
	b.ReportAllocs()
	for b.Loop() {
		if names, err := ParseHostlist(expr); err != nil || len(names) != 250_000 {
			b.Fatal(len(names), err)
		}
	}
}
