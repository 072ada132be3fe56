package exporters

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// ErrRefused is in every error of Write that protects what is there: an empty file, a shrunk one, a name outside the
// directory, a symbolic link. Nothing was written.
var ErrRefused = errors.New("refused to write")

// MinShare is the part of the nodes of the present file that a new one must describe at least.
const MinShare = 0.9

// minBytesShare stands in for MinShare when nothing records how many nodes the present file describes.
const minBytesShare = 0.5

// refuseNames names every file that has no safe place below the directory. Force does not change it.
func refuseNames(files []File) error {
	var errs []error
	seen := make(map[string]bool, len(files))
	for _, f := range files {
		switch {
		case !filepath.IsLocal(f.Name) || path.Clean(f.Name) != f.Name || strings.ContainsAny(f.Name, "\\\x00\n") || f.Name == ".":
			errs = append(errs, fmt.Errorf("%w %q: the name must be a relative path without \"..\"", ErrRefused, f.Name))
		case reserved(f.Name):
			errs = append(errs, fmt.Errorf("%w %q: the name is railmap's own", ErrRefused, f.Name))
		case seen[f.Name]:
			errs = append(errs, fmt.Errorf("%w %s: two files have this name", ErrRefused, f.Name))
		}
		seen[f.Name] = true
	}
	return errors.Join(errs...)
}

// reserved tells the names that Write uses itself.
func reserved(name string) bool {
	base := path.Base(name)
	return name == RecordName || strings.HasSuffix(base, LastGood) || isTemporary(base)
}

// refuseAllLinks looks at the new files, the ones that go away and the record itself.
func refuseAllLinks(d disk, files []File, gone []string) error {
	errs := []error{refuseLinks(d, RecordName)}
	for _, f := range files {
		errs = append(errs, refuseLinks(d, f.Name))
	}
	for _, name := range gone {
		errs = append(errs, refuseLinks(d, name))
	}
	return errors.Join(errs...)
}

// refuseLinks names every file that is there but is no plain file, and every folder on the way that is a symbolic link.
func refuseLinks(d disk, name string) error {
	for i := 0; i < len(name); i++ {
		if name[i] != '/' {
			continue
		}
		info, err := d.Lstat(name[:i])
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%w %s: %s must be a folder", ErrRefused, name, name[:i])
		}
	}
	info, err := d.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%w %s: it is a symbolic link: must be a plain file; write to the folder that the link points to", ErrRefused, name)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w %s: it is %s: must be a plain file", ErrRefused, name, info.Mode().Type())
	}
	return nil
}

// refuseLoss says why a file must not replace the present one: it is empty, or it lost too many nodes.
func refuseLoss(f File, present []byte, old fileRecord, known bool) error {
	const remedy = "check the input, or write with --force"
	switch {
	case len(bytes.TrimSpace(f.Data)) == 0:
		return fmt.Errorf("%w %s: it is empty: %s", ErrRefused, f.Name, remedy)
	case known && float64(f.Nodes) < MinShare*float64(old.Nodes):
		return fmt.Errorf("%w %s: it describes %d nodes, the present file %d: must keep %.0f %% of them: %s",
			ErrRefused, f.Name, f.Nodes, old.Nodes, MinShare*100, remedy)
	case !known && float64(len(f.Data)) < minBytesShare*float64(len(present)):
		return fmt.Errorf("%w %s: it has %d bytes, the present file, which railmap did not write, %d: must have half of them: %s",
			ErrRefused, f.Name, len(f.Data), len(present), remedy)
	}
	return nil
}

// refuseSetLoss compares the target as a whole, for the case that a file is replaced by one of another name.
func refuseSetLoss(files []File, r record, target string) error {
	if target == "" {
		return nil
	}
	before, now := 0, 0
	for _, old := range r.Files {
		if old.Target == target {
			before = max(before, old.Nodes)
		}
	}
	for _, f := range files {
		now = max(now, f.Nodes)
	}
	if float64(now) < MinShare*float64(before) {
		return fmt.Errorf("%w the files of %s: they describe %d nodes, the present ones %d: must keep %.0f %% of them: check the input, or write with --force",
			ErrRefused, target, now, before, MinShare*100)
	}
	return nil
}
