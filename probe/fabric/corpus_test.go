package fabric

import (
	"cmp"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// corpus opens a file of the shared corpus, unpacked; the test is skipped when the corpus is not beside the checkout.
func corpus(t testing.TB, path ...string) io.Reader {
	t.Helper()
	full := filepath.Join(append([]string{"..", "..", "..", "shared", "corpus"}, path...)...)
	f, err := os.Open(full)
	if err != nil {
		f, err = os.Open(full + ".gz")
	}
	if err != nil {
		t.Skipf("no corpus beside the checkout: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	if strings.HasSuffix(f.Name(), ".gz") {
		zr, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		return zr
	}
	return f
}

// kinds counts the devices of a report by kind.
func kinds(r *topology.FabricReport) map[topology.DeviceKind]int {
	m := map[topology.DeviceKind]int{}
	for _, d := range r.Devices {
		m[d.Kind]++
	}
	return m
}

func TestCorpusIbnetdiscover(t *testing.T) {
	for _, tt := range []struct {
		path                                   string
		switches, adapters, aggregation, links int
	}{
		{"topo/ib/topograph-ibnetdiscover-ndr-582ca.txt", 40, 542, 40, 1114},
		{"fabric/ib/ft32/ibnetdiscover.txt", 3, 32, 0, 72},
		{"fabric/ib/rail8x32/ibnetdiscover.txt", 12, 256, 0, 512},
		{"fabric/ib/ft1024/ibnetdiscover.txt", 48, 1024, 0, 2048},
		{"fabric/ib/ft4096/ibnetdiscover.txt", 320, 4096, 0, 12288},
		{"fabric/ib/sharp64/ibnetdiscover.txt", 12, 128, 12, 268},
		{"fabric/ib/rail8x32-hurt/ibnetdiscover.txt", 12, 255, 0, 510},
		{"fabric/ib/hurt-3level/ibnetdiscover.txt", 38, 64, 0, 174},
		{"fabric/ib/hurt-names/ibnetdiscover.txt", 10, 96, 0, 192},
		{"fabric/ib/hurt-dualport/ibnetdiscover.txt", 6, 32, 0, 126},
		{"fabric/ib/hurt-storage/ibnetdiscover.txt", 20, 207, 0, 376},
		{"fabric/ib/hurt-miswired/ibnetdiscover.txt", 20, 192, 0, 384},
		{"fabric/ib/hurt-live/ibnetdiscover.txt", 6, 47, 0, 110},
	} {
		t.Run(tt.path, func(t *testing.T) {
			r, err := ParseIbnetdiscover(corpus(t, tt.path), tt.path)
			if err != nil {
				t.Fatal(err)
			}
			n := kinds(r)
			if n[topology.SwitchDevice] != tt.switches || n[topology.AdapterDevice] != tt.adapters || n[topology.AggregationDevice] != tt.aggregation {
				t.Errorf("devices %v, want %d switches, %d adapters, %d aggregation nodes", n, tt.switches, tt.adapters, tt.aggregation)
			}
			if len(r.Links) != tt.links {
				t.Errorf("%d links, want %d", len(r.Links), tt.links)
			}
			if len(r.Findings) > 0 {
				t.Errorf("findings in a whole dump: %v", r.Findings)
			}
			if err := r.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// viewOf reduces a report to what all tools print: devices by smallest port GUID, no ids, no port states.
func viewOf(r *topology.FabricReport) *topology.FabricReport {
	v := &topology.FabricReport{}
	alias := make([]topology.GUID, len(r.Devices))
	for i, d := range r.Devices {
		g := d.GUID
		var ports []topology.PortInfo
		for _, p := range d.Ports {
			if p.GUID != 0 {
				if len(ports) == 0 || p.GUID < g {
					g = p.GUID
				}
				ports = append(ports, topology.PortInfo{Number: p.Number, GUID: p.GUID})
			}
		}
		alias[i] = g
		v.Devices = append(v.Devices, topology.FabricDevice{GUID: g, Kind: d.Kind, Description: d.Description, Ports: ports})
	}
	order := make([]int32, len(alias))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(alias[a], alias[b]) })
	rank := make([]int32, len(order))
	devices := make([]topology.FabricDevice, len(order))
	for pos, i := range order {
		rank[i], devices[pos] = int32(pos), v.Devices[i]
	}
	v.Devices = devices
	for _, l := range r.Links {
		l.A.Device, l.B.Device, l.CouldBe = rank[l.A.Device], rank[l.B.Device], 0
		if l.A.Device > l.B.Device {
			l.A, l.B = l.B, l.A
		}
		v.Links = append(v.Links, l)
	}
	slices.SortFunc(v.Links, compareLinks)
	return v
}

func TestCorpusViewsAgree(t *testing.T) {
	for _, folder := range []string{"ft32", "rail8x32", "ft1024", "sharp64", "rail8x32-hurt", "hurt-3level", "hurt-names", "hurt-dualport", "hurt-storage", "hurt-miswired", "hurt-live"} {
		want, err := Read(corpus(t, "fabric/ib", folder, "ibnetdiscover.txt"), folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"ibnetdiscover-p.txt", "iblinkinfo.txt", "iblinkinfo-l.txt", "ibnetdiscover-full.txt", "ibnetdiscover-g.txt"} {
			t.Run(folder+"/"+file, func(t *testing.T) {
				got, err := Read(corpus(t, "fabric/ib", folder, file), file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(viewOf(want), viewOf(got)); diff != "" {
					t.Errorf("differs from ibnetdiscover.txt (-want +got):\n%s", diff)
				}
				if len(got.Findings) > 0 {
					t.Errorf("findings: %v", got.Findings)
				}
			})
		}
	}
}
