package probe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/probe/fakenode"
	"github.com/railmap/railmap/topology"
)

// TestRecordedMatrices builds the PCI tree of machines whose matrix somebody published, probes it, and compares letter by
// letter. A machine is written as its root complexes: "node:leaf leaf" with a leaf on its own root port, "(a b)" below one
// switch, "((a) (b))" below a switch of switches.
func TestRecordedMatrices(t *testing.T) {
	for _, tc := range []struct {
		file, tree string
		nvlinks    int      // of each GPU into switches
		pairs      [][2]int // bridged GPUs, 12 links
	}{
		{file: "smi-topo-8xH100-sxm.txt", tree: "0:(GPU0) 0:(GPU1) 0:(GPU2) 0:(GPU3) 1:(GPU4) 1:(GPU5) 1:(GPU6) 1:(GPU7)", nvlinks: 18},
		{file: "smi-topo-8xA100-sxm.txt", tree: "0:(GPU0 GPU1) 0:(GPU2 GPU3) 1:(GPU4 GPU5) 1:(GPU6 GPU7)", nvlinks: 12},
		{file: "smi-topo-nccl-tests178-8xA100-pcie-nvlpairs.txt", tree: "0:GPU0 0:GPU1 0:GPU2 0:GPU3 1:GPU4 1:GPU5 1:GPU6 1:GPU7",
			pairs: [][2]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}}},
		{file: "smi-topo-nccl428-4xT4-sys-node.txt", tree: "0:GPU0 1:GPU1 1:GPU2 1:GPU3"},
		{file: "smi-topo-nccl667-4xPCIe-pxb-pix-acs-hang.txt", tree: "0:((GPU0) (GPU1)) 1:(GPU2 GPU3)"},
		// There every NIC but a GPU's own is SYS, also below one socket: firmware that splits sockets into many NUMA nodes.
		{file: "smi-topo-nccl1357-8xH100-4nic.partial.txt", nvlinks: 18,
			tree: "0:(GPU0 NIC0) 1:(GPU1) 2:(GPU2 NIC1) 3:(GPU3) 4:(GPU4 NIC2) 5:(GPU5) 6:(GPU6 NIC3) 7:(GPU7) 8:NIC4 9:NIC5"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			recorded, err := os.ReadFile(filepath.Join(corpus, "topo/smi", tc.file))
			if err != nil {
				t.Skipf("corpus not here: %v", err)
			}
			want, err := Import("smi-topo", bytes.NewReader(recorded), "n")
			if err != nil {
				t.Fatal(err)
			}
			r := static(t, machineOf(tc.tree))
			for i := range r.GPUs {
				for range tc.nvlinks {
					r.GPUs[i].NVLinks = append(r.GPUs[i].NVLinks, topology.NVLink{Active: true, RemoteType: "switch"})
				}
			}
			for _, p := range tc.pairs {
				for range 12 {
					r.GPUs[p[0]].NVLinks = append(r.GPUs[p[0]].NVLinks, topology.NVLink{Active: true, RemoteType: "gpu", Remote: r.GPUs[p[1]].PCIAddress})
				}
			}
			got := map[string]string{}
			for _, p := range paths(r) {
				got[p.A+" "+p.B] = p.Type
			}
			letters := map[string]string{}
			known := map[string]string{}
			for _, p := range want.Paths {
				// Between NICs of different nodes the published machine's node numbers are not known; its GPU rows are.
				if strings.HasPrefix(p.A, "GPU") {
					letters[p.A+" "+p.B], known[p.A+" "+p.B] = p.Type, got[p.A+" "+p.B]
				}
			}
			if diff := cmp.Diff(letters, known); diff != "" || len(letters) == 0 {
				t.Errorf("letters (-recorded +computed):\n%s", diff)
			}
		})
	}
}

// machineOf reads the notation of TestRecordedMatrices.
func machineOf(text string) *fakenode.Machine {
	m := &fakenode.Machine{Name: "n", Arch: "x86_64", CPUs: 1}
	bus := 0
	next := func() string { bus++; return fmt.Sprintf("0000:%02x:00.0", bus) }
	for depth, start, i := 0, 0, 0; i <= len(text); i++ {
		switch {
		case i < len(text) && text[i] == '(':
			depth++
		case i < len(text) && text[i] == ')':
			depth--
		case i == len(text) || text[i] == ' ' && depth == 0:
			numa := int(text[start] - '0')
			m.NUMA = max(m.NUMA, numa+1)
			root := &fakenode.Root{Complex: fmt.Sprintf("pci%04x:00", 0x10+i)}
			port := fakenode.Bridge(next(), numa)
			port.Below = devicesOf(m, text[start+2:i], numa, next)
			root.Devices = []*fakenode.Device{port}
			m.Roots = append(m.Roots, root)
			start = i + 1
		}
	}
	return m
}

// devicesOf reads leaves and switches: a switch is an upstream port with one downstream port for each thing below it.
func devicesOf(m *fakenode.Machine, text string, numa int, next func() string) []*fakenode.Device {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "(") {
		return []*fakenode.Device{leafOf(m, text, numa, next)}
	}
	up := fakenode.Bridge(next(), numa)
	for _, part := range splitTop(text[1 : len(text)-1]) {
		down := fakenode.Bridge(next(), numa)
		down.Below = devicesOf(m, part, numa, next)
		up.Below = append(up.Below, down)
	}
	return []*fakenode.Device{up}
}

func splitTop(text string) []string {
	var parts []string
	for depth, start, i := 0, 0, 0; i <= len(text); i++ {
		switch {
		case i < len(text) && text[i] == '(':
			depth++
		case i < len(text) && text[i] == ')':
			depth--
		case i == len(text) || text[i] == ' ' && depth == 0:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return parts
}

func leafOf(m *fakenode.Machine, name string, numa int, next func() string) *fakenode.Device {
	if strings.HasPrefix(name, "GPU") {
		d := fakenode.GPUDevice(next(), numa)
		m.GPUs = append(m.GPUs, &fakenode.GPU{PCI: d.Address})
		return d
	}
	d := fakenode.NICDevice(next(), numa)
	m.NICs = append(m.NICs, &fakenode.NIC{Name: name, PCI: d.Address, Rate: "400 Gb/sec (4X NDR)", State: "4: ACTIVE", PhysState: "5: LinkUp", LinkLayer: "InfiniBand"})
	return d
}
