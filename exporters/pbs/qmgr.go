package pbs

import (
	"fmt"
	"strings"

	"github.com/railmap/railmap/exporters"
)

// Limits of a file that is read.
const (
	MaxQmgrBytes = 256 << 20
	maxLine      = 1 << 20
)

// Command is one line of qmgr: "set node n01,n02 resources_available.leaf = leaf0".
type Command struct {
	Line       int
	Verb       string // create, set, unset, delete, list, print, active
	Object     string // server, sched, queue, node, resource, hook, ...
	Names      []string
	Attributes []Attribute
}

// Attribute is one "name op value" of a command. Op is "" when only the name is given (unset, list).
type Attribute struct{ Name, Op, Value string }

// parse reads the lines of a qmgr file. A line that qmgr would refuse is a problem and gives no command.
func parse(data []byte) ([]Command, []exporters.Problem) {
	var problems exporters.Problems
	if len(data) > MaxQmgrBytes {
		problems.Errorf(0, "too-large", "the file has %d bytes: must have at most %d", len(data), MaxQmgrBytes)
		return nil, problems
	}
	var commands []Command
	start, text := 0, ""
	for i, line := range strings.Split(string(data), "\n") {
		if text == "" {
			start = i + 1
		}
		line = strings.TrimSuffix(line, "\r")
		if cut, ok := strings.CutSuffix(line, "\\"); ok && len(text)+len(cut) < maxLine {
			text += cut + " "
			continue
		}
		text = strings.TrimSpace(text + line)
		if text != "" && text[0] != '#' {
			c, err := parseLine(text)
			c.Line = start
			if err != nil {
				problems.Errorf(start, "syntax", "%v", err)
			} else {
				commands = append(commands, c)
			}
		}
		text = ""
	}
	if text != "" {
		problems.Errorf(start, "syntax", "the file ends in a line that goes on (\\)")
	}
	return commands, problems
}

// verb gives the full form of the first word; qmgr also reads its first letter.
func verb(word string) string {
	for _, v := range []string{"active", "create", "delete", "set", "unset", "list", "print", "import", "export"} {
		if word == v || word == v[:1] {
			return v
		}
	}
	return ""
}

// object gives the full form of the second word.
func object(word string) string {
	if word == "pbshook" {
		return "hook"
	}
	for _, o := range []string{"server", "sched", "queue", "node", "resource", "hook"} {
		if word == o || word == o[:1] && o != "sched" {
			return o
		}
	}
	return ""
}

// parseLine reads "verb object [name[,name...]] [attribute [op value] [, attribute ...]]".
func parseLine(text string) (Command, error) {
	var c Command
	for i := 0; i < len(text); i++ {
		if text[i] >= 0x80 || text[i] < ' ' && text[i] != '\t' {
			return c, fmt.Errorf("byte %d (%q): qmgr reads printable ASCII only", i+1, text[i])
		}
	}
	word, rest := cutWord(text)
	if c.Verb = verb(word); c.Verb == "" {
		return c, fmt.Errorf("%q: must be create, set, unset, delete, list, print or active", word)
	}
	word, rest = cutWord(rest)
	if c.Object = object(word); c.Object == "" {
		return c, fmt.Errorf("%q: must be server, sched, queue, node, resource or hook", word)
	}
	if c.Verb == "import" || c.Verb == "export" {
		return c, nil // the body of a hook is not ours
	}
	if takesName(c.Object, rest) {
		word, rest = cutWord(rest)
		c.Names = strings.Split(word, ",")
		for _, n := range c.Names {
			if err := checkName(c, n); err != nil {
				return c, err
			}
		}
	}
	var err error
	c.Attributes, err = parseAttributes(rest)
	return c, err
}

// takesName tells whether a name stands next: always but for server and sched, where an attribute may stand at once.
func takesName(object, rest string) bool {
	if object != "server" && object != "sched" {
		return rest != ""
	}
	word, after := cutWord(rest)
	return word != "" && !strings.ContainsAny(word, "=+-") && after != "" && !strings.HasPrefix(after, "=") && !strings.HasPrefix(after, "+=") && !strings.HasPrefix(after, "-=")
}

// checkName refuses what qmgr refuses as a name: nothing, or a digit in front of anything but a node.
func checkName(c Command, name string) error {
	base, _, _ := strings.Cut(name, "@")
	if base == "" && strings.HasPrefix(name, "@") && len(name) > 1 {
		return nil // @default: all of them
	}
	if base == "" || strings.Trim(base, wordBytes+".") != "" {
		return fmt.Errorf("%s %q: the name must be letters, digits, '-', '_' and '.'", c.Object, name)
	}
	if c.Object != "node" && !isLetter(base[0]) {
		return fmt.Errorf("%s %q: the name must start with a letter", c.Object, name)
	}
	return nil
}

// parseAttributes reads "a = 1, b += \"x,y\"". A value without quotes ends at a comma and holds no blank.
func parseAttributes(text string) ([]Attribute, error) {
	var out []Attribute
	for text = strings.TrimSpace(text); text != ""; {
		end := strings.IndexAny(text, " \t=,+")
		if i := strings.Index(text, "-="); i >= 0 && (end < 0 || i < end) {
			end = i
		}
		if end < 0 {
			end = len(text)
		}
		a := Attribute{Name: text[:end]}
		if a.Name == "" || !isLetter(a.Name[0]) {
			return nil, fmt.Errorf("%q: an attribute must start with a letter", text)
		}
		text = strings.TrimSpace(text[end:])
		for _, op := range []string{"+=", "-=", "="} {
			if rest, ok := strings.CutPrefix(text, op); ok {
				var err error
				a.Op = op
				if a.Value, text, err = cutValue(strings.TrimLeft(rest, " \t")); err != nil {
					return nil, fmt.Errorf("%s: %w", a.Name, err)
				}
				break
			}
		}
		out = append(out, a)
		text = strings.TrimSpace(text)
		if text == "" {
			break
		}
		rest, ok := strings.CutPrefix(text, ",")
		if text = strings.TrimSpace(rest); !ok || text == "" {
			return nil, fmt.Errorf("%q after the attribute %s: must be ',' and another attribute; a value with blanks or commas must be in quotes", rest, a.Name)
		}
	}
	for i, a := range out {
		if i > 0 && a.Op == "" && out[i-1].Op != "" {
			return nil, fmt.Errorf("%q after a comma: must be \"attribute = value\"; a value with commas must be in quotes", a.Name)
		}
	}
	return out, nil
}

// cutValue takes a value, quoted or up to the next blank or comma.
func cutValue(text string) (value, rest string, err error) {
	if text == "" {
		return "", "", fmt.Errorf("must have a value")
	}
	if q := text[0]; q == '"' || q == '\'' {
		end := strings.IndexByte(text[1:], q)
		if end < 0 {
			return "", "", fmt.Errorf("the quote %c is not closed", q)
		}
		return text[1 : 1+end], text[end+2:], nil
	}
	end := strings.IndexAny(text, " \t,")
	if end < 0 {
		end = len(text)
	}
	if end == 0 {
		return "", "", fmt.Errorf("must have a value")
	}
	return text[:end], text[end:], nil
}

func cutWord(text string) (word, rest string) {
	text = strings.TrimLeft(text, " \t")
	end := strings.IndexAny(text, " \t")
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimLeft(text[end:], " \t")
}
