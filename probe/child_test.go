//go:build cgo && linux

package probe

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/railmap/railmap/probe/fakenode"
	"github.com/railmap/railmap/topology"
)

func notify(c chan os.Signal) { signal.Notify(c, os.Interrupt, syscall.SIGTERM) }

// probeChild probes a fake machine as the environment says and writes the report to stdout.
func probeChild(root string) int {
	ctx, stop := signalContext()
	defer stop()
	stages, err := ParseStages(os.Getenv("RAILMAP_TEST_STAGES"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	timeout, _ := time.ParseDuration(os.Getenv("RAILMAP_TEST_TIMEOUT"))
	o := Options{Root: root, DriverDir: os.Getenv("RAILMAP_TEST_DRIVER"), Stages: stages, Force: os.Getenv("RAILMAP_TEST_FORCE") == "true", Timeout: timeout,
		Worker: []string{"env", workerVariable + "=1", os.Args[0]}, Now: time.Unix(1700000000, 0), driverPatience: 2 * time.Second}
	if o.Expect, err = DefaultExpectations(); err == nil {
		o.Peers, err = readReports(os.Getenv("RAILMAP_TEST_PEERS"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	r, err := Run(ctx, o)
	if err == nil {
		err = r.Validate()
	}
	if err == nil {
		err = topology.Write(os.Stdout, r, topology.JSON)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func readReports(dir string) ([]*topology.NodeReport, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	var reports []*topology.NodeReport
	for _, p := range paths {
		r := new(topology.NodeReport)
		if err := topology.ReadFile(p, r); err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, err
}

// child starts this test binary as the probe and, when asked to, sends it a signal.
func (f fakeRun) child(t *testing.T, environment []string, driver string) fakeOutcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if f.within > 0 {
		timer := time.AfterFunc(f.within, func() { _ = cmd.Process.Signal(os.Interrupt) })
		defer timer.Stop()
	}
	err := cmd.Wait()
	o := fakeOutcome{stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
	if err == nil {
		o.report = new(topology.NodeReport)
		if err := topology.Read(&stdout, "report", o.report); err != nil {
			t.Fatal(err)
		}
	}
	if state, err := fakenode.ReadState(driver); err == nil {
		o.state = state
	}
	return o
}
