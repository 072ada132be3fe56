package nccl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// NodeSpec describes a node of which only the outline is known: no PCI tree, no XML. The zero value is eight H100 with
// eight NICs of 400 Gb/s, one beside each GPU.
type NodeSpec struct {
	GPUModel          string  // product name: "NVIDIA H100 80GB HBM3", "B200"; "" = H100
	GPUs              int     // 0 = 8
	NICs              int     // 0 = one a GPU
	NICBytesPerSecond float64 // one way; 0 = 50e9
	CPU               CPU     // zero = Intel, or ARM beside a Grace GPU
	// SlowNICs of the NICs run at SlowBytesPerSecond only.
	SlowNICs           int
	SlowBytesPerSecond float64
}

// gpuTraits is what NCCL sees of a GPU model.
type gpuTraits struct {
	word  string // in the product name
	sm    int
	links int // NVLinks to NVSwitch; 0 = PCIe only
}

// gpuModels is searched in order: the longer word first. Links as shipped on NVSwitch boards.
var gpuModels = []gpuTraits{
	{"GB300", 103, 18}, {"GB200", 100, 18}, {"B300", 103, 18}, {"B200", 100, 18}, {"B100", 100, 18}, {"GH200", 90, 18},
	{"H800", 90, 8}, {"H200", 90, 18}, {"H100", 90, 18}, {"H20", 90, 18}, {"A800", 80, 8}, {"A100", 80, 12}, {"V100", 70, 6},
	{"RTX 5090", 120, 0}, {"RTX5090", 120, 0}, {"RTX PRO 6000", 120, 0}, {"RTX", 89, 0}, {"L40", 89, 0}, {"L4", 89, 0},
	{"A40", 86, 0}, {"A30", 80, 0}, {"A10", 86, 0}, {"T4", 75, 0},
}

// GPUWord is the short name of a GPU model ("H100" of "NVIDIA H100 80GB HBM3"), which calibration files use; "" for models
// that the package does not know.
func GPUWord(model string) string {
	if model == "" || !slices.ContainsFunc(gpuModels, func(t gpuTraits) bool { return strings.Contains(strings.ToUpper(model), t.word) }) {
		return ""
	}
	return traitsOf(model).word
}

func traitsOf(model string) gpuTraits {
	for _, t := range gpuModels {
		if strings.Contains(strings.ToUpper(model), t.word) {
			if strings.Contains(strings.ToUpper(model), "PCIE") {
				t.links = 0
			}
			return t
		}
	}
	return gpuTraits{"H100", 90, 18}
}

// DefaultNode makes the model of a node by its outline: it searches the usual machine of that make (NodeSpec.XML). A real
// description (XML or node report) is better wherever there is one.
func DefaultNode(spec NodeSpec) *NodeModel {
	spec = spec.complete()
	t := traitsOf(spec.GPUModel)
	name := fmt.Sprintf("default %dx%s, %dx%.0fG", spec.GPUs, t.word, spec.NICs, spec.NICBytesPerSecond*8/1e9)
	m, err := NewNodeModel(name, spec.XML(), Options{})
	if err != nil { // complete keeps outlines within NCCL's limits
		return &NodeModel{Name: name, GPUs: spec.GPUs, SM: t.sm, CPU: spec.CPU}
	}
	m.SKU = t.word
	m.Fused = nil
	if strings.HasPrefix(t.word, "GB") {
		m.Fused = once(func(n int) *NodeModel {
			s := spec
			s.GPUs, s.NICs, s.SlowNICs = s.GPUs*n, s.NICs*n, s.SlowNICs*n
			return DefaultNode(s)
		})
	}
	m.leaveOut(spec)
	return m
}

// leaveOut adds the model of the machine without its slow NICs.
func (m *NodeModel) leaveOut(spec NodeSpec) {
	if spec.SlowNICs == 0 || spec.SlowNICs == spec.NICs {
		return
	}
	healthy := spec
	healthy.NICs, healthy.SlowNICs, healthy.SlowBytesPerSecond = spec.NICs-spec.SlowNICs, 0, 0
	m.Without = DefaultNode(healthy)
	m.Limiting = fmt.Sprintf("%s at %.0f Gb/s, others at %.0f", plural(spec.SlowNICs, "NIC", "NICs"), spec.SlowBytesPerSecond*8/1e9, spec.NICBytesPerSecond*8/1e9)
	m.Name += ", " + m.Limiting
}

// maxOutlineNICs bounds the NICs of an outline: more than any machine has.
const maxOutlineNICs = 256

// complete gives what is left out its usual value, and keeps the rest within what NCCL can handle.
func (s NodeSpec) complete() NodeSpec {
	if s.GPUs <= 0 {
		s.GPUs = 8
	}
	if s.NICs <= 0 {
		s.NICs = s.GPUs
	}
	s.GPUs, s.NICs = min(s.GPUs, maxDomainGPUs), min(s.NICs, maxOutlineNICs)
	s.SlowNICs = min(s.SlowNICs, s.NICs)
	if s.NICBytesPerSecond <= 0 {
		s.NICBytesPerSecond = 50e9
	}
	if s.CPU.Arch == "" {
		s.CPU = CPU{Arch: "x86_64", Vendor: cmp.Or(s.CPU.Vendor, "GenuineIntel")}
		if strings.HasPrefix(traitsOf(s.GPUModel).word, "G") {
			s.CPU = CPU{Arch: "arm64"} // Grace
		}
	}
	return s
}
