package bench

import (
	"math/rand/v2"

	"github.com/railmap/railmap/placer"
)

// drawSize draws a gang size of at most limit from the default job mix.
func drawSize(rng *rand.Rand, limit int) int {
	mix := placer.DefaultJobMix()
	total := 0.0
	for _, j := range mix {
		if j.Nodes <= limit {
			total += j.Weight
		}
	}
	x := rng.Float64() * total
	for _, j := range mix {
		if j.Nodes > limit {
			continue
		}
		if x -= j.Weight; x < 0 {
			return j.Nodes
		}
	}
	return 1
}

// firstFit takes the k free nodes of lowest position; nil when there are fewer.
func firstFit(l *Load, k int) []int {
	set := make([]int, 0, k)
	for leaf, n := range l.LeafFree {
		if n == 0 {
			continue
		}
		for i := leaf * l.M.LeafNodes; i < min((leaf+1)*l.M.LeafNodes, l.M.Nodes); i++ {
			if l.Free[i] {
				if set = append(set, i); len(set) == k {
					return set
				}
			}
		}
	}
	return nil
}
