package slurm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// Problem is one thing that is wrong with a topology file, or that its owner should know. Code is stable. Line counts from 1;
// 0 means the file as a whole.
type Problem struct {
	Line     int
	Severity topology.Severity // Error: the file must not be used; Warning: legal, look at it
	Code     string
	Message  string
}

// String prints "line 3: error: text (code)".
func (p Problem) String() string {
	place := ""
	if p.Line > 0 {
		place = fmt.Sprintf("line %d: ", p.Line)
	}
	return fmt.Sprintf("%s%s: %s (%s)", place, p.Severity, p.Message, p.Code)
}

// Refused reports whether the file must not be used: whether any problem is an error.
func Refused(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == topology.Error })
}

// asError joins the errors among problems, at most ten of them, under the name of the file.
func asError(file string, problems []Problem) error {
	var lines []string
	for _, p := range problems {
		if p.Severity == topology.Error {
			lines = append(lines, p.String())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	const most = 10
	if n := len(lines) - most; n > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more", n))
	}
	return errors.New(file + ": must not be used:\n  " + strings.Join(lines, "\n  "))
}

// report collects problems while a file is read.
type report []Problem

func (r *report) errorf(line int, code, format string, args ...any) {
	*r = append(*r, Problem{line, topology.Error, code, fmt.Sprintf(format, args...)})
}

func (r *report) warnf(line int, code, format string, args ...any) {
	*r = append(*r, Problem{line, topology.Warning, code, fmt.Sprintf(format, args...)})
}

// sorted orders by line, then code, then message.
func (r report) sorted() []Problem {
	slices.SortStableFunc(r, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return r
}
