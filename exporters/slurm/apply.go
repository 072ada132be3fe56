package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/railmap/railmap/exporters"
)

// ApplyOptions say how files reach a running controller.
type ApplyOptions struct {
	Install Install
	Kind    Kind
	Nodes   []string // nodes of slurm.conf; nil: not checked
	Write   exporters.WriteOptions
	Wait    time.Duration // how long the controller may take to use the new files; 0 = 30 s

	unchecked bool // tests of the way back: straight to the controller
}

// ErrNoController is in the error of Apply when no controller answers: nothing was written.
var ErrNoController = errors.New("no controller answers")

// ErrRolledBack is in the error of Apply when the controller did not take the new files: the old ones are in place again.
var ErrRolledBack = errors.New("rolled back")

// ErrBadFile is in the error of Apply when the lint or a slurmctld of our own refuses a file: nothing was written.
var ErrBadFile = errors.New("nothing was written")

// Apply writes files into dir, the folder of slurm.conf, tells the running controller to read them and waits until it shows
// that topology. When it refuses, shows another one or stops answering, the old files come back and the controller is told
// again. Before anything is written, the lint and a slurmctld of our own look at the files: some controllers end when a file
// is bad (22.05, and newer ones in the foreground), and no way back helps one that is gone.
func Apply(ctx context.Context, dir string, files []exporters.File, o ApplyOptions) ([]exporters.Change, error) {
	if o.Wait == 0 {
		o.Wait = 30 * time.Second
	}
	ask := func(args ...string) (string, error) { return o.Install.run(ctx, "", args...) }
	if _, err := ask("scontrol", "ping"); err != nil {
		return nil, fmt.Errorf("%w, nothing was written: %w", ErrNoController, err)
	}
	if err := o.checkFiles(ctx, files); err != nil {
		return nil, err
	}
	want, err := describe(o.Kind, files, Version{})
	if err != nil && !o.unchecked {
		return nil, err
	}
	old, err := readOld(dir)
	if err != nil {
		return nil, err
	}
	changes, err := exporters.Write(dir, files, o.Write)
	if err != nil {
		return nil, err
	}
	if !changed(changes) {
		if got, err := loaded(o.Kind, ask); err == nil && same(want, got) {
			return changes, nil
		}
	}
	if err := reconfigure(ctx, want, o, ask); err != nil {
		return nil, rollBack(dir, old, o, ask, err)
	}
	return changes, nil
}

// checkFiles holds the main file against the lint, then all of them against a controller of our own.
func (o *ApplyOptions) checkFiles(ctx context.Context, files []exporters.File) error {
	if o.unchecked {
		return nil
	}
	_, version, err := o.Install.Release(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadFile, err)
	}
	main, err := mainFile(o.Kind, files)
	if err != nil {
		return err
	}
	problems := Lint(main.Data, o.Kind, LintOptions{Version: version, Nodes: o.Nodes, ManySwitches: o.Write.Force})
	if err := asError(main.Name, problems); err != nil {
		return fmt.Errorf("%w: %w", ErrBadFile, err)
	}
	if problems, err = Verify(ctx, o.Install, o.Kind, files); err == nil {
		err = asError(main.Name, problems)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadFile, err)
	}
	return nil
}

func changed(changes []exporters.Change) bool {
	return slices.ContainsFunc(changes, func(c exporters.Change) bool { return c.Kind != exporters.Unchanged })
}

// reconfigure tells the controller, by moving nodes where that is enough, and waits until it shows the wanted topology.
func reconfigure(ctx context.Context, want []Entry, o ApplyOptions, ask func(...string) (string, error)) error {
	if !moveNodes(want, o, ask) {
		if _, err := ask("scontrol", "reconfigure"); err != nil {
			return err
		}
	}
	deadline := time.Now().Add(o.Wait)
	for {
		got, err := loaded(o.Kind, ask)
		if err == nil && same(want, got) {
			return nil
		}
		if err == nil {
			err = errors.New("the controller answers, but does not show the new topology; does slurm.conf include " + FragmentFile + "?")
		}
		if time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// moveNodes spares the controller a reconfigure when nodes have only changed places and it can be told so.
func moveNodes(want []Entry, o ApplyOptions, ask func(...string) (string, error)) bool {
	if o.Kind != YAMLKind || o.unchecked {
		return false
	}
	got, err := loaded(o.Kind, ask)
	if err != nil {
		return false
	}
	moves, err := Moves(got, want)
	if err != nil || len(moves) == 0 {
		return false
	}
	for _, m := range moves {
		if _, err := ask(m.Command()...); err != nil {
			return false
		}
	}
	return true
}

// readOld keeps the present files of this package, with the nodes that they describe.
func readOld(dir string) ([]exporters.File, error) {
	var old []exporters.File
	for _, name := range []string{ConfFile, YAMLFile, FragmentFile, DrainFile} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		old = append(old, exporters.File{Name: name, Data: data, Nodes: countNodes(name, data)})
	}
	return old, nil
}

// countNodes counts what a present file describes; 0 for one that cannot be read.
func countNodes(name string, data []byte) int {
	most := 0
	switch name {
	case YAMLFile:
		entries, _ := ParseYAML(data, Version{})
		for i := range entries {
			most = max(most, entries[i].Config.nodeCount())
		}
	case ConfFile:
		for _, kind := range []Kind{TreeKind, BlockKind} {
			config, _ := ParseConf(data, kind, Version{})
			most = max(most, config.nodeCount())
		}
	}
	return most
}

// rollBack puts the old files in place and tells the controller. What went wrong first is the error.
func rollBack(dir string, old []exporters.File, o ApplyOptions, ask func(...string) (string, error), cause error) error {
	o.Write.Force = true // the old files may be smaller
	if _, err := exporters.Write(dir, old, o.Write); err != nil {
		return fmt.Errorf("the controller did not take the new files (%w), and the old ones could not be put back: %w", cause, err)
	}
	if _, err := ask("scontrol", "reconfigure"); err != nil {
		return fmt.Errorf("%w: the old files are in place again, but the controller does not answer: start slurmctld: %w", ErrRolledBack, errors.Join(cause, err))
	}
	return fmt.Errorf("%w: the controller did not take the new files and has the old ones again: %w", ErrRolledBack, cause)
}
