package exporters

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Drift is how a directory differs from what should be in it.
type Drift struct {
	Changes []Change // what Write would do, in its order
	Diff    string   // unified diff, file by file
}

// Differs tells whether Write would change any file.
func (d Drift) Differs() bool { return d.Diff != "" }

// Check compares files with what is in dir and writes nothing. A directory that is absent holds nothing.
func Check(dir string, files []File) (Drift, error) {
	if err := refuseNames(files); err != nil {
		return Drift{}, fmt.Errorf("%s: %w", dir, err)
	}
	d, done, err := openDisk(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return check(nothing{}, files)
	}
	if err != nil {
		return Drift{}, err
	}
	defer done()
	drift, err := check(d, files)
	if err != nil {
		return Drift{}, fmt.Errorf("check %s: %w", dir, err)
	}
	return drift, nil
}

// nothing is the directory that is absent, for check.
type nothing struct{ disk }

func (nothing) Lstat(string) (fs.FileInfo, error) { return nil, fs.ErrNotExist }
func (nothing) ReadFile(string) ([]byte, error)   { return nil, fs.ErrNotExist }

func check(d disk, files []File) (Drift, error) {
	rec, err := readRecord(d)
	if err != nil {
		return Drift{}, err
	}
	var drift Drift
	var out strings.Builder
	for _, f := range files {
		present, _, err := readPresent(d, f.Name)
		if err != nil {
			return Drift{}, err
		}
		text := unified(f.Name, present, append([]byte{}, f.Data...))
		out.WriteString(text)
		c := Change{Name: f.Name, Kind: Updated, NodesBefore: rec.Files[f.Name].Nodes, Nodes: f.Nodes, Note: countLines(text)}
		switch {
		case present == nil:
			c.Kind, c.NodesBefore, c.Note = Created, 0, ""
		case text == "":
			c.Kind, c.Note = Unchanged, ""
		}
		drift.Changes = append(drift.Changes, c)
	}
	for _, name := range rec.gone(files, rec.targetOf(files)) {
		present, _, err := readPresent(d, name)
		if err != nil {
			return Drift{}, err
		}
		if present != nil {
			out.WriteString(unified(name, present, nil))
			drift.Changes = append(drift.Changes, Change{Name: name, Kind: Removed, NodesBefore: rec.Files[name].Nodes})
		}
	}
	drift.Diff = out.String()
	return drift, nil
}

// countLines says how many lines a unified diff takes away and adds, without its three head lines.
func countLines(text string) string {
	minus, plus := 0, 0
	for i, line := range strings.SplitAfter(text, "\n") {
		switch {
		case i < 3 || line == "":
		case line[0] == '-':
			minus++
		case line[0] == '+':
			plus++
		}
	}
	return fmt.Sprintf("-%d +%d lines", minus, plus)
}

// unified is the diff of one file; nil stands for an absent one. Two empty files differ when one of them is absent.
func unified(name string, before, after []byte) string {
	if bytes.Equal(before, after) && (before == nil) == (after == nil) {
		return ""
	}
	a, b := "a/"+name, "b/"+name
	if before == nil {
		a = os.DevNull
	}
	if after == nil {
		b = os.DevNull
	}
	if len(before)+len(after) == 0 {
		return fmt.Sprintf("diff %s %s\n", a, b)
	}
	return string(diff.Diff(a, before, b, after))
}
