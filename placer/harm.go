package placer

// JobClass is one gang size of the expected job mix and its weight.
type JobClass struct {
	Nodes  int
	Weight float64
}

// DefaultJobMix is a mix of gang sizes that is typical of training clusters; a site's own history is better.
func DefaultJobMix() []JobClass {
	return []JobClass{{1, .38}, {2, .12}, {4, .14}, {8, .14}, {16, .10}, {32, .06}, {64, .035}, {128, .015}, {256, .01}}
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
