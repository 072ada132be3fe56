package topology_test

import (
	"testing"

	"github.com/railmap/railmap/topology"
)

func BenchmarkBuild(b *testing.B) {
	for _, c := range []struct{ name, spec string }{
		{"nodes=1024/rails=1", "core:1 pod:2 leaf:16 node:32 rail:1 spine:32"},
		{"nodes=16384/rails=1", "core:1 pod:16 leaf:32 node:32 rail:1 spine:32"},
		{"nodes=16384/rails=8", "core:1 pod:16 leaf:32 node:32 rail:8 spine:32"},
	} {
		spec, err := topology.ParseSynthSpec(c.spec)
		if err != nil {
			b.Fatal(err)
		}
		r, err := topology.Synth(spec, 1, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := topology.Build(topology.Input{Fabrics: []*topology.FabricReport{r}}, topology.BuildOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
