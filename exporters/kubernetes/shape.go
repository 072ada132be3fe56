package kubernetes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// shape is what a value of a document must look like: a small part of the OpenAPI schemas in the projects' CRDs, written from
// their Go types.
type shape struct {
	fields   map[string]shape     // an object with these fields
	required []string             // fields that must be there
	oneOf    []string             // exactly one of these fields must be there
	labels   bool                 // an object of label keys and values
	items    *shape               // a list
	min, max int                  // length of a list or of labels; max 0 = no limit
	integer  bool                 // a whole number from min
	check    func(v string) error // a string; nil = any
}

// list is a list with at least min and at most max (0 = no limit) elements.
func list(items shape, min, max int) shape { return shape{items: &items, min: min, max: max} }

// verify checks a value and everything below it. path names it: "spec.levels[2].nodeLabel".
func (l *linter) verify(s shape, n *yaml.Node, path string) {
	switch {
	case s.fields != nil:
		l.verifyObject(s, n, path)
	case s.labels:
		l.verifyLabels(s, n, path)
	case s.items != nil:
		if n.Kind != yaml.SequenceNode {
			l.Errorf(n.Line, "schema", "%s: must be a list", path)
			return
		}
		l.verifyLength(s, len(n.Content), n.Line, path)
		for i, c := range n.Content {
			l.verify(*s.items, c, fmt.Sprintf("%s[%d]", path, i))
		}
	case s.integer:
		v, err := strconv.ParseInt(n.Value, 10, 64)
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil || v < int64(s.min) {
			l.Errorf(n.Line, "schema", "%s: must be a whole number from %d up, without quotes", path, s.min)
		}
	default:
		if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || oldBoolean(n) {
			l.Errorf(n.Line, "schema", "%s: must be a string", path)
			return
		}
		if s.check != nil {
			if err := s.check(n.Value); err != nil {
				l.Errorf(n.Line, "schema", "%s: %v", path, err)
			}
		}
	}
}

func (l *linter) verifyObject(s shape, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		l.Errorf(n.Line, "schema", "%s: must be an object", path)
		return
	}
	for _, name := range s.required {
		if get(n, name) == nil {
			l.Errorf(n.Line, "schema", "%s: must have the field %s", path, name)
		}
	}
	if len(s.oneOf) > 0 {
		present := slices.DeleteFunc(slices.Clone(s.oneOf), func(f string) bool { return get(n, f) == nil })
		if len(present) != 1 {
			l.Errorf(n.Line, "schema", "%s: must have exactly one of the fields %s", path, strings.Join(s.oneOf, ", "))
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		field, ok := s.fields[name]
		if !ok {
			l.Errorf(n.Content[i].Line, "schema", "%s: has no field %q: the API server drops or refuses it", path, name)
			continue
		}
		l.verify(field, n.Content[i+1], path+"."+name)
	}
}

func (l *linter) verifyLabels(s shape, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		l.Errorf(n.Line, "schema", "%s: must be an object of labels", path)
		return
	}
	l.verifyLength(s, len(n.Content)/2, n.Line, path)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if err := checkLabelKey(key.Value); err != nil {
			l.Errorf(key.Line, "schema", "%s: %v", path, err)
		}
		l.verify(shape{check: checkLabelValue}, value, path+"."+key.Value)
	}
}

func (l *linter) verifyLength(s shape, n, line int, path string) {
	if n < s.min || s.max > 0 && n > s.max {
		want := fmt.Sprintf("at least %d", s.min)
		if s.max > 0 {
			want = fmt.Sprintf("%d to %d", s.min, s.max)
		}
		l.Errorf(line, "schema", "%s: has %d entries: must have %s", path, n, want)
	}
}
