package topology

import (
	"slices"
	"strconv"
	"strings"
)

// FoldHostlist writes names as "scontrol show hostlist" does: gpu[001-003,007],login1. The order stays, repeats stay; only
// the last number of a name is folded, and only where neighbours of the list have the same text before it, the same padding
// and ascending numbers. ParseHostlist of the result gives the same names in the same order.
func FoldHostlist(names []string) string {
	var b strings.Builder
	for i := 0; i < len(names); {
		if i > 0 {
			b.WriteByte(',')
		}
		prefix, _, ok := splitHostName(names[i])
		j := i + 1
		for ok && j < len(names) {
			p, _, numbered := splitHostName(names[j])
			if !numbered || p != prefix {
				break
			}
			j++
		}
		if j == i+1 {
			b.WriteString(names[i])
		} else {
			b.WriteString(prefix)
			b.WriteByte('[')
			foldNumbers(&b, names[i:j], len(prefix))
			b.WriteByte(']')
		}
		i = j
	}
	return b.String()
}

// SortedHostlist is FoldHostlist of the names in natural order (node9 before node10), each once.
// The argument stays as it is. ("scontrol show hostlistsorted" orders by digit width first, which splits ranges.)
func SortedHostlist(names []string) string {
	sorted := slices.Clone(names)
	slices.SortFunc(sorted, CompareNames)
	return FoldHostlist(slices.Compact(sorted))
}

// foldNumbers writes the inside of a bracket for names that share their first skip bytes.
func foldNumbers(b *strings.Builder, names []string, skip int) {
	for i := 0; i < len(names); {
		_, first, _ := splitHostName(names[i])
		j := i + 1
		for j < len(names) && j-i < maxHostlistRange {
			_, n, _ := splitHostName(names[j])
			// The name must be what the range prints: the width of its first number, or more digits when they are needed.
			if n.value != first.value+int64(j-i) || n.width != max(first.width, decimalDigits(n.value)) {
				break
			}
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(names[i][skip:])
		if j > i+1 {
			b.WriteByte('-')
			b.WriteString(names[j-1][skip:])
		}
		i = j
	}
}

// splitHostName splits off the digits at the end of a name. Numbers beyond what ParseHostlist reads are part of the text.
func splitHostName(name string) (prefix string, n hostNumber, ok bool) {
	i := len(name)
	for i > 0 && isDigit(name[i-1]) {
		i--
	}
	value, err := strconv.ParseInt(name[i:], 10, 64)
	if err != nil || value > maxHostlistNumber {
		return name, hostNumber{}, false
	}
	return name[:i], hostNumber{value, len(name) - i}, true
}

func decimalDigits(v int64) int {
	d := 1
	for ; v >= 10; v /= 10 {
		d++
	}
	return d
}
