package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/probe/fakenode"
)

// TestDocs runs the console blocks of README.md and docs/*.md in order, each page in an empty folder with the source's testdata
// and deploy and a recorded node, and compares what they print (stdout and stderr). With -update it writes what they print.
func TestDocs(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "README.md") {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(here, page))
			if err != nil {
				t.Fatal(err)
			}
			checkFences(t, string(text))
			t.Chdir(t.TempDir())
			for _, name := range []string{"testdata", "deploy"} {
				if err := os.Symlink(filepath.Join(here, name), name); err != nil {
					t.Fatal(err)
				}
			}
			recordNode(t, "recorded")
			comparePage(t, filepath.Join(here, page), runConsole(t, string(text)))
		})
	}
}

// comparePage wants a page to be what was made; with -update it writes it.
func comparePage(t *testing.T, path, made string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), made); diff != "" {
		t.Errorf("%s is not up to date; go test -run 'Docs|Reference' -update . writes it (-page +printed):\n%s", filepath.Base(path), diff)
	}
}

// recordNode writes the /sys and /proc of a node with 8 GPUs of which one NIC is down, as an operator may have copied them.
func recordNode(t *testing.T, dir string) {
	t.Helper()
	m := fakenode.H100x8()
	m.NIC("mlx5_3").State = "1: DOWN"
	if err := m.WriteTree(dir); err != nil {
		t.Fatal(err)
	}
}

// checkFences wants every block with commands to be run here, or to be marked as one that needs hardware, or to be make's, which
// CI runs.
func checkFences(t *testing.T, text string) {
	t.Helper()
	kind, inside := "", false
	for i, line := range strings.Split(text, "\n") {
		mark, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && inside:
			inside = false
		case fence:
			kind, inside = mark, true
			switch kind {
			case "console", "sh hardware", "sh make", "ini", "yaml", "text":
			default:
				t.Errorf("line %d: a block must be console (run here), sh hardware (marked), sh make, ini, yaml or text", i+1)
			}
		case inside && kind == "sh make" && !strings.HasPrefix(line, "make "):
			t.Errorf("line %d: must be a command of make", i+1)
		}
	}
}

// runConsole gives the text back with the output of its commands renewed.
func runConsole(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		switch command, ok := strings.CutPrefix(line, "$ "); {
		case strings.HasPrefix(line, "```"):
			inside = strings.HasPrefix(line, "```console")
			out.WriteString(line)
		case inside && ok:
			out.WriteString(line)
			cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
			cmd.Env = append(os.Environ(), "RAILMAP_SERVER=")
			printed, _ := cmd.CombinedOutput() // an exit code that matters is printed by the page itself
			out.Write(printed)
		case !inside:
			out.WriteString(line)
		}
	}
	return out.String()
}
