package kubernetes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/exporters"
)

// TestKustomizeReadsOurFolders builds every folder with kubectl's own kustomize, twice, and reads the labels back.
func TestKustomizeReadsOurFolders(t *testing.T) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatal("kubectl must be installed (Debian: kubernetes-client)")
		}
		t.Skip("kubectl is not installed")
	}
	for _, r := range append(renderers(), renderer{"labels", Labels}) {
		files, err := r.render(slow(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), r.name)
		if _, err := exporters.Write(dir, files, exporters.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		built := kustomize(t, kubectl, dir)
		if !bytes.Equal(built, kustomize(t, kubectl, dir)) {
			t.Errorf("%s: two builds differ", r.name)
		}
		want, err := ReadLabels(files[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadLabels(built)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: labels after kustomize (-want +got): %v\n%s", r.name, err, d)
		}
		if p := Lint(built); len(p) > 0 {
			t.Errorf("%s: after kustomize our own lint says %v", r.name, p)
		}
	}
}

func kustomize(t *testing.T, kubectl, dir string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	c := exec.Command(kubectl, "kustomize", dir)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("kubectl kustomize %s: %v\n%s", dir, err, stderr.Bytes())
	}
	return out
}
