package placer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLearnJobMix(t *testing.T) {
	want := []JobClass{{1, .5}, {4, .25}, {8, .25}}
	if d := cmp.Diff(want, LearnJobMix([]int{8, 1, 1, 4})); d != "" {
		t.Error(d)
	}
	if LearnJobMix(nil) != nil {
		t.Error("a mix without a history")
	}
}

// TestHarm: breaking a whole leaf of 8 costs more per node than using up a broken one.
func TestHarm(t *testing.T) {
	c := &Cluster{harm: harmTable(nil, 32)}
	if c.price(8, 1) <= c.price(9, 1) {
		t.Errorf("one of 8 costs %v, one of 9 costs %v", c.price(8, 1), c.price(9, 1))
	}
	if c.price(32, 32) <= c.price(31, 31) {
		t.Error("a whole leaf is worth no more than a broken one")
	}
}
