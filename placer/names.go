package placer

import (
	"cmp"
	"slices"
	"strings"
)

// names finds nodes by name and near names for a wrong one.
type names struct {
	nodes []node
	index map[string]int32
}

func newNames(nodes []node) *names {
	n := &names{nodes: nodes, index: make(map[string]int32, len(nodes))}
	for i := range nodes {
		n.index[nodes[i].name] = int32(i)
	}
	return n
}

func (n *names) lookup(name string) (int32, bool) {
	v, ok := n.index[name]
	return v, ok
}

// positions turns names into positions, repeated names once; all unknown names are reported together.
func (n *names) positions(field string, list []string) ([]int32, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]int32, 0, len(list))
	var unknown []string
	for _, name := range list {
		if v, ok := n.index[name]; ok {
			out = append(out, v)
		} else {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		return nil, n.unknown(field, unknown)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// maxNearSearch bounds the work for a list that is wrong from end to end.
const maxNearSearch = 8

func (n *names) unknown(field string, list []string) *UnknownHostError {
	e := &UnknownHostError{Field: field, Names: list, Near: map[string][]string{}}
	for i, name := range list {
		if i == maxNearSearch {
			break
		}
		if near := n.near(name); len(near) > 0 {
			e.Near[name] = near
		}
	}
	return e
}

// near gives up to two known names that differ only in domain, case or padding, or by at most two edits.
func (n *names) near(name string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	want := plainName(name)
	for i := range n.nodes {
		have := n.nodes[i].name
		d := 0
		if plain := plainName(have); plain != want {
			if d = editDistance(plain, want, 2); d > 2 || d*2 > len(want) {
				continue
			}
		}
		found = append(found, candidate{have, d})
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var out []string
	for i := 0; i < len(found) && i < 2; i++ {
		out = append(out, found[i].name)
	}
	return out
}

// plainName drops the domain, case and the padding of numbers.
func plainName(s string) string {
	s, _, _ = strings.Cut(strings.ToLower(s), ".")
	var b strings.Builder
	digits := false
	for i := 0; i < len(s); i++ {
		isDigit := s[i] >= '0' && s[i] <= '9'
		nextDigit := i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9'
		if s[i] == '0' && !digits && nextDigit {
			continue
		}
		digits = isDigit
		b.WriteByte(s[i])
	}
	return b.String()
}

// editDistance is the Levenshtein distance of a and b, or limit+1 when it is larger.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit || len(a) > 255 {
		return limit + 1
	}
	var row [256]int
	for j := 0; j <= len(b) && j < 256; j++ {
		row[j] = j
	}
	if len(b) > 255 {
		return limit + 1
	}
	for i := 1; i <= len(a); i++ {
		diag, low := row[0], i
		row[0] = i
		for j := 1; j <= len(b); j++ {
			next := min(row[j], row[j-1]) + 1
			if a[i-1] == b[j-1] {
				next = min(next, diag)
			} else {
				next = min(next, diag+1)
			}
			diag, row[j] = row[j], next
			low = min(low, next)
		}
		if low > limit {
			return limit + 1
		}
	}
	return row[len(b)]
}
