package bench

import (
	"bytes"
	"testing"

	"github.com/railmap/railmap/probe/fabric"
	"github.com/railmap/railmap/topology"
)

// The dumps that the benchmark reads are whole: every cable from both ends, no finding, the sizes of a full fat tree.
func TestFabricText(t *testing.T) {
	for _, tt := range []struct {
		tree            FatTree
		switches, links int
	}{
		{FatTree{Hosts: 32, Rails: 1, Radix: 64}, 2, 64},
		{FatTree{Hosts: 256, Rails: 8, Radix: 64}, 96, 4096},
		{FatTree{Hosts: 2048, Rails: 1, Radix: 64}, 96, 4096},
		{FatTree{Hosts: 4096, Rails: 1, Radix: 64}, 320, 12288},
		{FatTree{Hosts: 64, Rails: 1, Radix: 8}, 40, 192},
	} {
		tt.tree.Speed, tt.tree.Levels = "NDR", tt.tree.LevelsNeeded()
		var text bytes.Buffer
		if err := FabricText(&text, tt.tree); err != nil {
			t.Fatal(err)
		}
		r, err := fabric.ParseIbnetdiscover(&text, "test")
		if err != nil {
			t.Fatal(err)
		}
		switches := 0
		for _, d := range r.Devices {
			if d.Kind == topology.SwitchDevice {
				switches++
			}
		}
		if len(r.Findings) > 0 || switches != tt.switches || len(r.Links) != tt.links || len(r.Devices)-switches != tt.tree.Hosts*tt.tree.Rails {
			t.Errorf("%+v: %d switches, %d links, findings %v", tt.tree, switches, len(r.Links), r.Findings)
		}
	}
}
