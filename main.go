package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// env is the world outside the flags. Tests give buffers.
type env struct {
	stdin  io.Reader
	stdout io.Writer // the answer, nothing else
	stderr io.Writer // warnings, progress, findings
	isTTY  bool      // stderr is a terminal that takes progress lines
	now    func() time.Time
}

func main() { os.Exit(int(realMain())) }

// realMain runs the command in the real world; script tests run it too.
func realMain() exitCode {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	e := &env{
		stdin:  os.Stdin,
		stdout: os.Stdout,
		stderr: os.Stderr,
		isTTY:  term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("TERM") != "dumb",
		now:    time.Now,
	}
	return run(ctx, e, os.Args[1:])
}

// run is the whole program: arguments in, exit code out.
func run(ctx context.Context, e *env, args []string) exitCode {
	started := false
	root := newRootCmd(e, func() { started = true })
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := codeOf(ctx, err, started)
	switch {
	case err == nil:
	case code == exitInterrupted:
		fmt.Fprintln(e.stderr, "railmap: interrupted")
	default:
		printError(e.stderr, err)
	}
	return code
}

// printError writes "railmap: ..."; further problems of a joined error are indented. An error without text only carries a
// code.
func printError(w io.Writer, err error) {
	if msg := err.Error(); msg != "" {
		fmt.Fprintf(w, "railmap: %s\n", strings.ReplaceAll(msg, "\n", "\n  "))
	}
	if hint, ok := errors.AsType[*usageError](err); ok && hint.command != "" {
		fmt.Fprintf(w, "See '%s --help'.\n", hint.command)
	}
}
