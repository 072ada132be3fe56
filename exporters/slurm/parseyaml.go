package slurm

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/railmap/railmap/exporters"
)

// Entry is one topology of a topology.yaml.
type Entry struct {
	Name    string
	Default bool // cluster_default
	Plugin  Kind // TreeKind, BlockKind, or FlatKind
	Config  Config
	Line    int
}

// Plugins that stand in topology.yaml only.
const (
	FlatKind  Kind = "flat"
	ringKind  Kind = "ring"
	torusKind Kind = "torus3d"
)

// maxYAMLBytes bounds a topology.yaml: its parser holds the whole document as a tree.
const maxYAMLBytes = 32 << 20

// ParseYAML reads a topology.yaml strictly: known keys only, each once, one document, no aliases.
func ParseYAML(data []byte, v Version) ([]Entry, []exporters.Problem) {
	p := yamlParser{version: v}
	entries := p.file(data)
	return entries, p.rep.Sorted()
}

// ParseTopoconf reads what `scontrol show topoconf` prints (25.05 and newer): a topology.yaml with a %YAML line, empty
// members of the plugins that are not used, and "..." at the end.
func ParseTopoconf(data []byte) ([]Entry, []exporters.Problem) {
	p := yamlParser{printed: true}
	entries := p.file(data)
	return entries, p.rep.Sorted()
}

type yamlParser struct {
	rep     exporters.Problems
	version Version
	printed bool // by scontrol: empty members are nothing, switch lines of higher levels may hold empty nodes
	expand  hosts
}

func (p *yamlParser) file(data []byte) []Entry {
	if len(data) > maxYAMLBytes {
		p.rep.Errorf(0, "too-large", "the file must not be larger than %d bytes, has %d", maxYAMLBytes, len(data))
		return nil
	}
	p.expand = hosts{rep: &p.rep, version: p.version, left: maxHosts}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		p.rep.Errorf(0, "empty", "the file is empty: must hold a list of topologies")
		return nil
	case err != nil:
		p.rep.Errorf(0, "parse", "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		p.rep.Errorf(second.Line, "two-documents", "the file must hold one YAML document: Slurm drops the others in silence")
		return nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.SequenceNode || len(top.Content) == 0 {
		p.rep.Errorf(top.Line, "top", "the file must be a list with one entry per topology")
		return nil
	}
	var entries []Entry
	for _, n := range top.Content {
		entries = append(entries, p.entry(n))
	}
	return entries
}

// entry reads one topology.
func (p *yamlParser) entry(n *yaml.Node) Entry {
	e := Entry{Line: n.Line}
	p.mapping(n, "a topology", func(key string, v *yaml.Node) bool {
		switch key {
		case "topology":
			e.Name = p.text(v, key)
		case "cluster_default":
			e.Default = p.boolean(v, key)
		case "tree", "block", "flat", "ring", "torus3d":
			p.plugin(&e, Kind(key), v)
		default:
			return false
		}
		return true
	})
	if e.Name == "" {
		p.rep.Errorf(n.Line, "topology-name", "an entry must have a topology name")
	}
	if e.Plugin == "" {
		p.rep.Errorf(n.Line, "no-plugin", "topology %q must have one of tree, block and flat", e.Name)
	}
	return e
}

// plugin reads the member that says what an entry is.
func (p *yamlParser) plugin(e *Entry, kind Kind, v *yaml.Node) {
	if p.printed && v.Kind == yaml.MappingNode && len(v.Content) == 0 {
		return
	}
	if e.Plugin != "" {
		p.rep.Errorf(v.Line, "two-plugins", "topology %q has %s and %s: must have one", e.Name, e.Plugin, kind)
		return
	}
	e.Plugin = kind
	switch kind {
	case TreeKind:
		p.mapping(v, "tree", func(key string, v *yaml.Node) bool {
			return key == "switches" && p.each(v, key, func(n *yaml.Node) { p.switchEntry(e, n) })
		})
	case BlockKind:
		p.mapping(v, "block", func(key string, v *yaml.Node) bool {
			if key == "block_sizes" {
				return p.each(v, key, func(n *yaml.Node) { e.Config.BlockSizes = append(e.Config.BlockSizes, p.size(n)) })
			}
			return key == "blocks" && p.each(v, key, func(n *yaml.Node) { p.blockEntry(e, n) })
		})
	case FlatKind:
		if v.Kind == yaml.MappingNode {
			p.mapping(v, "flat", func(key string, v *yaml.Node) bool { return key == "alpha_step_rank" && p.boolean(v, key) || true })
		} else if !p.boolean(v, "flat") {
			p.rep.Errorf(v.Line, "flat", "flat must be true")
		}
	default: // ring, torus3d: real plugins of 26.05 whose members are not checked here
		p.rep.Warnf(v.Line, "not-checked", "topology %q uses %s, which is not checked here", e.Name, kind)
	}
}

func (p *yamlParser) switchEntry(e *Entry, n *yaml.Node) {
	s := SwitchLine{Line: n.Line}
	p.mapping(n, "a switch", func(key string, v *yaml.Node) bool {
		switch key {
		case "switch":
			s.Name = p.text(v, key)
		case "nodes":
			s.Nodes = p.list(v, key, true)
		case "children":
			s.Children = p.list(v, key, false)
		default:
			return false
		}
		return true
	})
	e.Config.Switches = append(e.Config.Switches, s)
}

func (p *yamlParser) blockEntry(e *Entry, n *yaml.Node) {
	b := BlockLine{Line: n.Line}
	p.mapping(n, "a block", func(key string, v *yaml.Node) bool {
		switch key {
		case "block":
			b.Name = p.text(v, key)
		case "nodes":
			b.Nodes = p.list(v, key, true)
		default:
			return false
		}
		return true
	})
	e.Config.Blocks = append(e.Config.Blocks, b)
}

// mapping calls member for every key, which says whether it knows the key.
func (p *yamlParser) mapping(n *yaml.Node, what string, member func(key string, v *yaml.Node) bool) {
	if n.Kind != yaml.MappingNode {
		p.rep.Errorf(n.Line, "type", "%s must be a mapping", what)
		return
	}
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode || v.Kind == yaml.AliasNode || v.Anchor != "":
			p.rep.Errorf(k.Line, "type", "%s must not use aliases, anchors or keys that are no text", what)
		case seen[k.Value]:
			p.rep.Errorf(k.Line, "key-twice", "%s has the key %q twice: Slurm uses the last", what, clip(k.Value))
		case !member(k.Value, v):
			p.rep.Errorf(k.Line, "unknown-key", "%q is not a key of %s: Slurm ignores it in silence", clip(k.Value), what)
		}
		seen[k.Value] = true
	}
}

// each calls item for every member of a sequence. An empty one is an error: Slurm then makes up its own.
func (p *yamlParser) each(n *yaml.Node, key string, item func(*yaml.Node)) bool {
	if p.printed && (n.Kind == yaml.SequenceNode || n.Tag == "!!null") && len(n.Content) == 0 {
		return true
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		p.rep.Errorf(n.Line, "type", "%s must be a list with at least one member", key)
		return true
	}
	for _, c := range n.Content {
		item(c)
	}
	return true
}

// plainNumber matches what YAML 1.1 or 1.2 libraries read as a number when it is not quoted; Slurm keeps it as text.
var plainNumber = regexp.MustCompile(`^[-+]?(\.?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|0[xob][0-9a-fA-F_]+|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|\.(inf|nan))$`)

// text reads a string. Bare words that other YAML libraries read as numbers, booleans or null must be quoted.
func (p *yamlParser) text(n *yaml.Node, key string) string {
	if n.Kind != yaml.ScalarNode {
		p.rep.Errorf(n.Line, "type", "%s must be text", key)
		return ""
	}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 && !p.printed {
		switch strings.ToLower(n.Value) {
		case "", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n":
			p.rep.Errorf(n.Line, "quote", "%s: %s must be quoted: it is not read as text everywhere", key, n.Value)
			return ""
		}
		if plainNumber.MatchString(strings.ToLower(n.Value)) {
			p.rep.Errorf(n.Line, "quote", "%s: %s must be quoted: it is not read as text everywhere", key, clip(n.Value))
			return ""
		}
	}
	return n.Value
}

// list reads a hostlist, which is a string here, never a YAML list.
func (p *yamlParser) list(n *yaml.Node, key string, dots bool) []string {
	if p.printed && n.Kind == yaml.ScalarNode && n.Value == "" {
		return nil
	}
	if n.Kind == yaml.SequenceNode {
		p.rep.Errorf(n.Line, "type", "%s must be a hostlist in a string, not a YAML list", key)
		return nil
	}
	value := p.text(n, key)
	if value == "" {
		return nil
	}
	p.expand.dots = dots
	return p.expand.expand(n.Line, key, value)
}

func (p *yamlParser) size(n *yaml.Node) int {
	v, ok := number(n.Value)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || !ok || padded(n.Value) || v > maxHosts {
		p.rep.Errorf(n.Line, "sizes", "block_sizes: %q must be a whole number up to %d", clip(n.Value), maxHosts)
		return 0
	}
	return int(v)
}

func (p *yamlParser) boolean(n *yaml.Node, key string) bool {
	if n.Kind != yaml.ScalarNode || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 || n.Value != "true" && n.Value != "false" {
		p.rep.Errorf(n.Line, "type", "%s must be true or false", key)
	}
	return n.Value == "true"
}
