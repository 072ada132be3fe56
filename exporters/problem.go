package exporters

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railmap/railmap/topology"
)

// Problem is one thing that the reader of an exported file would stumble over. Code is stable. Line counts from 1; 0 means the
// file as a whole. File is set where several files are read together.
type Problem struct {
	File     string
	Line     int
	Severity topology.Severity // Error: the file must not be used; Warning: legal, look at it
	Code     string
	Message  string
}

// String prints "file:3: error: text (code)", or "line 3: ..." without a file.
func (p Problem) String() string {
	place := ""
	switch {
	case p.File != "" && p.Line > 0:
		place = fmt.Sprintf("%s:%d: ", p.File, p.Line)
	case p.File != "":
		place = p.File + ": "
	case p.Line > 0:
		place = fmt.Sprintf("line %d: ", p.Line)
	}
	return fmt.Sprintf("%s%s: %s (%s)", place, p.Severity, p.Message, p.Code)
}

// Problems collects what a lint finds.
type Problems []Problem

// Errorf adds a problem that forbids to use the file.
func (p *Problems) Errorf(line int, code, format string, args ...any) {
	*p = append(*p, Problem{Line: line, Severity: topology.Error, Code: code, Message: fmt.Sprintf(format, args...)})
}

// Warnf adds a problem that the file may be used with.
func (p *Problems) Warnf(line int, code, format string, args ...any) {
	*p = append(*p, Problem{Line: line, Severity: topology.Warning, Code: code, Message: fmt.Sprintf(format, args...)})
}

// Sorted orders by file, then line, then code, then message, and drops repeats.
func (p Problems) Sorted() []Problem {
	slices.SortFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(p)
}

// Refused tells whether the file must not be used: whether any problem is an error.
func Refused(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == topology.Error })
}
