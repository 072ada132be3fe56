package probe

import (
	"fmt"
	"slices"
	"strings"
)

// Stage is a part of a probe run. Later stages need more of the machine.
type Stage string

// Stages, in the order in which they run.
const (
	StageStatic  Stage = "static"  // what is there; always runs
	StageHost    Stage = "host"    // memory copies and loopback TCP
	StageCopy    Stage = "copy"    // between host and GPUs
	StageP2P     Stage = "p2p"     // between GPUs
	StageLatency Stage = "latency" // accesses of GPUs
	StageNIC     Stage = "nic"     // perftest against the node itself
	StageNCCL    Stage = "nccl"    // an all-reduce over the GPUs of the node
)

// Stages are all stages in order.
func Stages() []Stage {
	return []Stage{StageStatic, StageHost, StageCopy, StageP2P, StageLatency, StageNIC, StageNCCL}
}

// DefaultStages are what bring-up runs: all but the collective, which belongs to acceptance.
func DefaultStages() []Stage { return Stages()[:6] }

// ParseStages reads a list such as "static,copy,p2p". The static stage is always part of it.
func ParseStages(s string) ([]Stage, error) {
	want := map[Stage]bool{StageStatic: true}
	for word := range strings.SplitSeq(s, ",") {
		stage := Stage(strings.TrimSpace(word))
		if !slices.Contains(Stages(), stage) {
			return nil, fmt.Errorf("stage %q: must be one of %q", word, Stages())
		}
		want[stage] = true
	}
	return slices.DeleteFunc(Stages(), func(s Stage) bool { return !want[s] }), nil
}
