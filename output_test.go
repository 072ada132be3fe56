package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	some := 23.94
	tab := newTable("NODE", ">BW(GB/s)", "STATE", ">HEALTH", "REMARK+")
	tab.add("gpu-1", &some, "", 0.493, "x\x1b[31m")
	tab.add("gpu-0417", (*float64)(nil), "ok", 100.0)
	tests := []struct {
		name string
		out  output
		want string
	}{
		{"table", output{format: formatTable}, `
NODE       BW(GB/s)  STATE  HEALTH
gpu-1          23.9  -        0.49
gpu-0417  <unknown>  ok        100
`},
		{"wide", output{format: formatWide}, `
NODE       BW(GB/s)  STATE  HEALTH  REMARK
gpu-1          23.9  -        0.49  x?[31m
gpu-0417  <unknown>  ok        100  -
`},
		{"no headers", output{format: formatTable, noHeaders: true}, `
gpu-1          23.9  -   0.49
gpu-0417  <unknown>  ok   100
`},
	}
	for _, tt := range tests {
		var b strings.Builder
		if err := tab.write(&b, &tt.out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestSignificant(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 0.4949: "0.49", 9.994: "9.99", 23.94: "23.9", 399.6: "400", 12345: "12345", -23.94: "-23.9"} {
		if got := significant(v); got != want {
			t.Errorf("significant(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"topology", "table", "probe", "place"}
	for word, want := range map[string]string{"topolgoy": "topology", "prob": "probe", "plcae": "place", "xyz": "", "serve": ""} {
		got := didYouMean("", word, names)
		if want != "" {
			want = ", did you mean " + want + "?"
		}
		if got != want {
			t.Errorf("didYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.yaml")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	if err := writeFile(&env{}, path, text("one")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	// A failing writer leaves the old content and no debris.
	broken := func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return errors.New("broken") }
	if err := writeFile(&env{}, path, broken); err == nil {
		t.Fatal("the error of the writer is lost")
	}
	mustHold(t, path, "one")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	// A link stays a link, the mode of the file stays too.
	if err := writeFile(&env{}, link, text("two")); err != nil {
		t.Fatal(err)
	}
	mustHold(t, path, "two")
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, %v", fi.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left in the folder: %v, %v", entries, err)
	}
	var out bytes.Buffer
	if err := writeFile(&env{stdout: &out}, "-", text("three")); err != nil || out.String() != "three" {
		t.Errorf("stdout has %q, %v", out.String(), err)
	}
	if err := writeFile(&env{}, os.DevNull, text("gone")); err != nil {
		t.Error(err)
	}
	if fi, err := os.Stat(os.DevNull); err != nil || fi.Mode().IsRegular() {
		t.Error("/dev/null was replaced by a file")
	}
}

// Compressed output has no time in it: same content, same bytes.
func TestWriteFileCompressed(t *testing.T) {
	var seen [][]byte
	for range 2 {
		path := filepath.Join(t.TempDir(), "x.json.gz")
		if err := writeDocumentFile(&env{}, path, map[string]int{"a": 1}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, b)
	}
	if !bytes.Equal(seen[0], seen[1]) || !bytes.HasPrefix(seen[0], []byte{0x1f, 0x8b}) {
		t.Errorf("%q and %q", seen[0], seen[1])
	}
}

func mustHold(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", path, got, err, want)
	}
}
