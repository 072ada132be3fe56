package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// newExportCmd groups the exporters, one per target.
func newExportCmd(e *env) *cobra.Command {
	return newGroup("export", "Write what schedulers and NCCL read",
		newExportSlurmCmd(e),
		newExportKubernetesCmd(e),
		newExportKueueCmd(e),
		newExportVolcanoCmd(e),
		newExportKAICmd(e),
		newExportKoordinatorCmd(e),
		newExportNFDCmd(e),
		newExportSlinkyCmd(e),
		newExportPBSCmd(e),
		newExportLSFCmd(e),
		newExportClearMLCmd(e),
		newExportNCCLCmd(e),
		newExportAllCmd(e),
		newExportLintCmd(e),
	)
}

// exportOptions are the flags that all exporters share.
type exportOptions struct {
	topology string
	out      string
	check    bool
	force    bool
}

func (o *exportOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&o.topology, "topology", "t", "", "file of the map, or - for standard input")
	f.StringVar(&o.topology, "server", "", "in place of -t: URL of a placement service, whose current map is read")
	c.MarkFlagsMutuallyExclusive("topology", "server")
	f.StringVarP(&o.out, "out", "o", "", "folder to write to, or - for standard output")
	f.BoolVar(&o.check, "check", false, "write nothing; print what would change, exit 9 when anything would")
	f.BoolVar(&o.force, "force", false, "write also what looks too small or too large")
}

// read loads the map.
func (o *exportOptions) read(e *env) (*topology.Topology, error) {
	switch {
	case o.topology == "":
		return nil, usagef("-t must be given: the file of the map, from railmap topology build")
	case o.out == "":
		return nil, usagef("--out must be given: a folder, or - for standard output")
	case o.check && o.out == "-":
		return nil, usagef("--check compares with a folder: --out must not be - then")
	}
	return readTopology(e, o.topology)
}

// deliver prints, checks or writes the rendered files of a target.
func (o *exportOptions) deliver(e *env, target string, files []exporters.File) error {
	switch {
	case o.out == "-":
		return printFiles(e, files)
	case o.check:
		drift, err := exporters.Check(o.out, files)
		if err != nil || !drift.Differs() {
			return err
		}
		fmt.Fprint(e.stdout, drift.Diff)
		printChanges(e, drift.Changes)
		return withCode(exitDiffers, fmt.Errorf("%s is not what the map says: run the same command without --check to write it", o.out))
	}
	changes, err := exporters.Write(o.out, files, o.writeOptions(target))
	if errors.Is(err, exporters.ErrRefused) {
		return withCode(exitUsage, err)
	}
	if err != nil {
		return err
	}
	printChanges(e, changes)
	return nil
}

func (o *exportOptions) writeOptions(target string) exporters.WriteOptions {
	return exporters.WriteOptions{Force: o.force, Target: target, ToolVersion: toolVersion()}
}

// printChanges tells on standard error what was written, or would be. Of many files only those that change are named.
func printChanges(e *env, changes []exporters.Change) {
	const few = 4
	for _, c := range changes {
		if len(changes) <= few || c.Kind != exporters.Unchanged {
			fmt.Fprintln(e.stderr, c)
		}
	}
	if len(changes) > few {
		fmt.Fprintln(e.stderr, exporters.Summary(changes))
	}
}

// printFiles writes files to stdout; several of them are told apart by a line with the name, as tail(1) does.
func printFiles(e *env, files []exporters.File) error {
	for i, f := range files {
		if len(files) > 1 {
			gap := ""
			if i > 0 {
				gap = "\n"
			}
			fmt.Fprintf(e.stdout, "%s==> %s <==\n", gap, f.Name)
		}
		if _, err := e.stdout.Write(f.Data); err != nil {
			return err
		}
	}
	return nil
}
