package placer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// maxAlternatives is how many next best choices an answer names.
const maxAlternatives = 3

// explain adds what every level had to offer, the next best choices and the reasons in words.
func (p *problem) explain(r *Request, best *choice, out *Placement) {
	if r.Brief {
		out.Reasons = []string{p.reasonWhere(best, out)}
		return
	}
	p.prepare()
	if best.values == nil {
		best.values, best.sets = p.groupValues(r)
	}
	var ideal []float64
	if p.k > 1 {
		ideal = p.idealLevels(r)
	}
	out.Levels = p.levelReports(best.values, ideal)
	out.Alternatives = p.alternatives(r, best, out.IdealShare)
	out.Reasons = p.reasons(best, out)
}

// groupValues is what groups could give the request's collective, -Inf where it does not fit or nobody looked. For rings that
// is every group; for the others, whose search is dearer, the best group of each level and its set.
func (p *problem) groupValues(r *Request) (values []float64, sets map[int32][]int32) {
	if r.collective() == Ring {
		return p.ringValues(), nil
	}
	values, sets = make([]float64, len(p.c.groups)), map[int32][]int32{}
	for g := range values {
		values[g] = math.Inf(-1)
	}
	bare := *r
	bare.MinimumShare = 0
	for l := int32(0); l < int32(len(p.c.levels)) && l <= p.within; l++ {
		q := *p
		q.within = l
		c, err := q.solve(&bare)
		if err != nil || c.group < 0 {
			continue
		}
		g := c.group
		for p.c.groups[g].level < l && p.c.groups[g].parent >= 0 && p.c.groups[p.c.groups[g].parent].level <= l {
			g = p.c.groups[g].parent
		}
		values[g], sets[g] = c.share, c.order
	}
	return values, sets
}

// levelReports says per level what the best group offers and what is in the way.
func (p *problem) levelReports(values, ideal []float64) []LevelReport {
	var out []LevelReport
	for l, name := range p.c.levels {
		if int32(l) > p.within {
			break
		}
		rep := LevelReport{Level: name, Usable: -1}
		improve(&rep.IdealShare, ideal, l)
		where := int32(-1)
		for g := range p.c.groups {
			grp := &p.c.groups[g]
			if grp.level != int32(l) || grp.own && grp.parent < 0 || grp.own {
				continue
			}
			n := p.allowedIn(grp)
			if improve(&rep.Share, values, g) || rep.Share == nil && n > rep.Usable {
				where, rep.Usable = int32(g), n
			}
		}
		if where >= 0 {
			p.countUses(where, &rep)
			out = append(out, rep)
		}
	}
	return out
}

// improve raises best to values[g] when that is reachable and larger.
func improve(best **float64, values []float64, g int) bool {
	if values == nil || math.IsInf(values[g], -1) || *best != nil && **best >= values[g] {
		return false
	}
	v := values[g]
	*best = &v
	return true
}

func (p *problem) allowedIn(grp *group) int {
	n := 0
	for v := grp.first; v < grp.end; v++ {
		if p.allow[v] {
			n++
		}
	}
	return n
}

func (p *problem) countUses(g int32, rep *LevelReport) {
	grp := &p.c.groups[g]
	rep.Group = grp.name
	for v := grp.first; v < grp.end; v++ {
		switch use := p.s.useAt(v); {
		case p.allow[v]:
		case p.c.nodes[v].down || use == Drained:
			rep.Drained++
		case use == Busy:
			rep.Busy++
		case use == Lent:
			rep.Lent++
		default:
			rep.Filtered++
		}
	}
}

// alternatives are the best choices in other groups, best first: the group chosen is masked, then the next one too.
func (p *problem) alternatives(r *Request, best *choice, ideal float64) []Alternative {
	type option struct {
		g     int32
		value float64
	}
	var options []option
	for g, v := range best.values {
		if int32(g) != best.group && !math.IsInf(v, -1) && !p.c.groups[g].own {
			options = append(options, option{int32(g), v})
		}
	}
	slices.SortStableFunc(options, func(a, b option) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(p.c.groups[a.g].level, p.c.groups[b.g].level))
	})
	var out []Alternative
	seen := [][]int32{best.order}
	for _, o := range options[:min(4*maxAlternatives, len(options))] {
		set := best.sets[o.g]
		if r.collective() == Ring {
			set = p.at(o.g, o.value*(1-r.Tolerance))
		}
		if len(out) == maxAlternatives || slices.ContainsFunc(seen, func(s []int32) bool { return slices.Equal(s, set) }) {
			continue
		}
		seen = append(seen, set)
		share, _ := p.evaluate(r, set)
		top := p.c.common(set)
		out = append(out, Alternative{Nodes: p.c.nodeNames(set), Level: p.c.levels[p.c.groups[top].level], Group: p.c.groups[top].name,
			Share: share, Loss: lossAgainst(share, ideal)})
	}
	return out
}

// at is the set that the usual rules choose below group g at threshold t.
func (p *problem) at(g int32, t float64) []int32 {
	end := g + 1
	for end < int32(len(p.c.groups)) && p.c.groups[end].parent >= g {
		end++
	}
	ch := &chooser{c: p.c, s: p.s, v: newExactViewOf(p, t, false, g, end), k: p.k, seg: p.seg, t: t, mask: -1}
	return ch.nodes(g)
}

// reasons puts the answer into words, one sentence each, most important first.
func (p *problem) reasons(best *choice, out *Placement) []string {
	reasons := []string{p.reasonWhere(best, out)}
	if text := bindingText(&out.Binding); text != "" {
		reasons = append(reasons, text)
	}
	for i := range out.Levels {
		if out.Levels[i].Level == out.Level {
			break
		}
		reasons = append(reasons, p.reasonLower(&out.Levels[i], out.Share))
	}
	switch {
	case p.k == 1:
		reasons = append(reasons, "one node needs no fabric: it is taken where it harms later gangs least")
	case out.Loss > 0:
		reasons = append(reasons, fmt.Sprintf("%.1f%% below the best on the empty cluster (%.3f)", 100*out.Loss, out.IdealShare))
	default:
		reasons = append(reasons, "as fast as on the empty cluster")
	}
	if out.LowerBound {
		reasons = append(reasons, "a group is slower than one above it, so a better set may exist: the share is a safe lower bound of the optimum")
	}
	return reasons
}

func (p *problem) reasonWhere(best *choice, out *Placement) string {
	if out.Group == "" {
		return fmt.Sprintf("%s is not attached to the fabric", out.Nodes[0])
	}
	leaves, last := 0, int32(-1)
	for _, v := range best.order {
		if l := p.c.nodes[v].leaf; l != last {
			leaves, last = leaves+1, l
		}
	}
	where := fmt.Sprintf("%s in %s", plural(p.k, "node"), placeName(out.Level, out.Group))
	if leaves > 1 {
		where += fmt.Sprintf(", in %d leaf groups", leaves)
	}
	return where
}

// placeName says "pod P1", but "core" for a core that is just called core.
func placeName(level, name string) string {
	if level == name {
		return name
	}
	return level + " " + name
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func bindingText(b *Binding) string {
	switch b.Kind {
	case NodeBinding:
		text := fmt.Sprintf("limited by node %s at %.3f of nominal", b.Name, b.Share)
		if b.Device != "" {
			text += " (" + b.Device + ")"
		}
		return text
	case UplinkBinding:
		text := fmt.Sprintf("limited by the uplink of %s at %.3f of nominal", placeName(b.Level, b.Name), b.Share)
		if b.Sharers > 0 {
			text += ", shared with " + plural(b.Sharers, "running gang")
		}
		return text
	case LevelBinding:
		return fmt.Sprintf("limited by the efficiency of %s, %.3f", placeName(b.Level, b.Name), b.Share)
	}
	return ""
}

// reasonLower says why a lower, normally faster level was not taken.
func (p *problem) reasonLower(l *LevelReport, share float64) string {
	var taken []string
	for _, t := range []struct {
		n    int
		word string
	}{{l.Busy, "busy"}, {l.Lent, "lent"}, {l.Drained, "drained or down"}, {l.Filtered, "not allowed by the request"}} {
		if t.n > 0 {
			taken = append(taken, fmt.Sprintf("%d %s", t.n, t.word))
		}
	}
	detail := ""
	if len(taken) > 0 {
		detail = " (" + strings.Join(taken, ", ") + ")"
	}
	if l.Share != nil {
		return fmt.Sprintf("one %s would give %.3f at most: %s%s", l.Level, *l.Share, l.Group, detail)
	}
	return fmt.Sprintf("no %s has %d usable nodes: the largest is %s with %d%s", l.Level, p.k, l.Group, l.Usable, detail)
}
