// Package slurm holds the wrappers for Slurm; exporters/slurm runs them with real ones.
package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSbatchScript runs railmap-sbatch with stand-ins for sbatch and the service: what it asks the service for, and what it hands on.
func TestSbatchScript(t *testing.T) {
	for _, tc := range []struct{ name, args, asked, submitted string }{
		{"gang", "-N 4 --gpus-per-node=8 -p gpu job.sh -N 2", "place 4 8 gpu ", "--nodelist=n[1-4] -N 4 --gpus-per-node=8 -p gpu job.sh -N 2"},
		{"short forms", "-N4 --gres=gpu:h100:4 -xn9 job.sh", "place 4 4  n9", "--nodelist=n[1-4] -N4 --gres=gpu:h100:4 -xn9 job.sh"},
		{"values that look like options", "-J -w -N 2 -G 16 job.sh", "place 2   ", "--nodelist=n[1-4] -J -w -N 2 -G 16 job.sh"},
		{"one node", "-N 1 --gpus-per-node=8 job.sh", "", "-N 1 --gpus-per-node=8 job.sh"},
		{"no GPUs", "-N 4 job.sh", "", "-N 4 job.sh"},
		{"a range", "-N 2-4 -G 8 job.sh", "", "-N 2-4 -G 8 job.sh"},
		{"own nodes", "-N 4 -G 8 -w n1,n2,n3,n4 job.sh", "", "-N 4 -G 8 -w n1,n2,n3,n4 job.sh"},
		{"array", "-N 4 -G 8 --array=1-3 job.sh", "", "-N 4 -G 8 --array=1-3 job.sh"},
		{"several partitions", "-N 4 -G 8 -p a,b job.sh", "", "-N 4 -G 8 -p a,b job.sh"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			write("helper", "echo \"$@\" >>"+dir+"/helped\n[ $1 = bind ] || { echo nodelist='n[1-4]'; echo lease="+dir+"/lease.json; }\n")
			write("sbatch", "echo \"$@\" >"+dir+"/submitted; echo Submitted batch job 17\n")
			cmd := exec.CommandContext(t.Context(), "bash", append([]string{"railmap-sbatch"}, strings.Fields(tc.args)...)...)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "RAILMAP_SLURM_HELPER="+dir+"/helper", "RAILMAP_SLURM_CONF=/nonexistent")
			out, err := cmd.CombinedOutput()
			if err != nil || string(out) != "Submitted batch job 17\n" {
				t.Errorf("%v: %s", err, out)
			}
			submitted, _ := os.ReadFile(dir + "/submitted")
			if got := strings.TrimSpace(string(submitted)); got != tc.submitted {
				t.Errorf("sbatch got %q, want %q", got, tc.submitted)
			}
			helped, _ := os.ReadFile(dir + "/helped")
			want := ""
			if tc.asked != "" {
				want = tc.asked + "\nbind " + dir + "/lease.json 17\n"
			}
			if string(helped) != want {
				t.Errorf("the service was asked %q, want %q", helped, want)
			}
		})
	}
}
