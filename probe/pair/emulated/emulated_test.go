package main

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

// needCluster brings the cluster up, or says why it cannot be had here.
func needCluster(t *testing.T) *stage {
	t.Helper()
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	s, err := start("")
	if err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(s.stop)
	return s
}

// attempts is how often a figure may be measured before it counts as wrong: a busy machine shapes badly now and then.
const attempts = 5

// Real processes, real TCP, every link shaped: 15 rounds of 8 pairs find what was shaped, and full uplinks add up to it.
func TestEmulatedCluster(t *testing.T) {
	s := needCluster(t)
	for i := range attempts {
		a, err := s.sweepAll(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Log(a)
		if len(a.failed) == 0 && a.measured == hosts*(hosts-1) && float64(a.within2) >= .95*float64(a.measured) && a.within5 == a.measured && a.took < 45*time.Second {
			break
		}
		if i == attempts-1 {
			t.Error("at least 95 % must be within 2 %, all within 5 %, in 45 s")
		}
	}
	for i := range attempts {
		sums, err := s.sweepLoaded(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("\n%s", sums)
		right := 0
		for _, u := range sums {
			if math.Abs(u.off()) <= .03 {
				right++
			}
		}
		if right == leaves+spines && len(sums) == right {
			break
		}
		if i == attempts-1 {
			t.Errorf("%d of %d full uplinks within 3 %%", right, leaves+spines)
		}
	}
	learned, err := s.learnUplinks()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range learned {
		want := float64(narrow.leaf) / hostRate
		if strings.HasPrefix(name, "spine") {
			want = float64(narrow.spine) / hostRate
		}
		if math.Abs(v/want-1) > .05 {
			t.Errorf("the map says that the uplink of %s carries %.2f nodes, want %.2f", name, v, want)
		}
	}
	if len(learned) != leaves+spines {
		t.Errorf("the map learned the uplinks %v, want %d", learned, leaves+spines)
	}
}
