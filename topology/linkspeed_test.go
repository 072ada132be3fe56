package topology

import (
	"bytes"
	"testing"
)

func TestLinkSpeedRates(t *testing.T) {
	for _, tt := range []struct {
		speed LinkSpeed
		lanes int
		gbit  float64
	}{
		{SpeedQDR, 4, 32}, {SpeedFDR10, 4, 40}, {SpeedFDR, 4, 54.5}, {SpeedEDR, 4, 100}, {SpeedHDR, 4, 200}, {SpeedHDR, 2, 100},
		{SpeedNDR, 4, 400}, {SpeedXDR, 4, 800}, {SpeedUnknown, 4, 0}, {LinkSpeed(200), 4, 0},
	} {
		if got := tt.speed.BytesPerSecond(tt.lanes) * 8 / 1e9; got != tt.gbit {
			t.Errorf("%dx%s = %v Gbit/s, want %v", tt.lanes, tt.speed, got, tt.gbit)
		}
	}
}

func TestLinkSpeedInDocuments(t *testing.T) {
	in := &FabricReport{Header: Header{APIVersion: APIVersion, Kind: KindFabricReport}, Devices: []FabricDevice{{GUID: 1, Kind: SwitchDevice}},
		Links: []FabricLink{{A: FabricEnd{0, 1}, B: FabricEnd{0, 2}, Width: 4, Speed: SpeedFDR10}, {A: FabricEnd{0, 3}, B: FabricEnd{0, 4}}}}
	for _, f := range []Format{JSON, YAML} {
		var buf bytes.Buffer
		if err := Write(&buf, in, f); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(buf.Bytes(), []byte("speed")); n != 1 {
			t.Errorf("%s: %d speeds written, want 1 (unknown is absent):\n%s", f, n, buf.String())
		}
		var out FabricReport
		if err := Read(&buf, "test", &out); err != nil {
			t.Fatal(err)
		}
		if out.Links[0].Speed != SpeedFDR10 || out.Links[1].Speed != SpeedUnknown {
			t.Errorf("%s: read back %v", f, out.Links)
		}
	}
	if _, err := ParseLinkSpeed("WARP"); err == nil {
		t.Error("WARP must not be a speed")
	}
}
