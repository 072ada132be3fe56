package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// missing names the program that is not installed, "" when all are.
func missing() string {
	for _, p := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(p); err != nil {
			return p
		}
	}
	return ""
}

// batch feeds lines to ip or tc.
func batch(lines []string, program string, args ...string) error {
	cmd := exec.Command(program, append(args, "-batch", "-")...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// compile makes the railmap program that the hosts run.
func compile(path string) error {
	if out, err := exec.Command("go", "build", "-o", path, "github.com/railmap/railmap").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
}

// onHosts runs one process in each namespace and waits for all; what the first says on stderr is the error.
func onHosts(ctx context.Context, namespaces []string, argv func(host int) []string) error {
	cmds := make([]*exec.Cmd, len(namespaces))
	said := make([]bytes.Buffer, len(namespaces))
	for h, ns := range namespaces {
		cmds[h] = exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", ns}, argv(h)...)...)
		cmds[h].Stderr = &said[h]
		cmds[h].Env = append(os.Environ(), "GOMAXPROCS=1")
		cmds[h].SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		cmds[h].WaitDelay = time.Second
	}
	var first error
	started := 0
	for ; started < len(cmds) && first == nil; started++ {
		first = cmds[started].Start()
	}
	if first != nil {
		started--
	}
	for h := range started {
		// Exit code 8 is a partial report: it is read and judged.
		if err := cmds[h].Wait(); err != nil && first == nil && cmds[h].ProcessState.ExitCode() != 8 {
			first = fmt.Errorf("h%02d: %w: %s", h, err, bytes.TrimSpace(said[h].Bytes()))
		}
	}
	return first
}
