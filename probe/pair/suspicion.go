package pair

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/railmap/railmap/topology"
)

const (
	// minNoise is the least noise believed: fewer samples than it takes to know better.
	minNoise = 0.01
	// meanAbsolute is the mean absolute deviation of a normal distribution in standard deviations, sqrt(2/pi).
	meanAbsolute = 0.7979
	// maxCost bounds what one measurement can say, in nats: two of them can condemn, one cannot.
	maxCost = 14.0
	// unsteadyCost is the price of a slow measurement under an unsteady culprit: more than a good fit (about 1), so that
	// steady culprits win where they fit.
	unsteadyCost = 3.0
	// unsteadyPrice is what it costs to call a culprit unsteady.
	unsteadyPrice = 4.0
	// accusation is the price of a culprit in nats; ln(number of things that could be accused) comes on top.
	accusation = 10.0
	// deadRatio stands for a measurement that failed.
	deadRatio = 0.02
)

// observation is one measurement, one way.
type observation struct {
	a, b  int32
	rail  int32   // -1 = all rails together
	y     float64 // ln(measured)
	class int32
	dead  bool
}

// candidate is a thing that may be accused, with the measurements it takes part in.
type candidate struct {
	kind, name string
	rail       int32
	direction  string
	obs        []int32
	price      float64
}

// accused is a candidate with what it is accused of.
type accused struct {
	candidate int
	unsteady  bool
	level     float64 // ln(ratio)
}

// suspicion is the state of one search.
type suspicion struct {
	report     *topology.PairReport
	o          BlameOptions
	nodes      []string
	groups     [][]string
	obs        []observation
	base       []float64 // by class: ln(what healthy pairs reach)
	candidates []candidate
	noise      float64
	chosen     []accused
	pred       []float64 // by observation: ln(ratio) that the chosen explain, 0 = healthy
	loose      []bool    // by observation: an unsteady culprit is on its way
}

func newSuspicion(r *topology.PairReport, o BlameOptions) *suspicion {
	s := &suspicion{report: r, o: o, noise: minNoise}
	index := map[string]int32{}
	node := func(name string) int32 {
		i, ok := index[name]
		if !ok {
			i = int32(len(s.nodes))
			index[name] = i
			s.nodes, s.groups = append(s.nodes, name), append(s.groups, nil)
		}
		return i
	}
	nominal := map[int32]float64{}
	for _, n := range r.Nodes {
		i := node(n.Name)
		s.groups[i] = n.Groups
		nominal[i] = n.NominalBandwidthBytesPerSecond
	}
	byRail := map[[2]string]bool{}
	for _, p := range r.Pairs {
		if p.Rail != nil {
			byRail[[2]string{p.A, p.B}] = true
		}
	}
	classes := map[string]int32{}
	for _, p := range r.Pairs {
		m := p.BandwidthBytesPerSecond
		if p.Loaded || m == nil && p.Failed == "" || m != nil && m.Value < 0 || p.Rail == nil && byRail[[2]string{p.A, p.B}] {
			continue
		}
		ob := observation{a: node(p.A), b: node(p.B), rail: -1}
		if p.Rail != nil {
			ob.rail = int32(*p.Rail)
		}
		// Only pairs at the same distance, of nodes of the same make, are peers.
		key := fmt.Sprint(s.distance(ob), ob.rail < 0, min(nominal[ob.a], nominal[ob.b]))
		c, ok := classes[key]
		if !ok {
			c = int32(len(classes))
			classes[key] = c
		}
		ob.class = c
		if ob.dead = m == nil || m.Value == 0; !ob.dead {
			ob.y = math.Log(m.Value)
		}
		s.obs = append(s.obs, ob)
	}
	s.sort()
	s.base = make([]float64, len(classes))
	s.pred, s.loose = make([]float64, len(s.obs)), make([]bool, len(s.obs))
	s.findCandidates()
	return s
}

// sort makes the answer independent of the order of the report.
func (s *suspicion) sort() {
	slices.SortFunc(s.obs, func(x, y observation) int {
		return cmp.Or(topology.CompareNames(s.nodes[x.a], s.nodes[y.a]), topology.CompareNames(s.nodes[x.b], s.nodes[y.b]), cmp.Compare(x.rail, y.rail), cmp.Compare(x.y, y.y))
	})
}

// distance is how many levels up the two ends meet, -1 when the map does not say.
func (s *suspicion) distance(o observation) int {
	ga, gb := s.groups[o.a], s.groups[o.b]
	for i, g := range ga {
		if slices.Contains(gb, g) {
			return i
		}
	}
	return -1
}

// ratio is ln(measured / what healthy peers reach).
func (s *suspicion) ratio(i int32) float64 {
	if s.obs[i].dead {
		return math.Log(deadRatio)
	}
	return s.obs[i].y - s.base[s.obs[i].class]
}

// startBase sets the base of each class to a quantile of it.
func (s *suspicion) startBase(q float64) {
	for c, v := range s.byClass(func(i int32) (float64, bool) { return s.obs[i].y, !s.obs[i].dead }) {
		if len(v) > 0 {
			slices.Sort(v)
			s.base[c] = v[int(q*float64(len(v)-1))]
		}
	}
}

func (s *suspicion) byClass(value func(i int32) (float64, bool)) [][]float64 {
	by := make([][]float64, len(s.base))
	for i := range s.obs {
		if y, ok := value(int32(i)); ok {
			by[s.obs[i].class] = append(by[s.obs[i].class], y)
		}
	}
	return by
}

// left is what the culprits leave of a measurement, in nats; false when an unsteady one is to blame.
func (s *suspicion) left(i int32) (float64, bool) {
	d := s.ratio(i) - s.pred[i]
	return d, !s.obs[i].dead && (!s.loose[i] || d > -s.slow())
}

// refineBase makes the base of each class the median of what the culprits leave.
func (s *suspicion) refineBase() {
	for c, v := range s.byClass(s.left) {
		if len(v) > 0 {
			s.base[c] += median(v)
		}
	}
	s.refineNoise()
}

// pairedNoise is a first idea of the noise that needs no idea of the culprits: most of them slow both directions of a pair
// alike, so the difference of the two is noise.
func (s *suspicion) pairedNoise() float64 {
	there := map[[3]int32]float64{}
	var diff []float64
	for _, o := range s.obs {
		if o.dead {
			continue
		}
		if back, ok := there[[3]int32{o.b, o.a, o.rail}]; ok {
			diff = append(diff, math.Abs(o.y-back)/math.Sqrt2)
		}
		there[[3]int32{o.a, o.b, o.rail}] = o.y
	}
	if len(diff) == 0 {
		return 0.03
	}
	return max(minNoise, median(diff)*1.4826)
}

// refineNoise measures the spread of what the culprits leave around its median, class by class.
func (s *suspicion) refineNoise() {
	var spread []float64
	for _, v := range s.byClass(s.left) {
		if len(v) == 0 {
			continue
		}
		m := median(v)
		for _, x := range v {
			spread = append(spread, math.Abs(x-m))
		}
	}
	if len(spread) > 0 {
		s.noise = max(minNoise, median(spread)*1.4826) // normal: sigma = 1.4826 median absolute deviation
	}
}

// slow is how far below its peers a measurement must be to count as slow, in nats.
func (s *suspicion) slow() float64 { return max(3*s.noise, -math.Log(1-s.o.MinLoss)) }

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// findCandidates lists what may be accused: each node, NIC, uplink and path; the first three also one way only.
func (s *suspicion) findCandidates() {
	byKey := map[candidateKey]int{}
	rails := false
	for _, o := range s.obs {
		rails = rails || o.rail > 0
	}
	add := func(k candidateKey, i int) {
		c, ok := byKey[k]
		if !ok {
			c = len(s.candidates)
			byKey[k] = c
			s.candidates = append(s.candidates, candidate{kind: k.kind, name: k.name, rail: k.rail, direction: k.direction})
		}
		s.candidates[c].obs = append(s.candidates[c].obs, int32(i))
	}
	for i, o := range s.obs {
		ways := []string{"", Outward, Inward}
		for end, n := range []int32{o.a, o.b} {
			for _, way := range []string{ways[0], ways[1+end]} {
				add(candidateKey{NodeCulprit, s.nodes[n], -1, way}, i)
				if rails && o.rail >= 0 {
					add(candidateKey{NICCulprit, s.nodes[n], o.rail, way}, i)
				}
				for _, g := range s.groups[n] {
					if slices.Contains(s.groups[o.a], g) && slices.Contains(s.groups[o.b], g) {
						break
					}
					add(candidateKey{UplinkCulprit, g, -1, way}, i)
					if rails && o.rail >= 0 {
						add(candidateKey{UplinkCulprit, g, o.rail, way}, i)
					}
				}
			}
		}
		x, y := s.nodes[o.a], s.nodes[o.b]
		if topology.CompareNames(x, y) > 0 {
			x, y = y, x
		}
		add(candidateKey{PathCulprit, x + " - " + y, -1, ""}, i)
		if rails && o.rail >= 0 {
			add(candidateKey{PathCulprit, x + " - " + y, o.rail, ""}, i)
		}
	}
	s.price()
}

type candidateKey struct {
	kind, name string
	rail       int32
	direction  string
}

// price drops candidates that nothing can tell from another (a node with a single partner) and prices the rest: the more
// there are of a kind the more it takes to accuse one; special cases cost extra.
func (s *suspicion) price() {
	s.candidates = slices.DeleteFunc(s.candidates, func(c candidate) bool { return c.kind != PathCulprit && s.pairsOf(&c) < 2 })
	slices.SortStableFunc(s.candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), topology.CompareNames(a.name, b.name), cmp.Compare(a.rail, b.rail), cmp.Compare(a.direction, b.direction))
	})
	count := map[string]int{}
	for _, c := range s.candidates {
		count[c.kind]++
	}
	for i := range s.candidates {
		c := &s.candidates[i]
		c.price = accusation + math.Log(float64(count[c.kind]))
		if c.direction != "" {
			c.price += 3
		}
		if c.kind == PathCulprit {
			c.price += 3
		}
	}
}

// pairsOf counts the different pairs behind a candidate, up to 2.
func (s *suspicion) pairsOf(c *candidate) int {
	first := s.obs[c.obs[0]]
	for _, i := range c.obs[1:] {
		o := s.obs[i]
		if min(o.a, o.b) != min(first.a, first.b) || max(o.a, o.b) != max(first.a, first.b) {
			return 2
		}
	}
	return 1
}
