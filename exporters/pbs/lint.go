package pbs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/railmap/railmap/exporters"
)

// builtin are the resources that every server has, by type, as far as exports and their neighbours use them.
func builtin() map[string]string {
	return map[string]string{"ncpus": "long", "ngpus": "long", "mem": "size", "vmem": "size", "host": "string", "vnode": "string", "arch": "string",
		"naccelerators": "long", "accelerator_model": "string", "mpiprocs": "long", "ompthreads": "long"}
}

// Lint says what qmgr and the server would refuse in files that are loaded together, in any order, and what they take although
// it breaks a cluster: a resource deleted while it is used, a node without a level that others have, one node in two groups.
// The names of the files stand in the problems.
func Lint(files []exporters.File) []exporters.Problem {
	l := &linter{types: builtin(), created: map[string]bool{}, levels: map[string]map[string]string{}, at: map[string]place{}}
	commands := make([][]Command, len(files))
	for i, f := range files {
		var problems []exporters.Problem
		commands[i], problems = parse(f.Data)
		l.file = f.Name
		l.add(problems)
		for _, c := range commands[i] {
			if c.Object == "resource" {
				l.resource(c)
			}
		}
		l.mixed(commands[i])
	}
	for i, f := range files {
		l.file = f.Name
		for _, c := range commands[i] {
			l.command(c)
		}
	}
	l.missingLevels()
	return l.Sorted()
}

type place struct {
	file string
	line int
}

type linter struct {
	exporters.Problems
	file    string
	types   map[string]string // resource -> type
	created map[string]bool
	levels  map[string]map[string]string // node -> string_array resource -> value
	at      map[string]place             // node -> first line
	nodes   []string
	psets   []string // resources of node_group_key
}

func (l *linter) add(problems []exporters.Problem) {
	for _, p := range problems {
		p.File = l.file
		l.Problems = append(l.Problems, p)
	}
}

func (l *linter) errorf(line int, code, format string, args ...any) {
	var p exporters.Problems
	p.Errorf(line, code, format, args...)
	l.add(p)
}

func (l *linter) warnf(line int, code, format string, args ...any) {
	var p exporters.Problems
	p.Warnf(line, code, format, args...)
	l.add(p)
}

// resource checks the creation of resources: once, with a name and type that the server takes.
func (l *linter) resource(c Command) {
	for _, name := range c.Names {
		switch c.Verb {
		case "create":
			if err := checkResource(name); err != nil {
				l.errorf(c.Line, "resource-name", "%v (server error 15014)", err)
			}
			if l.types[name] != "" {
				l.errorf(c.Line, "resource-repeated", "resource %s: is there already: must be created once (server error 15055)", name)
			}
			l.created[name] = true
			l.types[name] = attribute(c, "type", "string")
		case "set":
			if t := attribute(c, "type", ""); t != "" {
				l.types[name] = t
			}
		case "delete":
			l.errorf(c.Line, "resource-deleted", "delete resource %s: the server takes it even while nodes, jobs and placement sets use the resource: must not stand in a file", name)
		}
	}
	if t := attribute(c, "type", "string"); !slices.Contains([]string{"string", "string_array", "long", "float", "size", "boolean"}, t) {
		l.errorf(c.Line, "resource-type", "type %q: must be string, string_array, long, float, size or boolean", t)
	}
}

func attribute(c Command, name, otherwise string) string {
	for _, a := range c.Attributes {
		if a.Name == name {
			return a.Value
		}
	}
	return otherwise
}

// mixed warns of a file that creates resources and sets values: it cannot be loaded a second time.
func (l *linter) mixed(commands []Command) {
	creates := slices.IndexFunc(commands, func(c Command) bool { return c.Object == "resource" && c.Verb == "create" })
	sets := slices.ContainsFunc(commands, func(c Command) bool { return c.Object == "node" && c.Verb == "set" })
	if creates >= 0 && sets {
		l.warnf(commands[creates].Line, "create-mixed", "creates resources and sets nodes: must be two files, because the server refuses to create a resource twice")
	}
}

func (l *linter) command(c Command) {
	switch {
	case c.Object == "node" && c.Verb == "set":
		for _, a := range c.Attributes {
			l.nodeValue(c, a)
		}
	case c.Object == "server" && c.Verb == "set":
		for _, a := range c.Attributes {
			if a.Name == "node_group_key" {
				l.groupKey(c, a)
			}
		}
	}
}

// nodeValue checks "resources_available.X = value" of a node.
func (l *linter) nodeValue(c Command, a Attribute) {
	name, ok := strings.CutPrefix(a.Name, "resources_available.")
	if !ok {
		return
	}
	for _, n := range c.Names {
		if l.levels[n] == nil {
			l.levels[n], l.at[n] = map[string]string{}, place{l.file, c.Line}
			l.nodes = append(l.nodes, n)
		}
	}
	kind := l.types[name]
	switch {
	case kind == "" && len(l.created) > 0:
		l.errorf(c.Line, "resource-unknown", "resource %s: must be created first (server error 15035)", name)
		return
	case kind == "float" || kind == "long":
		if _, err := strconv.ParseFloat(a.Value, 64); err != nil {
			l.errorf(c.Line, "value-type", "%s = %q: must be a number (server error 15014)", name, a.Value)
		}
		return
	case kind != "string_array" && kind != "":
		return
	}
	for _, n := range c.Names {
		if old, twice := l.levels[n][name]; (twice && old != a.Value && a.Op == "=") || strings.Contains(a.Value, ",") || a.Op == "+=" && twice {
			l.warnf(c.Line, "node-two-groups", "node %s: %s has more than one value: the node is then in several placement sets of one level", n, name)
		}
		l.levels[n][name] = a.Value
	}
}

// groupKey checks the resources of the placement sets.
func (l *linter) groupKey(c Command, a Attribute) {
	for _, r := range strings.Split(a.Value, ",") {
		r = strings.TrimSpace(r)
		l.psets = append(l.psets, r)
		switch kind := l.types[r]; {
		case kind == "" && len(l.created) > 0:
			l.errorf(c.Line, "resource-unknown", "node_group_key names %q: must be a resource (server error 15035)", r)
		case kind != "" && kind != "string" && kind != "string_array":
			l.errorf(c.Line, "value-type", "node_group_key names %q of type %s: must be string or string_array (server error 15100)", r, kind)
		}
	}
}

// missingLevels finds nodes that lack a level which other nodes have: with only_explicit_psets they are in no placement set.
func (l *linter) missingLevels() {
	var levels []string
	for _, n := range l.nodes {
		for r := range l.levels[n] {
			levels = append(levels, r)
		}
	}
	slices.Sort(levels)
	levels = slices.Compact(append(levels, l.psets...))
	if len(l.nodes) == 0 {
		return
	}
	for _, r := range levels {
		used := slices.ContainsFunc(l.nodes, func(n string) bool { return l.levels[n][r] != "" })
		for _, n := range l.nodes {
			if used && l.levels[n][r] == "" && !strings.HasPrefix(n, "@") {
				l.file = l.at[n].file
				l.errorf(l.at[n].line, "level-missing", "node %s: has no %s, which other nodes have: the node is in no placement set of that level", n, r)
			}
		}
		if !used {
			l.file = l.at[l.nodes[0]].file
			l.errorf(0, "level-missing", "no node has %s, which node_group_key names", r)
		}
	}
}

// ReadNodes reads the values of nodes back from a file that Export wrote: node -> resource -> value. Lines that are none are
// passed over.
func ReadNodes(data []byte) map[string]map[string]string {
	out := map[string]map[string]string{}
	commands, _ := parse(data)
	for _, c := range commands {
		for _, n := range c.Names {
			for _, a := range c.Attributes {
				if r, ok := strings.CutPrefix(a.Name, "resources_available."); ok && c.Object == "node" && c.Verb == "set" {
					if out[n] == nil {
						out[n] = map[string]string{}
					}
					out[n][r] = a.Value
				}
			}
		}
	}
	return out
}
