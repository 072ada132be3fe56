package slurm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHealthcheck runs the script with stand-ins for railmap and scontrol: it drains for a verdict of fail only, once, with
// the first finding as the reason, and leaves nodes alone that somebody else drained.
func TestHealthcheck(t *testing.T) {
	const drain = "update NodeName=n1 State=DRAIN Reason=railmap: port-polling mlx5_3/1"
	for _, tc := range []struct {
		name   string
		code   int
		reason string // of the node before
		resume string
		want   string
	}{
		{"pass", 0, "", "0", ""},
		{"fail", 6, "", "0", drain},
		{"fail again", 6, "railmap: port-polling mlx5_3/1", "0", ""},
		{"fail, drained by hand", 6, "broken fan", "0", ""},
		{"not all measured", 8, "", "0", ""},
		{"probe is broken", 2, "", "0", ""},
		{"good again", 0, "railmap: port-polling mlx5_3/1", "1", "update NodeName=n1 State=RESUME"},
		{"good again, not asked", 0, "railmap: port-polling mlx5_3/1", "0", ""},
		{"good, drained by hand", 0, "broken fan", "1", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			script(t, dir, "railmap", fmt.Sprintf("echo 'SEVERITY  CODE  SUBJECT'; echo 'error     port-polling  mlx5_3/1  no partner'; exit %d", tc.code))
			script(t, dir, "scontrol", fmt.Sprintf("if [ $1 = show ]; then echo '   Reason=%s [root@2026]' | grep -v '= '; exit 0; fi; echo \"$*\" >> %s/calls", tc.reason, dir))
			script(t, dir, "logger", "exit 0")
			cmd := exec.CommandContext(t.Context(), "sh", "healthcheck")
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SLURMD_NODENAME=n1", "RAILMAP_RESUME="+tc.resume)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			calls, _ := os.ReadFile(filepath.Join(dir, "calls"))
			if got := strings.TrimSpace(string(calls)); got != tc.want {
				t.Errorf("scontrol was told %q, want %q", got, tc.want)
			}
		})
	}
}

func script(t *testing.T, dir, name, body string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}
