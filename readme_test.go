package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestReadme runs the console blocks of README.md in order, in an empty folder with the source's testdata, and compares what
// they print (stdout and stderr). With -update it writes what they print.
func TestReadme(t *testing.T) {
	const path = "README.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(filepath.Join(here, "testdata"), "testdata"); err != nil {
		t.Fatal(err)
	}
	got := runConsole(t, string(text))
	if *update {
		if err := os.WriteFile(filepath.Join(here, path), []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), got); diff != "" {
		t.Errorf("%s does not say what the commands print; go test -run TestReadme -update . writes it (-page +printed):\n%s", path, diff)
	}
}

// runConsole gives the text back with the output of its commands renewed.
func runConsole(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		switch command, ok := strings.CutPrefix(line, "$ railmap "); {
		case strings.HasPrefix(line, "```"):
			inside = strings.HasPrefix(line, "```console")
			out.WriteString(line)
		case inside && ok:
			out.WriteString(line)
			var printed bytes.Buffer
			e := &env{stdin: strings.NewReader(""), stdout: &printed, stderr: &printed, now: time.Now}
			run(t.Context(), e, splitWords(strings.TrimSpace(command)))
			out.Write(printed.Bytes())
		case !inside:
			out.WriteString(line)
		}
	}
	return out.String()
}

// splitWords splits a command line at blanks outside single quotes.
func splitWords(s string) []string {
	var words []string
	for i, part := range strings.Split(s, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
