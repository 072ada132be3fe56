package fabric

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

func TestIblinkinfoPorts(t *testing.T) {
	const in = `CA: node0000 mlx5_0:
      0x0002c90300000001     10    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       1    1[ 7] "leaf: 0" ( Could be 106.25 Gbps)
CA: node0001 mlx5_0:
      0x0002c90300000101     11    1[  ] ==( 1X          10.0 Gbps (FDR10) Initialize/  LinkUp) (HOQ:18 VL_Stall:7)==>       1    2[  ] "leaf: 0" ( )
      0x0002c90300000102      0    2[  ] ==(                Down/Disabled)==>             [  ] "" ( )
Switch: 0x0002c90200000000 leaf: 0:
           1    1[ 7] ==( 4X        53.125 Gbps Active/  LinkUp)==>      10    1[  ] "node0000 mlx5_0" ( Could be 106.25 Gbps)
           1    2[  ] ==( 1X          10.0 Gbps (FDR10) Active/  LinkUp)==>      11    1[  ] "node0001 mlx5_0" ( )
           1    3[  ] ==( 4X     undefined (9) Active/  LinkUp)==>      44    1[  ] "node0009 mlx5_0" ( )
           1    4[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>      "Port not available"
           1    5[  ] ==(                Down/ Polling)==>             [  ] "" ( )
`
	got := parse(t, in)
	want := &topology.FabricReport{
		Header: topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindFabricReport, Source: SourceIblinkinfo},
		Devices: []topology.FabricDevice{
			{Name: "lid 44", Kind: topology.AdapterDevice, Description: "node0009 mlx5_0", ReferenceOnly: true},
			{GUID: 0x2c90200000000, Kind: topology.SwitchDevice, Description: "leaf: 0", PortCount: 5, Ports: []topology.PortInfo{{Number: 1, External: 7}, {Number: 5, State: "Down/Polling"}}},
			{GUID: 0x2c90300000001, Kind: topology.AdapterDevice, Description: "node0000 mlx5_0", PortCount: 1, Ports: []topology.PortInfo{{Number: 1, GUID: 0x2c90300000001}}},
			{GUID: 0x2c90300000101, Kind: topology.AdapterDevice, Description: "node0001 mlx5_0", PortCount: 2, Ports: []topology.PortInfo{
				{Number: 1, GUID: 0x2c90300000101, State: "Initialize/LinkUp"}, {Number: 2, GUID: 0x2c90300000102, State: "Down/Disabled"}}},
		},
		Links: []topology.FabricLink{
			{A: topology.FabricEnd{Device: 0, Port: 1}, B: topology.FabricEnd{Device: 1, Port: 3}, OneSided: true},
			{A: topology.FabricEnd{Device: 1, Port: 1}, B: topology.FabricEnd{Device: 2, Port: 1}, Width: 4, Speed: topology.SpeedHDR, CouldBe: topology.SpeedNDR, BandwidthBytesPerSecond: 25e9},
			{A: topology.FabricEnd{Device: 1, Port: 2}, B: topology.FabricEnd{Device: 3, Port: 1}, Width: 1, Speed: topology.SpeedFDR10, BandwidthBytesPerSecond: 1.25e9},
		},
	}
	if diff := gocmp.Diff(want, bare(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c := codes(got); c != CodeNoPeer+" "+CodeReferenceOnly+" "+CodeUnknownSpeed {
		t.Errorf("findings %q: %v", c, got.Findings)
	}
}

// iblinkinfo --switches-only is the usual call on large fabrics: the hosts are seen as peers only.
func TestIblinkinfoSwitchesOnly(t *testing.T) {
	got := parse(t, `0x0002c90200000000 "                         leaf0"      1    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  0x0002c90300000001     10    1[  ] "node0000 mlx5_0" ( )
0x0002c90200000000 "                         leaf0"      1    2[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  0x0002c90300000101     11    1[  ] "node0001 mlx5_0" ( )
0x0002c90200000000 "                         leaf0"      1    3[  ] ==(                Down/ Polling)==>             [  ] "" ( )
`)
	if n := kinds(got); n[topology.AdapterDevice] != 2 || n[topology.SwitchDevice] != 1 || len(got.Links) != 2 {
		t.Errorf("devices %v, %d links", n, len(got.Links))
	}
	if len(got.Findings) != 1 || got.Findings[0].Severity != topology.Info {
		t.Errorf("findings %v, want one note that switches only are shown", got.Findings)
	}
}

func TestPortsReportLines(t *testing.T) {
	const row = "CA    35  1 0x0002c90300001f01 4x HDR - SW     4 12 0x0002c90200000001 ( 'node0031 mlx5_0' - 'leaf1' )\n"
	for _, bad := range []string{"CA x 1 0x1 4x HDR 'a'", "CA 1 1 0x1 HDR 'a'", "CA 1 1 0x2 4x HDR - SW 1 1 zz ( 'a' - 'b' )", "CA 1 1 0x2 4x HDR - SW 1 1 0x3 'a' - 'b'", "CA 1 999 0x2 4x HDR 'a'", "CA"} {
		r := parse(t, row+bad+"\n")
		if codes(r) != CodeLineNotUnderstood+" "+CodeReferenceOnly || !strings.Contains(r.Findings[0].Subject, "test.txt:2") {
			t.Errorf("%q: findings %v", bad, r.Findings)
		}
	}
	r := parse(t, row+"SW     4 13 0x0002c90200000001 4x SDR                                    'leaf1'\n"+row[:60])
	if codes(r) != CodeInputCut+" "+CodeOneSidedCable {
		t.Errorf("cut: findings %v", r.Findings)
	}
	if p := r.Devices[0].Ports; len(p) != 1 || p[0].Number != 13 || p[0].State != "Unlinked" {
		t.Errorf("ports of the switch %v", p)
	}
}

func TestIblinkinfoOrderDoesNotMatter(t *testing.T) {
	var b strings.Builder
	if _, err := copyAll(&b, corpus(t, "fabric/ib/hurt-dualport/iblinkinfo-l.txt")); err != nil {
		t.Fatal(err)
	}
	want := parse(t, b.String())
	list := strings.SplitAfter(b.String(), "\n")
	for seed := range uint64(5) {
		shuffle(seed, list)
		if diff := gocmp.Diff(want, parse(t, strings.Join(list, ""))); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}
