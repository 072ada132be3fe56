package placer

import (
	"errors"
	"fmt"
	"math"

	"github.com/railmap/railmap/topology"
)

// Collective is the pattern of a job's heaviest communication.
type Collective string

// Collectives that a request can name. Mixed takes Weights.
const (
	Ring     Collective = "ring"
	AllToAll Collective = "all-to-all"
	Tree     Collective = "tree"
	Mixed    Collective = "mixed"
)

// Request asks for one gang. Only Nodes (or GPUs) is needed; the zero value of every other field means no constraint.
type Request struct {
	topology.Header `yaml:",inline"`
	Nodes           int `json:"nodes,omitempty" yaml:"nodes,omitempty"`             // nodes of the gang
	GPUs            int `json:"gpus,omitempty" yaml:"gpus,omitempty"`               // in place of nodes: GPUs of the gang, a multiple of gpusPerNode
	GPUsPerNode     int `json:"gpusPerNode,omitempty" yaml:"gpusPerNode,omitempty"` // absent = whole nodes

	Exclude []string `json:"exclude,omitempty" yaml:"exclude,omitempty"` // nodes that may not be used
	Include []string `json:"include,omitempty" yaml:"include,omitempty"` // choose only among these nodes
	Within  string   `json:"within,omitempty" yaml:"within,omitempty"`   // all nodes below one group of this level: domain, leaf, pod, ...
	// Pools restricts the gang to nodes of these pools (partitions, sides) of the cluster's options.
	Pools []string `json:"pools,omitempty" yaml:"pools,omitempty"`
	// GPUModel restricts the gang to nodes of one model, as the topology spells it.
	GPUModel string `json:"gpuModel,omitempty" yaml:"gpuModel,omitempty"`

	Collective Collective `json:"collective,omitempty" yaml:"collective,omitempty"` // absent = ring
	Weights    *Weights   `json:"weights,omitempty" yaml:"weights,omitempty"`       // shares of traffic of a mixed collective
	// MessageBytes is the size of one collective call, for the predicted bus bandwidth; absent = large messages.
	MessageBytes int64 `json:"messageBytes,omitempty" yaml:"messageBytes,omitempty"`
	// MinimumShare is the floor: below this share of the nominal bandwidth the gang gets no nodes.
	MinimumShare float64 `json:"minimumShare,omitempty" yaml:"minimumShare,omitempty"`
	// Tolerance is the share of bandwidth that may be given up for a tighter placement: 0.02 takes any set within 2 % of the
	// best. 0 or absent = exactly the best.
	Tolerance float64 `json:"tolerance,omitempty" yaml:"tolerance,omitempty"`
	// SegmentNodes is the size of groups (DP groups, Slurm --segment) that must each stay in one leaf group; it divides nodes.
	SegmentNodes int `json:"segmentNodes,omitempty" yaml:"segmentNodes,omitempty"`
	// ChooseSegment asks for the largest segments that cost next to no bandwidth; Layout does so for its pipeline stages.
	ChooseSegment bool    `json:"chooseSegment,omitempty" yaml:"chooseSegment,omitempty"`
	Layout        *Layout `json:"layout,omitempty" yaml:"layout,omitempty"`
	// DurationSeconds is the run time at ideal bandwidth and CommunicationFraction the share of it that is communication
	// (absent = 0.3); with them the answer can be to wait.
	DurationSeconds       float64 `json:"durationSeconds,omitempty" yaml:"durationSeconds,omitempty"`
	CommunicationFraction float64 `json:"communicationFraction,omitempty" yaml:"communicationFraction,omitempty"`
	// Brief leaves out what takes longer than the choice itself: levels, alternatives and most reasons.
	Brief bool `json:"brief,omitempty" yaml:"brief,omitempty"`
}

// Weights are the shares of traffic by pattern; they need not sum to 1.
type Weights struct {
	Ring     float64 `json:"ring,omitempty" yaml:"ring,omitempty"`
	AllToAll float64 `json:"allToAll,omitempty" yaml:"allToAll,omitempty"`
	Tree     float64 `json:"tree,omitempty" yaml:"tree,omitempty"`
}

// maxGang bounds a request; no fabric has more nodes.
const maxGang = 1 << 20

// KindName names the kind.
func (*Request) KindName() string { return topology.KindRequest }

// Validate names every field that is wrong.
func (r *Request) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if r.Nodes < 0 || r.Nodes > maxGang {
		bad("nodes is %d: must be between 1 and %d", r.Nodes, maxGang)
	}
	if r.GPUsPerNode < 0 || r.GPUsPerNode > 1024 {
		bad("gpusPerNode is %d: must be between 1 and 1024, or absent for whole nodes", r.GPUsPerNode)
	}
	switch {
	case r.Nodes == 0 && r.GPUs == 0:
		bad("nodes: must be given (or gpus with gpusPerNode)")
	case r.GPUs < 0 || r.GPUs > 0 && (r.GPUsPerNode <= 0 || r.GPUs%r.GPUsPerNode != 0):
		bad("gpus is %d: must be a multiple of gpusPerNode, which must be given with it", r.GPUs)
	case r.GPUs > 0 && r.Nodes > 0 && r.GPUs != r.Nodes*r.GPUsPerNode:
		bad("gpus is %d: must be nodes × gpusPerNode = %d, or leave one of them out", r.GPUs, r.Nodes*r.GPUsPerNode)
	}
	switch r.Collective {
	case "", Ring, AllToAll, Tree, Mixed:
	default:
		bad("collective is %q: must be ring, all-to-all, tree or mixed", r.Collective)
	}
	errs = append(errs, r.Weights.validate(r.Collective), checkShare("minimumShare", r.MinimumShare), checkShare("tolerance", r.Tolerance),
		checkShare("communicationFraction", r.CommunicationFraction))
	if math.IsNaN(r.DurationSeconds) || r.DurationSeconds < 0 || r.DurationSeconds > 1e9 {
		bad("durationSeconds is %v: must be between 0 and 1e9", r.DurationSeconds)
	}
	if k := r.size(); r.SegmentNodes < 0 || r.SegmentNodes > 0 && k > 0 && k%r.SegmentNodes != 0 {
		bad("segmentNodes is %d: must divide nodes, %d", r.SegmentNodes, k)
	}
	errs = append(errs, r.Layout.validate(r.size(), r.GPUsPerNode))
	if r.MessageBytes < 0 {
		bad("messageBytes is %d: must not be negative", r.MessageBytes)
	}
	return errors.Join(errs...)
}

func (w *Weights) validate(c Collective) error {
	if c != Mixed {
		if w != nil {
			return fmt.Errorf("weights: only with collective mixed, not %q", c)
		}
		return nil
	}
	if w == nil {
		return errors.New("weights: must be given with collective mixed")
	}
	for _, v := range []float64{w.Ring, w.AllToAll, w.Tree} {
		if math.IsNaN(v) || v < 0 || v > 1e6 {
			return fmt.Errorf("weights: %v must be between 0 and 1e6", v)
		}
	}
	if w.Ring+w.AllToAll+w.Tree == 0 {
		return errors.New("weights: one of them must be above 0")
	}
	return nil
}

func checkShare(field string, v float64) error {
	if math.IsNaN(v) || v < 0 || v > 1 {
		return fmt.Errorf("%s is %v: must be between 0 and 1", field, v)
	}
	return nil
}

// size is the number of nodes asked for.
func (r *Request) size() int {
	if r.Nodes == 0 && r.GPUsPerNode > 0 {
		return r.GPUs / r.GPUsPerNode
	}
	return r.Nodes
}

func (r *Request) collective() Collective {
	if r.Collective == "" {
		return Ring
	}
	return r.Collective
}
