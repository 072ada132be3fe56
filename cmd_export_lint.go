package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/exporters/clearml"
	"github.com/railmap/railmap/exporters/kubernetes"
	"github.com/railmap/railmap/exporters/lsf"
	"github.com/railmap/railmap/exporters/pbs"
	"github.com/railmap/railmap/exporters/slurm"
)

// newExportLintCmd checks files that others wrote, or that people edited, by the rules of the exporters.
func newExportLintCmd(e *env) *cobra.Command {
	return newGroup("lint", "Check files that schedulers read",
		newLintSlurmCmd(e),
		newLintKubernetesCmd(e),
		newLintPBSCmd(e),
		newLintLSFCmd(e),
		newLintClearMLCmd(e),
	)
}

// lintLine is one problem of one file.
type lintLine struct {
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
}

// lintFiles checks every file, prints what is wrong, and exits 8 when one must not be used.
func lintFiles(e *env, out *output, files []string, lint func(name string, data []byte) ([]exporters.Problem, error)) error {
	lines := []lintLine{}
	refused := 0
	for _, name := range files {
		data, err := readLinted(e, name)
		if err != nil {
			return err
		}
		problems, err := lint(name, data)
		if err != nil {
			return withCode(exitUsage, err)
		}
		if exporters.Refused(problems) {
			refused++
		}
		for _, p := range problems {
			lines = append(lines, lintLine{name, p.Line, string(p.Severity), p.Code, p.Message})
		}
	}
	if err := printLint(e.stdout, out, lines); err != nil {
		return err
	}
	if refused > 0 {
		return withCode(exitPartial, fmt.Errorf("%d of %d files must not be used", refused, len(files)))
	}
	return nil
}

func readLinted(e *env, name string) ([]byte, error) {
	f, err := openInput(e, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, kubernetes.MaxLintBytes+1))
	if err == nil && len(data) > kubernetes.MaxLintBytes {
		err = usagef("%s: is larger than %d bytes", name, kubernetes.MaxLintBytes)
	}
	return data, err
}

func printLint(w io.Writer, out *output, lines []lintLine) error {
	if out.format == formatJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(lines)
	}
	if len(lines) == 0 {
		return nil
	}
	t := newTable("FILE", ">LINE", "SEVERITY", "CODE", "MESSAGE")
	for _, l := range lines {
		line := notApplicable
		if l.Line > 0 {
			line = strconv.Itoa(l.Line)
		}
		t.add(l.File, line, l.Severity, l.Code, l.Message)
	}
	return t.write(w, out)
}

// newLintSlurmCmd checks topology.conf and topology.yaml.
func newLintSlurmCmd(e *env) *cobra.Command {
	var plugin, version, nodes string
	var many bool
	var out output
	c := &cobra.Command{
		Use:   "slurm FILE...",
		Short: "Check topology.conf and topology.yaml",
		Long: `Slurm checks topology files by rules stricter than slurmctld's: what any supported release refuses, and what it takes in
silence though it is wrong. Exit code 8: a file must not be used.`,
		Example: `  railmap export lint slurm /etc/slurm/topology.conf --nodes "$(sinfo -h -o %N)"
  railmap export lint slurm topology.yaml --slurm-version 25.11 -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			v, err := slurm.ParseVersion(version)
			if err != nil {
				return usagef("--slurm-version: %w", err)
			}
			names, err := hostlistFlag("nodes", nodes)
			if err != nil {
				return err
			}
			return lintFiles(e, &out, files, func(name string, data []byte) ([]exporters.Problem, error) {
				kind, err := slurmKind(plugin, name, data)
				return slurm.Lint(data, kind, slurm.LintOptions{Version: v, Nodes: names, ManySwitches: many}), err
			})
		},
	}
	f := c.Flags()
	f.StringVar(&plugin, "plugin", "", "tree, block or yaml (default: what the file looks like)")
	f.StringVar(&version, "slurm-version", "", "release that reads the files, for example 24.11 (default: every supported one)")
	f.StringVar(&nodes, "nodes", "", "hostlist of the nodes of slurm.conf (default: not checked)")
	f.BoolVar(&many, "force", false, "allow more than 1,000 switches")
	addOutput(c, &out, formatTable, formatJSON)
	return c
}

// slurmKind is the plugin asked for, or what a file looks like.
func slurmKind(plugin, name string, data []byte) (slurm.Kind, error) {
	switch kind := slurm.Kind(plugin); {
	case kind == slurm.TreeKind, kind == slurm.BlockKind, kind == slurm.YAMLKind:
		return kind, nil
	case plugin != "":
		return "", errors.New("--plugin " + plugin + ": must be tree, block or yaml")
	}
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
		return slurm.YAMLKind, nil
	}
	return slurm.GuessKind(data), nil
}

// newLintKubernetesCmd checks node lists, patches and topology objects.
func newLintKubernetesCmd(e *env) *cobra.Command {
	var out output
	c := &cobra.Command{
		Use:     "kubernetes FILE...",
		Short:   "Check node labels and topology objects",
		Example: `  kubectl get nodes -o json | railmap export lint kubernetes -`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			return lintFiles(e, &out, files, func(_ string, data []byte) ([]exporters.Problem, error) { return kubernetes.Lint(data), nil })
		},
	}
	addOutput(c, &out, formatTable, formatJSON)
	return c
}

// newLintPBSCmd checks qmgr files.
func newLintPBSCmd(e *env) *cobra.Command {
	var out output
	c := &cobra.Command{
		Use:     "pbs FILE...",
		Short:   "Check qmgr files that are loaded together",
		Example: `  railmap export lint pbs resources.qmgr nodes.qmgr server.qmgr`,
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(_ *cobra.Command, files []string) error { return lintTogether(e, &out, files, pbs.Lint) },
	}
	addOutput(c, &out, formatTable, formatJSON)
	return c
}

// newLintLSFCmd checks compute units.
func newLintLSFCmd(e *env) *cobra.Command {
	var out output
	c := &cobra.Command{
		Use:     "lsf FILE...",
		Short:   "Check compute units and their types",
		Example: `  railmap export lint lsf lsb.hosts lsb.params railmap.computeunits`,
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(_ *cobra.Command, files []string) error { return lintTogether(e, &out, files, lsf.Lint) },
	}
	addOutput(c, &out, formatTable, formatJSON)
	return c
}

// newLintClearMLCmd checks queue files.
func newLintClearMLCmd(e *env) *cobra.Command {
	var out output
	c := &cobra.Command{
		Use:   "clearml FILE...",
		Short: "Check queues.json",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			return lintFiles(e, &out, files, func(_ string, data []byte) ([]exporters.Problem, error) { return clearml.Lint(data), nil })
		},
	}
	addOutput(c, &out, formatTable, formatJSON)
	return c
}

// lintTogether checks files that mean something only with each other.
func lintTogether(e *env, out *output, names []string, lint func([]exporters.File) []exporters.Problem) error {
	var files []exporters.File
	for _, name := range names {
		data, err := readLinted(e, name)
		if err != nil {
			return err
		}
		files = append(files, exporters.File{Name: name, Data: data})
	}
	problems := lint(files)
	lines := []lintLine{}
	for _, p := range problems {
		lines = append(lines, lintLine{p.File, p.Line, string(p.Severity), p.Code, p.Message})
	}
	if err := printLint(e.stdout, out, lines); err != nil {
		return err
	}
	if exporters.Refused(problems) {
		return withCode(exitPartial, fmt.Errorf("the files must not be used"))
	}
	return nil
}
