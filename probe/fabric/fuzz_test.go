package fabric

import (
	"bytes"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// sound checks what a reader accepted: the promises of a report, and that findings are bounded and carry their parts.
func sound(t *testing.T, r *topology.FabricReport, err error) bool {
	if err != nil {
		if err.Error() == "" || len(err.Error()) > 1<<20 {
			t.Fatalf("error of %d bytes", len(err.Error()))
		}
		return false
	}
	checkSound(t, r)
	for _, f := range r.Findings {
		if f.Code == "" || f.Severity == "" || f.Message == "" {
			t.Fatalf("finding %+v lacks a part", f)
		}
	}
	return true
}

func FuzzIbnetdiscover(f *testing.F) {
	f.Add([]byte(text(f, twoLevel(2, 1, 1, 1))))
	f.Add([]byte(strings.ReplaceAll(text(f, twoLevel(1, 1, 1, 1)), "\n", "\r\n")))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := ParseIbnetdiscover(bytes.NewReader(in), "fuzz")
		if !sound(t, r, err) {
			return
		}
		// what was written once is read and written the same again
		var first, second bytes.Buffer
		if err := WriteIbnetdiscover(&first, r); err != nil {
			t.Fatal(err)
		}
		again, err := ParseIbnetdiscover(bytes.NewReader(first.Bytes()), "fuzz")
		if err != nil {
			t.Fatalf("own text is refused: %v\n%s", err, first.String())
		}
		if err := WriteIbnetdiscover(&second, again); err != nil {
			t.Fatal(err)
		}
		third, err := ParseIbnetdiscover(bytes.NewReader(second.Bytes()), "fuzz")
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(again, third); diff != "" {
			t.Fatalf("second round trip differs:\n%s", diff)
		}
	})
}

func FuzzPorts(f *testing.F) {
	f.Add([]byte("CA    35  1 0x0002c90300001f01 4x HDR - SW     4 12 0x0002c90200000001 ( 'node0031 mlx5_0' - 'leaf1' )\nSW     4 13 0x0002c90200000001 4x SDR                                    'leaf1'\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := ParsePorts(bytes.NewReader(in), "fuzz")
		sound(t, r, err)
	})
}

func FuzzIblinkinfo(f *testing.F) {
	f.Add([]byte("CA: node0004 mlx5_1:\n" + linkRow + "\nSwitch: 0x0002c90200000007 leaf1:\n           4    5[ 3] ==( 4X        53.125 Gbps Active/  LinkUp)==>      49    1[  ] \"node0004 mlx5_1\" ( Could be 106.25 Gbps)\n           4    6[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n"))
	f.Add([]byte("0x0002c90300001b01 \"               node0027 mlx5_0\"     31    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>  0x0002c90200000003     68    4[  ] \"leaf3\" (Could be 12X Could be 106.25 Gbps)\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := ParseIblinkinfo(bytes.NewReader(in), "fuzz")
		sound(t, r, err)
	})
}

func FuzzErrors(f *testing.F) {
	f.Add([]byte("Errors for 0x2c90200000000 \"leaf0\"\n   GUID 0x2c90200000000 port 1: [SymbolErrorCounter == 57] [PortXmitData == 3312 (12.938KB)]\n## Summary: 1 nodes checked\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		rep := twoLevel(2, 1, 2, 1)
		sound(t, rep, MergeErrors(rep, bytes.NewReader(in), "fuzz"))
	})
}

func FuzzStatic(f *testing.F) {
	f.Add([]byte("speed: 400\nrails: 2\nswitches:\n- {name: \"s[1-2]\", tier: 1}\n- {name: \"l[1-4]\", tier: 0, uplinks: [{to: \"s[1-2]\", cables: 2, speed: 800}]}\nhosts:\n- {names: \"a[01-09]\", leaf: \"l[1-2]\", devices: \"mlx5_[0-1]\"}\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Count(in, []byte("[")) > 8 || len(in) > 4096 {
			return // bounded by maxStaticDevices, but a million devices each time is no good fuzzing
		}
		r, err := Static(bytes.NewReader(in), "fuzz")
		sound(t, r, err)
	})
}

func FuzzLabels(f *testing.F) {
	f.Add([]byte(`{"kind":"List","items":[{"kind":"Node","metadata":{"name":"a","labels":{"fabric.topograph.run/tier-0":"l1","fabric.topograph.run/tier-1":"s"}}},{"metadata":{"name":"b","labels":{"fabric.topograph.run/tier-0":"l1"}}}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := Labels(bytes.NewReader(in), "fuzz", AutoPreset)
		sound(t, r, err)
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("apiVersion: railmap.dev/v1\nkind: FabricReport\ndevices:\n- {guid: 0x0002c90200000000, kind: switch}\nlinks: []\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 4096 {
			return
		}
		r, err := Read(bytes.NewReader(in), "fuzz")
		if err == nil {
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
