package fabric

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// Labels makes a report of a Kubernetes node list (kubectl get nodes -o json) whose labels name the switches above each node,
// as topograph, cloud providers and device plugins write them. Preset is a name of LabelPresets, "auto" or "", or a list of
// label keys from the leaf up, separated by commas. Name stands in messages.
//
// Labels say nothing about cables: each node gets one adapter on its leaf, each switch one link to its parent, without a
// bandwidth. Where labels contradict each other (equal leaf, different spine: labels of two generations) the majority counts
// and each node of the minority is named.
func Labels(r io.Reader, name, preset string) (*topology.FabricReport, error) {
	nodes, err := readNodes(r, name)
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%s: holds no node: must be the output of kubectl get nodes -o json", name)
	}
	p, err := choosePreset(preset, nodes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b := &labelBuilder{preset: p, name: name, depth: p.depth(nodes)}
	if b.depth == 0 {
		return nil, fmt.Errorf("%s: no node carries the label %s: must be another preset", name, p.key(0))
	}
	b.switches(nodes)
	b.nodes(nodes)
	b.hashed()
	rep := sortedReport(SourceLabels, b.devices, b.links)
	rep.Findings = b.findings.all(name)
	return rep, nil
}

// labelledNode is what we read of a node.
type labelledNode struct {
	name   string
	labels map[string]string
}

// maxNodes bounds a node list: Kubernetes itself is tested with 5,000 nodes, the largest known clusters have 130,000.
const maxNodes = 1 << 20

// readNodes reads a NodeList, a List of nodes or one node, one node at a time: a list of 16,384 real nodes is 200 MB of JSON.
func readNodes(r io.Reader, name string) ([]labelledNode, error) {
	l := &lineCounter{r: r}
	dec := json.NewDecoder(l)
	fail := func(err error) ([]labelledNode, error) {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = fmt.Errorf("input ends inside the node list")
		}
		return nil, fmt.Errorf("%s:%d: %s", name, l.lineAt(dec.InputOffset()), strings.TrimPrefix(err.Error(), "json: "))
	}
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("%s:1: must be a JSON node list (kubectl get nodes -o json)", name)
	}
	var nodes []labelledNode
	var one nodeObject
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return fail(err)
		}
		switch key {
		case "items":
			nodes, err = readItems(dec)
		case "kind":
			err = dec.Decode(&one.Kind)
		case "metadata":
			err = dec.Decode(&one.Metadata)
		default:
			err = dec.Decode(new(json.RawMessage))
		}
		if err != nil {
			return fail(err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return fail(err)
	}
	switch one.Kind {
	case "Node":
		if one.Metadata.Name != "" {
			nodes = append(nodes, labelledNode{one.Metadata.Name, one.Metadata.Labels})
		}
	case "NodeList", "List":
	default:
		return nil, fmt.Errorf("%s: kind is %q: must be NodeList, List or Node", name, one.Kind)
	}
	return uniqueNodes(nodes, name)
}

type nodeObject struct {
	Kind     string
	Metadata nodeMetadata
}

type nodeMetadata struct {
	Name   string
	Labels map[string]string
}

func readItems(dec *json.Decoder) ([]labelledNode, error) {
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return nil, cmp.Or(err, fmt.Errorf("items must be a list"))
	}
	var nodes []labelledNode
	for dec.More() {
		var n nodeObject
		if err := dec.Decode(&n); err != nil {
			return nil, err
		}
		if n.Kind != "" && n.Kind != "Node" {
			return nil, fmt.Errorf("items[%d]: kind is %q: must be Node", len(nodes), n.Kind)
		}
		if n.Metadata.Name == "" {
			return nil, fmt.Errorf("items[%d]: metadata.name must not be empty", len(nodes))
		}
		if len(nodes) == maxNodes {
			return nil, fmt.Errorf("more than %d nodes: must be fewer", maxNodes)
		}
		nodes = append(nodes, labelledNode{n.Metadata.Name, topologyLabels(n.Metadata.Labels)})
	}
	_, err := dec.Token()
	return nodes, err
}

// topologyLabels drops the labels that no preset can mean, which are most: a node of a large cluster carries a hundred.
func topologyLabels(all map[string]string) map[string]string {
	maps.DeleteFunc(all, func(k, v string) bool { return !strings.Contains(k, "/") || len(v) > 256 })
	return all
}

func uniqueNodes(nodes []labelledNode, name string) ([]labelledNode, error) {
	slices.SortFunc(nodes, func(a, b labelledNode) int { return topology.CompareNames(a.name, b.name) })
	for i := 1; i < len(nodes); i++ {
		if nodes[i].name == nodes[i-1].name {
			return nil, fmt.Errorf("%s: node %s is listed twice: must be listed once", name, nodes[i].name)
		}
	}
	return nodes, nil
}

// lineCounter remembers where lines begin, so that errors can name them.
type lineCounter struct {
	r     io.Reader
	total int64
	lines []int64 // offsets of line ends; only the first 1<<20 are kept
}

// Read counts what passes.
func (l *lineCounter) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for i, c := range p[:n] {
		if c == '\n' && len(l.lines) < 1<<20 {
			l.lines = append(l.lines, l.total+int64(i))
		}
	}
	l.total += int64(n)
	return n, err
}

func (l *lineCounter) lineAt(offset int64) int {
	i, _ := slices.BinarySearch(l.lines, offset)
	return i + 1
}

// labelBuilder makes devices and links of labels.
type labelBuilder struct {
	preset   labelPreset
	name     string
	depth    int
	devices  []topology.FabricDevice
	links    []topology.FabricLink
	findings notebook
	index    map[switchKey]int32
	ports    map[int32]int32
	parents  map[switchKey]switchKey
}

// switchKey is a switch: its tier and value, and for presets with paths all values above it.
type switchKey struct {
	tier int
	path string
}

// path is a node's values from the tier up, as the switch is known by.
func (b *labelBuilder) key(n *labelledNode, tier int) switchKey {
	v := b.preset.value(n.labels, tier)
	if v == "" || !b.preset.paths {
		return switchKey{tier, v}
	}
	parts := []string{v}
	for t := tier + 1; t < b.depth; t++ {
		if up := b.preset.value(n.labels, t); up != "" {
			parts = append(parts, up)
		}
	}
	slices.Reverse(parts)
	return switchKey{tier, strings.Join(parts, "/")}
}

// switches counts who says what about each switch's parent and lets the majority decide.
func (b *labelBuilder) switches(nodes []labelledNode) {
	votes := map[switchKey]map[switchKey]int{}
	for i := range nodes {
		for t := range b.depth {
			k := b.key(&nodes[i], t)
			if k.path == "" {
				continue
			}
			if votes[k] == nil {
				votes[k] = map[switchKey]int{}
			}
			if up, ok := b.above(&nodes[i], t); ok {
				votes[k][up]++
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(votes), compareKeys)
	b.index, b.ports, b.parents = map[switchKey]int32{}, map[int32]int32{}, map[switchKey]switchKey{}
	names := b.switchNames(keys)
	for i, k := range keys {
		b.index[k] = int32(len(b.devices))
		b.devices = append(b.devices, topology.FabricDevice{Kind: topology.SwitchDevice, Name: names[i], Tier: new(k.tier)})
	}
	for _, k := range keys {
		best, most := switchKey{}, 0
		for _, up := range slices.SortedFunc(maps.Keys(votes[k]), compareKeys) {
			if votes[k][up] > most {
				best, most = up, votes[k][up]
			}
		}
		if most > 0 {
			b.parents[k] = best
			b.cable(b.index[k], b.index[best])
		}
	}
}

// above is the nearest tier above that the node's labels name.
func (b *labelBuilder) above(n *labelledNode, tier int) (switchKey, bool) {
	for t := tier + 1; t < b.depth; t++ {
		if k := b.key(n, t); k.path != "" {
			return k, true
		}
	}
	return switchKey{}, false
}

func compareKeys(a, b switchKey) int {
	return cmp.Or(cmp.Compare(a.tier, b.tier), topology.CompareNames(a.path, b.path))
}

// switchNames are the values, or the whole paths where values repeat. A name that two tiers use gets the tier.
func (b *labelBuilder) switchNames(keys []switchKey) []string {
	short := func(k switchKey) string {
		if !b.preset.paths {
			return k.path
		}
		return k.path[strings.LastIndexByte(k.path, '/')+1:]
	}
	uses := map[string]int{}
	for _, k := range keys {
		uses[short(k)]++
	}
	names := make([]string, len(keys))
	taken := map[string]bool{}
	for i, k := range keys {
		n := short(k)
		if uses[n] > 1 && b.preset.paths {
			n = k.path
		}
		for taken[n] {
			n = fmt.Sprintf("%s@%d", n, k.tier)
		}
		taken[n] = true
		names[i] = n
	}
	return names
}

// nodes adds one adapter a node and names the nodes whose labels are missing or contradict the majority.
func (b *labelBuilder) nodes(nodes []labelledNode) {
	for i := range nodes {
		n := &nodes[i]
		id := int32(len(b.devices))
		b.devices = append(b.devices, topology.FabricDevice{Kind: topology.AdapterDevice, Host: n.name, PortCount: 1, NVLinkDomain: b.preset.nvlinkDomain(n.labels)})
		leaf := b.key(n, 0)
		if leaf.path != "" {
			b.cable(id, b.index[leaf])
		}
		b.missing(n)
		b.mixed(n)
	}
	for id, p := range b.ports {
		if d := &b.devices[id]; d.Kind == topology.SwitchDevice {
			d.PortCount = int(p)
		}
	}
}

func (b *labelBuilder) missing(n *labelledNode) {
	var absent []string
	for t := range b.depth {
		if b.preset.value(n.labels, t) == "" {
			absent = append(absent, b.preset.key(t))
		}
	}
	if len(absent) == 0 {
		return
	}
	sev, what := topology.Warning, "label "+strings.Join(absent, ", ")+" is missing"
	if len(absent) == b.depth {
		sev, what = topology.Info, "carries no topology label: not placed"
	}
	b.findings.add(topology.Finding{Code: CodeMissingLabel, Severity: sev, Subject: n.name, Message: what,
		Remedy: "label the node, or leave it out when it has no GPUs"})
}

func (b *labelBuilder) mixed(n *labelledNode) {
	for t := range b.depth {
		k := b.key(n, t)
		up, ok := b.above(n, t)
		if want, has := b.parents[k]; ok && has && k.path != "" && up != want && up.tier == want.tier {
			b.findings.add(topology.Finding{Code: CodeMixedLabels, Severity: topology.Warning, Subject: n.name,
				Message: fmt.Sprintf("%s=%s stands with %s=%s here but with %s on most nodes", b.preset.key(t), k.path, b.preset.key(up.tier), up.path, want.path),
				Remedy:  "labels of two generations are mixed: let the labeller write them again"})
		}
	}
}

func (b *labelBuilder) cable(lower, upper int32) {
	b.ports[lower]++
	b.ports[upper]++
	b.links = append(b.links, topology.FabricLink{A: topology.FabricEnd{Device: lower, Port: b.ports[lower]}, B: topology.FabricEnd{Device: upper, Port: b.ports[upper]}})
}

// hashed tells that names are hashes: topograph writes x and 64 bits in hexadecimal for values above 63 characters.
func (b *labelBuilder) hashed() {
	n := 0
	for _, d := range b.devices {
		if d.Kind == topology.SwitchDevice && isHash(d.Name) {
			n++
		}
	}
	if n > 0 {
		b.findings.add(topology.Finding{Code: CodeHashedLabel, Severity: topology.Info, Subject: b.name,
			Message: fmt.Sprintf("%d switch names are hashes of longer names; they are kept as they are", n), Remedy: "nothing to do"})
	}
}

func isHash(s string) bool {
	rest, ok := strings.CutPrefix(s, "x")
	return ok && len(rest) >= 12 && len(rest) <= 16 && strings.Trim(rest, "0123456789abcdef") == ""
}
