package placer

import (
	"math"
	"strings"
	"testing"
)

// TestAdvise: on a leaf with a slow node, a long job waits for the gang that holds good nodes, a short one starts.
func TestAdvise(t *testing.T) {
	s := workedExample(t) // L2 .98 .95 .94; L0 1 .98 .5
	busy := []string{"l0n0", "l0n1", "l1n0", "l1n1", "l2n0", "l2n1", "l3n2"}
	c := s.c
	tests := []struct {
		name     string
		end      float64
		duration float64
		queued   int
		known    bool
		wait     bool
	}{
		{"long job, end is near", 60, 86400, 0, true, true},
		{"short job", 3600, 600, 0, true, false},
		{"end is far", 1e6, 86400, 0, true, false},
		{"end unknown", 60, 86400, 0, false, false},
		{"no duration", 60, 0, 0, true, false},
		{"gain smaller than the wait, nobody queues", 2000, 1800, 0, true, false},
		{"the same with a long queue", 2000, 1800, 50, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := Gang{Name: "g", Nodes: busy[4:6]}
			if tt.known {
				g.EndSeconds = &tt.end
			}
			s, err := c.Snapshot(State{Busy: append([]string{"l1n2", "l3n1"}, busy...), Gangs: []Gang{g}})
			if err != nil {
				t.Fatal(err)
			}
			r := &Request{Nodes: 3, DurationSeconds: tt.duration}
			p, err := Place(s, r)
			if err != nil {
				t.Fatal(err)
			}
			o := Outlook{Queued: tt.queued}
			if tt.known {
				o.Ends = []GangEnd{{g.Nodes, tt.end}}
			}
			w, err := s.Advise(r, p, o, DefaultWaitOptions())
			if err != nil || (w != nil) != tt.wait {
				t.Fatalf("share %v, advice %+v, %v, want wait %v", p.Share, w, err, tt.wait)
			}
			if w != nil && (w.UntilSeconds != tt.end || w.Share <= p.Share) {
				t.Errorf("%+v", w)
			}
		})
	}
}

func TestRunSeconds(t *testing.T) {
	if got := RunSeconds(100, .3, 1, .5); math.Abs(got-130) > 1e-9 {
		t.Errorf("half the bandwidth, 30 %% communication: %v s, want 130", got)
	}
	if !math.IsInf(RunSeconds(100, .3, 1, 0), 1) {
		t.Error("a gang without bandwidth ends")
	}
}

// TestInfeasibleUntil: a refusal names the end that makes room.
func TestInfeasibleUntil(t *testing.T) {
	end := 90.0
	s, err := workedExample(t).c.Snapshot(State{Gangs: []Gang{{Name: "a", Nodes: []string{"l0n0", "l0n1"}, EndSeconds: &end}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = Place(s, &Request{Nodes: 11}); err == nil || !strings.Contains(err.Error(), "wait 90 s for running gangs to end, or ask for 10 nodes") {
		t.Errorf("got %v", err)
	}
}
