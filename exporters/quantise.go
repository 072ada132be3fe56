package exporters

import "math"

// Buckets of measured values. Every change of a label wakes the schedulers (Kueue rebuilds its tree, pending pods are tried
// again), so a label moves only when the value has really moved.
const (
	bucketRatio = 1.05 // a bucket is 5 % wide
	hysteresis  = 0.02 // a value must leave the present bucket by 2 % before the label follows
)

// Quantise gives the integer that stands for value in a label: the lower bound of its 5 % bucket, so that a node never promises
// more than was measured. previous is what the label says now, or -1: it stays as long as value is within its bucket, widened
// by 2 % at both ends. A value that is no finite number or below 0 has no label (-1).
func Quantise(previous int64, value float64) int64 {
	if math.IsNaN(value) || math.IsInf(value, 0) || value < 0 || value > math.MaxInt64/2 {
		return -1
	}
	if previous >= 0 && previous == bucket(float64(previous)) {
		low, high := float64(previous), bucketEnd(previous)
		if value >= low*(1-hysteresis) && value < high*(1+hysteresis) {
			return previous
		}
	}
	return bucket(value)
}

// bucket gives the largest lower bound that is not above value. The bounds are the whole numbers up to 20, where 5 % is less
// than 1, and then 20 × 1.05^k rounded down.
func bucket(value float64) int64 {
	if value < 21 {
		return int64(value)
	}
	k := math.Floor(math.Log(value/20) / math.Log(bucketRatio))
	for bound(k+1) <= int64(value) {
		k++
	}
	for bound(k) > int64(value) {
		k--
	}
	return bound(k)
}

// bucketEnd gives the bound after low.
func bucketEnd(low int64) float64 {
	if low < 20 {
		return float64(low + 1)
	}
	for k := math.Floor(math.Log(float64(low)/20) / math.Log(bucketRatio)); ; k++ {
		if b := bound(k); b > low {
			return float64(b)
		}
	}
}

func bound(k float64) int64 { return int64(20 * math.Pow(bucketRatio, k)) }

// shareStep is the step of a share label in percent points; it moves when the value has left its step by sharePlay.
const (
	shareStep = 5
	sharePlay = 1.0
)

// QuantiseShare gives the percent label of a share (1 = a healthy node): steps of 5 points, rounded down, with hysteresis of 1
// point. previous is what the label says now, or -1. A share that is no number or outside 0 to 100 gives -1.
func QuantiseShare(previous int64, share float64) int64 {
	percent := share * 100
	if math.IsNaN(percent) || percent < 0 || percent > 10000 {
		return -1
	}
	if percent > 100-1e-9 {
		return int64((percent+1e-9)/shareStep) * shareStep // a healthy node is never held at less
	}
	if previous >= 0 && previous%shareStep == 0 && percent >= float64(previous)-sharePlay && percent < float64(previous)+shareStep+sharePlay {
		return previous
	}
	return int64((percent+1e-9)/shareStep) * shareStep
}
