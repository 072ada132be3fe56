package topology

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func TestNodeReportValidateNamesTheField(t *testing.T) {
	for _, tc := range []struct {
		name   string
		damage func(r *NodeReport)
		want   string
	}{
		{"no name", func(r *NodeReport) { r.Node = "" }, "node: must not be empty"},
		{"verdict", func(r *NodeReport) { r.Verdict = "good" }, "verdict is"},
		{"rate NaN", func(r *NodeReport) { r.NICs[0].RateBytesPerSecond = new(math.NaN()) }, "nics[0].rateBytesPerSecond is NaN"},
		{"rate negative", func(r *NodeReport) { r.NICs[0].RateBytesPerSecond = new(-1.0) }, "nics[0].rateBytesPerSecond is -1"},
		{"rate absurd", func(r *NodeReport) { r.NICs[0].RateBytesPerSecond = new(1e30) }, "nics[0].rateBytesPerSecond is 1e+30"},
		{"measured infinite", func(r *NodeReport) { r.Measurements.Copies[0].BandwidthBytesPerSecond.Value = math.Inf(1) },
			"measurements.copies[0].bandwidthBytesPerSecond.value is +Inf"},
		{"spread negative", func(r *NodeReport) { r.Measurements.Copies[0].BandwidthBytesPerSecond.Spread = -0.1 },
			"measurements.copies[0].bandwidthBytesPerSecond.spread"},
		{"width", func(r *NodeReport) { r.PCI[0].Link.Width = new(99) }, "pci[0].link.width is 99"},
		{"address", func(r *NodeReport) { r.PCI[0].Address = "c:0.0" }, "pci[0].address is \"c:0.0\""},
		{"own parent", func(r *NodeReport) { r.PCI[0].Parent = r.PCI[0].Address }, "pci[0].parent"},
		{"twice", func(r *NodeReport) { r.PCI = append(r.PCI, r.PCI[0]) }, "pci[1].address"},
		{"gpu twice", func(r *NodeReport) { r.GPUs = append(r.GPUs, r.GPUs[0]) }, "gpus[1].index is 0: must not repeat"},
		{"memory", func(r *NodeReport) { r.GPUs[0].MemoryBytes = 1 << 60 }, "gpus[0].memoryBytes"},
		{"finding", func(r *NodeReport) { r.Findings = []Finding{{Severity: "bad", Code: "x", Subject: "y"}} }, "findings[0].severity"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &NodeReport{Node: "n", PCI: []PCIDevice{{Address: "0000:0c:00.0", Link: &PCILink{Width: new(16)}}}, GPUs: []GPU{{Index: 0}},
				NICs: []NICReport{{Device: "mlx5_0", Port: 1, RateBytesPerSecond: new(50e9)}}}
			r.Measurements.Copies = []Copy{{From: "GPU0", To: "NUMA0", BandwidthBytesPerSecond: Measurement{Value: 55e9}}}
			if err := r.Validate(); err != nil {
				t.Fatalf("healthy report refused: %v", err)
			}
			tc.damage(r)
			if err := r.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want it to say %q", err, tc.want)
			}
		})
	}
}

func FuzzReadNodeReport(f *testing.F) {
	f.Add([]byte("apiVersion: railmap.dev/v1\nkind: NodeReport\nnode: n\n"))
	f.Add([]byte(`{"apiVersion":"railmap.dev/v1","kind":"NodeReport","node":"n","gpus":[{"index":0}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r NodeReport
		if err := Read(bytes.NewReader(data), "fuzz", &r); err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, &r, JSON); err != nil {
			t.Fatalf("a valid report could not be written: %v", err)
		}
		var back NodeReport
		if err := Read(&b, "again", &back); err != nil {
			t.Fatalf("a written report could not be read: %v", err)
		}
	})
}
