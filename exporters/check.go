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

// Check compares files with what is in dir and writes nothing. Differs is true when a write would change anything; diff is
// then a unified diff, file by file in the order of files. A directory that is absent holds nothing.
func Check(dir string, files []File) (diffText string, differs bool, err error) {
	if err := refuseNames(files); err != nil {
		return "", false, fmt.Errorf("%s: %w", dir, err)
	}
	d, done, err := openDisk(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return diffAll(files), len(files) > 0, nil
	}
	if err != nil {
		return "", false, err
	}
	defer done()
	text, err := check(d, files)
	if err != nil {
		return "", false, fmt.Errorf("check %s: %w", dir, err)
	}
	return text, text != "", nil
}

func check(d disk, files []File) (string, error) {
	rec, err := readRecord(d)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, f := range files {
		present, _, err := readPresent(d, f.Name)
		if err != nil {
			return "", err
		}
		out.WriteString(unified(f.Name, present, append([]byte{}, f.Data...)))
	}
	for _, name := range rec.gone(files, rec.targetOf(files)) {
		present, _, err := readPresent(d, name)
		if err != nil {
			return "", err
		}
		if present != nil {
			out.WriteString(unified(name, present, nil))
		}
	}
	return out.String(), nil
}

func diffAll(files []File) string {
	var out strings.Builder
	for _, f := range files {
		out.WriteString(unified(f.Name, nil, append([]byte{}, f.Data...)))
	}
	return out.String()
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
