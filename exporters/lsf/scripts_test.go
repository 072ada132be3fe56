package lsf

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// scripts writes both into a folder.
func scripts(t *testing.T) (dir, features string) {
	t.Helper()
	dir = t.TempDir()
	features = filepath.Join(dir, "features")
	files, err := Scripts(features)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("bash", "-n", filepath.Join(dir, f.Name)).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", f.Name, err, out)
		}
	}
	return dir, features
}

func TestElimReports(t *testing.T) {
	dir, features := scripts(t)
	for _, tt := range []struct{ name, text, want string }{
		{"measured", "railmap.dev/leaf=leaf0\nrailmap.dev/busbw-gbps=371\n", "1 nccl_gbps 371"},
		{"expired", "# +expiry-time=2020-01-01T00:00:00Z\nrailmap.dev/busbw-gbps=371\n", "1 nccl_gbps 0"},
		{"not yet", "# +expiry-time=2999-01-01T00:00:00Z\nrailmap.dev/busbw-gbps=371\n", "1 nccl_gbps 371"},
		{"broken time", "# +expiry-time=soon\nrailmap.dev/busbw-gbps=371\n", "1 nccl_gbps 0"},
		{"no number", "railmap.dev/busbw-gbps=$(id)\n", "1 nccl_gbps 0"},
		{"no file", "", "1 nccl_gbps 0"},
	} {
		os.Remove(features)
		if tt.text != "" {
			if err := os.WriteFile(features, []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		c := exec.CommandContext(t.Context(), filepath.Join(dir, ElimName))
		c.Env = append(os.Environ(), "RAILMAP_ELIM_INTERVAL=0.05")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 2 { // it goes on reporting
			if !lines.Scan() || lines.Text() != tt.want {
				t.Errorf("%s: reports %q, want %q", tt.name, lines.Text(), tt.want)
			}
		}
		if err := c.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = c.Wait() // it was killed
	}
}

func TestEsubAddsComputeUnits(t *testing.T) {
	dir, _ := scripts(t)
	tests := []struct {
		name string
		args []string
		parm string
		want string
		code int
	}{
		{"plain", nil, "LSB_SUB_NUM_PROCESSORS=64\n", "LSB_SUB_RES_REQ=\"cu[type=leaf:pref=bestfit]\"\n", 0},
		{"limit", []string{"pod", "2"}, "", "LSB_SUB_RES_REQ=\"cu[type=pod:pref=bestfit:maxcus=2]\"\n", 0},
		{"request", []string{"leaf", "1"}, "LSB_SUB_RES_REQ=\"select[nccl_gbps>350]\"\n", "LSB_SUB_RES_REQ=\"select[nccl_gbps>350] cu[type=leaf:pref=bestfit:maxcus=1]\"\n", 0},
		{"own units", nil, "LSB_SUB_RES_REQ=\"cu[type=core]\"\n", "", 0},
		{"bad type", []string{"a b"}, "", "", 97},
		{"bad limit", []string{"leaf", "x"}, "", "", 97},
	}
	for _, tt := range tests {
		parm, modify := filepath.Join(dir, "parm"), filepath.Join(dir, "modify")
		for name, text := range map[string]string{parm: tt.parm, modify: ""} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		c := exec.Command(filepath.Join(dir, EsubName), tt.args...)
		c.Env = append(os.Environ(), "LSB_SUB_PARM_FILE="+parm, "LSB_SUB_MODIFY_FILE="+modify, "LSB_SUB_ABORT_VALUE=97")
		out, _ := c.CombinedOutput()
		got, err := os.ReadFile(modify)
		if code := c.ProcessState.ExitCode(); err != nil || code != tt.code || string(got) != tt.want {
			t.Errorf("%s: exit %d, %q, want %d, %q (%v)\n%s", tt.name, code, got, tt.code, tt.want, err, out)
		}
	}
	c := exec.Command(filepath.Join(dir, EsubName))
	if out, _ := c.CombinedOutput(); c.ProcessState.ExitCode() != 97 || !strings.Contains(string(out), "parameter file") {
		t.Errorf("without LSF: exit %d\n%s", c.ProcessState.ExitCode(), out)
	}
}

func TestScriptsRefuse(t *testing.T) {
	for _, path := range []string{"", "features", "/a\"b", "/$HOME/x", "/a`b`"} {
		if _, err := Scripts(path); err == nil {
			t.Errorf("Scripts(%q): no error", path)
		}
	}
}
