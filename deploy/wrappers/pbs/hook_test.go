// Package pbs holds the wrapper for PBS.
package pbs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stub is the part of PBS's Python module that the hook uses; accept prints what became of the job.
const stub = `
import os
LOG_WARNING = 4
QUEUEJOB, EXECJOB_BEGIN, EXECJOB_END = 1, 2, 3
def select(s): return s
def place(s): return s
def logmsg(level, text): print("log", text)
class _job:
    id = "12.server"
    Resource_List = {"select": os.environ["SELECT"], "place": "free"}
    Variable_List = dict(v.split("=", 1) for v in os.environ["VARIABLES"].split())
    def in_ms_mom(self): return True
class _event:
    type = int(os.environ["EVENT"])
    job = _job()
    def accept(self):
        print("accept", self.job.Resource_List["select"], self.job.Resource_List["place"], self.job.Variable_List.get("RAILMAP_LEASE", "-"))
_e = _event()
def event(): return _e
`

// placed answers as railmap does.
const placed = `for a; do [ "$last" = --lease-file ] && echo '{"id":"L1","token":7}' >"$a"; last=$a; done
echo "$@" | sed 's/--server.*//; s/--lease-file [^ ]*//' >>"$CALLS"
[ "$1" = place ] && printf 'n3\nn1\n'; exit 0`

func TestHook(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatal("python3 must be installed")
		}
		t.Skip("python3 is not installed")
	}
	code, err := os.ReadFile("railmap_place.py")
	if err != nil {
		t.Fatal(err)
	}
	const gang = "2:ncpus=8:ngpus=8"
	for _, tc := range []struct{ name, event, choice, variables, railmap, want, call string }{
		{"gang", "1", gang, "A=b", placed, "accept 1:ncpus=8:ngpus=8:vnode=n3+1:ncpus=8:ngpus=8:vnode=n1 scatter:excl L1/7", "place -N 2"},
		{"one node", "1", "1:ncpus=8:ngpus=8", "", placed, "accept 1:ncpus=8:ngpus=8 free -", ""},
		{"no GPUs", "1", "2:ncpus=8", "", placed, "accept 2:ncpus=8 free -", ""},
		{"own hosts", "1", "2:ngpus=8:host=n1", "", placed, "accept 2:ngpus=8:host=n1 free -", ""},
		{"two kinds of chunks", "1", "2:ngpus=8+1:ncpus=1", "", placed, "accept 2:ngpus=8+1:ncpus=1 free -", ""},
		{"switched off", "1", gang, "RAILMAP_PBS=off", placed, "accept " + gang + " free -", ""},
		{"no answer", "1", gang, "", "echo 'railmap: warning: no placement hint' >&2", "log railmap: railmap: warning: no placement hint\naccept " + gang + " free -", ""},
		{"infeasible", "1", gang, "", "echo 'railmap: infeasible' >&2; exit 3", "log railmap: railmap: infeasible\naccept " + gang + " free -", ""},
		{"hangs", "1", gang, "", "exec sleep 60", "log railmap: TimeoutExpired", ""},
		{"begin", "2", gang, "RAILMAP_LEASE=L1/7", placed, "accept " + gang + " free L1/7", "lease bind L1 --token 7 --side pbs --job 12.server"},
		{"begin without a lease", "2", gang, "", placed, "accept " + gang + " free -", ""},
		{"end", "3", gang, "RAILMAP_LEASE=L1/7", placed, "accept " + gang + " free L1/7", "lease release L1 --token 7"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			hook := strings.Replace(string(code), "/usr/bin/railmap", dir+"/railmap", 1)
			for name, text := range map[string]string{"railmap": "#!/bin/sh\n" + tc.railmap + "\n", "pbs.py": stub, "hook.py": hook} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), python, filepath.Join(dir, "hook.py"))
			cmd.Env = append(os.Environ(), "EVENT="+tc.event, "SELECT="+tc.choice, "VARIABLES="+tc.variables, "CALLS="+dir+"/calls")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if !strings.HasPrefix(string(out), tc.want) || !strings.Contains(string(out), "accept ") {
				t.Errorf("the hook says %q, want %q", out, tc.want)
			}
			calls, _ := os.ReadFile(dir + "/calls")
			if !strings.HasPrefix(string(calls), tc.call) || (tc.call == "") != (len(calls) == 0) {
				t.Errorf("railmap was called with %q, want %q", calls, tc.call)
			}
		})
	}
}
