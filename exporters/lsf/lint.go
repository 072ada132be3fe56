package lsf

import (
	"regexp"
	"slices"
	"strings"

	"github.com/railmap/railmap/exporters"
)

// MaxBytes bounds one file that is read.
const MaxBytes = 256 << 20

// Lint checks compute units by IBM's rules (compute_unit_configure_lsf): every unit has a type of COMPUTE_UNIT_TYPES, hosts are
// members of the finest type only and of one unit, all units of a type have members of one kind, names are unique, and the
// members of a unit are the units of the next finer type. Files that are used together go in together.
func Lint(files []exporters.File) []exporters.Problem {
	l := &linter{}
	for _, f := range files {
		l.file = f.Name
		if len(f.Data) > MaxBytes {
			l.errorf(0, "too-large", "the file has %d bytes: must have at most %d", len(f.Data), MaxBytes)
			continue
		}
		l.read(string(f.Data))
	}
	l.check()
	return l.Sorted()
}

type linter struct {
	exporters.Problems
	file  string
	types []string // finest first
	units []lintUnit
}

type lintUnit struct {
	unit
	file string
	line int
}

func (l *linter) errorf(line int, code, format string, args ...any) {
	var p exporters.Problems
	p.Errorf(line, code, format, args...)
	p[0].File = l.file
	l.Problems = append(l.Problems, p...)
}

// read takes COMPUTE_UNIT_TYPES and the ComputeUnit sections of a file; other lines and sections are not ours.
func (l *linter) read(text string) {
	section, start := "", 0
	var columns []string
	for i, raw := range strings.Split(text, "\n") {
		line, _, _ := strings.Cut(raw, "#")
		fields := splitFields(line)
		switch {
		case len(fields) == 0:
		case len(fields) == 2 && strings.EqualFold(fields[0], "begin"):
			if section != "" {
				l.errorf(i+1, "section", "section %s begins in section %s of line %d: must end first", fields[1], section, start)
			}
			section, start, columns = fields[1], i+1, nil
		case len(fields) == 2 && strings.EqualFold(fields[0], "end"):
			if !strings.EqualFold(section, fields[1]) {
				l.errorf(i+1, "section", "section %s ends and did not begin", fields[1])
			}
			section = ""
		case strings.EqualFold(section, "ComputeUnit") && columns == nil:
			columns = l.columns(i+1, fields)
		case strings.EqualFold(section, "ComputeUnit"):
			l.unit(i+1, columns, fields)
		default:
			l.parameter(i+1, line)
		}
	}
	if section != "" {
		l.errorf(start, "section", "section %s does not end", section)
	}
}

// columns reads the heading of the section.
func (l *linter) columns(line int, fields []string) []string {
	columns := make([]string, len(fields))
	for i, f := range fields {
		columns[i] = strings.ToUpper(f)
	}
	for _, want := range []string{"NAME", "MEMBER", "TYPE"} {
		if !slices.Contains(columns, want) {
			l.errorf(line, "columns", "the heading has no column %s: must be NAME, MEMBER and TYPE", want)
		}
	}
	return columns
}

func (l *linter) unit(line int, columns, fields []string) {
	if len(fields) != len(columns) {
		l.errorf(line, "columns", "the line has %d columns: must have %d, as the heading; members stand in brackets", len(fields), len(columns))
		return
	}
	u := lintUnit{file: l.file, line: line}
	for i, c := range columns {
		switch c {
		case "NAME":
			u.name = fields[i]
		case "TYPE":
			u.kind = fields[i]
		case "MEMBER":
			u.members = strings.Fields(strings.Trim(fields[i], "()"))
		}
	}
	if len(u.members) == 0 {
		l.errorf(line, "members", "unit %s has no members: must have at least one", u.name)
	}
	if err := checkUnit(u.name); err != nil {
		l.errorf(line, "name", "%v", err)
	}
	l.units = append(l.units, u)
}

var typesLine = regexp.MustCompile(`^\s*COMPUTE_UNIT_TYPES\s*=\s*(.*?)\s*$`)

// parameter reads COMPUTE_UNIT_TYPES.
func (l *linter) parameter(line int, text string) {
	m := typesLine.FindStringSubmatch(text)
	if m == nil {
		return
	}
	if l.types != nil {
		l.errorf(line, "types", "COMPUTE_UNIT_TYPES stands twice: must stand once")
	}
	defaults := 0
	l.types = []string{}
	for _, t := range strings.Fields(m[1]) {
		name, isDefault := strings.CutSuffix(t, "!")
		if isDefault {
			defaults++
		}
		if slices.Contains(l.types, name) || checkUnit(name) != nil {
			l.errorf(line, "types", "type %q: must be a name that stands once", name)
		}
		l.types = append(l.types, name)
	}
	if defaults > 1 || len(l.types) == 0 {
		l.errorf(line, "types", "COMPUTE_UNIT_TYPES has %d types and %d of them with '!': must have at least one type and at most one '!'", len(l.types), defaults)
	}
}

// splitFields cuts a line at blanks, and keeps "( ... )" together.
func splitFields(line string) []string {
	var fields []string
	depth, start := 0, -1
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case (c == ' ' || c == '\t' || c == '\r') && depth == 0:
			if start >= 0 {
				fields = append(fields, line[start:i])
			}
			start = -1
			continue
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		}
		if start < 0 {
			start = i
		}
	}
	if start >= 0 {
		fields = append(fields, strings.TrimRight(line[start:], " \t\r"))
	}
	return fields
}
