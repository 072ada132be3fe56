package placer

import (
	"cmp"
	"slices"
)

// JobClass is one gang size of the expected job mix and its weight.
type JobClass struct {
	Nodes  int
	Weight float64
}

// DefaultJobMix is a mix of gang sizes that is typical of training clusters; a site's own history is better.
func DefaultJobMix() []JobClass {
	return []JobClass{{1, .38}, {2, .12}, {4, .14}, {8, .14}, {16, .10}, {32, .06}, {64, .035}, {128, .015}, {256, .01}}
}

// maxJobClasses bounds a learned mix: the sizes that hold most nodes stay.
const maxJobClasses = 32

// LearnJobMix is the mix of gang sizes of a site's own history, one entry per past job. It is nil for an empty history, which
// stands for the default.
func LearnJobMix(sizes []int) []JobClass {
	count := map[int]float64{}
	for _, n := range sizes {
		if n > 0 {
			count[n]++
		}
	}
	var mix []JobClass
	for n, c := range count {
		mix = append(mix, JobClass{n, c / float64(len(sizes))})
	}
	slices.SortFunc(mix, func(a, b JobClass) int {
		return cmp.Or(cmp.Compare(float64(b.Nodes)*b.Weight, float64(a.Nodes)*a.Weight), cmp.Compare(a.Nodes, b.Nodes))
	})
	mix = mix[:min(len(mix), maxJobClasses)]
	slices.SortFunc(mix, func(a, b JobClass) int { return cmp.Compare(a.Nodes, b.Nodes) })
	return mix
}

// harmTable tabulates g(c), what c free nodes in one leaf group are worth to later gangs:
//
//	g(c) = sum over job sizes s of  weight(s) * s * floor(c/s)
//
// Taking n of c costs g(c) - g(c-n). This is the expected-fragmentation idea of FGD (ATC'23) at the scale of a leaf.
func harmTable(mix []JobClass, largest int) []float64 {
	if len(mix) == 0 {
		mix = DefaultJobMix()
	}
	g := make([]float64, largest+1)
	for c := range g {
		for _, j := range mix {
			if j.Nodes > 0 && j.Nodes <= c {
				g[c] += j.Weight * float64(j.Nodes) * float64(c/j.Nodes)
			}
		}
	}
	return g
}

// price is what taking n of c free nodes of a leaf group costs later gangs.
func (c *Cluster) price(free, n int) float64 { return c.harm[free] - c.harm[free-n] }
