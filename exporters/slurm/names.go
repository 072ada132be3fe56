package slurm

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// maxName is the longest name of a switch or block: Slurm 24.11 and newer refuse more than 64 characters in a file, and
// 63 leaves room for the end of the string everywhere.
const maxName = 63

// nameByte reports whether a byte may stand in the name of a switch or block. Slurm takes more, but "." and ":" separate
// levels in SLURM_TOPOLOGY_ADDR and Topology=, and the rest has a meaning in its files or hostlists.
func nameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || c == '-' || c == '_'
}

// validName says what is wrong with the name of a switch or block, or "".
func validName(name string) string {
	switch {
	case name == "":
		return "must not be empty"
	case len(name) > maxName:
		return fmt.Sprintf("must not be longer than %d characters, has %d", maxName, len(name))
	}
	for i := 0; i < len(name); i++ {
		if !nameByte(name[i]) {
			return fmt.Sprintf("must not hold %q: letters, digits, - and _ may", name[i:i+1])
		}
	}
	if i := len(strings.TrimRight(name, "0123456789")); len(name)-i > maxRangeDigits-1 {
		return fmt.Sprintf("must not end in more than %d digits: Slurm clips larger numbers", maxRangeDigits-1)
	}
	return ""
}

// nodeName reports whether a name can stand in NodeName=: letters, digits, "-", "_" and ".", and no number that Slurm clips.
func nodeName(name string) bool {
	digits := 0
	for i := 0; i < len(name); i++ {
		if !nameByte(name[i]) && name[i] != '.' {
			return false
		}
		if digits++; !isDigit(name[i]) {
			digits = 0
		}
		if digits > maxRangeDigits {
			return false
		}
	}
	return name != "" && len(name) <= 255
}

// safeNames gives every group of the map a name that Slurm can use. A name depends on the group's own name and, where two groups
// would get one name, on a checksum of the own name: never on the order or number of the others, so a new leaf renames
// no old one. Names differ also when case is ignored.
//
//	MF0;sw-1:MQM8700/U1 -> MF0-sw-1-MQM8700-U1
func safeNames(raw []string, reserved ...string) map[string]string {
	clean := make(map[string]string, len(raw))
	claims := make(map[string][]string, len(raw)) // lower case -> raw names that want it
	for _, r := range reserved {
		claims[strings.ToLower(r)] = append(claims[strings.ToLower(r)], "")
	}
	for _, r := range raw {
		if _, seen := clean[r]; seen {
			continue
		}
		c := cleanName(r)
		clean[r] = c
		claims[strings.ToLower(c)] = append(claims[strings.ToLower(c)], r)
	}
	for _, rivals := range claims {
		if len(rivals) == 1 {
			continue
		}
		slices.SortFunc(rivals, func(a, b string) int { return claimOrder(a, b, clean) })
		for _, r := range rivals[1:] { // the first keeps the plain name
			clean[r] = withChecksum(clean[r], r)
		}
	}
	return clean
}

// claimOrder puts a reserved name first, then names that needed no change, then by name.
func claimOrder(a, b string, clean map[string]string) int {
	rank := func(r string) int {
		switch {
		case r == "":
			return 0
		case clean[r] == r:
			return 1
		}
		return 2
	}
	if c := rank(a) - rank(b); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// cleanName replaces runs of other characters by one "-", and shortens with a checksum where that loses something.
func cleanName(raw string) string {
	var b strings.Builder
	dash := false
	for i := 0; i < len(raw); i++ {
		if c := raw[i]; nameByte(c) {
			b.WriteByte(c)
			dash = c == '-'
		} else if !dash {
			b.WriteByte('-')
			dash = true
		}
	}
	name := strings.Trim(b.String(), "-")
	if len(name) > maxName {
		return withChecksum(name, raw)
	}
	if validName(name) != "" { // empty, or digits that Slurm cannot count with
		return withChecksum(name, raw)
	}
	return name
}

// withChecksum ends the name in "-" and seven characters that depend on raw. The last is a letter, so that hostlists never
// take it for a number.
func withChecksum(name, raw string) string {
	h := fnv.New32a()
	h.Write([]byte(raw))
	sum := fmt.Sprintf("-%06xx", h.Sum32()&0xffffff)
	if len(name)+len(sum) > maxName {
		name = strings.TrimRight(name[:maxName-len(sum)], "-")
	}
	if name == "" {
		name = "switch"
	}
	return name + sum
}
