package slurm

import (
	"strconv"
	"strings"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// Limits of one file. Slurm itself refuses ranges of more than 65,536 hosts (MAX_RANGE in src/common/hostlist.c).
const (
	maxFileBytes   = 64 << 20
	maxHosts       = 1 << 20 // names in all lists of a file together
	maxRange       = 65536
	maxBrackets    = 8
	maxRangeDigits = 19 // Slurm counts in 64 bits and clips larger numbers in silence
)

// hosts expands the hostlists of one file under one budget, in Slurm's dialect, and reports what is wrong with them. It is
// stricter than the parser for people's input in package topology: a list in a file for slurmctld has no room for repair.
type hosts struct {
	rep     *exporters.Problems
	version Version
	dots    bool // names may hold dots: nodes may, switches may not
	left    int  // names that may still be expanded
}

// expand returns the names of a list, or nil after it has reported a problem.
func (h *hosts) expand(line int, key, list string) []string {
	var names []string
	for rest := list; rest != ""; {
		var term string
		term, rest = cutTerm(rest)
		if term == "" {
			continue // Slurm allows commas at the end and doubled
		}
		parts, ok := h.split(line, key, term)
		if !ok {
			return nil
		}
		n := 1
		for _, p := range parts {
			n *= p.size()
			if n > h.left {
				h.rep.Errorf(line, "list-too-long", "%s: %q: a file must not name more than %d hosts", key, clip(term), maxHosts)
				return nil
			}
		}
		h.left -= n
		names = appendProduct(names, parts)
	}
	if len(names) == 0 {
		h.rep.Errorf(line, "list-empty", "%s: %q names nothing: must be a hostlist like n[01-16]", key, clip(list))
	}
	return names
}

// cutTerm splits at the first comma outside of brackets.
func cutTerm(s string) (term, rest string) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth <= 0 {
				return s[:i], s[i+1:]
			}
		}
	}
	return s, ""
}

// part is a literal text or the ranges of one bracket.
type part struct {
	text   string
	ranges []hostRange
}

// hostRange is first..last, printed with at least width digits.
type hostRange struct {
	first, last uint64
	width       int
}

func (p part) size() int {
	if p.ranges == nil {
		return 1
	}
	n := 0
	for _, r := range p.ranges {
		n += int(r.last - r.first + 1)
	}
	return n
}

// split cuts a term like r[1-4]n[01-16] into its parts.
func (h *hosts) split(line int, key, term string) ([]part, bool) {
	var parts []part
	brackets, suffix := 0, false
	for rest := term; rest != ""; {
		i := strings.IndexAny(rest, "[]")
		switch {
		case i < 0 || i > 0:
			text := rest
			if i > 0 {
				text = rest[:i]
			}
			if !h.literal(line, key, term, text) {
				return nil, false
			}
			parts = append(parts, part{text: text})
			suffix = brackets > 0
			rest = rest[len(text):]
			continue
		case rest[0] == ']':
			h.rep.Errorf(line, "list-syntax", "%s: %q: a bracket is closed that was not opened", key, clip(term))
			return nil, false
		}
		end := strings.IndexByte(rest, ']')
		if end < 0 {
			h.rep.Errorf(line, "list-syntax", "%s: %q: the bracket is not closed", key, clip(term))
			return nil, false
		}
		ranges, ok := h.ranges(line, key, rest[1:end])
		if brackets++; brackets > maxBrackets && ok {
			h.rep.Errorf(line, "list-syntax", "%s: %q: must not have more than %d brackets", key, clip(term), maxBrackets)
			ok = false
		}
		if !ok {
			return nil, false
		}
		parts, suffix = append(parts, part{ranges: ranges}), false
		rest = rest[end+1:]
	}
	if suffix && brackets > 0 {
		h.afterBracket(line, key, term)
	}
	return parts, true
}

// afterBracket reports text after the last bracket, which Slurm reads since 23.11 only.
func (h *hosts) afterBracket(line int, key, term string) {
	const text = "%s: %q: text after a bracket is read by Slurm 23.11 and newer only; list these names one by one"
	switch {
	case h.version.IsZero():
		h.rep.Warnf(line, "text-after-bracket", text, key, clip(term))
	case h.version.Before(v2311):
		h.rep.Errorf(line, "text-after-bracket", text, key, clip(term))
	}
}

// literal checks the characters between brackets, and numbers at the end that Slurm would clip.
func (h *hosts) literal(line int, key, term, text string) bool {
	digits := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !nameByte(c) && !(h.dots && c == '.') {
			h.rep.Errorf(line, "list-characters", "%s: %q: %q must not stand in a name: letters, digits, - and _ may", key, clip(term), c)
			return false
		}
		if digits++; !isDigit(c) {
			digits = 0
		}
		if digits > maxRangeDigits {
			h.rep.Errorf(line, "number-too-large", "%s: %q: a number must not have more than %d digits", key, clip(term), maxRangeDigits)
			return false
		}
	}
	return true
}

// ranges reads the inside of a bracket: "1-3,007".
func (h *hosts) ranges(line int, key, s string) ([]hostRange, bool) {
	var out []hostRange
	for item := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(item, "-")
		if !isRange {
			last = first
		}
		lo, ok1 := number(first)
		hi, ok2 := number(last)
		switch {
		case !ok1 || !ok2:
			h.rep.Errorf(line, "list-syntax", "%s: [%s]: %q must be a number or a range like 01-16", key, clip(s), clip(item))
			return nil, false
		case lo > hi:
			h.rep.Errorf(line, "list-backwards", "%s: [%s]: the range %s runs backwards", key, clip(s), clip(item))
			return nil, false
		case hi-lo >= maxRange:
			h.rep.Errorf(line, "list-too-long", "%s: [%s]: the range %s must not hold more than %d hosts", key, clip(s), clip(item), maxRange)
			return nil, false
		case len(first) != len(last) && (padded(last) || padded(first) && len(last) < len(first)):
			h.rep.Warnf(line, "padding-mixed", "%s: [%s]: the range %s mixes two widths; Slurm uses that of %s", key, clip(s), clip(item), first)
		}
		out = append(out, hostRange{lo, hi, len(first)})
	}
	return out, true
}

// number reads decimal digits and nothing else.
func number(s string) (uint64, bool) {
	if s == "" || len(s) > maxRangeDigits {
		return 0, false
	}
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil
}

func padded(s string) bool { return len(s) > 1 && s[0] == '0' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// appendProduct appends every combination of the parts, the last varying fastest. (Slurm varies the first of three or more
// brackets faster; only sets are compared here, so the order does not matter.)
func appendProduct(names []string, parts []part) []string {
	heads := []string{""}
	for _, p := range parts {
		if p.ranges == nil {
			for i := range heads {
				heads[i] += p.text
			}
			continue
		}
		next := make([]string, 0, len(heads)*p.size())
		for _, head := range heads {
			for _, r := range p.ranges {
				for n := r.first; n <= r.last; n++ {
					next = append(next, head+padNumber(n, r.width))
				}
			}
		}
		heads = next
	}
	return append(names, heads...)
}

func padNumber(n uint64, width int) string {
	s := strconv.FormatUint(n, 10)
	if len(s) < width {
		s = strings.Repeat("0", width-len(s)) + s
	}
	return s
}

// clip shortens text for a message.
func clip(s string) string {
	if len(s) > 60 {
		return s[:57] + "..."
	}
	return s
}

// cutNumber splits a name before the digits at its end. A number too long for Slurm to count with stays in the head.
func cutNumber(name string) (head, digits string) {
	i := len(name)
	for i > 0 && isDigit(name[i-1]) {
		i--
	}
	if len(name)-i > maxRangeDigits-1 {
		return name, ""
	}
	return name[:i], name[i:]
}

// byName is the order of people and Slurm: node9 before node10.
func byName(a, b string) int { return topology.CompareNames(a, b) }
