package exporters

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestQuantise(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := rapid.Float64Range(0, 1e7).Draw(rt, "value")
		first := Quantise(-1, v)
		if float64(first) > v || v >= 21 && float64(first) < v/bucketRatio-1 {
			rt.Fatalf("%v has the label %d", v, first)
		}
		if again := Quantise(first, float64(first)); again != first {
			rt.Fatalf("%d is not stable: %d", first, again)
		}
		changes, label := 0, first
		for range 20 {
			next := Quantise(label, v*(1+rapid.Float64Range(-0.019, 0.019).Draw(rt, "jitter")))
			if next != label {
				changes++
			}
			label = next
		}
		if changes > 1 {
			rt.Fatalf("%v with 2 %% of jitter changes its label %d times", v, changes)
		}
	})
	for _, v := range []float64{-1, math.NaN(), math.Inf(1)} {
		if got := Quantise(5, v); got != -1 {
			t.Errorf("Quantise(%v) = %d, want no label", v, got)
		}
	}
}

func TestQuantiseShare(t *testing.T) {
	tests := []struct {
		previous int64
		share    float64
		want     int64
	}{
		{-1, 1, 100}, {-1, 0.999, 95}, {100, 0.991, 100}, {100, 0.98, 95}, {95, 0.999, 95}, {95, 1, 100}, {95, 1.01, 100}, {-1, 0.125, 10},
		{-1, 0, 0}, {-1, -0.1, -1}, {-1, math.NaN(), -1}, {37, 0.5, 50}, {-1, 0.15, 15}, {-1, 0.35, 35},
	}
	for _, tt := range tests {
		if got := QuantiseShare(tt.previous, tt.share); got != tt.want {
			t.Errorf("QuantiseShare(%d, %v) = %d, want %d", tt.previous, tt.share, got, tt.want)
		}
	}
}
