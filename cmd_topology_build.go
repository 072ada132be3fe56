package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/railmap/railmap/probe/fabric"
	"github.com/railmap/railmap/topology"
)

// buildOptions are the flags of "railmap topology build".
type buildOptions struct {
	fabrics     []string
	nodes       []string
	pairs       []string
	hosts       string
	alias       string
	hostPattern string
	computeNICs string
	maxAge      time.Duration
	out         string
	build       topology.BuildOptions
}

func newTopologyBuildCmd(e *env) *cobra.Command {
	var o buildOptions
	c := &cobra.Command{
		Use:   "build",
		Short: "Make the map from fabric dumps, node reports and measured pairs",
		Long: `Build makes the map. A fabric is a FabricReport, or the output of ibnetdiscover or iblinkinfo as it is; gzip is fine.
A broken fabric still gives a map: what is wrong is printed as findings and stands in the document. The same input gives
the same bytes, whatever the order of files.

Where -o names a map that exists, the generation grows when its content changes. A file that is not a map is left alone.`,
		Example: `  ibnetdiscover -p | railmap topology build --fabric - -o topology.yaml
  railmap topology build --fabric fabric.txt --node reports/ --hosts 'gpu[001-128]' -o topology.yaml`,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.fabrics, "fabric", nil, "fabric report or dump, - for standard input (repeatable)")
	f.StringArrayVar(&o.nodes, "node", nil, "node report, or folder of node reports (repeatable)")
	f.StringArrayVar(&o.pairs, "pairs", nil, "report of measured pairs (repeatable)")
	f.StringVar(&o.hosts, "hosts", "", "host list: map only these hosts (default: every compute host of the fabric)")
	f.StringVar(&o.alias, "alias", "", "YAML file of names to use: host or switch name as found, or its GUID: name")
	f.StringVar(&o.hostPattern, "host-pattern", "", "regular expression for adapter descriptions with the groups (?P<host>...) and (?P<device>...)")
	f.StringVar(&o.computeNICs, "compute-nics", "", "regular expression for device names that carry collectives (default: by structure)")
	f.DurationVar(&o.maxAge, "max-age", 7*24*time.Hour, "measurements older than this are stale and change nothing")
	f.StringVarP(&o.out, "output", "o", "-", "file to write, - for standard output in YAML; .json and .gz are understood")
	return c
}

func (o *buildOptions) run(ctx context.Context, e *env) error {
	if err := o.complete(e); err != nil {
		return err
	}
	in, err := o.read(ctx, e)
	if err != nil {
		return err
	}
	t, err := topology.Build(in, o.build)
	if err != nil {
		return withCode(exitUsage, err)
	}
	if err := t.Validate(); err != nil {
		return fmt.Errorf("the map breaks its own rules, nothing written: %w", err)
	}
	if err := o.nextGeneration(t); err != nil {
		return err
	}
	if err := writeDocumentFile(e, o.out, t); err != nil {
		return err
	}
	return printFindings(e, t.Findings, o.out)
}

// complete turns flags into build options.
func (o *buildOptions) complete(e *env) (err error) {
	if len(o.fabrics) == 0 && len(o.nodes) == 0 {
		return usagef("--fabric: must name at least one fabric report or dump (or --node node reports)")
	}
	b := topology.BuildOptions{Now: e.now(), MaxAge: o.maxAge, ToolVersion: toolVersion()}
	if b.Hosts, err = hostlistFlag("hosts", o.hosts); err != nil {
		return err
	}
	if b.HostPattern, err = patternFlag("host-pattern", o.hostPattern); err != nil {
		return err
	}
	if b.ComputeNICs, err = patternFlag("compute-nics", o.computeNICs); err != nil {
		return err
	}
	if b.HostPattern != nil && b.HostPattern.SubexpIndex("host") < 0 {
		return usagef(`--host-pattern: must have a group named host, as in "(?P<host>\\S+) (?P<device>\\S+)"`)
	}
	if b.Alias, err = readAlias(o.alias); err != nil {
		return err
	}
	o.build = b
	return nil
}

func patternFlag(flag, expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, nil
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, usagef("--%s: %w", flag, err)
	}
	return re, nil
}

// readAlias reads a flat YAML map of names.
func readAlias(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	names := map[string]string{}
	if err := yaml.Unmarshal(data, &names); err != nil {
		return nil, usagef("%s: must be lines of the form \"name as found: name to use\": %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return names, nil
}

func (o *buildOptions) read(ctx context.Context, e *env) (topology.Input, error) {
	var in topology.Input
	for _, path := range o.fabrics {
		r, err := readFabric(e, path)
		if err != nil {
			return in, err
		}
		in.Fabrics = append(in.Fabrics, r)
	}
	for _, path := range o.nodes {
		files, err := reportFiles(path)
		if err != nil {
			return in, err
		}
		for _, file := range files {
			if err := ctx.Err(); err != nil {
				return in, err
			}
			r := &topology.NodeReport{}
			if err := readDocument(e, file, r); err != nil {
				return in, err
			}
			in.Nodes = append(in.Nodes, r)
		}
	}
	if r := fabric.LLDPOfNodes(in.Nodes); r != nil { // Ethernet clusters: each node tells where its NICs are plugged in
		in.Fabrics = append(in.Fabrics, r)
	}
	if len(in.Fabrics) > 1 { // tools name one adapter by its node GUID or by its port GUID: Merge knows both
		r, err := fabric.Merge(in.Fabrics...)
		if err != nil {
			return in, withCode(exitUsage, err)
		}
		in.Fabrics = []*topology.FabricReport{r}
	}
	for _, path := range o.pairs {
		r := &topology.PairReport{}
		if err := readDocument(e, path, r); err != nil {
			return in, err
		}
		in.Pairs = append(in.Pairs, r)
	}
	return in, nil
}

// readFabric reads a fabric in any form that package fabric knows.
func readFabric(e *env, path string) (*topology.FabricReport, error) {
	f, err := openInput(e, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	name := path
	if path == "-" {
		name = "standard input"
	}
	r, err := fabric.Read(f, name)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	return r, nil
}

// reportFiles is the file itself, or the documents in a folder in name order.
func reportFiles(path string) ([]string, error) {
	if fi, err := os.Stat(path); path == "-" || err != nil || !fi.IsDir() {
		return []string{path}, nil // reading it says what is wrong
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	var files []string
	for _, f := range entries {
		switch filepath.Ext(strings.TrimSuffix(f.Name(), ".gz")) {
		case ".yaml", ".yml", ".json":
			files = append(files, filepath.Join(path, f.Name()))
		}
	}
	if len(files) == 0 {
		return nil, usagef("%s: holds no node report (.yaml, .yml or .json, .gz on top)", path)
	}
	return files, nil
}

// nextGeneration continues the count of the map that is there: one more when the content differs.
func (o *buildOptions) nextGeneration(t *topology.Topology) error {
	if o.out == "-" {
		return nil
	}
	if fi, err := os.Stat(o.out); errors.Is(err, os.ErrNotExist) || (err == nil && (fi.Size() == 0 || !fi.Mode().IsRegular())) {
		return nil
	}
	old := &topology.Topology{}
	if err := topology.ReadFile(o.out, old); err != nil {
		return usagef("%s exists and is not a map that can be read: remove it, or write to another file (%w)", o.out, err)
	}
	t.Generation = old.Generation
	if len(topology.Diff(old, t)) > 0 {
		t.Generation++
	}
	return nil
}

// printFindings tells on stderr what an operator should look at; the whole list is in the document.
func printFindings(e *env, findings []topology.Finding, path string) error {
	if path == "-" {
		path = "FILE"
	}
	return writeFindings(e, findings, "railmap topology findings -t "+path)
}

// writeFindings prints the first findings on stderr, worst first; more says where the rest can be seen.
func writeFindings(e *env, findings []topology.Finding, more string) error {
	const shown = 20
	if len(findings) == 0 {
		return nil
	}
	t := newTable("SEVERITY", "CODE", "SUBJECT", "MESSAGE")
	for _, f := range findings[:min(len(findings), shown)] {
		t.add(string(f.Severity), f.Code, f.Subject, f.Message)
	}
	if err := t.write(e.stderr, &output{}); err != nil {
		return err
	}
	if rest := len(findings) - shown; rest > 0 {
		_, err := fmt.Fprintf(e.stderr, "... and %d more: %s\n", rest, more)
		return err
	}
	return nil
}
