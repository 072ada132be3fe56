package slurm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRealHealthcheck lets deploy/slurm/healthcheck talk to a real controller, as slurmd would start it: a failed probe drains
// the node with the first finding as reason, a second one changes nothing, a good one resumes it when that is wanted, and a
// node that somebody drained by hand stays as it is.
func TestRealHealthcheck(t *testing.T) {
	script, err := filepath.Abs("../../deploy/slurm/healthcheck")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range realSlurms(t) {
		if s.Root != "" {
			continue // the script runs on the host, whose Slurm has other client programs
		}
		c, err := s.start(t, nil, cloudNodes([]string{"n1"}))
		if err != nil {
			t.Fatal(err)
		}
		check := func(code, resume string) {
			t.Helper()
			bin := t.TempDir()
			probe := "#!/bin/sh\necho 'error     port-polling  mlx5_3/1  no partner'\nexit " + code + "\n"
			if err := os.WriteFile(filepath.Join(bin, "railmap"), []byte(probe), 0o755); err != nil {
				t.Fatal(err)
			}
			c.run(t, "env", "PATH="+bin+":"+os.Getenv("PATH"), "SLURMD_NODENAME=n1", "RAILMAP_RESUME="+resume, "sh", script)
		}
		expect := func(step, state, reason string) {
			t.Helper()
			node := c.run(t, "scontrol", "show", "node", "n1")
			if drained := strings.Contains(node, "DRAIN"); drained != (state == "drained") || !strings.Contains(node, reason) {
				t.Errorf("%s: want %s, reason %q:\n%s", step, state, reason, node)
			}
		}
		check("0", "0")
		expect("a good node", "free", "")
		check("6", "0")
		expect("a bad node", "drained", "Reason=railmap: port-polling mlx5_3/1")
		check("6", "1")
		expect("still bad", "drained", "Reason=railmap: port-polling mlx5_3/1")
		check("0", "0")
		expect("good again, resuming not wanted", "drained", "Reason=railmap: port-polling mlx5_3/1")
		check("0", "1")
		expect("good again", "free", "")
		c.run(t, "scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=broken fan")
		check("6", "1")
		check("0", "1")
		expect("drained by hand", "drained", "Reason=broken fan")
	}
}
