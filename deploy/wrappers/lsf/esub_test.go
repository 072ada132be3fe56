// Package lsf holds the wrapper for LSF.
package lsf

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEsub runs the esub with the files that LSF gives it and a stand-in for railmap.
func TestEsub(t *testing.T) {
	const answer = `echo "lease L token 3 until later" >&2; printf 'n3\nn1\n'`
	for _, tc := range []struct{ name, nodes, parameters, railmap, off, want, said string }{
		{"gang", "2", "LSB_SUB_NUM_PROCESSORS=16\n", answer, "", "LSB_SUB_HOSTS=\"n3 n1\"\n", "railmap: placed on n3 n1"},
		{"own hosts", "2", "LSB_SUB_HOSTS=\"n7 n8\"\n", answer, "", "", ""},
		{"switched off", "2", "", answer, "off", "", ""},
		{"no number", "", "", answer, "", "", ""},
		{"no answer", "2", "", "echo 'railmap: warning: no placement hint' >&2", "", "", "railmap: not placed, LSF chooses: warning: no placement hint"},
		{"infeasible", "2", "", "echo 'railmap: infeasible: too few' >&2; exit 3", "", "", "railmap: not placed, LSF chooses: infeasible: too few"},
		{"no program", "2", "", "exit 127", "", "", "railmap: not placed, LSF chooses: no answer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"railmap": "#!/bin/sh\n" + tc.railmap + "\n", "parameters": tc.parameters} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "bash", "esub.railmap_place", tc.nodes)
			cmd.Env = append(os.Environ(), "RAILMAP="+dir+"/railmap", "RAILMAP_LSF_CONF=/nonexistent", "RAILMAP_LSF="+tc.off,
				"LSB_SUB_PARM_FILE="+dir+"/parameters", "LSB_SUB_MODIFY_FILE="+dir+"/modify")
			out, err := cmd.CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != tc.said {
				t.Errorf("%v: says %q, want %q", err, out, tc.said)
			}
			if got, _ := os.ReadFile(dir + "/modify"); string(got) != tc.want {
				t.Errorf("modifies %q, want %q", got, tc.want)
			}
		})
	}
}
