package topology

import (
	"errors"
	"fmt"
	"time"
)

// KindOccupancy is what a scheduler says is in use.
const KindOccupancy = "Occupancy"

// Occupancy is one scheduler's whole view of its nodes and running jobs at one time. A later document of the same side
// replaces an earlier one.
type Occupancy struct {
	Header   `yaml:",inline"`
	Side     string          `json:"side" yaml:"side"` // slurm, kubernetes, pbs, lsf, clearml
	Nodes    []NodeOccupancy `json:"nodes" yaml:"nodes"`
	Jobs     []JobOccupancy  `json:"jobs,omitempty" yaml:"jobs,omitempty"`
	Findings []Finding       `json:"findings,omitempty" yaml:"findings,omitempty"` // what its reader did not understand
}

// NodeUse is what a scheduler does with a node.
type NodeUse string

// Uses of a node. Drained nodes take no new jobs (a draining node still runs some); down nodes do not answer; reserved nodes
// are promised to somebody by the scheduler itself.
const (
	UseFree     NodeUse = "free"
	UseBusy     NodeUse = "busy"
	UseDrained  NodeUse = "drained"
	UseDown     NodeUse = "down"
	UseReserved NodeUse = "reserved"
)

// NodeOccupancy is one node. GPUsUsed lists the indices where the scheduler tells them; GPUsUsedCount counts them where it
// tells only how many. A busy node with neither is taken as wholly used.
type NodeOccupancy struct {
	Name          string  `json:"name" yaml:"name"`
	Use           NodeUse `json:"use" yaml:"use"`
	GPUCount      int     `json:"gpuCount,omitempty" yaml:"gpuCount,omitempty"`
	GPUsUsed      []int   `json:"gpusUsed,omitempty" yaml:"gpusUsed,omitempty,flow"`
	GPUsUsedCount int     `json:"gpusUsedCount,omitempty" yaml:"gpusUsedCount,omitempty"`
	Reason        string  `json:"reason,omitempty" yaml:"reason,omitempty"` // why it is drained or down
}

// JobOccupancy is one running job of several nodes or one.
type JobOccupancy struct {
	ID          string     `json:"id" yaml:"id"`
	Name        string     `json:"name,omitempty" yaml:"name,omitempty"`
	Nodes       []string   `json:"nodes" yaml:"nodes,flow"`
	GPUsPerNode int        `json:"gpusPerNode,omitempty" yaml:"gpusPerNode,omitempty"` // absent: unknown or whole nodes
	StartedAt   *time.Time `json:"startedAt,omitempty" yaml:"startedAt,omitempty"`
	EndsAt      *time.Time `json:"endsAt,omitempty" yaml:"endsAt,omitempty"` // the scheduler's limit; absent = unknown
	Lease       string     `json:"lease,omitempty" yaml:"lease,omitempty"`   // railmap's lease id, when the job carries one
}

// KindName names the kind.
func (*Occupancy) KindName() string { return KindOccupancy }

// MaxNodeGPUs bounds the GPUs of one node.
const MaxNodeGPUs = 64

// Validate checks names, uses and counts.
func (o *Occupancy) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		if len(errs) < maxProblems {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	if o.Side == "" {
		bad("side: must name the scheduler, such as slurm or kubernetes")
	}
	seen := make(map[string]bool, len(o.Nodes))
	for i, n := range o.Nodes {
		if n.Name == "" || seen[n.Name] {
			bad("nodes[%d].name is %q: must be unique and not empty", i, n.Name)
		}
		seen[n.Name] = true
		switch n.Use {
		case UseFree, UseBusy, UseDrained, UseDown, UseReserved:
		default:
			bad("nodes[%d].use is %q: must be free, busy, drained, down or reserved", i, n.Use)
		}
		if n.GPUCount < 0 || n.GPUCount > MaxNodeGPUs || n.GPUsUsedCount < 0 || n.GPUsUsedCount > MaxNodeGPUs {
			bad("nodes[%d]: GPU counts must be between 0 and %d", i, MaxNodeGPUs)
		}
		for _, g := range n.GPUsUsed {
			if g < 0 || g >= MaxNodeGPUs {
				bad("nodes[%d].gpusUsed holds %d: must be between 0 and %d", i, g, MaxNodeGPUs-1)
			}
		}
	}
	for i, j := range o.Jobs {
		if j.ID == "" || len(j.Nodes) == 0 {
			bad("jobs[%d]: must have an id and at least one node", i)
		}
	}
	return errors.Join(errs...)
}
