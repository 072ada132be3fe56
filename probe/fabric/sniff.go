package fabric

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// noRecords is the error for an input in which no reader finds a fabric.
func noRecords(l *lines) error {
	return fmt.Errorf("%s: no InfiniBand records: %s; must be the output of ibnetdiscover (plain, -p) or iblinkinfo", l.name, looksLike(l.head))
}

// looksLike says in words what the first bytes of an input are.
func looksLike(head []byte) string {
	t := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))
	low := bytes.ToLower(t[:min(len(t), 64)])
	switch {
	case len(head) == 0:
		return "the input is empty"
	case len(t) == 0:
		return "the input holds only blank space"
	case bytes.HasPrefix(low, []byte("<!doctype html")), bytes.HasPrefix(low, []byte("<html")):
		return "it looks like a web page"
	case bytes.HasPrefix(low, []byte("<?xml")):
		return "it looks like XML"
	case t[0] == '{' || bytes.HasPrefix(t, []byte("[{")):
		return "it looks like JSON"
	case bytes.IndexByte(t, 0) >= 0 || !utf8.Valid(t[:max(0, len(t)-4)]):
		return "it looks like binary data"
	case bytes.Contains(t, []byte(" : 0x")) && bytes.Contains(t, []byte(" ports ")):
		return "it looks like a list without cables (ibnetdiscover -l, ibhosts or ibswitches)"
	case onlyComments(t):
		return "it holds comments only"
	}
	return "it looks like other text"
}

func onlyComments(t []byte) bool {
	for line := range bytes.Lines(t) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}
