package lsf

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// maxUnitName bounds the name of a compute unit; LSF takes 59 characters for groups of hosts.
const maxUnitName = 59

const nameBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// checkHost tells whether s can stand in a list of members: blanks and brackets end a name, '~', '!' and '+' mean something.
func checkHost(s string) error {
	if s == "" || strings.Trim(s, nameBytes+".") != "" {
		return fmt.Errorf("host %q cannot be an LSF host: must be letters, digits, '-', '_' and '.': give the LSF name with an alias", s)
	}
	return nil
}

// checkUnit tells whether s can name a compute unit.
func checkUnit(s string) error {
	if s == "" || strings.Trim(s, nameBytes) != "" || len(s) > maxUnitName {
		return fmt.Errorf("compute unit %q: must be 1 to %d letters, digits, '-' and '_'", s, maxUnitName)
	}
	return nil
}

// unitName makes a name for a compute unit of any group name. What had to change carries the FNV-64a hash of the group.
func unitName(group string) string {
	if checkUnit(group) == nil {
		return group
	}
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune(nameBytes, r) {
			return r
		}
		return '_'
	}, group)
	h := fnv.New64a()
	h.Write([]byte(group))
	sum := fmt.Sprintf("x%x", h.Sum64())
	clean = strings.Trim(clean[:min(len(clean), maxUnitName-len(sum)-1)], "-_")
	if clean == "" {
		return sum
	}
	return clean + "_" + sum
}
