package topology

import (
	"bufio"
	"fmt"
	"html"
	"io"
)

// RenderSVG draws the map as nested boxes: core, pods, leaf groups, one cell a node. The colour of a cell is the node's share
// of nominal bandwidth, the bar on top of a box its uplink capacity per node below (full = no oversubscription); the worst
// findings stand below. It needs no script and no font file, follows the light or dark scheme of the viewer, and names
// every cell on hover.
func RenderSVG(w io.Writer, t *Topology) error {
	d := &svg{t: t, tree: newTreeRenderer(io.Discard, t)}
	boxes := make([]*box, 0)
	for i, g := range t.Tree.Groups {
		if g.Parent == "" {
			boxes = append(boxes, d.measure(i, svgWidth))
		}
	}
	d.w = bufio.NewWriter(w)
	width, height := flow(boxes, svgWidth, svgTop)
	width = max(width, 640)
	listed := min(len(t.Findings), svgFindings)
	d.open(width+2*svgPad, height+svgPad+28*b2i(listed > 0)+18*listed+svgPad)
	for _, b := range boxes {
		d.draw(b, svgPad, 0)
	}
	d.findings(height+2*svgPad+8, listed)
	fmt.Fprintln(d.w, "</svg>")
	return d.w.Flush()
}

// Sizes in user units (pixels at 100 %).
const (
	svgWidth    = 1200
	svgPad      = 12
	svgTop      = 76 // title and legend
	svgCell     = 11
	svgColumns  = 8 // cells in a row of a leaf group
	svgHead     = 30
	svgFindings = 12
)

type svg struct {
	w    *bufio.Writer
	t    *Topology
	tree *treeRenderer
}

// box is a group with its place inside its parent.
type box struct {
	group         int
	x, y          int
	width, height int
	kids          []*box
}

// measure sizes a group and places its children in rows of at most limit.
func (d *svg) measure(i, limit int) *box {
	g := &d.t.Tree.Groups[i]
	b := &box{group: i}
	for _, c := range d.tree.children[g.Name] {
		b.kids = append(b.kids, d.measure(c, limit-2*svgPad))
	}
	rows := (len(g.Nodes) + svgColumns - 1) / svgColumns
	own := rows * svgCell
	width, height := flow(b.kids, limit, svgHead+own+6*b2i(own > 0))
	b.width = max(width, svgColumns*svgCell+2*svgPad-2, 8*min(len(g.Name), 22)+40) + svgPad
	b.height = max(height, svgHead+own) + svgPad
	return b
}

// flow sets boxes side by side from (pad, top) and wraps at limit; it returns the size used.
func flow(boxes []*box, limit, top int) (width, height int) {
	x, y, row := svgPad, top, 0
	for _, b := range boxes {
		if x > svgPad && x+b.width > limit {
			x, y, row = svgPad, y+row+8, 0
		}
		b.x, b.y = x, y
		x += b.width + 8
		row = max(row, b.height)
		width = max(width, x)
	}
	return width, y + row
}

func (d *svg) open(width, height int) {
	fmt.Fprintf(d.w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="map of the cluster">
<style>
 .bg{fill:#fff} text{fill:#1c2733} .dim{fill:#5b6b7a} .box{fill:#f4f6f8;stroke:#b8c2cc} .leaf{fill:#fff;stroke:#8fa0b0}
 .ok{fill:#2b6cb0} .unmeasured{fill:#7fb0d8} .slow{fill:#e69f00} .bad{fill:#c0392b} .unknown{fill:#b8c2cc} .track{fill:#dde3e8}
 @media (prefers-color-scheme: dark){.bg{fill:#11171d} text{fill:#e6edf3} .dim{fill:#9fb0c0} .box{fill:#18212a;stroke:#3a4a58} .leaf{fill:#11171d;stroke:#50626f} .track{fill:#2a3640}}
</style>
<rect class="bg" width="100%%" height="100%%"/>
`, width, height, width, height)
	bad := 0
	for i := range d.t.Nodes {
		bad += b2i(d.t.Nodes[i].State == Degraded)
	}
	fmt.Fprintf(d.w, "<text x=\"%d\" y=\"26\" font-size=\"17\" font-weight=\"600\">%d nodes, %d switches, %d links; %d nodes degraded, %d findings</text>\n",
		svgPad, len(d.t.Nodes), len(d.t.Switches), len(d.t.Links), bad, len(d.t.Findings))
	x := svgPad
	for _, l := range []struct{ class, text string }{{"ok", "measured, healthy"}, {"unmeasured", "healthy, not measured"}, {"slow", "share 0.5 to 0.95"}, {"bad", "below 0.5 or down"}, {"unknown", "unknown"}} {
		fmt.Fprintf(d.w, "<rect class=\"%s\" x=\"%d\" y=\"40\" width=\"11\" height=\"11\" rx=\"2\"/><text x=\"%d\" y=\"50\">%s</text>\n", l.class, x, x+16, l.text)
		x += 34 + 7*len(l.text)
	}
	fmt.Fprintf(d.w, "<text class=\"dim\" x=\"%d\" y=\"66\" font-size=\"11\">bar on a box: uplink bandwidth per node below it, full = no oversubscription</text>\n", svgPad)
}

// draw writes a box at its parent's origin.
func (d *svg) draw(b *box, ox, oy int) {
	g := &d.t.Tree.Groups[b.group]
	x, y := ox+b.x-svgPad, oy+b.y
	class := "box"
	if len(b.kids) == 0 {
		class = "leaf"
	}
	n := d.tree.count(b.group)
	fmt.Fprintf(d.w, "<g><rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>", class, x, y, b.width, b.height)
	if g.Uplink != nil && n > 0 {
		ratio := min(1, *g.Uplink/float64(n))
		full := b.width - 8
		fmt.Fprintf(d.w, "<rect class=\"track\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"4\"/><rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"4\"><title>uplink of %s: %.4g nodes' worth for %d nodes</title></rect>",
			x+4, y+3, full, shareClass(&ratio, Unmeasured), x+4, y+3, int(float64(full)*ratio), html.EscapeString(g.Name), *g.Uplink, n)
	}
	name := g.Name
	if len(g.Switches) > 1 {
		name = fmt.Sprintf("%s +%d", g.Name, len(g.Switches)-1)
	}
	fmt.Fprintf(d.w, "<text x=\"%d\" y=\"%d\"><title>%s %s: %d switches, %d nodes</title><tspan class=\"dim\">%s</tspan> %s</text>\n", x+8, y+22, g.Level, html.EscapeString(g.Name), len(g.Switches), n, g.Level, html.EscapeString(clip(name, (b.width-45)/7)))
	for i, node := range g.Nodes {
		d.cell(node, x+8+i%svgColumns*svgCell, y+svgHead+i/svgColumns*svgCell)
	}
	for _, k := range b.kids {
		d.draw(k, x+svgPad, y)
	}
	fmt.Fprintln(d.w, "</g>")
}

func (d *svg) cell(name string, x, y int) {
	n := d.tree.node[name]
	class, note := "unknown", "share unknown"
	if n != nil {
		class = shareClass(n.Share, n.State)
		if n.Share != nil {
			note = fmt.Sprintf("share %.2f, %s", *n.Share, n.State)
		}
		if n.Limiting != "" {
			note += ", limited by " + n.Limiting
		}
	}
	fmt.Fprintf(d.w, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"2\"><title>%s: %s</title></rect>", class, x, y, svgCell-2, svgCell-2, html.EscapeString(name), html.EscapeString(note))
}

// shareClass is the colour of a share: letters of the legend.
func shareClass(share *float64, state State) string {
	switch {
	case state == Down:
		return "bad"
	case share == nil:
		return "unknown"
	case *share < 0.5:
		return "bad"
	case *share < 0.95:
		return "slow"
	case state == OK:
		return "ok"
	}
	return "unmeasured"
}

// findings lists the worst findings below the picture.
func (d *svg) findings(y, n int) {
	if n == 0 {
		return
	}
	fmt.Fprintf(d.w, "<text x=\"%d\" y=\"%d\" font-weight=\"600\">findings</text>\n", svgPad, y)
	for i, f := range d.t.Findings[:n] {
		fmt.Fprintf(d.w, "<text x=\"%d\" y=\"%d\">%s  %s  %s: %s</text>\n", svgPad, y+18*(i+1), f.Severity, f.Code, html.EscapeString(f.Subject), html.EscapeString(clip(f.Message, 130)))
	}
	if len(d.t.Findings) > n {
		fmt.Fprintf(d.w, "<text class=\"dim\" x=\"%d\" y=\"%d\">and %d more</text>\n", svgPad+70, y, len(d.t.Findings)-n)
	}
}

// clip shortens s to n characters.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:max(n-1, 1)]) + "…"
}
