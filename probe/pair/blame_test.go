package pair

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// measuredAll measures every pair of n nodes in two leaf groups once each way; slow says what a pair delivers in shares.
func measuredAll(n int, slow func(a, b, rail int) float64, rails int) *topology.PairReport {
	r := &topology.PairReport{Header: topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindPairReport}}
	for i := range n {
		r.Nodes = append(r.Nodes, topology.PairNode{Name: fmt.Sprintf("n%d", i), Groups: []string{fmt.Sprintf("leaf%d", i*2/n), "core"}})
	}
	for a := range n {
		for b := range n {
			if a == b {
				continue
			}
			for rail := range rails {
				// A small spread that does not come from a random source.
				v := 10e9 * slow(a, b, rail) * (1 + .01*float64((a*7+b*13+rail*5)%5-2))
				r.Pairs = append(r.Pairs, topology.Pair{A: fmt.Sprintf("n%d", a), B: fmt.Sprintf("n%d", b), Rail: new(rail), BandwidthBytesPerSecond: &topology.Measurement{Value: v}})
			}
		}
	}
	return r
}

func TestBlameNames(t *testing.T) {
	in := func(x int, a, b int) bool { return a == x || b == x }
	tests := []struct {
		name  string
		n     int
		rails int
		slow  func(a, b, rail int) float64
		want  []string
	}{
		{"healthy", 8, 1, func(a, b, r int) float64 { return 1 }, nil},
		{"node", 8, 1, func(a, b, r int) float64 {
			if in(3, a, b) {
				return .5
			}
			return 1
		}, []string{"node n3  0.5"}},
		{"nic", 8, 4, func(a, b, r int) float64 {
			if in(3, a, b) && r == 2 {
				return .6
			}
			return 1
		}, []string{"nic n3 rail 2  0.6"}},
		{"node that only sends badly", 8, 1, func(a, b, r int) float64 {
			if a == 3 {
				return .5
			}
			return 1
		}, []string{"node n3 out 0.5"}},
		{"path", 8, 1, func(a, b, r int) float64 {
			if in(1, a, b) && in(6, a, b) {
				return .4
			}
			return 1
		}, []string{"path n1 - n6  0.4"}},
		{"two nodes", 8, 1, func(a, b, r int) float64 {
			v := 1.0
			if in(3, a, b) {
				v = .5
			}
			if in(6, a, b) {
				v = min(v, .8)
			}
			return v
		}, []string{"node n3  0.5", "node n6  0.8"}},
		{"two nodes alone cannot accuse each other", 2, 1, func(a, b, r int) float64 { return .3 }, nil},
		{"a loss of 5 % is nobody's fault", 8, 1, func(a, b, r int) float64 {
			if in(3, a, b) {
				return .96
			}
			return 1
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := Blame(measuredAll(tt.n, tt.slow, tt.rails), BlameOptions{})
			var got []string
			for _, c := range res.Culprits {
				got = append(got, fmt.Sprintf("%s %s %s %.1f", c.Kind, c.Subject(), c.Direction, c.Ratio))
				if c.Confidence < .9 || len(c.Evidence) == 0 {
					t.Errorf("%s: confidence %.3f, %d measurements as evidence", c.Subject(), c.Confidence, len(c.Evidence))
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("culprits (-want +got):\n%s", d)
			}
			if len(res.Findings) != len(tt.want) {
				t.Errorf("%d findings: %v", len(res.Findings), res.Findings)
			}
		})
	}
}

// The order of the pairs in the report says nothing.
func TestBlameIgnoresOrder(t *testing.T) {
	slow := func(a, b, rail int) float64 {
		if a == 2 || b == 2 {
			return .7
		}
		return 1
	}
	one, two := measuredAll(8, slow, 2), measuredAll(8, slow, 2)
	for i, j := 0, len(two.Pairs)-1; i < j; i, j = i+1, j-1 {
		two.Pairs[i], two.Pairs[j] = two.Pairs[j], two.Pairs[i]
	}
	x, _ := json.Marshal(Blame(one, BlameOptions{}))
	y, _ := json.Marshal(Blame(two, BlameOptions{}))
	if d := cmp.Diff(string(x), string(y)); d != "" {
		t.Error(d)
	}
}

// A node whose measurements failed half of the time is named, with failed measurements as evidence.
func TestBlameFailed(t *testing.T) {
	r := measuredAll(8, func(a, b, rail int) float64 { return 1 }, 1)
	for i := range r.Pairs {
		if p := &r.Pairs[i]; (p.A == "n5" || p.B == "n5") && i%2 == 0 {
			p.BandwidthBytesPerSecond, p.Failed = nil, "no answer"
		}
	}
	res := Blame(r, BlameOptions{})
	if len(res.Culprits) != 1 || res.Culprits[0].Name != "n5" || !res.Culprits[0].Unsteady || res.Culprits[0].Evidence[0].BandwidthBytesPerSecond != nil {
		t.Errorf("culprits %+v", res.Culprits)
	}
}
