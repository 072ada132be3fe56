package nccl

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Published is one measured row of a published-results file.
type Published struct {
	ID          int
	System      string
	GPU         string
	Nodes       int
	GPUs        int
	GPUsPerNode int
	NICsPerNode int
	NICGbps     float64
	Fabric      string
	Collective  Collective
	SizeBytes   uint64
	BusGBps     float64
	Version     string
	Algorithm   string // forced or reported; "" = unknown
	Note        string
}

var publishedColumns = []string{"id", "system", "gpu", "nodes", "gpus", "gpus_per_node", "nics_per_node", "nic_gbps", "fabric",
	"collective", "size_bytes", "busbw_GBps", "nccl", "algo", "note"}

// ReadPublished reads a published-results file: CSV with the columns of publishedColumns, in any order.
func ReadPublished(r io.Reader) ([]Published, error) {
	var out []Published
	err := readTable(r, publishedColumns, func(f fields) error {
		p := Published{ID: f.integer("id", 0, 1<<30), System: f.text("system"), GPU: f.text("gpu"), Fabric: f.text("fabric"),
			Nodes: f.integer("nodes", 1, 1<<20), GPUs: f.integer("gpus", 1, 1<<24), GPUsPerNode: f.integer("gpus_per_node", 1, 1<<16),
			NICsPerNode: f.integer("nics_per_node", 0, 1<<16), NICGbps: f.number("nic_gbps"), Collective: f.collective("collective"),
			SizeBytes: uint64(f.integer("size_bytes", 0, 1<<50)), BusGBps: f.number("busbw_GBps"),
			Version: f.text("nccl"), Algorithm: f.text("algo"), Note: f.text("note")}
		out = append(out, p)
		return f.err()
	})
	return out, err
}

// PublishedError is a row with what the plain model predicts for it.
type PublishedError struct {
	Published
	Algorithm Algorithm // that the prediction is for: the forced one, else the model's choice
	Predicted float64   // GB/s of bus bandwidth
	Ratio     float64   // predicted ÷ measured
	Skipped   string    // why the row was not modelled; Ratio is then meaningless
}

// machineFact is something known of a machine that its outline does not show.
type machineFact struct {
	system string  // in the name of the system
	gbps   float64 // what a NIC carries, Gb/s
	why    string
}

// machineFacts holds what publications say of machines. The a3-ultra entry is drawn from the very rows that it then
// corrects, so scores are given with and without it.
var machineFacts = []machineFact{
	{"a3-ultragpu", 336, "AllGather of two nodes levels off at 329 GB/s, 41 GB/s a NIC (GoogleCloudPlatform/cluster-toolkit, A3 Ultra blueprints)"},
}

// PredictPublished predicts one row by its outline (DefaultNode). Documented facts of machines that it uses:
//
//   - EFA machines show one fused NIC a GPU to NCCL, whatever number of cards they have (aws-ofi-nccl groups them).
//   - A bridged pair of A100 PCIe has 12 NVLinks between its GPUs.
//   - "+SHARP" results ran with CollNet.
//   - machineFacts, when facts is true.
func PredictPublished(p Published, facts bool, models *Outlines) PublishedError {
	e := PublishedError{Published: p}
	if e.Skipped = p.notModelled(); e.Skipped != "" {
		return e
	}
	version, err := ParseVersion(p.Version)
	if err != nil {
		version = NewestVersion // older than what the package knows, or "+"
	}
	nics, gbps := p.NICsPerNode, p.NICGbps
	if strings.HasPrefix(p.Fabric, "EFA") && nics > p.GPUsPerNode {
		gbps, nics = gbps*float64(nics)/float64(p.GPUsPerNode), p.GPUsPerNode
	}
	for _, f := range machineFacts {
		if facts && strings.Contains(p.System, f.system) {
			gbps = min(gbps, f.gbps)
		}
	}
	gpu, perNode := p.GPU, p.GPUs/p.Nodes
	if p.Fabric == "NVL12 pair" {
		gpu = "A100" // both GPUs of one bridge: as near as on a switch
	}
	if nics == p.GPUsPerNode || nics == 0 {
		nics = perNode // one beside each GPU in use
	}
	model := models.Get(NodeSpec{GPUModel: gpu, GPUs: perNode, NICs: nics, NICBytesPerSecond: gbps * 1e9 / 8})
	job := Job{Version: version, Collective: p.Collective, SizeBytes: p.SizeBytes, CollNet: strings.Contains(p.Fabric, "SHARP")}
	for range p.Nodes {
		job.Nodes = append(job.Nodes, JobNode{Model: model, Place: NoPlace})
	}
	out, err := Predict(&job)
	if err != nil {
		e.Skipped = err.Error()
		return e
	}
	e.Algorithm, e.Predicted = out.Algorithm, out.BusBandwidthBytesPerSecond/1e9
	for _, a := range out.PerAlgorithm {
		if string(a.Algorithm) == p.Algorithm {
			e.Algorithm, e.Predicted = a.Algorithm, a.BusBandwidthBytesPerSecond/1e9
		}
	}
	e.Ratio = e.Predicted / p.BusGBps
	return e
}

// notModelled says why a row cannot be predicted from its outline.
func (p Published) notModelled() string {
	switch {
	case p.SizeBytes == 0:
		return "size not stated"
	case strings.Contains(p.GPU, "?") || strings.Contains(p.GPU, "PCIe GPU"):
		return "GPU not stated"
	case strings.Contains(p.Note, "COLLNET_ENABLE=1") && p.Nodes > 1:
		return "mis-configured: CollNet without SHARP"
	case strings.Contains(p.Note, "topology wrong"):
		return "mis-configured: VM without a topology file"
	case p.Nodes > 1 && p.NICsPerNode == 0:
		return "NICs not stated"
	case p.GPUs%p.Nodes != 0:
		return "unequal nodes"
	}
	return ""
}

// ClassError sums up rows of one size class.
type ClassError struct {
	SizeClass   string  `json:"sizeClass"`
	Nodes       string  `json:"nodes"` // one, several or all
	Rows        int     `json:"rows"`
	MedianRatio float64 `json:"medianRatio"` // predicted ÷ measured
	P10Ratio    float64 `json:"p10Ratio"`
	P90Ratio    float64 `json:"p90Ratio"`
	MedianError float64 `json:"medianError"` // |ratio - 1|
	P90Error    float64 `json:"p90Error"`
}

// PublishedScore sums up a published-results file.
type PublishedScore struct {
	Rows     int          `json:"rows"`
	Modelled int          `json:"modelled"`
	Skipped  []SkipReason `json:"skipped"`
	// LargeRing are the rows of 1 GiB and more that ran Ring (forced, reported, or chosen by the model); LargeRingGroups
	// takes one figure per system, node count, GPU count and collective: the median of its rows. Both use machineFacts; all
	// else is without.
	LargeRing             ClassError   `json:"largeRing"`
	LargeRingGroups       ClassError   `json:"largeRingGroups"`
	LargeRingWithoutFacts ClassError   `json:"largeRingWithoutFacts"`
	Classes               []ClassError `json:"classes"`
	Errors                []RowError   `json:"errors"`
}

// SkipReason counts rows that were not modelled.
type SkipReason struct {
	Reason string `json:"reason"`
	Rows   int    `json:"rows"`
}

// RowError is one modelled row.
type RowError struct {
	ID         int        `json:"id"`
	System     string     `json:"system"`
	Nodes      int        `json:"nodes"`
	GPUs       int        `json:"gpus"`
	Collective Collective `json:"collective"`
	SizeBytes  uint64     `json:"sizeBytes"`
	Algorithm  Algorithm  `json:"algorithm"`
	Measured   float64    `json:"measuredBusBandwidthBytesPerSecond"`
	Predicted  float64    `json:"predictedBusBandwidthBytesPerSecond"`
	Ratio      float64    `json:"ratio"`
}

// largeMessage is where a message counts as large.
const largeMessage = 1 << 30

// ScorePublished predicts all rows and sums up.
func ScorePublished(rows []Published) PublishedScore {
	s := PublishedScore{Rows: len(rows)}
	var models Outlines
	skipped := make(map[string]int)
	type key struct {
		nodes string
		class int
	}
	ratios := make(map[key][]float64)
	var ring, plainRing []float64
	groups := make(map[string][]float64)
	for _, row := range rows {
		e := PredictPublished(row, false, &models)
		if e.Skipped != "" {
			skipped[e.Skipped]++
			continue
		}
		s.Modelled++
		s.Errors = append(s.Errors, RowError{row.ID, row.System, row.Nodes, row.GPUs, row.Collective, row.SizeBytes, e.Algorithm,
			row.BusGBps * 1e9, roundTo(e.Predicted, 2) * 1e9, roundTo(e.Ratio, 3)})
		k := key{nodesWord(row.Nodes), classIndex(row.SizeBytes)}
		ratios[k] = append(ratios[k], e.Ratio)
		if row.SizeBytes >= largeMessage && e.Algorithm == Ring {
			plainRing = append(plainRing, e.Ratio)
			e = PredictPublished(row, true, &models)
			ring = append(ring, e.Ratio)
			group := fmt.Sprintf("%s, %d nodes, %d GPUs, %s", row.System, row.Nodes, row.GPUs, row.Collective)
			groups[group] = append(groups[group], e.Ratio)
		}
	}
	for _, nodes := range []string{oneNode, severalNodes} {
		for i, c := range sizeClasses {
			if r := ratios[key{nodes, i}]; len(r) > 0 {
				s.Classes = append(s.Classes, classError(c.name, nodes, r))
			}
		}
	}
	s.LargeRing = classError(">= 1GiB, Ring", "all", ring)
	s.LargeRingWithoutFacts = classError(">= 1GiB, Ring, no facts", "all", plainRing)
	var medians []float64
	for _, r := range groups {
		medians = append(medians, quantile(r, .5))
	}
	s.LargeRingGroups = classError(">= 1GiB, Ring, by system", "all", medians)
	for reason, n := range skipped {
		s.Skipped = append(s.Skipped, SkipReason{reason, n})
	}
	slices.SortFunc(s.Skipped, func(a, b SkipReason) int {
		return cmp.Or(-cmp.Compare(a.Rows, b.Rows), cmp.Compare(a.Reason, b.Reason))
	})
	return s
}

func classError(class, nodes string, ratios []float64) ClassError {
	away := make([]float64, len(ratios))
	for i, r := range ratios {
		away[i] = math.Abs(r - 1)
	}
	return ClassError{SizeClass: class, Nodes: nodes, Rows: len(ratios), MedianRatio: roundTo(quantile(ratios, .5), 3),
		P10Ratio: roundTo(quantile(ratios, .1), 3), P90Ratio: roundTo(quantile(ratios, .9), 3),
		MedianError: roundTo(quantile(away, .5), 3), P90Error: roundTo(quantile(away, .9), 3)}
}

// publishedErrors is the median |predicted/measured - 1| of the plain model over published results, by size class, for one
// node and for several; TestPublishedErrors keeps it equal to what ScorePublished finds.
var publishedErrors = [2][len(sizeClasses)]float64{
	{1.082, .672, .225, .074, .034, .044},
	{.84, .593, .302, .098, .041, .031},
}

// publishedError is what to expect of an uncorrected prediction.
func publishedError(nodes int, bytes uint64) *float64 {
	row := 0
	if nodes > 1 {
		row = 1
	}
	x := publishedErrors[row][classIndex(bytes)]
	return &x
}
