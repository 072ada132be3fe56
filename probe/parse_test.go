package probe

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRate(t *testing.T) {
	for _, tc := range []struct {
		in, name string
		want     float64
	}{
		{"400 Gb/sec (4X NDR)", "4X NDR", 50e9},
		{"2.5 Gb/sec (1X SDR)\n", "1X SDR", 0.3125e9},
		{"100 Gb/sec", "", 12.5e9},
		{"", "", 0}, {"400", "", 0}, {"x Gb/sec", "", 0}, {"-1 Gb/sec", "", 0}, {"NaN Gb/sec", "", 0}, {"1e300 Gb/sec", "", 0},
	} {
		got, name, err := ParseRate(tc.in)
		if (err == nil) != (tc.want > 0) || got != tc.want || (err == nil && name != tc.name) {
			t.Errorf("%q: %v, %q, %v", tc.in, got, name, err)
		}
	}
}

func TestParseLink(t *testing.T) {
	for in, want := range map[string]float64{"16.0 GT/s PCIe": 16e9, "2.5 GT/s": 2.5e9, "64.0 GT/s PCIe": 64e9,
		"Unknown": 0, "Unknown speed": 0, "": 0, "0 GT/s": 0, "NaN GT/s": 0, "16 GB/s": 0} {
		if got := ParseLinkSpeed(in); (got == nil) != (want == 0) || got != nil && *got != want {
			t.Errorf("speed %q: %v, want %v", in, got, want)
		}
	}
	for in, want := range map[string]int{"16": 16, "1": 1, "x8": 8, "0": 0, "255": 0, "63": 0, "-1": 0, "": 0} {
		if got := ParseLinkWidth(in); (got == nil) != (want == 0) || got != nil && *got != want {
			t.Errorf("width %q: %v, want %v", in, got, want)
		}
	}
}

func TestParseCPUList(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want []int
	}{
		{"0-3,8,10-11", []int{0, 1, 2, 3, 8, 10, 11}}, {"5", []int{5}}, {"", []int{}}, {"1,0,1", []int{0, 1}},
		{"3-1", nil}, {"a", nil}, {"0-999999999", nil}, {"-1", nil},
	} {
		got, err := ParseCPUList(tc.in)
		if (err == nil) != (tc.want != nil) || err == nil && !slices.Equal(got, tc.want) {
			t.Errorf("%q: %v, %v", tc.in, got, err)
		}
	}
}

func TestParseACS(t *testing.T) {
	space := func(headers ...uint32) []byte {
		b := make([]byte, 4096)
		for i := 0; i < len(headers); i += 2 {
			binary.LittleEndian.PutUint32(b[headers[i]:], headers[i+1])
		}
		return b
	}
	on := space(0x100, 0x000d)
	binary.LittleEndian.PutUint16(on[0x106:], 0x001d)
	blocking := space(0x100, 0x000d)
	binary.LittleEndian.PutUint16(blocking[0x106:], 0x0001) // source validation alone redirects nothing
	for name, tc := range map[string]struct {
		config []byte
		want   *bool
	}{
		"other users":  {make([]byte, 64), nil},
		"no such":      {space(0x100, 0x0001|0x200<<20, 0x200, 0x0002), new(false)},
		"redirecting":  {on, new(true)},
		"validating":   {blocking, new(false)},
		"loop":         {space(0x100, 0x0001|0x100<<20), new(false)},
		"points out":   {space(0x100, 0x0001|0xffc<<20), new(false)},
		"reads as one": {space(0x100, 0xffffffff), nil},
	} {
		if diff := cmp.Diff(tc.want, ParseACS(tc.config)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDecodeFabricHealth(t *testing.T) {
	for mask, want := range map[uint32]string{
		0: "", 0xaa: "", 0x1aa: "", 0x1: "degraded bandwidth", 0x10: "route unhealthy",
		0x4aa: "incorrect configuration: no partition", 0xfaa: "incorrect configuration 15", 0x20aa: "no partition assigned", 0x10aa: "",
	} {
		if got := strings.Join(DecodeFabricHealth(mask), "; "); got != want {
			t.Errorf("mask %#x: %q, want %q", mask, got, want)
		}
	}
}

func TestSummarize(t *testing.T) {
	m := summarize([]float64{3, 1, 2, 10}, "x")
	if m.Value != 2.5 || m.Spread != 3.6 || m.Samples != 4 {
		t.Errorf("%+v", m)
	}
	if m := summarize(nil, "x"); m.Samples != 0 || math.IsNaN(m.Spread) {
		t.Errorf("no samples: %+v", m)
	}
}

func FuzzParseCPUInfo(f *testing.F) {
	f.Add([]byte("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t: 17\nmodel name\t: X\n"))
	f.Add([]byte("processor : 0\nCPU implementer : 0x41\nCPU part : 0xd4f\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		info := ParseCPUInfo(data)
		if info.Threads < 0 || info.Family != nil && *info.Family < 0 {
			t.Errorf("%+v", info)
		}
	})
}

func FuzzParseACS(f *testing.F) {
	f.Add(make([]byte, 64))
	f.Add(make([]byte, 4096))
	f.Fuzz(func(_ *testing.T, data []byte) { ParseACS(data) })
}

func FuzzParseCPUList(f *testing.F) {
	f.Add("0-3,8")
	f.Add("0-65535")
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := ParseCPUList(s)
		if err == nil && (!slices.IsSorted(cpus) || len(cpus) > maxCPU) {
			t.Errorf("%q: %v", s, cpus)
		}
	})
}

func FuzzAttributes(f *testing.F) {
	f.Add("400 Gb/sec (4X NDR)")
	f.Add("16.0 GT/s PCIe")
	f.Add("fe80:0000:0000:0000:e09d:7303:0015:6ff6")
	f.Add("Node 0 MemTotal: 65536000 kB")
	f.Fuzz(func(t *testing.T, s string) {
		if v, _, err := ParseRate(s); err == nil && !(v > 0 && v < 1e15) {
			t.Errorf("rate %q: %v", s, v)
		}
		if v := ParseLinkSpeed(s); v != nil && !(*v > 0 && *v <= 1e13) {
			t.Errorf("speed %q: %v", s, *v)
		}
		if v := ParseNetSpeed(s); v != nil && *v <= 0 {
			t.Errorf("net speed %q: %v", s, *v)
		}
		ParseLinkWidth(s)
		parseDistances(s)
		parseMemTotal([]byte(s))
		portGUID(s)
		pciParents(s)
		parseState(s)
	})
}
