package pair

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railmap/railmap/topology"
)

// Kinds of culprits.
const (
	NodeCulprit   = "node"
	NICCulprit    = "nic"    // one rail of a node: its NIC or the cable to its leaf
	UplinkCulprit = "uplink" // the links of a group to what is above it, all rails or one
	PathCulprit   = "path"   // one pair of nodes and nothing else of theirs
)

// Directions of a culprit that is slow one way only, seen from the culprit.
const (
	Outward = "out"
	Inward  = "in"
)

// BlameOptions tune the search. The zero value is right for measured reports.
type BlameOptions struct {
	// MinLoss is the loss below which nobody is named, a ratio; 0.07 when 0: rules in use warn at 5 % and fail at 10 %.
	MinLoss float64
	// MaxEvidence bounds the pairs listed for each culprit; 6 when 0.
	MaxEvidence int
}

// Culprit is one explanation for slow pairs.
type Culprit struct {
	Kind      string `json:"kind" yaml:"kind"`
	Name      string `json:"name" yaml:"name"` // node, group, or "node - node"
	Rail      *int   `json:"rail,omitempty" yaml:"rail,omitempty"`
	Direction string `json:"direction,omitempty" yaml:"direction,omitempty"` // out or in; absent = both ways
	// Unsteady: only some of its measurements are slow (a flapping link, or one of several cables).
	Unsteady bool `json:"unsteady,omitempty" yaml:"unsteady,omitempty"`
	// Ratio is what it delivers in shares of its peers (the median of the slow measurements when unsteady).
	Ratio float64 `json:"ratio" yaml:"ratio"`
	// Confidence is the probability that this explanation is right and not the next best one, given the noise seen.
	Confidence float64 `json:"confidence" yaml:"confidence"`
	Instead    string  `json:"instead,omitempty" yaml:"instead,omitempty"` // the next best explanation
	SlowPairs  int     `json:"slowMeasurements" yaml:"slowMeasurements"`   // slow measurements that it explains
	Pairs      int     `json:"measurements" yaml:"measurements"`           // measurements that it takes part in
	// Evidence are the measurements that speak loudest, worst first.
	Evidence []Evidence `json:"evidence" yaml:"evidence"`

	gain float64 // how much cheaper it makes the report, in nats
}

// Evidence is one measurement against what peers reach. A failed one has no bandwidth.
type Evidence struct {
	A                       string   `json:"a" yaml:"a"`
	B                       string   `json:"b" yaml:"b"`
	Rail                    *int     `json:"rail,omitempty" yaml:"rail,omitempty"`
	BandwidthBytesPerSecond *float64 `json:"bandwidthBytesPerSecond,omitempty" yaml:"bandwidthBytesPerSecond,omitempty"`
	ExpectedBytesPerSecond  float64  `json:"expectedBytesPerSecond" yaml:"expectedBytesPerSecond"`
}

// BlameResult is what Blame found.
type BlameResult struct {
	Culprits []Culprit `json:"culprits" yaml:"culprits"` // the one that explains most first
	// Noise is the relative standard deviation of healthy measurements, as seen.
	Noise        float64            `json:"noise" yaml:"noise"`
	Measurements int                `json:"measurements" yaml:"measurements"`
	Findings     []topology.Finding `json:"findings,omitempty" yaml:"findings,omitempty"`
}

// Subject names the culprit in findings: "node0007", "node0007 rail 3", "leaf3 (uplink)".
func (c *Culprit) Subject() string {
	s := c.Name
	if c.Rail != nil {
		s += fmt.Sprintf(" rail %d", *c.Rail)
	}
	if c.Kind == UplinkCulprit {
		s += " (uplink)"
	}
	return s
}

// Blame finds the fewest things that explain the slow pairs of a report. Pairs measured under load are left out: they are
// slow on purpose.
//
// Model: a measurement delivers the smallest of what the things on its way can (both nodes, NICs, uplinks, and the path
// itself), times noise. In logarithms, with base the median of healthy pairs of its kind,
//
//	y = base + min(0, t_node(a), t_node(b), t_nic(a,r), t_uplink(g), ... ) + noise
//
// The sum of absolute deviations plus a price for each thing accused is made small: greedily, then by exchanging accused
// things for better ones. Absolute deviations with a bound, so that one wild measurement condemns nobody; the smallest, not
// the sum of all, because a slow node behind a slow uplink is no slower than the slower of the two.
func Blame(r *topology.PairReport, o BlameOptions) *BlameResult {
	if o.MinLoss == 0 {
		o.MinLoss = 0.07
	}
	if o.MaxEvidence == 0 {
		o.MaxEvidence = 6
	}
	s := newSuspicion(r, o)
	res := &BlameResult{Culprits: []Culprit{}, Measurements: len(s.obs), Noise: s.noise}
	if len(s.obs) == 0 {
		return res
	}
	s.solve()
	res.Noise = s.noise
	for i := range s.chosen {
		res.Culprits = append(res.Culprits, s.culprit(i))
	}
	slices.SortStableFunc(res.Culprits, func(a, b Culprit) int { return cmp.Compare(b.gain, a.gain) })
	for i := range res.Culprits {
		res.Findings = append(res.Findings, res.Culprits[i].finding())
	}
	res.Findings = topology.SortFindings(res.Findings)
	return res
}

// finding turns a culprit into what an operator reads.
func (c *Culprit) finding() topology.Finding {
	what := "reaches"
	if c.Unsteady {
		what = "sometimes only reaches"
	}
	way := map[string]string{Outward: " when it sends", Inward: " when it receives"}[c.Direction]
	f := topology.Finding{Code: "slow-" + c.Kind, Severity: topology.Warning, Subject: c.Subject(),
		Message: fmt.Sprintf("%s %.0f %% of what its peers reach%s (%d of %d measurements slow, confidence %.0f %%)", what, 100*c.Ratio, way, c.SlowPairs, c.Pairs, 100*c.Confidence)}
	if c.Unsteady {
		f.Code = "unsteady-" + c.Kind
	}
	if len(c.Evidence) > 0 {
		f.Message += ": " + c.Evidence[0].A + " - " + c.Evidence[0].B + " is the worst"
	}
	switch c.Kind {
	case NodeCulprit:
		f.Remedy = "run railmap probe on the node; leave it out of large jobs until then"
	case NICCulprit:
		f.Remedy = "check this NIC and its cable to the leaf (rate, errors); NCCL can leave it out (railmap export nccl)"
	case UplinkCulprit:
		f.Remedy = "compare the cables between this group's switches and the level above with those of other groups"
	case PathCulprit:
		f.Remedy = "measure the pair again; if it stays, look at the cables of the route between the two"
	}
	return f
}
