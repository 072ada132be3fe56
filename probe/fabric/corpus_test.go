package fabric

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
