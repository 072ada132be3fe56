package topology_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/railmap/railmap/topology"
)

// TestRandomBrokenFabrics breaks random fabrics in random ways, up to most of their cables: there is always a valid map, the
// same for shuffled input, and every adapter and switch that is left is placed or named.
func TestRandomBrokenFabrics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) }
		spec := topology.SynthSpec{Cores: draw("core", 0, 2), Pods: draw("pod", 1, 3), Leaves: draw("leaf", 1, 4), Nodes: draw("node", 1, 5), Rails: draw("rail", 1, 4), Spines: draw("spine", 1, 3)}
		var faults []topology.Fault
		for _, f := range topology.SynthFaults {
			if n := draw(f.Kind, 0, 4); n > 0 && (f.Kind != "swap" || spec.Rails > 1) {
				faults = append(faults, topology.Fault{Kind: f.Kind, Count: n})
			}
		}
		seed := rapid.Uint64().Draw(t, "seed")
		r, err := topology.Synth(spec, seed, faults)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		r = rewire(r, rng, draw("cut", 0, 90), draw("rewired", 0, 5))
		var want []byte
		for i := range 3 {
			in := r
			if i > 0 {
				in = shuffled(r, rng)
			}
			topo, err := topology.Build(topology.Input{Fabrics: []*topology.FabricReport{in}}, topology.BuildOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := topo.Validate(); err != nil {
				t.Fatalf("invalid map: %v", err)
			}
			var buf bytes.Buffer
			if err := topology.Write(&buf, topo, topology.JSON); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				want = buf.Bytes()
				nothingLost(t, r, buf.String())
			} else if !bytes.Equal(want, buf.Bytes()) {
				t.Fatal("shuffled input gives another map")
			}
		}
	})
}

// rewire cuts a share of the cables and moves one end of a few others to a random device.
func rewire(r *topology.FabricReport, rng *rand.Rand, percent, moved int) *topology.FabricReport {
	var cut []int
	for i := range r.Links {
		if rng.IntN(100) < percent {
			cut = append(cut, i)
		}
	}
	out := without(r, cut...)
	for range min(moved, len(out.Links)) {
		l := &out.Links[rng.IntN(len(out.Links))]
		l.B = topology.FabricEnd{Device: int32(rng.IntN(len(out.Devices))), Port: int32(60 + rng.IntN(100))}
	}
	return out
}

func nothingLost(t *rapid.T, r *topology.FabricReport, text string) {
	for _, d := range r.Devices {
		if strings.Contains(text, d.GUID.String()) {
			continue
		}
		host, _, _ := strings.Cut(d.Description, " ")
		if !strings.Contains(text, fmt.Sprintf("%q", host)) && !strings.Contains(text, host+"/") {
			t.Fatalf("%s (%q) is neither placed nor named", d.GUID, d.Description)
		}
	}
}
