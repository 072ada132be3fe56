package kubernetes

import (
	"fmt"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"
)

// object is a kind that lint knows: the shape of its spec, and the rules that a schema cannot say.
type object struct {
	spec  shape
	name  func(string) error
	rules func(l *linter, doc *yaml.Node)
}

// objects are the kinds by "apiVersion kind": Kueue 0.19, KAI 0.17, Koordinator 1.8, Volcano 1.16, NFD 0.19.
func objects() map[string]object {
	levelKey := shape{check: checkLevelKey}
	topology := func(alias bool) shape {
		level := shape{fields: map[string]shape{"nodeLabel": levelKey}, required: []string{"nodeLabel"}}
		if alias {
			level.fields["alias"] = shape{check: checkDNS}
		}
		return shape{fields: map[string]shape{"levels": list(level, 1, maxLevels)}, required: []string{"levels"}}
	}
	plugins := shape{fields: map[string]shape{"minMember": {integer: true, min: 1}, "scheduleTimeoutSeconds": {integer: true}}}
	gang := shape{fields: map[string]shape{"minCount": {integer: true, min: 1}}, required: []string{"minCount"}}
	upstream := shape{fields: map[string]shape{
		"schedulingPolicy": {fields: map[string]shape{"gang": gang, "basic": {fields: map[string]shape{}}}, oneOf: []string{"gang", "basic"}},
		"schedulingConstraints": {fields: map[string]shape{
			"topology": list(shape{fields: map[string]shape{"key": {check: checkLabelKey}}, required: []string{"key"}}, 1, 1),
		}},
	}, required: []string{"schedulingPolicy"}}
	flavor := shape{fields: map[string]shape{"nodeLabels": {labels: true, min: 1, max: 8}, "topologyName": {check: checkDNS}}}
	return map[string]object{
		"kueue.x-k8s.io/v1beta2 Topology":                           {topology(false), checkDNS, topologyRules},
		"kueue.x-k8s.io/v1beta1 Topology":                           {topology(false), checkDNS, topologyRules},
		"kai.scheduler/v1alpha1 Topology":                           {topology(true), checkDNS, topologyRules},
		"kueue.x-k8s.io/v1beta2 ResourceFlavor":                     {flavor, checkDNS, flavorRules},
		"kueue.x-k8s.io/v1beta1 ResourceFlavor":                     {flavor, checkDNS, flavorRules},
		"topology.volcano.sh/v1alpha1 HyperNode":                    {hyperNodeShape(), checkDNS, (*linter).keepHyperNode},
		"scheduling.koordinator.sh/v1alpha1 ClusterNetworkTopology": {koordinatorShape(), checkDefault, koordinatorRules},
		"nfd.k8s-sigs.io/v1alpha1 NodeFeature":                      {shape{fields: map[string]shape{"labels": {labels: true}}}, checkDNS, nfdRules},
		PodGroupPlugins + " PodGroup":                               {plugins, checkDNS, noRules},
		PodGroupUpstream + " PodGroup":                              {upstream, checkDNS, noRules},
		"kustomize.config.k8s.io/v1beta1 Kustomization":             {},
	}
}

func hyperNodeShape() shape {
	selector := shape{
		fields: map[string]shape{
			"exactMatch": {fields: map[string]shape{"name": {check: checkMemberName}}, required: []string{"name"}},
			"regexMatch": {fields: map[string]shape{"pattern": {}}, required: []string{"pattern"}},
			"labelMatch": {fields: map[string]shape{"matchLabels": {labels: true, min: 1}}},
		},
		oneOf: []string{"exactMatch", "regexMatch", "labelMatch"},
	}
	member := shape{fields: map[string]shape{"type": {check: checkMemberType}, "selector": selector}, required: []string{"type", "selector"}}
	return shape{
		fields:   map[string]shape{"tier": {integer: true}, "tierName": {check: checkTierName}, "members": list(member, 1, 0)},
		required: []string{"tier", "members"},
	}
}

func koordinatorShape() shape {
	layer := shape{
		fields:   map[string]shape{"topologyLayer": {}, "parentTopologyLayer": {}, "labelKey": list(shape{check: checkLabelKey}, 1, 0)},
		required: []string{"topologyLayer"},
	}
	return shape{fields: map[string]shape{"networkTopologySpec": list(layer, 1, 0)}, required: []string{"networkTopologySpec"}}
}

// object checks a document of a known kind; others are not railmap's to judge.
func (l *linter) object(doc *yaml.Node, id string) {
	o, ok := objects()[id]
	if !ok || o.name == nil {
		return
	}
	name := text(get(doc, "metadata", "name"))
	if err := o.name(name); err != nil {
		l.Errorf(doc.Line, "object-name", "metadata.name %q: %v", name, err)
	}
	if l.known[id+name] {
		l.Errorf(doc.Line, "object-repeated", "%s %s: must stand once", id, name)
	}
	l.known[id+name] = true
	spec := get(doc, "spec")
	if spec == nil {
		l.Errorf(doc.Line, "schema", "%s %s: must have the field spec", id, name)
		return
	}
	l.verify(o.spec, spec, "spec")
	o.rules(l, doc)
}

// noRules: the schema says it all.
func noRules(*linter, *yaml.Node) {}

// topologyRules: level keys differ, the host name is the last one or absent.
func topologyRules(l *linter, doc *yaml.Node) {
	levels := get(doc, "spec", "levels")
	if levels == nil {
		return
	}
	seen := map[string]bool{}
	for i, level := range levels.Content {
		key := text(get(level, "nodeLabel"))
		if seen[key] {
			l.Errorf(level.Line, "level-repeated", "level %s: must stand once", key)
		}
		seen[key] = true
		if key == HostnameKey && i != len(levels.Content)-1 {
			l.Errorf(level.Line, "level-host", "level %s: must be the last one", key)
		}
	}
	if len(levels.Content) > 0 && !seen[HostnameKey] {
		l.Warnf(levels.Line, "level-host", "the last level is not %s: Kueue then counts capacity only and looks at no taint, affinity or failed node", HostnameKey)
	}
}

// flavorRules: a flavor with a topology selects nodes by 1 to 8 labels.
func flavorRules(l *linter, doc *yaml.Node) {
	if get(doc, "spec", "topologyName") != nil && get(doc, "spec", "nodeLabels") == nil {
		l.Errorf(doc.Line, "schema", "spec: a flavor with topologyName must have nodeLabels")
	}
}

// nfdRules: the node is named in a label, and no key is NFD's to refuse.
func nfdRules(l *linter, doc *yaml.Node) {
	if err := checkDNS(text(get(doc, "metadata", "labels", nfdNodeKey))); err != nil {
		l.Errorf(doc.Line, "schema", "metadata.labels: %s: %v", nfdNodeKey, err)
	}
}

// koordinatorRules: the layers are one chain that ends at the built-in layer of nodes.
func koordinatorRules(l *linter, doc *yaml.Node) {
	layers := get(doc, "spec", "networkTopologySpec")
	if layers == nil {
		return
	}
	parents, roots := map[string]int{}, 0
	names := map[string]bool{}
	for _, layer := range layers.Content {
		name, parent := text(get(layer, "topologyLayer")), text(get(layer, "parentTopologyLayer"))
		if names[name] {
			l.Errorf(layer.Line, "layer-repeated", "layer %s: must stand once", name)
		}
		names[name] = true
		if parent == "" {
			roots++
		} else {
			parents[parent]++
		}
		if (get(layer, "labelKey") == nil) != (name == nodeLayer) {
			l.Errorf(layer.Line, "layer-key", "layer %s: must have labelKey, and only %s must not", name, nodeLayer)
		}
	}
	broken := roots != 1 || !names[nodeLayer] || parents[nodeLayer] > 0
	for parent, n := range parents {
		broken = broken || n > 1 || !names[parent]
	}
	if broken {
		l.Errorf(layers.Line, "layer-chain", "the layers must be one chain that ends at %s", nodeLayer)
	}
}

// hyperNode is what the rules between HyperNodes need.
type hyperNode struct {
	line, tier int
	children   []string
	nodes      []string
}

// keepHyperNode checks what one HyperNode alone shows and keeps it for hyperNodes.
func (l *linter) keepHyperNode(doc *yaml.Node) {
	h := hyperNode{line: doc.Line}
	h.tier, _ = strconv.Atoi(text(get(doc, "spec", "tier")))
	switch source := text(get(doc, "metadata", "labels", "volcano.sh/network-topology-source")); source {
	case "ufm", "roce", "label":
		l.Errorf(doc.Line, "hypernode-source", "the source %q is one of Volcano's own: its discoverer would delete this HyperNode", source)
	}
	if members := get(doc, "spec", "members"); members != nil {
		for _, m := range members.Content {
			name := text(get(m, "selector", "exactMatch", "name"))
			switch kind := text(get(m, "type")); {
			case kind == "HyperNode" && get(m, "selector", "labelMatch") != nil:
				l.Errorf(m.Line, "hypernode-member", "labelMatch selects nodes only: must be exactMatch or regexMatch for HyperNodes")
			case kind == "HyperNode" && name != "":
				h.children = append(h.children, name)
			case kind == "Node" && name != "":
				h.nodes = append(h.nodes, name)
			}
		}
	}
	l.hyper[text(get(doc, "metadata", "name"))] = h
}

// hyperNodes makes the checks between HyperNodes: members are there, are below, and have one parent.
func (l *linter) hyperNodes() {
	names := make([]string, 0, len(l.hyper))
	for n := range l.hyper {
		names = append(names, n)
	}
	slices.Sort(names)
	parent := map[string]string{}
	for _, name := range names {
		h := l.hyper[name]
		for _, m := range append(slices.Clone(h.children), h.nodes...) {
			isChild := slices.Contains(h.children, m)
			key := fmt.Sprint(isChild, m)
			if other, ok := parent[key]; ok {
				l.Errorf(h.line, "hypernode-parents", "%s is a member of %s and %s: must be in one", m, other, name)
			}
			parent[key] = name
			child, known := l.hyper[m]
			switch {
			case isChild && !known:
				l.Errorf(h.line, "hypernode-member", "HyperNode %s has the member %s, which is not in the file", name, m)
			case isChild && child.tier >= h.tier:
				l.Errorf(h.line, "hypernode-tier", "HyperNode %s has tier %d and its member %s tier %d: must be higher than its members", name, h.tier, m, child.tier)
			}
		}
	}
}

func checkDNS(s string) error {
	if !isSubdomain(s) {
		return fmt.Errorf("must be a DNS name of lower-case letters, digits, '-' and '.'")
	}
	return nil
}

// checkMemberName: Volcano's webhook wants a qualified name, which is shorter than the name of a node may be.
func checkMemberName(s string) error {
	if len(s) > maxLabelValue {
		return fmt.Errorf("must have at most %d characters, has %d", maxLabelValue, len(s))
	}
	return checkDNS(s)
}

func checkDefault(s string) error {
	if s != "default" {
		return fmt.Errorf("must be default: Koordinator reads no other")
	}
	return nil
}

func checkLevelKey(s string) error {
	if len(s) > maxWholeKey {
		return fmt.Errorf("label key %s has %d characters: must have at most %d for pod sets", s, len(s), maxWholeKey)
	}
	return checkLabelKey(s)
}

func checkMemberType(s string) error {
	if s != "Node" && s != "HyperNode" {
		return fmt.Errorf("must be Node or HyperNode, not %q", s)
	}
	return nil
}

func checkTierName(s string) error {
	if len(s) > 253 {
		return fmt.Errorf("must have at most 253 characters, has %d", len(s))
	}
	return nil
}
