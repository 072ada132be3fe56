package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of ParseHostlist. They are checked on the text, before anything is expanded.
const (
	MaxHostlistBytes = 1 << 20 // length of the expression
	MaxHostlistNames = 1 << 20 // names that it stands for

	maxHostlistNumber   = 1 << 31 // largest number in a bracket
	maxHostlistRange    = 1 << 16 // numbers in one range, as in Slurm
	maxHostlistBrackets = 3       // brackets in one name
	maxHostlistName     = 255     // bytes of one name (RFC 1035)
)

// ParseHostlist expands a list of names as Slurm and ClusterShell write them: "gpu[001-003,007],login1",
// "r[1-2]c[0-3]n[01-16]", "gpu[1-2]-ib". Names are separated by commas or blanks and come out in the order in which
// "scontrol show hostnames" prints them; a name that is listed twice comes out twice. An empty expression has no names.
//
// Padding is part of a name, and the first number of a range sets it: [01-9] is 01 to 09, [1-09] is 1 to 9, [08-11] is 08 to
// 11. Of several brackets the last varies fastest, then the first, then the second: the order that Slurm makes.
//
// Where Slurm guesses, this refuses: an open range "n[1-]" (n1 in Slurm), a bracket that is not closed or not opened (part of
// the name in some versions), the operators of ClusterShell. Errors name the character.
func ParseHostlist(expr string) ([]string, error) {
	total, err := countHostlist(expr)
	if err != nil || total == 0 {
		return nil, err
	}
	names := make([]string, 0, total)
	for pos := 0; ; {
		var it hostItem
		if pos, err = it.scan(expr, pos); err != nil || it.end == it.start {
			return names, err
		}
		names = it.expand(names)
	}
}

// countHostlist checks the whole expression and counts its names without keeping anything.
func countHostlist(expr string) (int, error) {
	if len(expr) > MaxHostlistBytes {
		return 0, fmt.Errorf("hostlist is %d bytes long: must be at most %d", len(expr), MaxHostlistBytes)
	}
	total := 0
	for pos := 0; ; {
		var it hostItem
		next, err := it.scan(expr, pos)
		if err != nil {
			return 0, err
		}
		if it.end == it.start {
			return total, nil
		}
		n, err := it.count(expr)
		if err != nil {
			return 0, err
		}
		if total += n; total > MaxHostlistNames {
			return 0, hostlistError(expr, it.start, "the list has more than %d names up to here: must be split", MaxHostlistNames)
		}
		pos = next
	}
}

// hostItem is one name of the expression with its brackets not yet expanded:
// text[0] [group[0]] text[1] [group[1]] text[2] ... All strings are parts of the expression.
type hostItem struct {
	start, end int // bytes of the expression; equal when no name is left
	groups     int
	text       [maxHostlistBrackets + 1]string
	group      [maxHostlistBrackets]string
	groupAt    [maxHostlistBrackets]int
}

// scan reads the next item from pos on and returns where the one after it may begin.
func (it *hostItem) scan(expr string, pos int) (int, error) {
	for pos < len(expr) && isSeparator(expr[pos]) {
		pos++
	}
	it.start = pos
	textAt := pos
	for pos < len(expr) && !isSeparator(expr[pos]) {
		switch c := expr[pos]; {
		case c == '[':
			size := strings.IndexAny(expr[pos+1:], "[]")
			if size < 0 || expr[pos+1+size] == '[' {
				return 0, hostlistError(expr, pos, "bracket is not closed: must be like n[1-3]")
			}
			if it.groups == maxHostlistBrackets {
				return 0, hostlistError(expr, pos, "more than %d brackets in one name", maxHostlistBrackets)
			}
			it.text[it.groups] = expr[textAt:pos]
			it.group[it.groups], it.groupAt[it.groups] = expr[pos+1:pos+1+size], pos+1
			it.groups++
			pos += size + 2
			textAt = pos
		case c == ']':
			return 0, hostlistError(expr, pos, "bracket is closed but not opened")
		case c < ' ' || c == 0x7f || strings.IndexByte("!&^@*?%\"'", c) >= 0:
			return 0, hostlistError(expr, pos, "character %q may not stand in a name: list plain names and ranges", c)
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(expr[pos:])
			if r == utf8.RuneError {
				return 0, hostlistError(expr, pos, "byte 0x%02x is not UTF-8", c)
			}
			pos += size
		default:
			pos++
		}
	}
	it.text[it.groups] = expr[textAt:pos]
	it.end = pos
	return pos, nil
}

// count checks the ranges of the item and multiplies their sizes.
func (it *hostItem) count(expr string) (int, error) {
	total, length := 1, len(it.text[it.groups])
	for g := range it.groups {
		n, digits := 0, 0
		for pos, more := 0, true; more; {
			r, next, err := scanRange(expr, it.groupAt[g]+pos, it.group[g][pos:])
			if err != nil {
				return 0, err
			}
			n += int(r.hi-r.lo) + 1
			digits = max(digits, r.width, len(strconv.FormatInt(r.hi, 10)))
			pos += next + 1
			more = pos <= len(it.group[g])
		}
		length += len(it.text[g]) + digits
		if total *= n; total > MaxHostlistNames {
			return 0, hostlistError(expr, it.start, "the name stands for more than %d names", MaxHostlistNames)
		}
	}
	if length > maxHostlistName {
		return 0, hostlistError(expr, it.start, "the name is %d bytes long: must be at most %d", length, maxHostlistName)
	}
	return total, nil
}

// expand appends the names of an item that count has accepted.
func (it *hostItem) expand(names []string) []string {
	if it.groups == 0 {
		return append(names, it.text[0])
	}
	var values [maxHostlistBrackets]hostNumber
	buf := make([]byte, 0, maxHostlistName)
	// Slurm opens the last bracket innermost and the others from the first one outwards.
	var loop func(depth int)
	loop = func(depth int) {
		g := it.groups - 2 - depth
		if depth == it.groups-1 {
			g = it.groups - 1
		}
		for pos := 0; pos <= len(it.group[g]); {
			r, next, _ := scanRange(it.group[g], pos, it.group[g][pos:])
			for v := r.lo; v <= r.hi; v++ {
				values[g] = hostNumber{v, r.width}
				if depth < it.groups-1 {
					loop(depth + 1)
					continue
				}
				buf = buf[:0]
				for i := range it.groups {
					buf = values[i].append(append(buf, it.text[i]...))
				}
				names = append(names, string(append(buf, it.text[it.groups]...)))
			}
			pos += next + 1
		}
	}
	loop(0)
	return names
}

// hostRange is lo to hi, printed at least width digits wide.
type hostRange struct {
	lo, hi int64
	width  int
}

// scanRange reads the first range of s and returns where it ends. At is the place of s in expr, for messages.
func scanRange(expr string, at int, s string) (hostRange, int, error) {
	end := strings.IndexByte(s, ',')
	if end < 0 {
		end = len(s)
	}
	first, last, isRange := strings.Cut(s[:end], "-")
	lo, err := scanNumber(expr, at, first)
	if err != nil {
		return hostRange{}, 0, err
	}
	r := hostRange{lo: lo, hi: lo, width: len(first)}
	if isRange {
		if r.hi, err = scanNumber(expr, at+len(first)+1, last); err != nil {
			return hostRange{}, 0, err
		}
	}
	if r.hi < r.lo {
		return hostRange{}, 0, hostlistError(expr, at, "range %s runs backwards: the first number must be the smaller", s[:end])
	}
	if r.hi-r.lo >= maxHostlistRange {
		return hostRange{}, 0, hostlistError(expr, at, "range %s has more than %d numbers", s[:end], maxHostlistRange)
	}
	return r, end, nil
}

func scanNumber(expr string, at int, s string) (int64, error) {
	if s == "" {
		return 0, hostlistError(expr, at, "a number is missing: ranges must be like 1-3 or 7")
	}
	n := int64(0)
	for i := range len(s) {
		if !isDigit(s[i]) {
			return 0, hostlistError(expr, at+i, "ranges must be made of digits, like 1-3 or 7")
		}
		if n = n*10 + int64(s[i]-'0'); n > maxHostlistNumber {
			return 0, hostlistError(expr, at, "a number is too large: must be at most %d", maxHostlistNumber)
		}
	}
	return n, nil
}

// hostNumber is a number and the digits it is padded to.
type hostNumber struct {
	value int64
	width int
}

func (n hostNumber) append(b []byte) []byte {
	start := len(b)
	b = strconv.AppendInt(b, n.value, 10)
	for pad := n.width - (len(b) - start); pad > 0; pad-- {
		b = slices.Insert(b, start, '0')
	}
	return b
}

func isSeparator(c byte) bool { return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// hostlistError names the place: the character counted from 1 and a little of what stands there.
func hostlistError(expr string, pos int, format string, args ...any) error {
	const around = 24
	near := expr[pos:min(pos+around, len(expr))]
	where := fmt.Sprintf("at %q", near)
	if near == "" {
		where = "at its end"
	}
	return fmt.Errorf("hostlist character %d, %s: %s", pos+1, where, fmt.Sprintf(format, args...))
}
