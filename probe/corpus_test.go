package probe

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

const corpus = "../../shared/corpus"

// recorded unpacks a recorded tree, or skips when the corpus is not beside the checkout.
func recorded(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join(corpus, name))
	if err != nil {
		t.Skipf("recorded tree not here: %v", err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := scratch(t)
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err == nil {
			err = unpack(dir, h, tr)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unpack(dir string, h *tar.Header, r io.Reader) error {
	full := filepath.Join(dir, h.Name)
	switch {
	case strings.Contains(h.Name, ".."):
		return errors.New("leaves the folder: " + h.Name)
	case h.Typeflag == tar.TypeDir:
		return os.MkdirAll(full, 0o755)
	case h.Typeflag == tar.TypeSymlink:
		return os.Symlink(h.Linkname, full)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	return os.WriteFile(full, data, 0o644)
}

func TestRecordedArmMachine(t *testing.T) {
	r := probeRoot(t, filepath.Join(recorded(t, "topo/hwloc/hwloc-nvidia-dgx-gb10-sysfs.tar.gz"), "nvidia-dgx-gb10"))
	if got := serious(r.Findings); got != nil {
		t.Errorf("findings: %q", got)
	}
	want := &topology.CPUInfo{Arch: "arm64", Vendor: "ARM", ModelID: r.CPU.ModelID, Sockets: 1, Cores: 20, Threads: 20}
	if diff := cmp.Diff(want, r.CPU); diff != "" {
		t.Errorf("cpu (-want +got):\n%s", diff)
	}
	if len(r.NUMANodes) != 1 || r.NUMANodes[0].CPUs != "0-19" {
		t.Errorf("numa nodes: %+v", r.NUMANodes)
	}
}

// TestRecordedInfiniBand: this tree has no device links, no node GUIDs and no newlines at the ends of files.
func TestRecordedInfiniBand(t *testing.T) {
	r := probeRoot(t, filepath.Join(recorded(t, "topo/sysfs/gpud-infiniband-h100.tar.gz"), "infiniband-h100"))
	if got := serious(r.Findings); got != nil {
		t.Errorf("findings: %q", got)
	}
	if len(r.NICs) != 9 {
		t.Fatalf("%d NICs, want 9", len(r.NICs))
	}
	for _, n := range r.NICs {
		rate, layer := 50e9, "InfiniBand"
		if n.Device == "mlx5_bond_0" {
			rate, layer = 25e9, "Ethernet"
		}
		if *n.RateBytesPerSecond != rate || n.LinkLayer != layer || n.State != "ACTIVE" || len(n.Counters) < 40 {
			t.Errorf("%s: rate %v, %s, %s, %d counters", n.Device, *n.RateBytesPerSecond, n.LinkLayer, n.State, len(n.Counters))
		}
		if n.NodeGUID != 0 || n.NUMANode != nil || n.PCIAddress != "" {
			t.Errorf("%s: something was made up: %+v", n.Device, n)
		}
	}
}

// TestFaultsInARecordedTree breaks one port of the recorded machine at a time: exactly that port is named.
func TestFaultsInARecordedTree(t *testing.T) {
	dir := filepath.Join(recorded(t, "topo/sysfs/gpud-infiniband-h100.tar.gz"), "infiniband-h100")
	for _, tc := range []struct{ file, text, want string }{
		{"mlx5_4/ports/1/state", "1: DOWN", "port-down mlx5_4/1"},
		{"mlx5_7/ports/1/rate", "200 Gb/sec (2X NDR)", "port-rate-low mlx5_7/1"},
		{"mlx5_9/ports/1/rate", "100 Gb/sec (4X EDR)", "port-rate-low mlx5_9/1"},
	} {
		file := filepath.Join(dir, "sys/class/infiniband", tc.file)
		good, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{tc.text, string(good)} {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			want := []string{tc.want}
			if text == string(good) {
				want = nil
			}
			if diff := cmp.Diff(want, serious(probeRoot(t, dir).Findings)); diff != "" {
				t.Errorf("%s = %q (-want +got):\n%s", tc.file, text, diff)
			}
		}
	}
}

// TestRecordedTrainedDownPorts: two sockets with two switches each, behind ports that run at a small part of their speed.
func TestRecordedTrainedDownPorts(t *testing.T) {
	r := probeRoot(t, recorded(t, "fabric/pci/qemu-2socket-4switch.sys.tar.gz"))
	want := []string{"pcie-uplink-low 0000:21:00.0", "pcie-uplink-low 0000:26:00.0", "pcie-uplink-low 0000:61:00.0", "pcie-uplink-low 0000:66:00.0"}
	if diff := cmp.Diff(want, serious(r.Findings)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	byAddress := index(r.PCI)
	for address, where := range map[string]struct {
		parent, complex string
		numa            int
	}{
		"0000:23:00.0": {"0000:22:00.0", "pci0000:20", 0},
		"0000:25:00.0": {"0000:22:02.0", "pci0000:20", 0},
		"0000:6a:00.0": {"0000:67:02.0", "pci0000:60", 1},
	} {
		d := byAddress[address]
		if d == nil || d.Parent != where.parent || d.RootComplex != where.complex || d.NUMANode == nil || *d.NUMANode != where.numa {
			t.Errorf("%s: %+v, want %+v", address, d, where)
		}
	}
	if l := byAddress["0000:22:00.0"].Link; l.MaxWidth != nil || l.MaxSpeedTransfersPerSecond != nil {
		t.Errorf("\"Unknown\" and width 0 became figures: %+v", l)
	}
	ends := []struct{ a, b, want string }{
		{"0000:23:00.0", "0000:25:00.0", "PIX"}, {"0000:23:00.0", "0000:2a:00.0", "PHB"}, {"0000:23:00.0", "0000:65:00.0", "SYS"},
	}
	for _, e := range ends {
		a, b := byAddress[e.a], byAddress[e.b]
		got := pciLetter(byAddress, endpoint{pci: e.a, numa: a.NUMANode}, endpoint{pci: e.b, numa: b.NUMANode}, len(r.NUMANodes))
		if got != e.want {
			t.Errorf("%s to %s is %s, want %s", e.a, e.b, got, e.want)
		}
	}
}
