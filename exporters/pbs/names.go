package pbs

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// maxName bounds names and values; PBS itself takes more.
const maxName = 63

// checkResource tells whether s can name a resource: a letter, then letters, digits, '-' and '_'. The server refuses a dot
// (error 15014), qmgr a digit in front.
func checkResource(s string) error {
	if s == "" || !isLetter(s[0]) || strings.Trim(s, wordBytes) != "" || len(s) > maxName {
		return fmt.Errorf("resource %q: must be a letter and then letters, digits, '-' and '_', at most %d", s, maxName)
	}
	return nil
}

// checkNode tells whether s can name a vnode in qmgr: a list is cut at ',', a server follows '@'.
func checkNode(s string) error {
	if s == "" || strings.Trim(s, wordBytes+".") != "" || s[0] == '-' || s[0] == '.' {
		return fmt.Errorf("node %q cannot be a PBS node: must be letters, digits, '-', '_' and '.': give the PBS name with an alias", s)
	}
	return nil
}

const wordBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// value makes a value that needs no quotes of any group name: in an unquoted value a comma starts the next attribute and a blank
// is an error, in a string_array a comma makes two values. A name that had to change carries its FNV-64a hash.
func value(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && strings.ContainsRune(wordBytes+".", r) {
			return r
		}
		return '-'
	}, name)
	if clean == name && name != "" && len(name) <= maxName && name[0] != '-' {
		return name
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	sum := fmt.Sprintf("x%x", h.Sum64())
	clean = strings.Trim(clean[:min(len(clean), maxName-len(sum)-1)], "-._")
	if clean == "" {
		return sum
	}
	return clean + "." + sum
}
