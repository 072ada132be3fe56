package probe

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/probe/fakenode"
	"github.com/railmap/railmap/topology"
)

// TestHwlocAgrees lets hwloc walk the trees that we write and compares device by device: parent, NUMA node, class, root
// complex, and the letters that follow from them.
func TestHwlocAgrees(t *testing.T) {
	const tool = "lstopo-no-graphics"
	if _, err := exec.LookPath(tool); err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatalf("%s is missing: install the package hwloc-nox", tool)
		}
		t.Skipf("%s is not installed", tool)
	}
	for _, name := range fakenode.Machines() {
		t.Run(name, func(t *testing.T) {
			m, err := fakenode.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := scratch(t)
			if err := m.WriteTree(dir); err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), tool, "--input", dir, "--if", "fsroot", "--whole-io", "--of", "xml", "-")
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, stderr.String())
			}
			theirs, err := Import("hwloc", bytes.NewReader(out), "n")
			if err != nil {
				t.Fatal(err)
			}
			ours := probeRoot(t, dir)
			if diff := cmp.Diff(places(theirs), places(ours)); diff != "" {
				t.Errorf("PCI tree (-hwloc +railmap):\n%s", diff)
			}
			if diff := cmp.Diff(theirs.Paths, ours.Paths); diff != "" {
				t.Errorf("letters (-hwloc +railmap):\n%s", diff)
			}
		})
	}
}

type pciPlace struct {
	Parent, Complex, Class string
	NUMA                   int
}

func places(r *topology.NodeReport) map[string]pciPlace {
	out := map[string]pciPlace{}
	for _, d := range r.PCI {
		out[d.Address] = pciPlace{d.Parent, d.RootComplex, d.Class[:6], deref(d.NUMANode, -1)}
	}
	return out
}
