package kubernetes

import (
	"strconv"
	"strings"
)

// The documents are written by hand, not by the YAML encoder: 16,384 nodes in a few milliseconds, one line per label, and
// every label value quoted, so that "00042" and "yes" stay strings. Tests read them back with the real decoder.

// quoted writes s as a double-quoted scalar. Names and label values are ASCII words, for which Go and YAML quote alike.
func quoted(s string) string { return strconv.Quote(s) }

// plain writes s without quotes when no YAML reader can take it for anything but this string.
func plain(s string) string {
	if s == "" || !isLetter(s[0]) || !isAlnum(s[len(s)-1]) {
		return quoted(s)
	}
	for i := 0; i < len(s); i++ {
		if !isAlnum(s[i]) && !strings.ContainsRune("-_./", rune(s[i])) {
			return quoted(s)
		}
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return quoted(s)
	}
	return s
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
