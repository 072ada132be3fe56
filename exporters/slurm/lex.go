package slurm

import (
	"bytes"
	"strings"

	"github.com/railmap/railmap/exporters"
)

// pair is one Key=value of a line. Key is in lower case.
type pair struct{ key, value string }

// confLine is a logical line: continued lines are joined under the number of the first.
type confLine struct {
	number int
	pairs  []pair
}

// lexConf cuts a topology.conf into lines of pairs as Slurm does (src/common/parse_config.c): "#" starts a comment anywhere,
// a backslash at the end continues the line, blanks may stand around "=", values may be quoted. It refuses what only
// looks accepted there: += and its kin, other backslashes, bytes outside of ASCII.
func lexConf(data []byte, rep *exporters.Problems) []confLine {
	if len(data) > maxFileBytes {
		rep.Errorf(0, "too-large", "the file must not be larger than %d bytes, has %d", maxFileBytes, len(data))
		return nil
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		rep.Errorf(1, "byte-order-mark", "the file must not start with a byte order mark: Slurm takes it for a part of the first key")
		return nil
	}
	var out []confLine
	var joined strings.Builder
	start, number, open := 1, 0, false
	flush := func() {
		if pairs := lexPairs(start, joined.String(), rep); len(pairs) > 0 {
			out = append(out, confLine{start, pairs})
		}
		joined.Reset()
	}
	for raw := range strings.SplitSeq(string(data), "\n") {
		number++
		if !open {
			start = number
		}
		if i := strings.IndexByte(raw, '#'); i > 0 && raw[i-1] == '\\' {
			rep.Errorf(number, "parse", "a backslash must not stand before #")
			return out
		}
		var text string
		text, open = stripLine(raw)
		joined.WriteString(text)
		if open {
			joined.WriteByte(' ')
			continue
		}
		flush()
	}
	flush()
	return out
}

// stripLine drops the comment and the line end, and says whether a backslash continues the line.
func stripLine(s string) (text string, more bool) {
	if i := strings.IndexByte(s, '#'); i >= 0 {
		s = s[:i]
	}
	s = strings.TrimRight(s, " \t\r\v\f")
	if t, ok := strings.CutSuffix(s, `\`); ok {
		return t, true
	}
	return s, false
}

// lexPairs reads "Key = value Key2=value2". It stops at the first thing it cannot read.
func lexPairs(line int, s string, rep *exporters.Problems) []pair {
	var pairs []pair
	for {
		s = strings.TrimLeft(s, " \t\r\v\f")
		if s == "" {
			return pairs
		}
		n := 0
		for n < len(s) && (nameByte(s[n]) && s[n] != '-' || s[n] == '.') {
			n++
		}
		key := strings.ToLower(s[:n])
		rest := strings.TrimLeft(s[n:], " \t")
		if n == 0 || !strings.HasPrefix(rest, "=") {
			rep.Errorf(line, "parse", "%q: must be Key=value", clip(s))
			return pairs
		}
		value, after, problem := lexValue(strings.TrimLeft(rest[1:], " \t"))
		if problem != "" {
			rep.Errorf(line, "parse", "%s: %s", s[:n], problem)
			return pairs
		}
		pairs = append(pairs, pair{key, value})
		s = after
	}
}

// lexValue reads a quoted or bare value from the start of s.
func lexValue(s string) (value, rest, problem string) {
	if s == "" {
		return "", "", "has no value"
	}
	if s[0] == '"' {
		end := strings.IndexByte(s[1:], '"')
		if end < 0 {
			return "", "", "the quote is not closed"
		}
		value, rest = s[1:end+1], s[end+2:]
		if rest != "" && !strings.ContainsAny(rest[:1], " \t") {
			return "", "", "a blank must follow the closing quote"
		}
	} else if end := strings.IndexAny(s, " \t\r\v\f"); end >= 0 {
		value, rest = s[:end], s[end:]
	} else {
		value = s
	}
	for i := 0; i < len(value); i++ {
		if c := value[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return "", "", "must not hold quotes, backslashes, control characters or characters outside of ASCII"
		}
	}
	if value == "" {
		return "", "", "has no value"
	}
	return value, rest, ""
}
