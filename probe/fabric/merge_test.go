package fabric

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// A fabric of two planes, read through one port of each: the union is the whole, in either order.
func TestMergePlanes(t *testing.T) {
	whole := twoLevel(8, 2, 4, 2)
	plane := func(rail int) *topology.FabricReport {
		head, list := records(strings.TrimRight(text(t, whole), "\n"))
		list = slices.DeleteFunc(list, func(rec string) bool {
			return strings.Contains(rec, "Ca\t") && !strings.Contains(rec, "mlx5_"+string(rune('0'+rail)))
		})
		return parse(t, head+"\n\n"+strings.Join(list, "\n\n")+"\n")
	}
	a, b := plane(0), plane(1)
	for _, list := range [][]*topology.FabricReport{{a, b}, {b, a}, {a, b, a}, {whole, a}} {
		got, err := Merge(list...)
		if err != nil {
			t.Fatal(err)
		}
		got.Findings = slices.DeleteFunc(got.Findings, func(f topology.Finding) bool { return f.Code == CodeInputCut })
		if len(got.Findings) == 0 {
			got.Findings = nil
		}
		if diff := gocmp.Diff(whole, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// ibnetdiscover says node GUIDs and ids, iblinkinfo says which ports are down: together they say both.
func TestMergeTools(t *testing.T) {
	for _, folder := range []string{"hurt-live", "hurt-dualport", "rail8x32-hurt"} {
		net, err := Read(corpus(t, "fabric/ib", folder, "ibnetdiscover.txt"), folder)
		if err != nil {
			t.Fatal(err)
		}
		info, err := Read(corpus(t, "fabric/ib", folder, "iblinkinfo-l.txt"), folder)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Merge(net, info)
		if err != nil {
			t.Fatal(err)
		}
		other, err := Merge(info, net)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(got, other); diff != "" {
			t.Errorf("%s: the order matters:\n%s", folder, diff)
		}
		if len(got.Devices) != len(net.Devices) || len(got.Links) != len(net.Links) || len(got.Findings) > 0 {
			t.Errorf("%s: %d devices, %d links, findings %v; want %d and %d", folder, len(got.Devices), len(got.Links), got.Findings, len(net.Devices), len(net.Links))
		}
		down := 0
		for i, d := range got.Devices {
			if d.GUID != net.Devices[i].GUID || d.VendorID != net.Devices[i].VendorID {
				t.Fatalf("%s: device %d is %v, want %v", folder, i, d, net.Devices[i])
			}
			for _, p := range d.Ports {
				if strings.HasPrefix(p.State, "Down") {
					down++
				}
			}
		}
		if down == 0 {
			t.Errorf("%s: no port is down", folder)
		}
		if got.Source != SourceIblinkinfo+"+"+SourceIbnetdiscover {
			t.Errorf("source %q", got.Source)
		}
		checkSound(t, got)
	}
}

func TestMergeConflicts(t *testing.T) {
	a := twoLevel(4, 1, 4, 1)
	b := twoLevel(4, 1, 4, 1)
	b.Links[0].B.Port, b.Links[1].B.Port = 9, 9 // another time, another cabling
	b.Links = b.Links[:1]
	b.Devices[1].Description = "renamed mlx5_0"
	got, err := Merge(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if c := codes(got); c != CodeConflictingCables+" "+CodeConflictingRecords {
		t.Errorf("findings %v", got.Findings)
	}
	checkSound(t, got)
	if _, err := Merge(); err == nil {
		t.Error("nothing merged without an error")
	}
	b.Links[0].A.Device = 77
	if _, err := Merge(a, b); err == nil {
		t.Error("a report with a bad index merged without an error")
	}
}
