package nccl

import (
	"testing"

	"github.com/railmap/railmap/topology"
)

// TestOutlineXML holds that drawn machines are documents NCCL would take as they are, with the devices asked for.
func TestOutlineXML(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spec  NodeSpec
		hosts int
		gpu   int // a GPU and its distance to NIC 0
		path  PathType
	}{
		{"zero", NodeSpec{}, 1, 0, PathPIX},
		{"other GPU", NodeSpec{}, 1, 1, PathPXN},
		{"Ampere: two GPUs a switch", NodeSpec{GPUModel: "A100", NICBytesPerSecond: 25e9}, 1, 1, PathPIX},
		{"fewer NICs than GPUs", NodeSpec{NICs: 4}, 1, 1, PathPIX},
		{"one missing", NodeSpec{NICs: 7}, 1, 0, PathPIX},
		{"four a GPU", NodeSpec{NICs: 32, NICBytesPerSecond: 12.5e9}, 1, 0, PathPIX},
		{"PCIe cards", NodeSpec{GPUModel: "RTX 4090", GPUs: 4, NICs: 1}, 1, 3, PathSYS},
		{"Grace tray", NodeSpec{GPUModel: "GB200", GPUs: 4}, 1, 0, PathP2C},
		{"rack", NodeSpec{GPUModel: "GB300", GPUs: 72}, 18, 71, PathPXN},
		{"one GPU", NodeSpec{GPUModel: "GH200", GPUs: 1}, 1, 0, PathP2C},
		{"absurd", NodeSpec{GPUs: 1 << 30, NICs: 1 << 30}, 1, 0, PathPIX},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := tt.spec.XML()
			for _, f := range x.Check() {
				if f.Severity != topology.Info && f.Code != "nccl-xml-too-large" {
					t.Errorf("finding %+v", f)
				}
			}
			s := mustSystem(t, x, Options{})
			want := tt.spec.complete()
			if s.GPUs() != want.GPUs || s.Nets() != want.NICs || len(s.hosts) != tt.hosts {
				t.Fatalf("%d GPUs, %d NICs, %d hosts; want %d, %d, %d", s.GPUs(), s.Nets(), len(s.hosts), want.GPUs, want.NICs, tt.hosts)
			}
			if p := s.toNet(tt.gpu, 0); p.kind != tt.path && !(tt.hosts > 1 && p.kind == PathDIS) {
				t.Errorf("GPU %d to NIC 0: %s, want %s", tt.gpu, p.kind, tt.path)
			}
		})
	}
}
