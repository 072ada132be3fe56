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

// WriteOptions is how files are written.
type WriteOptions struct {
	// Force writes an empty or shrunk file all the same. Names outside the directory and symbolic links stay refused.
	Force bool
	// Target is whose files these are, for example "slurm". Files that were written for the same target before and are no
	// longer among the new ones move to NAME.last-good: a stale topology.yaml would win over a new topology.conf.
	Target string
	// ToolVersion goes into the record beside the files.
	ToolVersion string
}

// ChangeKind is what Write did to a file.
type ChangeKind string

// Kinds of changes.
const (
	Created   ChangeKind = "created"
	Updated   ChangeKind = "updated"
	Unchanged ChangeKind = "unchanged"
	Removed   ChangeKind = "removed"
)

// Change is what happened to one file.
type Change struct {
	Name        string
	Kind        ChangeKind
	NodesBefore int    // as recorded; 0 when nothing is recorded
	Nodes       int    // nodes that it describes now
	Note        string // what an operator should know, for example that an edit by hand was replaced
}

// String says the change in words.
func (c Change) String() string {
	s := fmt.Sprintf("%s %s", c.Name, c.Kind)
	switch {
	case c.Kind == Updated && c.NodesBefore != c.Nodes:
		s += fmt.Sprintf(": %d nodes, %d before", c.Nodes, c.NodesBefore)
	case c.Kind != Removed && c.Nodes > 0:
		s += fmt.Sprintf(": %d nodes", c.Nodes)
	}
	if c.Note != "" {
		s += " (" + c.Note + ")"
	}
	return s
}

// Write puts files into dir, which is made when it is absent. Either all of them are there afterwards, or an error comes
// back and dir is as it was; the package comment says what else it promises. The changes are in the order of files, removed
// ones last. Errors that match ErrRefused protect what is there.
func Write(dir string, files []File, opts WriteOptions) ([]Change, error) {
	if err := refuseNames(files); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	d, done, err := openDisk(dir, true)
	if err != nil {
		return nil, err
	}
	defer done()
	changes, err := write(d, files, opts)
	if err != nil {
		return nil, fmt.Errorf("write to %s: %w", dir, err)
	}
	return changes, nil
}

func write(d disk, files []File, opts WriteOptions) ([]Change, error) {
	rec, err := readRecord(d)
	if err != nil {
		return nil, err
	}
	gone := rec.gone(files, opts.Target)
	if err := refuseAllLinks(d, files, gone); err != nil {
		return nil, err
	}
	if err := recoverCrash(d, files, rec); err != nil {
		return nil, err
	}
	p, err := plan(d, files, gone, rec, opts)
	if err != nil {
		return nil, err
	}
	if len(p.steps) == 0 {
		return p.changes, nil
	}
	if err := p.run(d); err != nil {
		return nil, err
	}
	return p.changes, nil
}

// planned is a write that passed all checks: what to do, and how to tell it.
type planned struct {
	steps   []*step
	changes []Change
}

// plan compares files with what is there and collects everything that speaks against writing.
func plan(d disk, files []File, gone []string, rec record, opts WriteOptions) (*planned, error) {
	p := &planned{}
	var errs []error
	if !opts.Force {
		errs = append(errs, refuseSetLoss(files, rec, opts.Target))
	}
	for _, f := range files {
		errs = append(errs, p.addFile(d, f, rec, opts.Force))
	}
	for _, name := range gone {
		errs = append(errs, p.addRemoval(d, name, rec))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	after := rec.next(files, gone, opts).encode()
	present, mode, err := readPresent(d, RecordName)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(after, present) {
		p.steps = append(p.steps, &step{name: RecordName, data: after, before: present, mode: mode})
	}
	return p, nil
}

func (p *planned) addFile(d disk, f File, rec record, force bool) error {
	present, mode, err := readPresent(d, f.Name)
	if err != nil {
		return err
	}
	old, known := rec.Files[f.Name]
	if !force {
		if err := refuseLoss(f, present, old, known && present != nil); err != nil {
			return err
		}
	}
	c := Change{Name: f.Name, Kind: Updated, NodesBefore: old.Nodes, Nodes: f.Nodes}
	switch {
	case present == nil:
		c.Kind, c.NodesBefore = Created, 0
	case bytes.Equal(present, f.Data):
		c.Kind = Unchanged
	case !known || old.SHA256 != digest(present):
		c.Note = "the present file was not as railmap wrote it; it is kept as " + path.Base(f.Name) + LastGood
	}
	p.changes = append(p.changes, c)
	if c.Kind != Unchanged {
		p.steps = append(p.steps, &step{name: f.Name, data: f.Data, before: present, mode: mode, keep: len(bytes.TrimSpace(present)) > 0})
	}
	return nil
}

func (p *planned) addRemoval(d disk, name string, rec record) error {
	present, mode, err := readPresent(d, name)
	if err != nil || present == nil {
		return err
	}
	p.changes = append(p.changes, Change{
		Name: name, Kind: Removed, NodesBefore: rec.Files[name].Nodes,
		Note: "no longer exported; it is kept as " + path.Base(name) + LastGood,
	})
	p.steps = append(p.steps, &step{name: name, before: present, mode: mode, remove: true, keep: true})
	return nil
}

// readPresent gives the bytes and mode of a file; nil when it is absent.
func readPresent(d disk, name string) ([]byte, fs.FileMode, error) {
	info, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o644, nil
	}
	if err != nil {
		return nil, 0, err
	}
	data, err := d.ReadFile(name)
	if err != nil {
		return nil, 0, err
	}
	if data == nil {
		data = []byte{}
	}
	return data, info.Mode().Perm(), nil
}

// Summary says in one line what a write changed.
func Summary(changes []Change) string {
	count := map[ChangeKind]int{}
	for _, c := range changes {
		count[c.Kind]++
	}
	var parts []string
	for _, k := range []ChangeKind{Created, Updated, Removed, Unchanged} {
		if count[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[k], k))
		}
	}
	if len(parts) == 0 {
		return "no files"
	}
	return strings.Join(slices.Clip(parts), ", ")
}
