package probe

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// lspciSample is a host bridge, a timer, a root port, a switch with two ports, a GPU at half its width and a NIC; the GPU's
// port redirects, the NIC's only checks sources.
const lspciSample = `00:00.0 Host bridge [0600]: Intel Corporation Device [8086:09a2] (rev 20)
	NUMA node: 0
00:00.1 System peripheral [0880]: Intel Corporation Device [8086:09a4] (rev 20)
00:01.0 PCI bridge [0604]: Intel Corporation Device [8086:352a] (rev 04) (prog-if 00 [Normal decode])
	NUMA node: 0
	Bus: primary=00, secondary=01, subordinate=04, sec-latency=0
	Capabilities: [40] Express (v2) Root Port (Slot-), MSI 00
		LnkCap:	Port #1, Speed 32GT/s, Width x16, ASPM not supported
		LnkSta:	Speed 32GT/s (ok), Width x16 (ok)
	Kernel driver in use: pcieport
01:00.0 PCI bridge [0604]: Broadcom / LSI Device [1000:c030] (prog-if 00 [Normal decode])
	Bus: primary=01, secondary=02, subordinate=04, sec-latency=0
	Capabilities: [68] Express (v2) Upstream Port, MSI 00
		LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM L0s L1
		LnkSta:	Speed 32GT/s, Width x16
02:00.0 PCI bridge [0604]: Broadcom / LSI Device [1000:c030] (prog-if 00 [Normal decode])
	Bus: primary=02, secondary=03, subordinate=03, sec-latency=0
	Capabilities: [68] Express (v2) Downstream Port (Slot+), MSI 00
		LnkCap:	Port #2, Speed 32GT/s, Width x16, ASPM L1
		LnkCap2: Supported Link Speeds: 2.5-32GT/s, Crosslink- Retimer- 2Retimers- DRS-
		LnkSta:	Speed 32GT/s (ok), Width x8 (downgraded)
	Capabilities: [170 v1] Access Control Services
		ACSCap:	SrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+
		ACSCtl:	SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
02:01.0 PCI bridge [0604]: Broadcom / LSI Device [1000:c030] (prog-if 00 [Normal decode])
	Bus: primary=02, secondary=04, subordinate=04, sec-latency=0
	Capabilities: [170 v1] Access Control Services
		ACSCtl:	SrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
03:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)
	Subsystem: NVIDIA Corporation Device [10de:16c1]
	NUMA node: 0
	IOMMU group: 7
	Capabilities: [60] Express (v2) Endpoint, MSI 00
		LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 <4us
		LnkSta:	Speed 32GT/s (ok), Width x8 (downgraded)
	Capabilities: [100 v1] Secondary PCI Express
	Kernel driver in use: nvidia
04:00.0 Infiniband controller [0207]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]
	NUMA node: 0
	Kernel driver in use: mlx5_core
`

func TestImportLspci(t *testing.T) {
	r := importText(t, "lspci", lspciSample)
	gpu := topology.PCIDevice{Address: "0000:03:00.0", Parent: "0000:02:00.0", RootComplex: "pci0000:00", Class: "0x030200", Vendor: "0x10de",
		Device: "0x2330", SubVendor: "0x10de", SubDevice: "0x16c1", Driver: "nvidia", NUMANode: new(0), ACSEnabled: new(false), IOMMUGroup: new(7),
		Link: &topology.PCILink{SpeedTransfersPerSecond: new(32e9), MaxSpeedTransfersPerSecond: new(32e9), Width: new(8), MaxWidth: new(16)}}
	if len(r.PCI) != 6 { // the host bridge and the timer are left out
		t.Fatalf("%d devices: %+v", len(r.PCI), r.PCI)
	}
	if diff := cmp.Diff(gpu, r.PCI[4]); diff != "" {
		t.Errorf("GPU (-want +got):\n%s", diff)
	}
	if p := r.PCI[2]; p.ACSEnabled == nil || !*p.ACSEnabled || p.Parent != "0000:01:00.0" || p.Class != "0x060400" {
		t.Errorf("port of the GPU: %+v", p)
	}
	if p := r.PCI[3]; p.ACSEnabled == nil || *p.ACSEnabled {
		t.Errorf("a port that only checks sources redirects: %+v", p)
	}
	if r.PCI[0].ACSEnabled != nil {
		t.Error("a port without extended capabilities says something about access control")
	}
	if len(r.GPUs) != 1 || r.GPUs[0].Model != "H100 SXM5 80GB" || *r.GPUs[0].PCIeWidth != 8 || len(r.NICs) != 1 || r.NICs[0].LinkLayer != "InfiniBand" {
		t.Errorf("GPUs %+v, NICs %+v", r.GPUs, r.NICs)
	}
	if diff := cmp.Diff([]topology.Path{{A: "GPU0", B: "0000:04:00.0", Type: "PIX"}}, r.Paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"pcie-width-low GPU0", "acs-enabled GPU0"}, codes(r)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func codes(r *topology.NodeReport) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, f.Code+" "+f.Subject)
	}
	return out
}

// TestImportLspciForms reads the forms in which lspci names a GPU, whole or in part.
func TestImportLspciForms(t *testing.T) {
	const gpu = `10000:19:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)`
	for name, tc := range map[string]struct {
		text, address, class, device string
		codes                        []string
	}{
		"names": {"19:00.0 3D controller: NVIDIA Corporation Device 2330 (rev a1)", "0000:19:00.0", "0x030200", "0x2330", []string{"import-loss lspci"}},
		"names and model": {"19:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1) (prog-if 00 [VGA controller])",
			"0000:19:00.0", "0x030000", "", []string{"import-loss lspci"}},
		"numbers": {"0000:19:00.0 0302: 10de:2330 (rev a1)", "0000:19:00.0", "0x030200", "0x2330", []string{"import-loss lspci"}},
		"domain":  {gpu, "10000:19:00.0", "0x030200", "0x2330", []string{"import-loss lspci"}},
		"no root": {gpu + "\n\tCapabilities: <access denied>", "10000:19:00.0", "0x030200", "0x2330", []string{"import-loss lspci", "import-loss lspci"}},
		"gone": {"19:00.0 3D controller [0302]: NVIDIA Corporation GH100 [10de:2330] (rev ff) (prog-if ff)\n\t!!! Unknown header type 7f",
			"0000:19:00.0", "0x0302ff", "0x2330", []string{"pci-no-answer 0000:19:00.0", "import-loss lspci"}},
		"twice": {gpu + "\n" + gpu, "10000:19:00.0", "0x030200", "0x2330", []string{"import-loss 10000:19:00.0", "import-loss lspci"}},
		"noise": {"lspci: cannot read\n" + gpu, "10000:19:00.0", "0x030200", "0x2330", []string{"import-loss lspci", "import-loss lspci"}},
	} {
		r := importText(t, "lspci", tc.text)
		if len(r.GPUs) != 1 || len(r.PCI) != 1 {
			t.Errorf("%s: GPUs %+v of %+v", name, r.GPUs, r.PCI)
			continue
		}
		d := r.PCI[0]
		if d.Address != tc.address || d.Class != tc.class || d.Device != tc.device || d.Vendor != "0x10de" || r.Paths != nil || d.RootComplex != "" {
			t.Errorf("%s: %+v, paths %v", name, d, r.Paths)
		}
		got := map[string]int{}
		for _, c := range codes(r) {
			got[c]++
		}
		for _, c := range tc.codes {
			got[c]--
		}
		for c, n := range got {
			if n != 0 {
				t.Errorf("%s: %s: %+d", name, c, n)
			}
		}
	}
}

func TestLspciRedirects(t *testing.T) {
	for flags, want := range map[string]bool{
		"SrcValid+ TransBlk+ ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans+": false, "SrcValid- ReqRedir+": true,
		"SrcValid- CmpltRedir+": true, "UpstreamFwd+": true, "EgressCtrl+": true, "": false,
	} {
		if got := lspciRedirects(flags); got != want {
			t.Errorf("%q: %v", flags, got)
		}
	}
}

// TestImportLspciCircle gives bridges that lead upwards, and too many functions.
func TestImportLspciCircle(t *testing.T) {
	r := importText(t, "lspci", "00:00.0 Host bridge: X\n01:00.0 PCI bridge: X\n\tBus: primary=01, secondary=02, subordinate=02\n"+
		"02:00.0 PCI bridge: X\n\tBus: primary=02, secondary=01, subordinate=02\n03:00.0 PCI bridge: X\n\tBus: primary=03, secondary=03, subordinate=03\n")
	if diff := cmp.Diff([]string{"import-loss 0000:02:00.0", "import-loss 0000:03:00.0"}, codes(r)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	var b strings.Builder
	for i := range maxLspci + 1 {
		fmt.Fprintf(&b, "%04x:%02x:00.0 Bridge: X\n", i>>8, i&255)
	}
	if _, err := Import("lspci", strings.NewReader(b.String()), "n"); err == nil || !strings.Contains(err.Error(), "line 16385") {
		t.Errorf("too many functions: error %v", err)
	}
}

const nvlinkSample = `GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)
	 Link 0: 26.562 GB/s
	 Link 1: 26.562 GB/s
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-2)
	 Link 0: 26.562 GB/s
	 Link 1: <inactive>
GPU 2: NVIDIA H100 80GB HBM3 (UUID: GPU-3)
NVML: Unable to retrieve NVLink information as all links are inActive
GPU 3: NVIDIA H100 80GB HBM3 (UUID: GPU-4)
	 Link 0: 13.281 GB/s
	 Link 1: 26.562 GB/s
	 Link 2: something else
`

func TestImportNVLink(t *testing.T) {
	r := importText(t, "nvlink", nvlinkSample)
	want := []topology.GPU{
		{Index: 0, UUID: "GPU-1", Model: "NVIDIA H100 80GB HBM3", NVLinks: []topology.NVLink{{Link: 0, Active: true}, {Link: 1, Active: true}}},
		{Index: 1, UUID: "GPU-2", Model: "NVIDIA H100 80GB HBM3", NVLinks: []topology.NVLink{{Link: 0, Active: true}, {Link: 1}}},
		{Index: 2, UUID: "GPU-3", Model: "NVIDIA H100 80GB HBM3"},
		{Index: 3, UUID: "GPU-4", Model: "NVIDIA H100 80GB HBM3", NVLinks: []topology.NVLink{{Link: 0, Active: true}, {Link: 1, Active: true}}},
	}
	if diff := cmp.Diff(want, r.GPUs); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"nvlink-down GPU1", "import-loss GPU2", "import-loss nvlink", "nvlink-rate-uneven GPU3"}, codes(r)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"GPU 0: X\nGPU 0: X\n": "line 2", "GPU 0: X\n Link 0: 25 GB/s\n Link 0: 25 GB/s\n": "line 3", "GPU 0: X\n Link 0: 1.2.3 GB/s\n": "line 2",
	} {
		if _, err := Import("nvlink", strings.NewReader(text), "n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestImportPCIRecorded reads the recorded listings: an 8-GPU node as root, a virtual machine, and its NVLinks.
func TestImportPCIRecorded(t *testing.T) {
	dir := filepath.Join(corpus, "topo/pci")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("corpus not here")
	}
	r := importFile(t, "lspci", filepath.Join(dir, "gpud-lspci-vvv.txt.gz"))
	redirects, letters := 0, map[string]int{}
	for _, d := range r.PCI {
		if d.ACSEnabled != nil && *d.ACSEnabled {
			redirects++
		}
	}
	for _, p := range r.Paths {
		letters[p.Type]++
	}
	if len(r.GPUs) != 8 || len(r.NICs) != 12 || redirects != 4 || len(r.Paths) != 190 || letters["PIX"] == 0 || len(r.NUMANodes) != 2 {
		t.Errorf("%d GPUs, %d NICs, %d redirect, letters %v, NUMA %v", len(r.GPUs), len(r.NICs), redirects, letters, r.NUMANodes)
	}
	r = importFile(t, "lspci", filepath.Join(dir, "gpud-lspci-nn-a100.txt"))
	if len(r.GPUs) != 8 || len(r.NICs) != 9 || len(r.PCI) != 31 || r.Paths != nil || r.GPUs[0].Model != "A100 SXM4 80GB" {
		t.Errorf("%d GPUs, %d NICs, %d functions, paths %v, %+v", len(r.GPUs), len(r.NICs), len(r.PCI), r.Paths, r.GPUs[0])
	}
	r = importFile(t, "nvlink", filepath.Join(dir, "gpud-nvlink-status-a100.txt"))
	links := 0
	for _, g := range r.GPUs {
		links += len(g.NVLinks)
	}
	if len(r.GPUs) != 8 || links != 96 || r.Findings != nil {
		t.Errorf("%d GPUs, %d links, findings %v", len(r.GPUs), links, r.Findings)
	}
}

func importFile(t *testing.T, format, path string) *topology.NodeReport {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return importText(t, format, string(data))
}
