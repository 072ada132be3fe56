package exporters

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// step is the change of one file.
type step struct {
	name   string
	data   []byte // the new bytes
	before []byte // the present bytes; nil = the file is absent
	mode   fs.FileMode
	remove bool // the file goes away
	keep   bool // before becomes NAME.last-good
}

// run carries the steps out in three phases, so that an error at any point leaves every file as it was:
//
//  1. stage: new and present bytes go to hidden files beside the real ones and down to the disk (here a full disk shows);
//  2. switch: one rename per file; an error renames the present bytes back;
//  3. settle: the present bytes become NAME.last-good.
//
// A crash leaves each file whole, old or new, and recoverCrash of the next write finishes phase 3.
func (p *planned) run(d disk) error {
	if err := p.stage(d); err != nil {
		return errors.Join(err, p.unstage(d))
	}
	for i, s := range p.steps {
		if err := s.swap(d); err != nil {
			return errors.Join(err, p.swapBack(d, i), p.unstage(d))
		}
	}
	if err := p.syncDirs(d); err != nil {
		return errors.Join(err, p.swapBack(d, len(p.steps)), p.unstage(d))
	}
	return p.settle(d)
}

func (p *planned) stage(d disk) error {
	for _, s := range p.steps {
		if dir := path.Dir(s.name); dir != "." {
			if err := d.MkdirAll(dir); err != nil {
				return err
			}
		}
		if !s.remove {
			if err := writeFile(d, hidden(s.name, newSuffix), s.data, s.mode); err != nil {
				return err
			}
		}
		if s.before != nil {
			if err := writeFile(d, hidden(s.name, oldSuffix), s.before, s.mode); err != nil {
				return err
			}
		}
	}
	return p.syncDirs(d)
}

func (s *step) swap(d disk) error {
	if s.remove {
		return d.Remove(s.name)
	}
	return d.Rename(hidden(s.name, newSuffix), s.name)
}

// swapBack undoes the first n swaps, last first.
func (p *planned) swapBack(d disk, n int) error {
	var errs []error
	for _, s := range slices.Backward(p.steps[:n]) {
		var err error
		if s.before == nil {
			err = d.Remove(s.name)
		} else {
			err = d.Rename(hidden(s.name, oldSuffix), s.name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: put the present version back: %w; it is in %s", s.name, err, hidden(s.name, oldSuffix)))
		}
	}
	return errors.Join(errs...)
}

// unstage removes the hidden files that are left. The bytes of a file that could not be put back stay.
func (p *planned) unstage(d disk) error {
	var errs []error
	for _, s := range p.steps {
		errs = append(errs, removeIfThere(d, hidden(s.name, newSuffix)))
		present, _, err := readPresent(d, s.name)
		if err == nil && bytes.Equal(present, s.before) && (present == nil) == (s.before == nil) {
			errs = append(errs, removeIfThere(d, hidden(s.name, oldSuffix)))
		}
	}
	return errors.Join(errs...)
}

func (p *planned) settle(d disk) error {
	var errs []error
	for _, s := range p.steps {
		if s.before == nil {
			continue
		}
		old := hidden(s.name, oldSuffix)
		var err error
		if s.keep {
			err = d.Rename(old, s.name+LastGood)
		} else {
			err = d.Remove(old)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the new files are in place, the version before stays in %s: %w", old, err))
		}
	}
	if err := p.syncDirs(d); err != nil {
		errs = append(errs, fmt.Errorf("the new files are in place, but may not survive a power loss: %w", err))
	}
	return errors.Join(errs...)
}

// syncDirs makes the renames in every folder of the steps durable.
func (p *planned) syncDirs(d disk) error {
	var dirs []string
	for _, s := range p.steps {
		for dir := path.Dir(s.name); ; dir = path.Dir(dir) {
			dirs = append(dirs, dir)
			if dir == "." {
				break
			}
		}
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		if err := d.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// recoverCrash finishes what a crashed write left in the folders of files: half-made new versions go, saved present versions
// become NAME.last-good unless the file still has these bytes.
func recoverCrash(d disk, files []File, rec record) error {
	dirs := []string{"."}
	for _, f := range files {
		dirs = append(dirs, path.Dir(f.Name))
	}
	for name := range rec.Files {
		dirs = append(dirs, path.Dir(name))
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		entries, err := d.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := recoverFile(d, dir, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func recoverFile(d disk, dir, base string) error {
	if !isTemporary(base) {
		return nil
	}
	from := path.Join(dir, base)
	if strings.HasSuffix(base, newSuffix) {
		return d.Remove(from)
	}
	name := path.Join(dir, strings.TrimSuffix(base[1:], oldSuffix))
	saved, err := d.ReadFile(from)
	if err != nil {
		return err
	}
	present, err := d.ReadFile(name)
	switch {
	case name == RecordName, err == nil && bytes.Equal(saved, present), len(bytes.TrimSpace(saved)) == 0:
		return d.Remove(from)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return d.Rename(from, name+LastGood)
}

func removeIfThere(d disk, name string) error {
	if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
