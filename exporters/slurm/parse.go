package slurm

import (
	"strconv"
	"strings"

	"github.com/railmap/railmap/exporters"
)

// Kind is the form of a topology file.
type Kind string

// Kinds of files: topology.conf for topology/tree, the same for topology/block, and topology.yaml.
const (
	TreeKind  Kind = "tree"
	BlockKind Kind = "block"
	YAMLKind  Kind = "yaml"
)

// ParseConf reads a topology.conf for topology/tree or topology/block. Problems hold what cannot be read; what a readable
// file means is for Lint.
func ParseConf(data []byte, kind Kind, v Version) (Config, []exporters.Problem) {
	p := confParser{version: v}
	for _, l := range lexConf(data, &p.rep) {
		switch {
		case kind == BlockKind:
			p.blockLine(l)
		default:
			p.switchLine(l)
		}
	}
	return p.config, p.rep.Sorted()
}

// confParser turns lines into a Config.
type confParser struct {
	rep     exporters.Problems
	version Version
	config  Config
	expand  hosts
}

// list expands a hostlist of nodes (dots allowed) or switches.
func (p *confParser) list(line int, key, value string, dots bool) []string {
	if p.expand.rep == nil {
		p.expand = hosts{rep: &p.rep, version: p.version, left: maxHosts}
	}
	p.expand.dots = dots
	return p.expand.expand(line, key, value)
}

// keys checks that a line starts with the key want, knows only the allowed keys, and has each once.
func (p *confParser) keys(l confLine, want string, allowed ...string) (map[string]string, bool) {
	values := make(map[string]string, len(l.pairs))
	for i, kv := range l.pairs {
		known := kv.key == want
		for _, a := range allowed {
			known = known || kv.key == a
		}
		_, twice := values[kv.key]
		switch {
		case !known || i == 0 && kv.key != want:
			p.rep.Errorf(l.number, "unknown-key", "%q is not a key here: must be %s, then %s", kv.key, want, strings.Join(allowed, ", "))
			return nil, false
		case twice:
			p.rep.Errorf(l.number, "key-twice", "%s must stand once in a line", kv.key)
			return nil, false
		}
		values[kv.key] = kv.value
	}
	return values, true
}

func (p *confParser) switchLine(l confLine) {
	values, ok := p.keys(l, "switchname", "nodes", "switches", "linkspeed")
	if !ok {
		return
	}
	s := SwitchLine{Name: values["switchname"], Line: l.number}
	if v := values["nodes"]; v != "" {
		s.Nodes = p.list(l.number, "Nodes", v, true)
	}
	if v := values["switches"]; v != "" {
		s.Children = p.list(l.number, "Switches", v, false)
	}
	if v, ok := values["linkspeed"]; ok {
		p.linkSpeed(l.number, v)
	}
	p.config.Switches = append(p.config.Switches, s)
}

// linkSpeed checks a value that Slurm reads, prints and never uses.
func (p *confParser) linkSpeed(line int, v string) {
	switch strings.ToUpper(v) {
	case "INFINITE", "UNLIMITED":
		p.rep.Warnf(line, "link-speed", "LinkSpeed=%s is read as 4294967295; Slurm never uses it", v)
		return
	}
	if _, err := strconv.ParseUint(v, 10, 32); err != nil {
		p.rep.Errorf(line, "link-speed", "LinkSpeed=%s: must be a whole number below 4294967296", clip(v))
	}
}

func (p *confParser) blockLine(l confLine) {
	switch l.pairs[0].key {
	case "blocksizes":
		if values, ok := p.keys(l, "blocksizes"); ok {
			p.sizes(l.number, "BlockSizes", values["blocksizes"], &p.config.BlockSizes)
		}
	case "blocklevels":
		if p.version.IsZero() || !p.version.Before(v2405) {
			p.rep.Errorf(l.number, "block-levels", "BlockLevels is read by Slurm 23.11 only: newer releases want BlockSizes")
			return
		}
		if values, ok := p.keys(l, "blocklevels"); ok {
			p.sizes(l.number, "BlockLevels", values["blocklevels"], &p.config.BlockLevels)
		}
	default:
		values, ok := p.keys(l, "blockname", "nodes")
		if !ok {
			return
		}
		b := BlockLine{Name: values["blockname"], Line: l.number}
		if v := values["nodes"]; v != "" {
			b.Nodes = p.list(l.number, "Nodes", v, true)
		}
		p.config.Blocks = append(p.config.Blocks, b)
	}
}

// sizes reads "18,36,72" into an empty list.
func (p *confParser) sizes(line int, key, value string, into *[]int) {
	if *into != nil {
		p.rep.Errorf(line, "sizes-twice", "%s must stand once: Slurm uses the last", key)
		return
	}
	for item := range strings.SplitSeq(value, ",") {
		n, ok := number(item)
		if !ok || n > maxHosts {
			p.rep.Errorf(line, "sizes", "%s=%s: %q must be a whole number up to %d", key, clip(value), clip(item), maxHosts)
			return
		}
		*into = append(*into, int(n))
	}
}

// GuessKind says what a topology.conf looks like: BlockKind when it has a line that starts with BlockName, else TreeKind.
func GuessKind(data []byte) Kind {
	var ignored exporters.Problems
	for _, l := range lexConf(data, &ignored) {
		if l.pairs[0].key == "blockname" {
			return BlockKind
		}
	}
	return TreeKind
}
