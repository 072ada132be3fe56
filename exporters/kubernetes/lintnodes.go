package kubernetes

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// maxWholeKey is the longest key, prefix and name together, that Kueue's pod sets and Grove take as a level.
const maxWholeKey = 63

// lintNode is what the checks across nodes need of one.
type lintNode struct {
	name   string
	line   int
	labels map[string]string
}

// node checks one Node on its own and keeps its labels for the checks across nodes.
func (l *linter) node(doc *yaml.Node) {
	name := text(get(doc, "metadata", "name"))
	if !isSubdomain(name) {
		l.Errorf(doc.Line, "node-name", "node %q: metadata.name must be a DNS name in lower case", name)
	}
	if l.known[name] {
		l.Errorf(doc.Line, "node-repeated", "node %s: must stand once: the labels of the last document would win", name)
	}
	l.known[name] = true
	live := get(doc, "metadata", "uid") != nil // read from a cluster, not to be applied
	if taints := get(doc, "spec", "taints"); taints != nil && !live {
		l.Errorf(taints.Line, "node-taints", "node %s: must not apply taints: the list is atomic, so every taint of others would go; use a JSON patch", name)
	}
	n := lintNode{name: name, line: doc.Line, labels: map[string]string{}}
	if labels := get(doc, "metadata", "labels"); labels != nil {
		for i := 0; i+1 < len(labels.Content); i += 2 {
			l.label(name, labels.Content[i], labels.Content[i+1])
			n.labels[labels.Content[i].Value] = labels.Content[i+1].Value
		}
	}
	l.nodes = append(l.nodes, n)
	l.managers(name, get(doc, "metadata", "managedFields"))
}

func (l *linter) label(node string, key, value *yaml.Node) {
	if err := checkLabelKey(key.Value); err != nil {
		l.Errorf(key.Line, "label-key", "node %s: %v", node, err)
	} else if len(key.Value) > maxWholeKey && l.levels.has(key.Value) {
		l.Warnf(key.Line, "label-key-long", "node %s: label key %s has %d characters: must have at most %d to be a level in Kueue pod sets and Grove", node, key.Value, len(key.Value), maxWholeKey)
	}
	if value.Kind != yaml.ScalarNode || value.Tag != "!!str" || oldBoolean(value) {
		l.Errorf(value.Line, "label-value", "node %s: the value of %s must be a string: put it in quotes", node, key.Value)
		return
	}
	if err := checkLabelValue(value.Value); err != nil {
		l.Errorf(value.Line, "label-value", "node %s: %s: %v", node, key.Value, err)
	}
	if slices.Contains(integerKeys(), key.Value) && before(map[string]string{"": value.Value}, "") < 0 {
		l.Errorf(value.Line, "label-integer", "node %s: %s is %q: must be a whole number for the operators Gt and Lt", node, key.Value, value.Value)
	}
}

// oldBoolean tells a bare word that is a string in YAML 1.2 and a boolean for kubectl, which reads YAML 1.1.
func oldBoolean(n *yaml.Node) bool {
	return n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 && plain(n.Value) != n.Value && n.Value != "" && isWord(n.Value) && isLetter(n.Value[0])
}

// managers names whoever else owns a label that railmap writes: two writers overwrite each other without a word.
func (l *linter) managers(node string, fields *yaml.Node) {
	if fields == nil || fields.Kind != yaml.SequenceNode {
		return
	}
	for _, entry := range fields.Content {
		manager := text(get(entry, "manager"))
		owned := get(entry, "fieldsV1", "f:metadata", "f:labels")
		if strings.HasPrefix(manager, "railmap") || owned == nil {
			continue
		}
		for i := 0; i+1 < len(owned.Content); i += 2 {
			key := strings.TrimPrefix(owned.Content[i].Value, "f:")
			if l.levels.has(key) || strings.HasPrefix(key, "railmap.dev/") {
				l.Warnf(owned.Content[i].Line, "label-foreign-manager", "node %s: label %s is written by %q, not by railmap: must have one writer", node, key, manager)
			}
		}
	}
}

// labels makes the checks across nodes: levels that are missing, values in text order, a tree that holds together.
func (l *linter) labels() {
	keys := l.levelKeys()
	for _, n := range l.nodes {
		for _, k := range keys {
			if n.labels[k] == "" {
				l.Errorf(n.line, "label-level-missing", "node %s: has no label %s that other nodes have: Kueue, KAI and Koordinator would not see the node: must have every level", n.name, k)
			}
		}
	}
	for _, k := range keys {
		l.unpadded(k)
	}
	for i := 1; i < len(keys); i++ {
		l.twoParents(keys[i-1], keys[i])
	}
}

// levelKeys lists the level keys that any node has, coarse to fine: by the order in their preset, or by how many values they
// have. The ring order counts as a level: Kueue may use it as one.
func (l *linter) levelKeys() []string {
	values := map[string]map[string]bool{}
	for _, n := range l.nodes {
		for k, v := range n.labels {
			if !l.levels.has(k) && k != OrderKey || checkLabelKey(k) != nil {
				continue
			}
			if values[k] == nil {
				values[k] = map[string]bool{}
			}
			values[k][v] = true
		}
	}
	keys := make([]string, 0, len(values))
	for k := range values {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if c := len(values[a]) - len(values[b]); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	return keys
}

// unpadded warns of values whose text order is not the order of their numbers.
func (l *linter) unpadded(key string) {
	var values []string
	for _, n := range l.nodes {
		if v := n.labels[key]; v != "" && !strings.HasPrefix(v, exporters.Placeholder) && !guidRun.MatchString(v) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	for i := 1; i < len(values); i++ {
		a, b := values[i-1], values[i]
		if topology.CompareNames(a, b) > 0 && digits.ReplaceAllString(a, "#") == digits.ReplaceAllString(b, "#") {
			l.Warnf(0, "label-unpadded", "%s: %q sorts before %q as text: numbers must be padded with zeros to one width, schedulers sort them as text", key, a, b)
			return
		}
	}
}

// twoParents warns of a value that stands below two values of the next coarser level: Koordinator joins domains by value.
func (l *linter) twoParents(coarse, fine string) {
	parent := map[string]string{}
	told := map[string]bool{}
	for _, n := range l.nodes {
		v, p := n.labels[fine], n.labels[coarse]
		if v == "" || p == "" || told[v] {
			continue
		}
		if other, ok := parent[v]; ok && other != p {
			told[v] = true
			l.Warnf(n.line, "label-two-parents", "%s %q is below %s %q and %q: values must be unique, or schedulers join what is apart", fine, v, coarse, other, p)
			continue
		}
		parent[v] = p
	}
}

// levelKeySet tells the keys that say where a node is, of any preset.
type levelKeySet struct {
	exact    map[string]bool
	prefixes []string
}

func newLevelKeySet() levelKeySet {
	set := levelKeySet{exact: map[string]bool{}}
	for _, p := range Presets() {
		for _, k := range append(p.Keys, p.Domain, p.Host) {
			set.exact[k] = true
		}
		if p.Keys == nil {
			set.prefixes = append(set.prefixes, p.Tier+p.LevelPrefix)
		}
	}
	for _, k := range append(integerKeys(), OrderKey, FabricKey) {
		set.exact[k] = false
	}
	delete(set.exact, "")
	return set
}

func (s levelKeySet) has(key string) bool {
	if level, known := s.exact[key]; known {
		return level
	}
	hasPrefix := func(p string) bool { return strings.HasPrefix(key, p) }
	return slices.ContainsFunc(s.prefixes, hasPrefix) || strings.Contains(key, "/tier-")
}

// integerKeys are the labels that hold whole numbers and that a node may lack.
func integerKeys() []string { return []string{BusBandwidthKey, ShareKey, AdaptersKey} }
