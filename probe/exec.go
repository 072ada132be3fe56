package probe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// childGrace is how long a child may take to free what it holds after it was asked to end.
	childGrace = 3 * time.Second
	// maxChildLine bounds one line of a child's answer.
	maxChildLine = 4 << 20
	// maxToolOutput bounds what a measuring tool may print.
	maxToolOutput = 1 << 20
)

// command makes a child that ends with its parent, gets no signals meant for the terminal, and is asked to end before it is
// ended.
func command(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = childGrace
	return cmd
}

// onThread runs f on a thread of its own, pinned to cpus when there are any. The thread ends afterwards; a child dies with
// the thread that started it (Pdeathsig), so f must wait for it.
func onThread(cpus []int, f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if len(cpus) > 0 {
			var set unix.CPUSet
			for _, c := range cpus {
				set.Set(c)
			}
			_ = unix.SchedSetaffinity(0, &set) // a figure from the far socket is better than none
		}
		done <- f()
	}()
	return <-done
}

// runWorker starts the child that talks to the driver and hands over its events as they come. An error after events means
// that the rest is missing. A child that the kernel does not let end (a driver hung in a system call) is left behind: it holds
// nothing of ours, and waiting for it would hang the probe too.
func runWorker(ctx context.Context, argv []string, req workerRequest, event func(workerEvent)) error {
	input, err := json.Marshal(req)
	if err != nil {
		return err
	}
	events, ended := make(chan workerEvent), make(chan error, 1)
	gone := make(chan struct{})
	defer close(gone)
	go func() {
		ended <- onThread(nil, func() error {
			return superviseWorker(ctx, argv, input, func(e workerEvent) {
				select {
				case events <- e:
				case <-gone:
				}
			})
		})
	}()
	late := make(chan struct{})
	defer context.AfterFunc(ctx, func() { time.AfterFunc(2*childGrace, func() { close(late) }) })()
	for {
		select {
		case e := <-events:
			event(e)
		case err := <-ended:
			return err
		case <-late:
			return fmt.Errorf("%w; the driver holds its process in the kernel", context.Cause(ctx))
		}
	}
}

// superviseWorker runs the child to its end.
func superviseWorker(ctx context.Context, argv []string, input []byte, event func(workerEvent)) error {
	var stderr tail
	cmd := command(ctx, argv)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &stderr
	// All GPUs of the report are measured, in the order of their addresses, whatever the caller's job may see.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "CUDA_VISIBLE_DEVICES=") }),
		"CUDA_DEVICE_ORDER=PCI_BUS_ID")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := readEvents(out, event)
	waitErr := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case waitErr != nil:
		return fmt.Errorf("the process that asks the driver ended badly: %w%s", waitErr, stderr.note())
	}
	return readErr
}

func readEvents(r io.Reader, event func(workerEvent)) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxChildLine)
	for sc.Scan() {
		var e workerEvent
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			return fmt.Errorf("the process that asks the driver said %.80q: %w", sc.Text(), err)
		}
		event(e)
	}
	if err := sc.Err(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// tail keeps the last bytes that a child wrote to stderr.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if extra := len(t.b) - 2048; extra > 0 {
		t.b = t.b[extra:]
	}
	return len(p), nil
}

func (t *tail) note() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.b), "?"))
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	return ": " + lines[len(lines)-1]
}

// toolPath finds a program; "" when it is not installed.
func toolPath(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// runTool runs a program to its end and returns what it printed on stdout.
func runTool(ctx context.Context, cpus []int, argv ...string) ([]byte, error) {
	var out []byte
	err := onThread(cpus, func() error {
		var stdout limited
		var stderr tail
		cmd := command(ctx, argv)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		out = stdout.b
		if err != nil {
			return fmt.Errorf("%s: %w%s", argv[0], err, stderr.note())
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%s: %w", argv[0], context.Cause(ctx))
	}
	return out, err
}

// limited keeps the first bytes of what a program prints and forgets the rest.
type limited struct{ b []byte }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxToolOutput - len(l.b); room > 0 {
		l.b = append(l.b, p[:min(len(p), room)]...)
	}
	return len(p), nil
}
