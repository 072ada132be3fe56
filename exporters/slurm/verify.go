package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/railmap/railmap/exporters"
)

// Verify loads rendered files into a slurmctld of its own, which is started on loopback and stopped again (0.1 to 2 seconds),
// and reads back what it made of them. Problems are the lines in which it complains: errors when it does not start or has
// another topology than the file says, warnings otherwise. The error is ErrNoSlurm where no slurmctld is installed.
func Verify(ctx context.Context, i Install, kind Kind, files []exporters.File) ([]exporters.Problem, error) {
	_, version, err := i.Release(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := describe(kind, files, version)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "railmap-slurm-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	beside := map[string][]byte{}
	for _, f := range files {
		beside[f.Name] = f.Data
	}
	var rep exporters.Problems
	c, err := startController(ctx, i, version, work, beside, "include "+FragmentFile+"\n"+futureNodes(entries[0].Config.nodes()))
	if r, ok := errors.AsType[*refusal](err); ok {
		rep.Errorf(0, "slurmctld", "the controller of Slurm %s does not start (%s): %s", version, r.state, lastLines(r.log))
		return rep, nil
	} else if err != nil {
		return nil, err
	}
	defer c.process.stop()
	got, err := loaded(kind, func(args ...string) (string, error) { return c.ask(ctx, args...) })
	if err != nil {
		return nil, err
	}
	if !same(entries, got) {
		rep.Errorf(0, "slurmctld", "the controller of Slurm %s has read another topology than the file says", version)
	}
	for _, line := range complaints(c.log.String()) {
		rep.Warnf(0, "slurmctld", "%s", line)
	}
	return rep, nil
}

// lastLines are the complaints of a log, or its end when there is none.
func lastLines(log string) string {
	lines := complaints(log)
	if len(lines) == 0 {
		lines = strings.Split(strings.TrimSpace(log), "\n")
	}
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}

// mainFile is the topology file among the rendered ones.
func mainFile(kind Kind, files []exporters.File) (exporters.File, error) {
	name := ConfFile
	if kind == YAMLKind {
		name = YAMLFile
	}
	at := slices.IndexFunc(files, func(f exporters.File) bool { return f.Name == name })
	if at < 0 {
		return exporters.File{}, fmt.Errorf("%s must be among the files", name)
	}
	return files[at], nil
}

// describe reads rendered files back: one entry for topology.conf, one per topology for topology.yaml.
func describe(kind Kind, files []exporters.File, v Version) ([]Entry, error) {
	main, err := mainFile(kind, files)
	if err != nil {
		return nil, err
	}
	if kind == YAMLKind {
		entries, problems := ParseYAML(main.Data, v)
		return entries, asError(main.Name, problems)
	}
	config, problems := ParseConf(main.Data, kind, v)
	return []Entry{{Plugin: kind, Config: config}}, asError(main.Name, problems)
}

// loaded asks a controller what topology it has.
func loaded(kind Kind, ask func(args ...string) (string, error)) ([]Entry, error) {
	if kind == YAMLKind {
		out, err := ask("scontrol", "show", "topoconf")
		if err != nil {
			return nil, err
		}
		entries, problems := ParseTopoconf([]byte(out))
		return entries, asError("scontrol show topoconf", problems)
	}
	out, err := ask("scontrol", "show", "topology")
	if err != nil {
		return nil, err
	}
	config, err := ParseShow([]byte(out))
	return []Entry{{Plugin: kind, Config: config}}, err
}

// same compares what a file says with what a controller has. BlockLevels have no counterpart in the answer, and without
// BlockSizes a controller makes its own.
func same(want, got []Entry) bool {
	return slices.EqualFunc(want, got, func(a, b Entry) bool {
		return a.Name == b.Name && a.Default == b.Default && a.Plugin == b.Plugin && a.Config.equal(b.Config)
	})
}

func (c Config) equal(d Config) bool {
	a, b := c.Canonical(), d.Canonical()
	return slices.EqualFunc(a.Switches, b.Switches, func(x, y SwitchLine) bool {
		return x.Name == y.Name && slices.Equal(x.Nodes, y.Nodes) && slices.Equal(x.Children, y.Children)
	}) && slices.EqualFunc(a.Blocks, b.Blocks, func(x, y BlockLine) bool {
		return x.Name == y.Name && slices.Equal(x.Nodes, y.Nodes)
	}) && (len(a.BlockSizes) == 0 || slices.Equal(a.builtSizes(), b.builtSizes()))
}

// builtSizes are the block sizes for which there are enough blocks: a controller shows no others.
func (c *Config) builtSizes() []int {
	return slices.DeleteFunc(slices.Clone(c.BlockSizes), func(size int) bool { return size/max(1, c.BlockSizes[0]) > len(c.Blocks) })
}

// nodes lists the nodes of all leaves or blocks.
func (c *Config) nodes() []string {
	var out []string
	for i := range c.Switches {
		out = append(out, c.Switches[i].Nodes...)
	}
	for i := range c.Blocks {
		out = append(out, c.Blocks[i].Nodes...)
	}
	return out
}
