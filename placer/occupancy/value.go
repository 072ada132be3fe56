package occupancy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// number is a JSON number as Slurm and PBS write it: 5, "5", null, or {"set": true, "infinite": false, "number": 5}.
type number struct {
	set   bool // finite and given
	value float64
}

// UnmarshalJSON takes all forms; an infinite number counts as not set.
func (n *number) UnmarshalJSON(b []byte) error {
	*n = number{}
	if len(b) > 0 && b[0] == '{' {
		var o struct {
			Set, Infinite bool
			Number        float64
		}
		if err := json.Unmarshal(b, &o); err != nil {
			return err
		}
		if o.Set && !o.Infinite {
			*n = number{true, o.Number}
		}
		return nil
	}
	s := strings.Trim(string(b), `"`)
	if s == "null" || s == "" || strings.EqualFold(s, "N/A") {
		return nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%s: must be a number", clip(s, 40))
	}
	// 0xFFFFFFFE and 0xFFFFFFFF are Slurm's "no value" and "infinite" of 32 bits.
	if v != math.MaxUint32 && v != math.MaxUint32-1 {
		*n = number{true, v}
	}
	return nil
}

// time is the number as seconds since 1970; nil when it is unknown (0) or no time of ours.
func (n number) time() *time.Time {
	if !n.set || n.value < 1 || n.value > 1<<33 {
		return nil
	}
	t := time.Unix(int64(n.value), 0).UTC()
	return &t
}

// id is the number as an id.
func (n number) id() (int64, bool) {
	if !n.set || n.value < 0 || n.value > 1<<53 || n.value != math.Trunc(n.value) {
		return 0, false
	}
	return int64(n.value), true
}

// words are the words of a state, in lower case: ["IDLE", "DRAIN"], "idle", "IDLE+DRAIN" or "down,unresolvable".
type words []string

// UnmarshalJSON takes a string or a list of strings.
func (w *words) UnmarshalJSON(b []byte) error {
	var list []string
	if len(b) > 0 && b[0] == '[' {
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
	} else {
		var s *string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		if s != nil {
			list = strings.FieldsFunc(*s, func(r rune) bool { return r == '+' || r == ',' || r == ' ' })
		}
	}
	*w = nil
	for _, s := range list {
		*w = append(*w, strings.ToLower(s))
	}
	return nil
}

// text is a string that PBS writes as a number when it looks like one.
type text string

// UnmarshalJSON takes a string, a number or a truth value as it is written; anything else is empty.
func (t *text) UnmarshalJSON(b []byte) error {
	*t = ""
	switch {
	case len(b) > 0 && b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*t = text(s)
	case len(b) > 0 && b[0] != '{' && b[0] != '[' && !bytes.Equal(b, []byte("null")):
		*t = text(b)
	}
	return nil
}

// clip makes foreign text safe for a message: one line of at most n bytes.
func clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "..."
}

// checkName refuses a name that no node or job can have.
func checkName(what, name string) error {
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7F || r == unicode.ReplacementChar }) {
		return fmt.Errorf("%s: name is %q: must be 1 to %d printable bytes without blanks", what, clip(name, 60), maxName)
	}
	return nil
}

// leaseOf finds railmap's lease in a job's comment or account: "railmap:l-5f3c".
func leaseOf(s string) string {
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == ';' }) {
		if id, ok := strings.CutPrefix(w, "railmap:"); ok && validLease(id) {
			return id
		}
	}
	return ""
}

func validLease(id string) bool {
	return id != "" && len(id) <= 64 && !strings.ContainsFunc(id, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.')
	})
}
