package nccl

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/railmap/railmap/topology"
)

// KindCalibration is the kind of a calibration document.
const KindCalibration = "NCCLCalibration"

// Calibration holds corrections of the model from measured nccl-tests runs: per kind of machine, collective, one node or
// several, and size class. It is a file that operators extend with their own runs.
type Calibration struct {
	topology.Header `yaml:",inline"`
	Entries         []CalibrationEntry `json:"entries" yaml:"entries"`
}

// CalibrationEntry corrects predictions of one kind.
type CalibrationEntry struct {
	SKU        string     `json:"sku" yaml:"sku"`                                   // what NodeModel.SKU is: "H100", "p5.48xlarge"
	Collective Collective `json:"collective,omitempty" yaml:"collective,omitempty"` // absent = any
	Nodes      string     `json:"nodes" yaml:"nodes"`                               // "one" or "several"
	SizeClass  string     `json:"sizeClass" yaml:"sizeClass"`                       // see SizeClassOf
	// TimeFactor is measured time ÷ predicted time, the median of the samples.
	TimeFactor float64 `json:"timeFactor" yaml:"timeFactor"`
	// ErrorRatio is the median distance of the samples from TimeFactor, as a ratio: what to expect of a corrected prediction.
	ErrorRatio float64 `json:"errorRatio" yaml:"errorRatio"`
	Samples    int     `json:"samples" yaml:"samples"`
	Source     string  `json:"source,omitempty" yaml:"source,omitempty"` // the runs it comes from
}

// KindName names the kind.
func (*Calibration) KindName() string { return KindCalibration }

// Validate names every entry that is wrong.
func (c *Calibration) Validate() error {
	var errs []error
	for i, e := range c.Entries {
		bad := func(format string, a ...any) {
			errs = append(errs, fmt.Errorf("entries[%d].%s", i, fmt.Sprintf(format, a...)))
		}
		if e.SKU == "" {
			bad("sku: must be given")
		}
		if e.Nodes != oneNode && e.Nodes != severalNodes {
			bad("nodes %q: must be one or several", e.Nodes)
		}
		if !slices.Contains(sizeClassNames(), e.SizeClass) {
			bad("sizeClass %q: must be one of %v", e.SizeClass, sizeClassNames())
		}
		if !(e.TimeFactor >= .01 && e.TimeFactor <= 100) {
			bad("timeFactor %g: must be between 0.01 and 100", e.TimeFactor)
		}
		if !(e.ErrorRatio >= 0 && e.ErrorRatio <= 100) {
			bad("errorRatio %g: must be between 0 and 100", e.ErrorRatio)
		}
		if e.Collective != "" {
			if c, err := ParseCollective(string(e.Collective)); err != nil || c != e.Collective {
				bad("collective %q: must be an nccl-tests name such as all_reduce", e.Collective)
			}
		}
	}
	return errors.Join(errs...)
}

// Words of CalibrationEntry.Nodes.
const (
	oneNode      = "one"
	severalNodes = "several"
)

func nodesWord(nodes int) string {
	if nodes == 1 {
		return oneNode
	}
	return severalNodes
}

// sizeClass is a range of message sizes that err alike.
type sizeClass struct {
	name string
	most uint64 // bytes, inclusive
}

var sizeClasses = [...]sizeClass{{"1MiB", 1 << 20}, {"8MiB", 8 << 20}, {"64MiB", 64 << 20}, {"512MiB", 512 << 20}, {"2GiB", 2 << 30}, {"larger", math.MaxUint64}}

// SizeClassOf names the size class of a message: by its upper bound, "larger" above 2 GiB.
func SizeClassOf(bytes uint64) string { return sizeClasses[classIndex(bytes)].name }

func classIndex(bytes uint64) int {
	for i, c := range sizeClasses {
		if bytes <= c.most {
			return i
		}
	}
	return len(sizeClasses) - 1
}

func sizeClassNames() []string {
	var out []string
	for _, c := range sizeClasses {
		out = append(out, c.name)
	}
	return out
}

// Correction says how a prediction was corrected and how far off it may be.
type Correction struct {
	Used       string  `json:"used"` // "none", or the entry that was used
	SizeClass  string  `json:"sizeClass"`
	TimeFactor float64 `json:"timeFactor"`
	// ExpectedErrorRatio is the median |predicted/measured - 1| of such predictions: of the calibration's samples, or of
	// published results for the plain model. Absent when there is no experience.
	ExpectedErrorRatio *float64 `json:"expectedErrorRatio,omitempty"`
}

// find returns the entry for a prediction; one that names the collective comes before one for any.
func (c *Calibration) find(sku string, coll Collective, nodes int, class string) *CalibrationEntry {
	if c == nil {
		return nil
	}
	var any *CalibrationEntry
	for i := range c.Entries {
		e := &c.Entries[i]
		if e.SKU != sku || e.Nodes != nodesWord(nodes) || e.SizeClass != class {
			continue
		}
		if e.Collective == coll {
			return e
		}
		if e.Collective == "" && any == nil {
			any = e
		}
	}
	return any
}

// correct applies the calibration of the first node's kind; a mixed job stays as the model says.
func (p *Prediction) correct(j *Job, crew *crew) {
	class := SizeClassOf(p.SizeBytes)
	p.Correction = Correction{Used: "none", SizeClass: class, TimeFactor: 1, ExpectedErrorRatio: publishedError(p.Nodes, p.SizeBytes)}
	sku := crew.models[0].SKU
	for _, m := range crew.models {
		if m.SKU != sku {
			return
		}
	}
	e := j.Calibration.find(sku, p.Collective, p.Nodes, class)
	if e == nil {
		return
	}
	nodes := map[string]string{oneNode: "one node", severalNodes: "several nodes"}[e.Nodes]
	p.Correction = Correction{Used: fmt.Sprintf("%s, %s, %s", e.SKU, nodes, plural(e.Samples, "sample", "samples")), SizeClass: class, TimeFactor: e.TimeFactor}
	if e.Samples > 1 { // one sample says nothing about its own error
		p.Correction.ExpectedErrorRatio = &e.ErrorRatio
	}
	p.TimeSeconds *= e.TimeFactor
	p.BusBandwidthBytesPerSecond /= e.TimeFactor
	for i := range p.PerAlgorithm {
		p.PerAlgorithm[i].TimeSeconds *= e.TimeFactor
		p.PerAlgorithm[i].BusBandwidthBytesPerSecond /= e.TimeFactor
	}
}

// Sample is one measured time with the plain model's prediction of it.
type Sample struct {
	SKU              string
	Collective       Collective
	Nodes            int
	SizeBytes        uint64
	MeasuredSeconds  float64
	PredictedSeconds float64
	Source           string
}

// Calibrate makes entries from samples: the median of measured ÷ predicted per kind of machine, collective, node count word
// and size class. Samples without a time are left out.
func Calibrate(samples []Sample) []CalibrationEntry {
	type key struct {
		sku, coll, nodes string
		class            int
	}
	ratios := make(map[key][]float64)
	sources := make(map[key][]string)
	for _, s := range samples {
		if !(s.MeasuredSeconds > 0 && s.PredictedSeconds > 0) {
			continue
		}
		k := key{s.SKU, string(s.Collective), nodesWord(s.Nodes), classIndex(s.SizeBytes)}
		ratios[k] = append(ratios[k], s.MeasuredSeconds/s.PredictedSeconds)
		if s.Source != "" && !slices.Contains(sources[k], s.Source) {
			sources[k] = append(sources[k], s.Source)
		}
	}
	keys := make([]key, 0, len(ratios))
	for k := range ratios {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.sku, b.sku), cmp.Compare(a.coll, b.coll), cmp.Compare(a.nodes, b.nodes), cmp.Compare(a.class, b.class))
	})
	var out []CalibrationEntry
	for _, k := range keys {
		r := ratios[k]
		factor := roundTo(quantile(r, .5), 4)
		away := make([]float64, len(r))
		for i, x := range r {
			away[i] = math.Abs(factor/x - 1)
		}
		out = append(out, CalibrationEntry{SKU: k.sku, Collective: Collective(k.coll), Nodes: k.nodes, SizeClass: sizeClasses[k.class].name,
			TimeFactor: factor, ErrorRatio: roundTo(quantile(away, .5), 4), Samples: len(r), Source: joinSorted(sources[k])})
	}
	return out
}

// Merge puts entries in place of those with the same key, and appends the rest.
func (c *Calibration) Merge(entries []CalibrationEntry) {
	for _, e := range entries {
		at := slices.IndexFunc(c.Entries, func(o CalibrationEntry) bool {
			return o.SKU == e.SKU && o.Collective == e.Collective && o.Nodes == e.Nodes && o.SizeClass == e.SizeClass
		})
		if at >= 0 {
			c.Entries[at] = e
		} else {
			c.Entries = append(c.Entries, e)
		}
	}
}

// SamplesOf predicts every row of a run by the plain model. Ranks that the run states must be those of the job.
func SamplesOf(run *TestRun, j *Job, sku, source string) ([]Sample, error) {
	plain := *j
	plain.Calibration = nil
	var out []Sample
	for _, row := range run.Rows {
		better := row.Better()
		if better == nil || row.SizeBytes == 0 {
			continue
		}
		plain.SizeBytes = row.SizeBytes
		p, err := Predict(&plain)
		if err != nil {
			return nil, err
		}
		if run.Ranks > 0 && run.Ranks != p.Ranks {
			return nil, fmt.Errorf("%s: the run has %d ranks, the machines given %d: must be the same", source, run.Ranks, p.Ranks)
		}
		out = append(out, Sample{SKU: sku, Collective: plain.Collective, Nodes: p.Nodes, SizeBytes: row.SizeBytes,
			MeasuredSeconds: better.TimeSeconds, PredictedSeconds: p.TimeSeconds, Source: source})
	}
	return out, nil
}
