package cuda

import "time"

// Plan is what to measure on one node. Places are named as in node reports: "GPU0", "NUMA1".
type Plan struct {
	GPUs    map[string]string `json:"gpus"`    // name -> PCI address
	NUMA    map[string][]int  `json:"numa"`    // name -> CPUs
	Steps   []Step            `json:"steps"`   // in this order
	Bytes   int               `json:"bytes"`   // of one copy
	Loops   int               `json:"loops"`   // copies in one sample
	Samples int               `json:"samples"` // the median of these counts
	// Timeout bounds one step. It cannot end a driver call that hangs: that takes the end of the process.
	Timeout time.Duration `json:"timeout"`
}

// Kinds of steps.
const (
	CopyStep    = "copy"
	LatencyStep = "latency"
	NCCLStep    = "nccl"
)

// Step is one thing to measure; its ways run at the same time and must not share a GPU unless that is the question.
type Step struct {
	Kind          string `json:"kind"`
	Ways          []Way  `json:"ways,omitempty"`
	Bidirectional bool   `json:"bidirectional,omitempty"` // each way and its opposite at once; the sum is reported
	Together      bool   `json:"together,omitempty"`      // the GPUs of one PCIe switch at once
	Loops         int    `json:"loops,omitempty"`         // copies in one sample; 0 = the plan's
	Sizes         []int  `json:"sizes,omitempty"`         // bytes per GPU, for NCCL
}

// Way is from where to where a copy goes; for latency, From reads memory of To.
type Way struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Result is the outcome of one step. A step that failed has an Error and possibly no figures.
type Result struct {
	Step    int         `json:"step"`
	Ways    []WayResult `json:"ways,omitempty"`
	Sizes   []NCCLSize  `json:"sizes,omitempty"`
	Error   string      `json:"error,omitempty"`
	Version int         `json:"version,omitempty"` // of NCCL: 22304 is 2.23.4
}

// WayResult holds the samples of one way: bytes per second for copies, seconds for latency.
type WayResult struct {
	Way
	Samples []float64 `json:"samples"`
	Method  string    `json:"method"`
}

// NCCLSize is an all-reduce of one size: bus bandwidth in bytes per second as nccl-tests defines it, and the time of one.
type NCCLSize struct {
	Bytes   int       `json:"bytes"`
	GPUs    int       `json:"gpus"`
	Samples []float64 `json:"samples"`
	Seconds float64   `json:"seconds"`
}

// Options of a run.
type Options struct {
	Dir string // where the libraries are looked for first
	// Busy, when set, is called once for each GPU while copies run on it: the moment to read its PCIe link.
	Busy func(gpu string)
}
