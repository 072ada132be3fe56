package kubernetes

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/railmap/railmap/exporters"
)

// MaxLintBytes bounds one file, and maxLintDocuments the documents in it.
const (
	MaxLintBytes     = 256 << 20
	maxLintDocuments = 1 << 20
)

// Lint says what a cluster would stumble over in a stream of Kubernetes documents, YAML or JSON: labels of nodes as Labels
// writes them or as "kubectl get nodes -o yaml --show-managed-fields" prints them, and the topology objects of Kueue, Volcano,
// KAI and Koordinator. Problems stand in line order.
func Lint(data []byte) []exporters.Problem {
	l := linter{known: map[string]bool{}, levels: newLevelKeySet(), hyper: map[string]hyperNode{}}
	if len(data) > MaxLintBytes {
		l.Errorf(0, "document", "the file has %d bytes: must have at most %d", len(data), MaxLintBytes)
		return l.Problems
	}
	docs, err := l.decode(data)
	if err != "" {
		line, msg := yamlLine(err)
		l.Errorf(line, "document", "%s", msg)
	}
	for _, doc := range docs {
		l.document(doc)
	}
	l.labels()
	l.hyperNodes()
	return l.Sorted()
}

// linter reads all documents before it compares them with each other.
type linter struct {
	exporters.Problems
	nodes  []lintNode
	known  map[string]bool // names of nodes, and of objects behind their kind
	hyper  map[string]hyperNode
	levels levelKeySet
}

// decode splits the stream. A broken document ends it: what stands before is still checked.
func (l *linter) decode(data []byte) (docs []*yaml.Node, problem string) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for len(docs) < maxLintDocuments {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return docs, ""
		}
		if err != nil {
			return docs, strings.TrimPrefix(err.Error(), "yaml: ")
		}
		if len(doc.Content) == 1 {
			docs = append(docs, doc.Content[0])
		}
	}
	return docs, "the file has more than " + strconv.Itoa(maxLintDocuments) + " documents"
}

var lineNumber = regexp.MustCompile(`^line (\d+): `)

// yamlLine takes the line number from the front of a decoder's message.
func yamlLine(msg string) (int, string) {
	m := lineNumber.FindStringSubmatch(msg)
	if m == nil {
		return 0, msg
	}
	n, _ := strconv.Atoi(m[1])
	return n, msg[len(m[0]):]
}

// document checks one document and everything in a List.
func (l *linter) document(doc *yaml.Node) {
	if doc.Kind == yaml.ScalarNode && doc.Tag == "!!null" {
		return
	}
	if doc.Kind != yaml.MappingNode {
		l.Errorf(doc.Line, "document", "the document must be an object with apiVersion and kind")
		return
	}
	l.repeatedKeys(doc)
	kind, version := text(get(doc, "kind")), text(get(doc, "apiVersion"))
	switch {
	case kind == "" || version == "":
		l.Errorf(doc.Line, "document", "the document must have apiVersion and kind")
	case kind == "List" || kind == "NodeList":
		if items := get(doc, "items"); items != nil {
			for _, item := range items.Content {
				l.document(item)
			}
		}
	case kind == "Node" && version == "v1":
		l.node(doc)
	default:
		l.object(doc, version+" "+kind)
	}
}

// repeatedKeys finds a key that stands twice in one object: most readers take the last one without a word.
func (l *linter) repeatedKeys(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key := n.Content[i].Value; seen[key] {
				l.Errorf(n.Content[i].Line, "key-repeated", "the key %q stands twice in one object: must stand once", key)
			} else {
				seen[key] = true
			}
		}
	}
	for _, c := range n.Content {
		l.repeatedKeys(c)
	}
}

// get gives the value of a key of an object, nil when it is absent.
func get(n *yaml.Node, path ...string) *yaml.Node {
	for _, key := range path {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var found *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				found = n.Content[i+1]
			}
		}
		n = found
	}
	return n
}

func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}
