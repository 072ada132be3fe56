package fabric_test

import (
	"bytes"
	"syscall"
	"testing"

	"github.com/railmap/railmap/bench"
	"github.com/railmap/railmap/probe/fabric"
)

func BenchmarkParseIbnetdiscover(b *testing.B) {
	for _, tt := range []struct {
		name string
		tree bench.FatTree
	}{
		{"hosts=1024/rails=1", bench.FatTree{Hosts: 1024, Rails: 1, Radix: 64, Levels: 2, Speed: "NDR"}},
		{"hosts=16384/rails=1", bench.FatTree{Hosts: 16384, Rails: 1, Radix: 64, Levels: 3, Speed: "NDR"}},
		{"hosts=16384/rails=8", bench.FatTree{Hosts: 16384, Rails: 8, Radix: 64, Levels: 3, Speed: "NDR"}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			var text bytes.Buffer
			if err := bench.FabricText(&text, tt.tree); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			start := cpuSeconds(b)
			for b.Loop() {
				r, err := fabric.ParseIbnetdiscover(bytes.NewReader(text.Bytes()), "bench")
				if err != nil || len(r.Findings) > 0 {
					b.Fatalf("%v, findings %v", err, r.Findings)
				}
			}
			// on a busy machine only processor time says what the work costs
			b.ReportMetric(float64(text.Len())*float64(b.N)/1e6/(cpuSeconds(b)-start), "MB/cpu-s")
		})
	}
}

func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
