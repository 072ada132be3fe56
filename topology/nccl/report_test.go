package nccl

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/railmap/railmap/topology"
)

// TestReportKeepsGraphs turns every machine of the corpus into a report and back: NCCL must find the same graphs.
func TestReportKeepsGraphs(t *testing.T) {
	rows, err := ReadVectors(corpus(t, "vectors.csv"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, v := range rows {
		if seen[v.XML] {
			continue
		}
		seen[v.XML] = true
		fill, err := ParseFill(v.Env)
		if err != nil {
			t.Fatal(err)
		}
		x, err := Fill(corpusXML(t, v.XML), fill)
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := ToReport(x, "node1")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(); err != nil {
			t.Errorf("%s: report is not valid: %v", v.XML, err)
		}
		back, _, err := FromReport(r, ReportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, nodes := range []int{1, 2} {
			want, err := GraphsFor(x, nodes, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := GraphsFor(back, nodes, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s n=%d: graphs changed on the way through a report (-want +got):\n%s", v.XML, nodes, d)
			}
		}
		again, _, err := ToReport(back, "node1")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r, again, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: report changed on the way through XML (-want +got):\n%s", v.XML, d)
		}
	}
}

func ref[T any](v T) *T { return &v }

// bareMetal is a report as a probe writes it: two GPUs and a NIC below one switch, with the ports between that NCCL passes
// over, and one port that is down.
func bareMetal() *topology.NodeReport {
	gen := func(gt float64, width int) *topology.PCILink {
		return &topology.PCILink{MaxSpeedTransfersPerSecond: ref(gt * 1e9), MaxWidth: ref(width)}
	}
	bridge := func(addr, parent string, l *topology.PCILink) topology.PCIDevice {
		return topology.PCIDevice{Address: addr, Parent: parent, RootComplex: "pci0000:10", Class: "0x060400", Vendor: "0x1000", Device: "0xc030", NUMANode: ref(1), Link: l}
	}
	end := func(addr, parent, class string, l *topology.PCILink) topology.PCIDevice {
		return topology.PCIDevice{Address: addr, Parent: parent, RootComplex: "pci0000:10", Class: class, NUMANode: ref(1), Link: l}
	}
	return &topology.NodeReport{
		Node:      "gpu1",
		CPU:       &topology.CPUInfo{Arch: "x86_64", Vendor: "AuthenticAMD", Family: ref(23), ModelID: ref(49)},
		NUMANodes: []topology.NUMANode{{ID: 0, CPUs: "0-3,8"}, {ID: 1, CPUs: "4-7,40"}},
		PCI: []topology.PCIDevice{
			bridge("0000:10:01.0", "", gen(32, 16)),
			bridge("0000:11:00.0", "0000:10:01.0", gen(32, 16)),
			bridge("0000:12:00.0", "0000:11:00.0", gen(32, 16)),
			bridge("0000:12:01.0", "0000:11:00.0", gen(32, 16)),
			bridge("0000:12:02.0", "0000:11:00.0", gen(16, 8)),
			end("0000:13:00.0", "0000:12:00.0", "0x030200", gen(32, 16)),
			end("0000:14:00.0", "0000:12:01.0", "0x030200", gen(32, 16)),
			end("0000:15:00.0", "0000:12:02.0", "0x020700", gen(32, 16)),
		},
		GPUs: []topology.GPU{
			{Index: 0, PCIAddress: "0000:13:00.0", ComputeCapability: "9.0", PCIeGeneration: ref(1), MaxPCIeGeneration: ref(5), PCIeWidth: ref(8), MaxPCIeWidth: ref(16),
				NVLinks: []topology.NVLink{{Link: 0, Active: true, Remote: "0000:80:00.0", RemoteType: "switch"}, {Link: 1, Active: true, Remote: "0000:80:00.0", RemoteType: "switch"}, {Link: 2}}},
			{Index: 1, PCIAddress: "0000:14:00.0"},
		},
		NICs: []topology.NICReport{
			{Device: "mlx5_0", Port: 1, State: "ACTIVE", SystemImageGUID: 0x7cfe9003006dc384, RateBytesPerSecond: ref(50e9), PCIAddress: "0000:15:00.0", GPUDirect: ref(true)},
			{Device: "mlx5_1", Port: 1, State: "DOWN", PCIAddress: "0000:15:00.1"},
		},
	}
}

func TestFromReport(t *testing.T) {
	x, findings, err := FromReport(bareMetal(), ReportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := x.Write(&got); err != nil {
		t.Fatal(err)
	}
	want := `<system version="1">
  <cpu numaid="1" affinity="00000100,000000f0" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:11:00.0" class="0x060400" vendor="0x1000" device="0xc030" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:13:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="8">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:80:00.0" count="2" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:15:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="8">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" latency="0.000000" guid="0x84c36d000390fe7c" gdr="1"/>
        </nic>
      </pci>
      <pci busid="0000:14:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>
    </pci>
  </cpu>
</system>
`
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Errorf("document (-want +got):\n%s", d)
	}
	var codes []string
	for _, f := range findings {
		codes = append(codes, f.Code+" "+f.Subject)
	}
	if d := cmp.Diff([]string{"nccl-port-left-out gpu1/mlx5_1/1", "nccl-xml-completed gpu1/GPU1"}, codes); d != "" {
		t.Errorf("findings (-want +got):\n%s", d)
	}
}

// TestFromReportSlowAtWork: an idle GPU shows a slow link and means nothing by it; one that was slow at work does.
func TestFromReportSlowAtWork(t *testing.T) {
	for _, found := range []bool{false, true} {
		r, want := bareMetal(), "32.0 GT/s PCIe"
		if found {
			r.Findings = []topology.Finding{{Code: "pcie-speed-low", Severity: topology.Error, Subject: "GPU0"}}
			want = "2.5 GT/s PCIe"
		}
		x, _, err := FromReport(r, ReportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := x.functions(pciGPU)[0].Get("link_speed"); got != want {
			t.Errorf("found slow %v: link_speed %q, want %q", found, got, want)
		}
	}
}

func TestFromReportErrors(t *testing.T) {
	if _, _, err := FromReport(&topology.NodeReport{Node: "n"}, ReportOptions{}); err == nil || !strings.Contains(err.Error(), "has no GPU") {
		t.Errorf("no GPU: error %v", err)
	}
	r := bareMetal()
	r.PCI[0].Parent = "0000:11:00.0" // a circle
	if _, _, err := FromReport(r, ReportOptions{}); err == nil || !strings.Contains(err.Error(), "below itself") {
		t.Errorf("circle: error %v", err)
	}
}

func TestFromReportSockets(t *testing.T) {
	r := bareMetal()
	r.NICs = nil
	r.NetDevices = []topology.NetDevice{{Name: "docker0", State: "up"}, {Name: "eth0", State: "up", SpeedBytesPerSecond: ref(12.5e9)}, {Name: "eth1", State: "down"}, {Name: "lo", State: "up"}}
	x, _, err := FromReport(r, ReportOptions{AssumeGPUDirect: true})
	if err != nil {
		t.Fatal(err)
	}
	nic := x.Root.Children[0].Child("nic")
	if nic == nil || len(nic.Children) != 1 {
		t.Fatalf("sockets: %+v, want eth0 alone", nic)
	}
	want := []Attr{{"name", "eth0"}, {"dev", "0"}, {"speed", "100000"}, {"port", "0"}, {"latency", "0.000000"}, {"guid", "0x0"}, {"gdr", "0"}}
	if d := cmp.Diff(want, nic.Children[0].Attrs); d != "" {
		t.Errorf("net (-want +got):\n%s", d)
	}
}

func TestToReportErrors(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"two hosts", `<system version="1"><cpu numaid="0" host_hash="0x1"/>` + "\n" + `<cpu numaid="0" host_hash="0x2"/></system>`, "line 2: cpu 0: is of a second host"},
		{"links", `<system><cpu numaid="0"><pci busid="0" class="0x0302"><gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="0" count="100000"/></gpu></pci></cpu></system>`, "at most 64 NVLinks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, err := ReadXML(strings.NewReader(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := ToReport(x, "n"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestCPUMask(t *testing.T) {
	for _, tt := range []struct {
		list string
		last int
		mask string
	}{{"0-31", 63, "00000000,ffffffff"}, {"32-63", 63, "ffffffff,00000000"}, {"0,2,33", 40, "00000002,00000005"}, {"0-95", 95, "ffffffff,ffffffff,ffffffff"}} {
		if got := cpuMask(tt.list, tt.last); got != tt.mask {
			t.Errorf("cpuMask(%q) = %q, want %q", tt.list, got, tt.mask)
		}
		if got := cpuList(tt.mask); got != tt.list {
			t.Errorf("cpuList(%q) = %q, want %q", tt.mask, got, tt.list)
		}
	}
	if got := cpuMask("x,5-2,99999999", 3); got != "" {
		t.Errorf("mask of nonsense is %q", got)
	}
}
