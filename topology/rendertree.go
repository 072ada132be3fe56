package topology

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// RenderTree draws the tree as text, one group a line, with what a reader needs at a glance:
//
//	core  spine0 (+15)         1024 nodes
//	├── leaf  leaf0              32 nodes  uplink 32.0 nodes  node[0000-0031]
//	│         1 degraded: node0007 0.88
//
// Hostlists longer than 60 characters are cut.
func RenderTree(w io.Writer, t *Topology) error {
	r := newTreeRenderer(w, t)
	for i, g := range t.Tree.Groups {
		if g.Parent == "" {
			r.group(i, "", "")
		}
	}
	r.unplaced()
	return r.w.Flush()
}

type treeRenderer struct {
	w        *bufio.Writer
	t        *Topology
	children map[string][]int
	node     map[string]*Node
}

func newTreeRenderer(w io.Writer, t *Topology) *treeRenderer {
	r := &treeRenderer{w: bufio.NewWriter(w), t: t, children: map[string][]int{}, node: map[string]*Node{}}
	for i, g := range t.Tree.Groups {
		if g.Parent != "" {
			r.children[g.Parent] = append(r.children[g.Parent], i)
		}
	}
	for i := range t.Nodes {
		r.node[t.Nodes[i].Name] = &t.Nodes[i]
	}
	return r
}

// group writes one group below a prefix of tree lines, then its children.
func (r *treeRenderer) group(i int, own, below string) {
	g := &r.t.Tree.Groups[i]
	name := g.Name
	if n := len(g.Switches); n > 1 {
		name = fmt.Sprintf("%s (+%d)", g.Name, n-1)
	}
	line := fmt.Sprintf("%s%-5s %-24s %5d nodes", own, g.Level, name, r.count(i))
	if g.Uplink != nil {
		line += fmt.Sprintf("  uplink %.4g nodes", *g.Uplink)
	}
	if len(g.Nodes) > 0 {
		line += "  " + cut(FoldHostlist(g.Nodes), 60)
	}
	fmt.Fprintln(r.w, line)
	kids := r.children[g.Name]
	if bad := r.degraded(g.Nodes); bad != "" {
		bar := "    "
		if len(kids) > 0 {
			bar = "│   "
		}
		fmt.Fprintln(r.w, below+bar+"  "+bad)
	}
	for k, c := range kids {
		if k == len(kids)-1 {
			r.group(c, below+"└── ", below+"    ")
		} else {
			r.group(c, below+"├── ", below+"│   ")
		}
	}
}

func (r *treeRenderer) count(i int) int {
	g := &r.t.Tree.Groups[i]
	n := len(g.Nodes)
	for _, c := range r.children[g.Name] {
		n += r.count(c)
	}
	return n
}

// degraded names nodes below their nominal bandwidth.
func (r *treeRenderer) degraded(nodes []string) string {
	var bad []string
	for _, name := range nodes {
		if n := r.node[name]; n != nil && n.Share != nil && *n.Share < 0.999 {
			bad = append(bad, fmt.Sprintf("%s %.2f", name, *n.Share))
		}
	}
	if len(bad) == 0 {
		return ""
	}
	return fmt.Sprintf("%d degraded: %s", len(bad), shorten(bad))
}

// unplaced lists nodes without a group.
func (r *treeRenderer) unplaced() {
	var names []string
	for _, n := range r.t.Nodes {
		if n.Group == "" {
			names = append(names, n.Name)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(r.w, "not attached to the fabric: %s\n", cut(FoldHostlist(names), 120))
	}
}

// cut shortens s to n characters at a comma.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[:n]
	if i := strings.LastIndexByte(s, ','); i > 0 {
		s = s[:i]
	}
	return s + ",..."
}
