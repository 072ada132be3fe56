//go:build cgo && linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/railmap/railmap/probe/fakenode"
)

// TestProbeScript runs railmap probe on machines that do not exist. The script command "machine NAME [FAULT]" makes one in
// the folder NAME and points the environment at it.
func TestProbeScript(t *testing.T) {
	library, err := fakenode.Library()
	if err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatalf("no fake driver: %v", err)
		}
		t.Skipf("no fake driver: %v", err)
	}
	testscript.Run(t, testscript.Params{Dir: "testdata/fakegpu", RequireExplicitExec: true, UpdateScripts: *update,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   wantExit,
			"machine": func(ts *testscript.TestScript, _ bool, args []string) { makeMachine(ts, library, args) },
		}})
}

func makeMachine(ts *testscript.TestScript, library string, args []string) {
	m, err := fakenode.ByName(args[0])
	ts.Check(err)
	m.CPUs = 1
	for _, fault := range args[1:] {
		switch fault {
		case "slow-pair":
			m.Pairs = append(m.Pairs, fakenode.Pair{A: 2, B: 5, Bandwidth: 100e9})
		case "busy":
			m.GPUs[3].Processes = 1
		default:
			m.Faults = append(m.Faults, fault)
		}
	}
	name := strings.Join(append([]string{args[0]}, strings.Fields(strings.Join(args[1:], " "))...), "-")
	root, driver := ts.MkAbs(filepath.Join(name, "root")), ts.MkAbs(filepath.Join(name, "driver"))
	ts.Check(os.MkdirAll(driver, 0o755))
	ts.Check(m.WriteTree(root))
	environment, err := m.WriteDriver(driver, library)
	ts.Check(err)
	for _, pair := range append(environment, "ROOT="+root, "DRIVER="+driver) {
		key, value, _ := strings.Cut(pair, "=")
		ts.Setenv(key, value)
	}
}
