package topology

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Change is one difference between two maps. Kind is added, removed or changed; Subject names the node, switch, link or
// group; Message says what was and what is.
type Change struct {
	Kind    string `json:"kind" yaml:"kind"`
	What    string `json:"what" yaml:"what"` // node, switch, link, group, level
	Subject string `json:"subject" yaml:"subject"`
	Message string `json:"message,omitempty" yaml:"message,omitempty"`
}

// Diff lists what differs between two maps in the order level, group, switch, node, link; none when they say the same.
// Times, versions and generations are not compared.
func Diff(old, now *Topology) []Change {
	var out []Change
	out = append(out, diffBy("level", old.Tree.Levels, now.Tree.Levels, func(l Level) string { return l.Name }, levelChange)...)
	out = append(out, diffBy("group", old.Tree.Groups, now.Tree.Groups, func(g Group) string { return g.Name }, groupChange)...)
	out = append(out, diffBy("switch", old.Switches, now.Switches, func(s Switch) string { return s.Name }, switchChange)...)
	out = append(out, diffBy("node", old.Nodes, now.Nodes, func(n Node) string { return n.Name }, nodeChange)...)
	out = append(out, diffBy("link", old.Links, now.Links, func(l Link) string { return l.A.String() + " - " + l.B.String() }, linkChange)...)
	return out
}

func diffBy[T any](what string, old, now []T, key func(T) string, change func(a, b T) string) []Change {
	before := make(map[string]T, len(old))
	for _, v := range old {
		before[key(v)] = v
	}
	after := make(map[string]bool, len(now))
	var out []Change
	for _, v := range now {
		k := key(v)
		after[k] = true
		was, ok := before[k]
		if !ok {
			out = append(out, Change{Kind: "added", What: what, Subject: k})
		} else if m := change(was, v); m != "" {
			out = append(out, Change{Kind: "changed", What: what, Subject: k, Message: m})
		}
	}
	for _, v := range old {
		if k := key(v); !after[k] {
			out = append(out, Change{Kind: "removed", What: what, Subject: k})
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Or(CompareNames(a.Subject, b.Subject), cmp.Compare(a.Kind, b.Kind)) })
	return out
}

// changes collects "field: old -> new".
type changes []string

func (c *changes) text(field, a, b string) {
	if a != b {
		*c = append(*c, fmt.Sprintf("%s: %s -> %s", field, cmp.Or(a, "none"), cmp.Or(b, "none")))
	}
}

// number compares to one part in a million: the noise of a recomputed figure is no change.
func (c *changes) number(field string, a, b float64) {
	if math.Abs(a-b) > 1e-6*max(math.Abs(a), math.Abs(b)) {
		*c = append(*c, fmt.Sprintf("%s: %.4g -> %.4g", field, a, b))
	}
}

func (c *changes) optional(field string, a, b *float64) {
	if (a == nil) != (b == nil) {
		c.text(field, showOptional(a), showOptional(b))
	} else if a != nil {
		c.number(field, *a, *b)
	}
}

func showOptional(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%.4g", *v)
}

func (c changes) String() string { return strings.Join(c, "; ") }

func levelChange(a, b Level) string {
	var c changes
	c.number("efficiency", a.Efficiency, b.Efficiency)
	c.text("measured", fmt.Sprint(a.Measured), fmt.Sprint(b.Measured))
	return c.String()
}

func groupChange(a, b Group) string {
	var c changes
	c.text("level", a.Level, b.Level)
	c.text("parent", a.Parent, b.Parent)
	c.text("switches", strings.Join(a.Switches, ","), strings.Join(b.Switches, ","))
	c.optional("uplink", a.Uplink, b.Uplink)
	c.optional("efficiency", a.Efficiency, b.Efficiency)
	return c.String()
}

func switchChange(a, b Switch) string {
	var c changes
	c.text("guid", a.GUID.String(), b.GUID.String())
	c.text("role", string(a.Role), string(b.Role))
	c.number("tier", float64(a.Tier), float64(b.Tier))
	c.text("group", a.Group, b.Group)
	return c.String()
}

func nodeChange(a, b Node) string {
	var c changes
	c.text("group", a.Group, b.Group)
	c.text("nvlinkDomain", a.NVLinkDomain, b.NVLinkDomain)
	c.number("gpuCount", float64(a.GPUCount), float64(b.GPUCount))
	c.optional("share", a.Share, b.Share)
	c.text("state", string(a.State), string(b.State))
	return c.String()
}

func linkChange(a, b Link) string {
	var c changes
	c.number("cables", float64(len(a.Cables)), float64(len(b.Cables)))
	c.number("nominalBandwidthBytesPerSecond", a.NominalBandwidthBytesPerSecond, b.NominalBandwidthBytesPerSecond)
	c.optional("health", a.Health, b.Health)
	c.text("state", string(a.State), string(b.State))
	return c.String()
}
