package main

import (
	"flag"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output of script tests")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"railmap": func() { os.Exit(int(realMain())) }})
}

// TestScript runs the command as users do. Each script is one file of testdata/script; "exits N railmap ..." wants that
// exit code.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			demo, err := filepath.Abs("testdata/demo")
			if err != nil {
				return err
			}
			e.Setenv("DEMO", demo)
			deploy, err := filepath.Abs("deploy")
			e.Setenv("DEPLOY", deploy)
			if err != nil {
				return err
			}
			// A port that was free a moment ago, for scripts that start a server.
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			e.Setenv("ADDRESS", l.Addr().String())
			return l.Close()
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": wantExit,
		},
	})
}

// wantExit is the script command "exits CODE COMMAND ARGS...".
func wantExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = exitStatus(err)
	}
	if got != args[0] {
		ts.Fatalf("%v: exit %s, want %s", args[1:], got, args[0])
	}
}

func exitStatus(err error) string {
	if ee, ok := err.(interface{ ExitCode() int }); ok {
		return strconv.Itoa(ee.ExitCode())
	}
	return err.Error()
}
