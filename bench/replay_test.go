package bench

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReplaySmall runs every job to its end under every kind of policy, twice with the same figures.
func TestReplaySmall(t *testing.T) {
	o := ReplayOptions{Synthetic: 300, Nodes: 128, LeafNodes: 16, PodNodes: 64, Degraded: .05, Load: .8, Seeds: []uint64{1, 2},
		Policies: []string{"kueue+drain", "railmap", "railmap+floor", "railmap+wait", "railmap+wait@2"}}
	rep, err := Replay(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range rep.Policies {
		if p.Bandwidth <= 0 || p.Bandwidth > 1+1e-9 || p.CompletionSeconds < p.WaitSeconds {
			t.Errorf("%+v", p)
		}
	}
	again, _ := Replay(o)
	if d := cmp.Diff(rep, again); d != "" {
		t.Errorf("the same seeds differ:\n%s", d)
	}
}

func TestParseTrace(t *testing.T) {
	tests := []struct{ name, in, err string }{
		{"good", "nodes,arrival_s,duration_s,other\n2,5,10,x\n1,0,3.5,y\n", ""},
		{"column missing", "nodes,arrival_s\n1,2\n", "duration_s is missing"},
		{"not a number", "nodes,arrival_s,duration_s\n1,2,3\n1,x,3\n", "line 3: arrival_s"},
		{"no node", "nodes,arrival_s,duration_s\n0,2,3\n", "line 2: nodes"},
		{"empty", "nodes,arrival_s,duration_s\n", "no job"},
		{"not finite", "nodes,arrival_s,duration_s\n1,NaN,3\n", "line 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			jobs, err := parseTrace(strings.NewReader(tt.in))
			if tt.err == "" {
				if d := cmp.Diff([]Job{{0, 1, 3.5}, {5, 2, 10}}, jobs); d != "" || err != nil {
					t.Errorf("%v %s", err, d)
				}
			} else if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add("arrival_s,nodes,duration_s\n0,8,104\n")
	f.Add("arrival_s,nodes,duration_s\n0,-1,1e400\n\"")
	f.Fuzz(func(t *testing.T, s string) { _, _ = parseTrace(strings.NewReader(s)) })
}
