package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/railmap/railmap/topology"
)

// allPairs is what the sweep of all pairs came to.
type allPairs struct {
	measured, within2, within5 int
	failed                     []string
	worst                      []float64 // measured/shaped - 1, farthest first
	took                       time.Duration
	sameLeaf, otherLeaf        float64 // median latency in seconds
}

// String prints the figures.
func (a *allPairs) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "all pairs, both ways: %d measured in %.1f s; %d (%.1f %%) within 2 %% of what was shaped, %d (%.1f %%) within 5 %%\n", a.measured, a.took.Seconds(),
		a.within2, 100*float64(a.within2)/float64(a.measured), a.within5, 100*float64(a.within5)/float64(a.measured))
	for _, w := range a.worst[:min(5, len(a.worst))] {
		fmt.Fprintf(&b, "  far off: %+.1f %%\n", 100*w)
	}
	for _, f := range a.failed {
		fmt.Fprintf(&b, "  failed: %s\n", f)
	}
	fmt.Fprintf(&b, "latency: %.1f us in a leaf group, %.1f us between them (medians)\n", 1e6*a.sameLeaf, 1e6*a.otherLeaf)
	return b.String()
}

// sweepAll measures all 120 pairs: 15 rounds of 8.
func (s *stage) sweepAll(ctx context.Context) (*allPairs, error) {
	if err := s.c.shapeUplinks(wide); err != nil {
		return nil, err
	}
	r, took, err := s.measure(ctx, "all.json", wide, "--tiers", "all", "--window", "500ms", "--budget", "40s")
	if err != nil {
		return nil, err
	}
	a := &allPairs{took: took}
	var same, other []float64
	for _, p := range r.Pairs {
		if p.BandwidthBytesPerSecond == nil {
			a.failed = append(a.failed, p.A+" - "+p.B+": "+p.Failed)
			continue
		}
		a.measured++
		off := p.BandwidthBytesPerSecond.Value/goodput(hostRate) - 1
		a.worst = append(a.worst, off)
		if math.Abs(off) <= .02 {
			a.within2++
		}
		if math.Abs(off) <= .05 {
			a.within5++
		}
		if p.LatencySeconds == nil {
			continue
		}
		if leafOf(p.A) == leafOf(p.B) {
			same = append(same, p.LatencySeconds.Value)
		} else {
			other = append(other, p.LatencySeconds.Value)
		}
	}
	slices.SortFunc(a.worst, func(x, y float64) int { return cmp.Compare(math.Abs(y), math.Abs(x)) })
	a.sameLeaf, a.otherLeaf = middle(same), middle(other)
	if a.measured == 0 {
		return nil, fmt.Errorf("nothing was measured: %v", r.Findings)
	}
	return a, nil
}

func middle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}

func leafOf(host string) int {
	var h int
	fmt.Sscanf(host, "h%d", &h)
	return h / perLeaf
}

// uplinkSum is the sum over one full uplink.
type uplinkSum struct {
	name           string
	measured, want float64 // bytes per second
}

func (u uplinkSum) off() float64 { return u.measured/u.want - 1 }

type uplinkSums []uplinkSum

// String prints one line for each uplink and direction.
func (s uplinkSums) String() string {
	var b strings.Builder
	for _, u := range s {
		fmt.Fprintf(&b, "full uplink %-12s %6.2f of %6.2f Mbit/s (%+.1f %%)\n", u.name, u.measured*8e-6, u.want*8e-6, 100*u.off())
	}
	return b.String()
}

// sweepLoaded makes the uplinks narrow and fills them; single flows share them unfairly, so sums are judged.
func (s *stage) sweepLoaded(ctx context.Context) (uplinkSums, error) {
	if err := s.c.shapeUplinks(narrow); err != nil {
		return nil, err
	}
	r, _, err := s.measure(ctx, "loaded.json", narrow, "--tiers", "loaded", "--window", "2s", "--budget", "60s")
	if err != nil {
		return nil, err
	}
	return sumUplinks(r), nil
}

// sumUplinks adds up what crossed each uplink outward, by the level that was filled.
func sumUplinks(r *topology.PairReport) uplinkSums {
	sums := map[string]float64{}
	for _, p := range r.Pairs {
		if !p.Loaded || p.BandwidthBytesPerSecond == nil {
			continue
		}
		name := fmt.Sprint("leaf", leafOf(p.A))
		if p.LoadedLevel != topology.LeafLevel {
			name = fmt.Sprint("spine", leafOf(p.A)*spines/leaves)
		}
		sums[name] += p.BandwidthBytesPerSecond.Value
	}
	var out uplinkSums
	for name, v := range sums {
		want := float64(narrow.leaf)
		if strings.HasPrefix(name, "spine") {
			want = float64(narrow.spine)
		}
		out = append(out, uplinkSum{name, v, goodput(want)})
	}
	slices.SortFunc(out, func(a, b uplinkSum) int { return strings.Compare(a.name, b.name) })
	return out
}

// learnUplinks builds the map from a plan that believes in wide uplinks and from what the two sweeps measured over narrow
// ones. The answer holds what the map then says, in node-worths, by group.
func (s *stage) learnUplinks() (map[string]float64, error) {
	var reports []*topology.PairReport
	for _, name := range []string{"all.json", "loaded.json"} {
		r := &topology.PairReport{}
		if err := topology.ReadFile(filepath.Join(s.dir, name), r); err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	t, err := wide.topology(reports...)
	if err != nil {
		return nil, err
	}
	learned := map[string]float64{}
	for _, g := range t.Tree.Groups {
		if g.Uplink != nil && g.UplinkMeasured {
			learned[g.Name] = *g.Uplink
		}
	}
	return learned, nil
}
