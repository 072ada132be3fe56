package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// manifest reads probe.yaml and gives its objects by kind.
func manifest(t *testing.T) map[string]map[string]any {
	t.Helper()
	f, err := os.Open("probe.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	objects := map[string]map[string]any{}
	for dec := yaml.NewDecoder(f); ; {
		var o map[string]any
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		objects[o["kind"].(string)] = o
	}
}

func TestManifestHangsTogether(t *testing.T) {
	objects := manifest(t)
	spec := objects["DaemonSet"]["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	if got := objects["ServiceAccount"]["metadata"].(map[string]any)["name"]; spec["serviceAccountName"] != got {
		t.Errorf("pods run as %v, the account is %v", spec["serviceAccountName"], got)
	}
	volumes := map[any]bool{}
	for _, v := range spec["volumes"].([]any) {
		volumes[v.(map[string]any)["name"]] = true
	}
	for _, list := range []string{"initContainers", "containers"} {
		for _, c := range spec[list].([]any) {
			for _, m := range c.(map[string]any)["volumeMounts"].([]any) {
				if name := m.(map[string]any)["name"]; !volumes[name] {
					t.Errorf("%s mounts %v, which is no volume", list, name)
				}
			}
		}
	}
}

// TestNodeCondition runs the manifest's script with stand-ins for railmap and curl: the patch is JSON and says what the exit
// code of the probe means.
func TestNodeCondition(t *testing.T) {
	script := manifest(t)["ConfigMap"]["data"].(map[string]any)["probe.sh"].(string)
	for code, want := range map[int]string{0: "True ProbePassed", 8: "True ProbePassed", 6: "False ProbeFailed", 2: "Unknown ProbeDidNotRun"} {
		dir := t.TempDir()
		for name, body := range map[string]string{
			"probe.sh": script,
			"railmap":  fmt.Sprintf("#!/bin/sh\necho \"$*\" >%s/args\necho 'error  port-polling  mlx5_3/1  a \"quoted\" \\\\ text'\nexit %d\n", dir, code),
			"curl":     fmt.Sprintf("#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = --data ] && printf '%%s' \"$2\" >%s/body; shift; done\nprintf '%%s' \"$1\" >%s/url\n", dir, dir),
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(dir, "probe.sh"), "static")
		cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "NODE_NAME=gpu-1", "KUBERNETES_SERVICE_HOST=10.0.0.1", "KUBERNETES_SERVICE_PORT=443"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		body, err := os.ReadFile(filepath.Join(dir, "body"))
		if err != nil {
			t.Fatal(err)
		}
		var patch struct {
			Status struct {
				Conditions []struct{ Type, Status, Reason, Message string } `json:"conditions"`
			} `json:"status"`
		}
		if err := json.Unmarshal(body, &patch); err != nil {
			t.Fatalf("patch %s: %v", body, err)
		}
		c := patch.Status.Conditions[0]
		if c.Type != "RailmapHealthy" || c.Status+" "+c.Reason != want || c.Message != "port-polling mlx5_3/1" {
			t.Errorf("exit %d: %+v, want %s", code, c, want)
		}
		url, _ := os.ReadFile(filepath.Join(dir, "url"))
		args, _ := os.ReadFile(filepath.Join(dir, "args"))
		if !strings.HasSuffix(string(url), "/api/v1/nodes/gpu-1/status") || !strings.Contains(string(args), "--measure=false --") && !strings.HasSuffix(strings.TrimSpace(string(args)), "--measure=false") {
			t.Errorf("url %s, arguments %s", url, args)
		}
	}
}
