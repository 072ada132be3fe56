package slurm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// maxSwitches is where start-up gets slow: the controller's time grows with the cube of the number of switches, about 0.1 s
// for 270, 1.5 s for 1,100 and 10 s for 2,200.
const maxSwitches = 1000

// maxDepth bounds the chain from a leaf to its root. Slurm gives up at 20 when parents stand before their children.
const maxDepth = 15

// LintOptions say what a file is checked against.
type LintOptions struct {
	Version      Version  // the release that will read the file; zero: every supported one
	Nodes        []string // nodes of slurm.conf; nil: not known, so membership is not checked
	ManySwitches bool     // allow more than 1,000 switches
}

// Lint reads a topology file and returns what is wrong with it, by line. It refuses what any supported release refuses, and
// what Slurm accepts in silence though it is wrong: nodes in two places, two parents, names that break other tools, a second
// YAML document. Warnings mark what is legal and unusual.
func Lint(file []byte, kind Kind, o LintOptions) []exporters.Problem {
	var rep exporters.Problems
	switch kind {
	case TreeKind, BlockKind:
		config, problems := ParseConf(file, kind, o.Version)
		rep = append(rep, problems...)
		if exporters.Refused(problems) {
			break
		}
		if kind == TreeKind {
			lintTree(&rep, config.Switches, o)
		} else {
			lintBlocks(&rep, config, o)
		}
	case YAMLKind:
		lintYAML(&rep, file, o)
	default:
		rep.Errorf(0, "kind", "kind %q: must be %s, %s or %s", kind, TreeKind, BlockKind, YAMLKind)
	}
	return rep.Sorted()
}

// checkNames reports bad names and names that are equal, or nearly so, among switches or blocks.
func checkNames(rep *exporters.Problems, what string, count int, at func(int) (name string, line int)) {
	exact := make(map[string]int, count)
	lower := make(map[string]string, count)
	trimmed := make(map[string]string, count)
	for i := range count {
		name, line := at(i)
		if bad := validName(name); bad != "" {
			rep.Errorf(line, "name", "%s name %q %s", what, clip(name), bad)
			continue
		}
		if before, ok := exact[name]; ok {
			rep.Errorf(line, "name-twice", "%s %s is already defined in line %d", what, name, before)
			continue
		}
		exact[name] = line
		if other, ok := lower[strings.ToLower(name)]; ok {
			rep.Warnf(line, "name-case", "%s %s and %s differ in case only", what, name, other)
		}
		lower[strings.ToLower(name)] = name
		head, digits := cutNumber(name)
		key := head + "\x00" + strings.TrimLeft(digits, "0")
		if other, ok := trimmed[key]; ok && digits != "" {
			rep.Warnf(line, "name-padding", "%s %s and %s differ in leading zeros only", what, name, other)
		}
		trimmed[key] = name
	}
}

// membership finds nodes that are in two places, unknown or nowhere.
type membership struct {
	rep   *exporters.Problems
	what  string // "leaf" or "block"
	known map[string]bool
	where map[string]string
}

func newMembership(rep *exporters.Problems, what string, known []string, size int) *membership {
	m := &membership{rep: rep, what: what, where: make(map[string]string, size)}
	if known != nil {
		m.known = make(map[string]bool, len(known))
		for _, n := range known {
			m.known[n] = true
		}
	}
	return m
}

// add notes the nodes of one leaf or block.
func (m *membership) add(line int, name string, nodes []string) {
	var unknown []string
	for _, n := range nodes {
		before, taken := m.where[n]
		switch {
		case taken && before == name:
			m.rep.Errorf(line, "node-twice", "node %s stands twice in %s %s", n, m.what, name)
		case taken:
			m.rep.Errorf(line, "node-in-two", "node %s is in %s %s already: must be in one", n, m.what, before)
		case m.known != nil && !m.known[n]:
			unknown = append(unknown, n)
		}
		m.where[n] = name
	}
	if len(unknown) > 0 {
		m.rep.Errorf(line, "node-unknown", "%d nodes are not in slurm.conf: %s", len(unknown), listSome(unknown))
	}
}

// missing reports nodes of slurm.conf that the file does not name.
func (m *membership) missing(known []string) {
	var lost []string
	for _, n := range known {
		if _, ok := m.where[n]; !ok {
			lost = append(lost, n)
		}
	}
	if len(lost) > 0 {
		slices.SortFunc(lost, byName)
		m.rep.Errorf(0, "node-missing", "%d nodes of slurm.conf are in no %s: %s", len(lost), m.what, listSome(lost))
	}
}

// listSome folds names for a message, the first few of them when they are many.
func listSome(names []string) string {
	if s := topology.FoldHostlist(names); len(s) <= 200 {
		return s
	}
	const few = 8
	return fmt.Sprintf("%s and %d more", topology.FoldHostlist(names[:few]), len(names)-few)
}
