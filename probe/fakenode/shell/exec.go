// Command shell starts a shell in which a machine exists that does not: its tree and its GPU driver lie in a temporary
// folder, and $FAKE_ROOT and $FAKE_DRIVER name them.
//
//	go run ./probe/fakenode/shell h100x8
//	go run ./probe/fakenode/shell h100x8 sh -c 'railmap probe --root $FAKE_ROOT --driver-dir $FAKE_DRIVER'
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/railmap/railmap/probe/fakenode"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "fake machine:", err)
	}
	os.Exit(code)
}

func run(args []string) (code int, err error) {
	if len(args) == 0 {
		return 2, fmt.Errorf("usage: shell MACHINE [COMMAND...]; machines: %q", fakenode.Machines())
	}
	m, err := fakenode.ByName(args[0])
	if err != nil {
		return 2, err
	}
	// Threads are pinned for real, so the machine's processors must be among those of this one.
	m.CPUs = max(1, runtime.NumCPU()/m.NUMA)
	dir, err := os.MkdirTemp("", "railmap-fake-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, driver := filepath.Join(dir, "root"), filepath.Join(dir, "driver")
	if err := os.MkdirAll(driver, 0o755); err != nil {
		return 1, err
	}
	if err := m.WriteTree(root); err != nil {
		return 1, err
	}
	library, err := fakenode.Build(driver)
	if err != nil {
		return 1, err
	}
	environment, err := m.WriteDriver(driver, library)
	if err != nil {
		return 1, err
	}
	argv := args[1:]
	if len(argv) == 0 {
		fmt.Fprintf(os.Stderr, "machine %s (%s). Try:\n  railmap probe --root $FAKE_ROOT --driver-dir $FAKE_DRIVER\n", m.Name, m.Product)
		argv = []string{os.Getenv("SHELL")}
		if argv[0] == "" {
			argv[0] = "/bin/sh"
		}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(append(os.Environ(), environment...), "FAKE_ROOT="+root, "FAKE_DRIVER="+driver)
	err = cmd.Run()
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		return ee.ExitCode(), nil
	}
	return 0, err
}
