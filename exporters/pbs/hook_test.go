package pbs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stub is the part of PBS's Python module that the hook uses; at the end it prints what the hook published.
const stub = `
LOG_WARNING = 4
class vnode:
    def __init__(self, name):
        self.name, self.resources_available = name, {}
class _event:
    def __init__(self):
        self.vnode_list = {}
    def accept(self):
        for n, v in self.vnode_list.items():
            for k in sorted(v.resources_available):
                print("%s %s=%s" % (n, k, v.resources_available[k]))
        print("accept")
_e = _event()
def event(): return _e
def get_local_nodename(): return "node0001"
def logmsg(level, text): print("log", text)
`

func TestHookPublishes(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatal("python3 must be installed")
		}
		t.Skip("python3 is not installed")
	}
	dir := t.TempDir()
	features := filepath.Join(dir, "features")
	files, err := Hook(features)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, file("pbs.py", stub)) {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct{ name, text, want string }{
		{"measured", "railmap.dev/busbw-gbps=371\nrailmap.dev/leaf=leaf0\nrailmap.dev/share-percent=95\n", "node0001 nccl_gbps=371.0\nnode0001 railmap_share=95.0\naccept\n"},
		{"expired", "# +expiry-time=2020-01-01T00:00:00Z\nrailmap.dev/busbw-gbps=371\n", "node0001 nccl_gbps=0.0\nnode0001 railmap_share=0.0\naccept\n"},
		{"not yet", "# +expiry-time=2999-01-01T00:00:00Z\nrailmap.dev/busbw-gbps=371\n", "node0001 nccl_gbps=371.0\nnode0001 railmap_share=0.0\naccept\n"},
		{"broken time", "# +expiry-time=soon\nrailmap.dev/busbw-gbps=371\n", "node0001 nccl_gbps=0.0\nnode0001 railmap_share=0.0\naccept\n"},
		{"no number", "railmap.dev/busbw-gbps=fast\n", "is no number\nnode0001 nccl_gbps=0.0\nnode0001 railmap_share=0.0\naccept\n"},
		{"no file", "", "No such file or directory: '" + features + "'\nnode0001 nccl_gbps=0.0\nnode0001 railmap_share=0.0\naccept\n"},
	}
	for _, tt := range tests {
		os.Remove(features)
		if tt.text != "" {
			if err := os.WriteFile(features, []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		c := exec.Command(python, "-W", "ignore", filepath.Join(dir, HookName))
		c.Env = append(os.Environ(), "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
		out, err := c.CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), tt.want) {
			t.Errorf("%s: %v\n%s\nwant %s", tt.name, err, out, tt.want)
		}
	}
}

func TestHookFiles(t *testing.T) {
	files, err := Hook("/var/lib/railmap/features")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, HookQmgrName, files[1].Data)
	if p := Lint(files[1:]); len(p) > 0 {
		t.Errorf("our own lint says %v", p)
	}
	if strings.Contains(string(files[0].Data), "@FILE@") {
		t.Error("the hook does not name its file")
	}
	for _, path := range []string{"", "features", "/a\"b", "/a\nb"} {
		if _, err := Hook(path); err == nil {
			t.Errorf("Hook(%q): no error", path)
		}
	}
}
