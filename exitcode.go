package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// exitCode is what the process tells its caller. Scripts depend on these numbers: they are only ever added to.
type exitCode int

const (
	exitOK          exitCode = 0
	exitFailure     exitCode = 1
	exitUsage       exitCode = 2
	exitInfeasible  exitCode = 3
	exitDenied      exitCode = 4
	exitUnavailable exitCode = 5
	exitBelow       exitCode = 6
	exitConflict    exitCode = 7
	exitPartial     exitCode = 8
	exitDiffers     exitCode = 9
	exitInterrupted exitCode = 130
)

// exitMeaning is one row of the table behind "railmap help exit-codes".
type exitMeaning struct {
	code          exitCode
	name, meaning string
}

func exitCodes() []exitMeaning {
	return []exitMeaning{
		{exitOK, "done", "the answer is on standard output"},
		{exitFailure, "failure", "unexpected error"},
		{exitUsage, "usage", "wrong flags, configuration or input file"},
		{exitInfeasible, "infeasible", "no placement can satisfy the request"},
		{exitDenied, "denied", "not authenticated or not allowed"},
		{exitUnavailable, "unavailable", "service unreachable or timed out; a retry may help"},
		{exitBelow, "below", "measured below the threshold (probe as a gate, bench --fail-below)"},
		{exitConflict, "conflict", "lease lost, token stale, or generation changed"},
		{exitPartial, "partial", "some nodes or checks failed"},
		{exitDiffers, "differs", "the two sides differ (topology diff, export --check)"},
		{exitInterrupted, "interrupted", "stopped by a signal"},
	}
}

// String is the name of the code in the table.
func (c exitCode) String() string {
	for _, e := range exitCodes() {
		if e.code == c {
			return e.name
		}
	}
	return fmt.Sprintf("exitCode(%d)", int(c))
}

// exitError is an error that decides the exit code. With a nil err it is silent: the answer on stdout says it all.
type exitError struct {
	code exitCode
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// withCode gives err an exit code; nil stays nil.
func withCode(code exitCode, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: code, err: err}
}

// usagef is a mistake in flags or input: exit 2. Say what must be, and what to do.
func usagef(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// usageError marks a mistake that reading the help of a command would have prevented.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// codeOf maps the error of the command tree to an exit code. Whatever goes wrong before a command has started
// (unknown command, unknown flag, bad flag value, missing argument) is a usage error.
func codeOf(ctx context.Context, err error, started bool) exitCode {
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	if !started {
		return exitUsage
	}
	return exitFailure
}

// exitCodesText is the help topic.
func exitCodesText() string {
	var b strings.Builder
	b.WriteString("Exit codes of every railmap command:\n\n")
	for _, e := range exitCodes() {
		fmt.Fprintf(&b, "  %3d  %-12s %s\n", e.code, e.name, e.meaning)
	}
	return b.String()
}
