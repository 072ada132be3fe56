package nccl

import (
	"strings"
	"testing"
)

func mustRead(t testing.TB, s string) *XML {
	t.Helper()
	x, err := ReadXML(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

const digestMachine = `<system version="1"><cpu host_hash="0x1" numaid="0" affinity="ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
<pci busid="0000:10:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
<pci busid="0000:11:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="0000:12:00.0" count="4" tclass="0x030200"/><nvlink target="0000:99:00.0" count="2" tclass="0x068000"/></gpu></pci>
<pci busid="0000:12:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="1" sm="90" rank="1" gdr="1"><nvlink target="0000:11:00.0" count="4" tclass="0x030200"/></gpu></pci>
<pci busid="0000:13:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"><nic><net name="mlx5_0" dev="0" speed="400000" port="1" latency="0.000000" guid="0xab" maxconn="131072" gdr="1"/></nic></pci>
</pci></cpu></system>`

func TestDigest(t *testing.T) {
	base := mustRead(t, digestMachine).Digest()
	for _, tt := range []struct {
		name     string
		old, new string
		same     bool
	}{
		{"other host", `host_hash="0x1"`, `host_hash="0x77"`, true},
		{"no host hash", `host_hash="0x1" `, ``, true},
		{"other cpus", `affinity="ff"`, `affinity="0f"`, true},
		{"other guid", `guid="0xab"`, `guid="0xcd"`, true},
		{"latency written otherwise", `latency="0.000000"`, `latency="0"`, true},
		{"hexadecimal", `speed="400000"`, `speed="0x61a80"`, true},
		{"other bus", "0000:13:00.0", "0000:23:00.0", true},
		{"other switch far away", "0000:99:00.0", "0000:9a:00.0", true},
		{"slower NIC", `speed="400000"`, `speed="200000"`, false},
		{"narrow slot", `link_width="16"><nic>`, `link_width="8"><nic>`, false},
		{"fewer NVLinks", `count="4"`, `count="3"`, false},
		{"no GPUDirect", `guid="0xab" maxconn="131072" gdr="1"`, `guid="0xab" maxconn="131072" gdr="0"`, false},
		{"other processor", `modelid="143"`, `modelid="207"`, false},
		{"NVLink elsewhere", `target="0000:11:00.0"`, `target="0000:98:00.0"`, false},
		{"other name", "mlx5_0", "mlx5_1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changed := strings.ReplaceAll(digestMachine, tt.old, tt.new)
			if changed == digestMachine {
				t.Fatalf("%q is not in the document", tt.old)
			}
			if got := mustRead(t, changed).Digest(); (got == base) != tt.same {
				t.Errorf("digest is the same: %v, want %v", got == base, tt.same)
			}
		})
	}
}
