package nccl

import (
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

// linkSpeedOf is NCCL's figure for one NVLink in GB/s one way (src/graph/topo.h).
func linkSpeedOf(sm int) float64 {
	switch {
	case sm >= 100:
		return 40.1
	case sm >= 90:
		return 20.6
	}
	return 20
}

// channelSpeeds are the speeds in GB/s that NCCL's search tries for a channel inside one node and between nodes
// (src/graph/search.cc).
func channelSpeeds(sm int) (intra, inter []float64) {
	switch {
	case sm >= 100:
		return []float64{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18},
			[]float64{96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12}
	case sm >= 90:
		return []float64{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3},
			[]float64{48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12}
	}
	return []float64{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3},
		[]float64{48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24, .12}
}

// quantised is the largest of speeds that is not above x; the smallest when all are.
func quantised(x float64, speeds []float64) float64 {
	for _, s := range speeds {
		if s <= x {
			return s
		}
	}
	return speeds[len(speeds)-1]
}

// DefaultNode makes a model without a PCI tree by the closed form that NCCL's search comes to on regular machines: GPUs
// behind NVSwitch, NICs spread evenly, GPUDirect everywhere. It knows nothing of PCIe bottlenecks: a real description
// (XML or node report) is better wherever there is one.
func DefaultNode(spec NodeSpec) *NodeModel {
	spec = spec.complete()
	t := traitsOf(spec.GPUModel)
	m := &NodeModel{
		Name: fmt.Sprintf("default %dx%s, %dx%.0fG", spec.GPUs, t.word, spec.NICs, spec.NICBytesPerSecond*8/1e9),
		SKU:  t.word, GPUs: spec.GPUs, SM: t.sm, CPU: spec.CPU, NVSwitch: t.links > 0,
	}
	nvlink := float64(t.links) * linkSpeedOf(t.sm)
	nic := spec.NICBytesPerSecond / 1e9
	if t.links == 0 {
		m.Alone, m.Joined = pcieGraphs(t.sm, spec.CPU, nic*float64(spec.NICs))
		return m
	}
	m.Alone = aloneGraphs(t.sm, spec.GPUs, nvlink)
	m.Joined = joinedGraphs(t.sm, spec.GPUs, spec.NICs, nvlink, nic)
	if spec.SlowNICs > 0 && spec.SlowNICs < spec.NICs {
		m.slowNICs(spec, nvlink)
	}
	if strings.HasPrefix(t.word, "GB") {
		m.Fused = func(n int) *NodeModel {
			s := spec
			s.GPUs, s.NICs = s.GPUs*n, s.NICs*n
			return DefaultNode(s)
		}
	}
	return m
}

func (s NodeSpec) complete() NodeSpec {
	if s.GPUs <= 0 {
		s.GPUs = 8
	}
	if s.NICs <= 0 {
		s.NICs = s.GPUs
	}
	if s.NICBytesPerSecond <= 0 {
		s.NICBytesPerSecond = 50e9
	}
	if s.CPU == (CPU{}) {
		s.CPU = CPU{Arch: "x86_64", Vendor: "GenuineIntel"}
		if strings.HasPrefix(traitsOf(s.GPUModel).word, "G") {
			s.CPU = CPU{Arch: "arm64"} // Grace
		}
	}
	return s
}

// mostChannels is the most that the search tries.
const mostChannels = 32

// aloneGraphs: the ring takes the array speed that uses most of a GPU's NVLinks, then fast channels are split in two. An
// NVLS head costs every GPU its speed once, and its own GPU twice.
func aloneGraphs(sm, gpus int, nvlink float64) Graphs {
	intra, _ := channelSpeeds(sm)
	channels, speed := 1, intra[len(intra)-1]
	for _, s := range intra {
		if n := min(int(nvlink/s), mostChannels); float64(n)*s > float64(channels)*speed {
			channels, speed = n, s
		}
	}
	if splits(sm, channels, speed) {
		channels, speed = channels*2, speed/2
	}
	g := Graphs{
		Ring: Graph{PatternRing, channels, speed, speed, PathNVL, PathPIX, 0},
		Tree: Graph{PatternBalancedTree, channels, speed, speed, PathNVL, PathPIX, 0},
	}
	if sm >= 90 && gpus > 1 {
		heads := min(gpus, mostChannels)
		s := quantised(nvlink/float64(heads+1), intra)
		g.NVLS = Graph{PatternNVLS, heads, s, max(s, quantised(2*s, intra)), PathNVL, PathPIX, 0}
	}
	return g
}

// splits tells whether the search doubles the channels and halves their speed.
func splits(sm, channels int, speed float64) bool {
	return speed >= 25 && !(sm > 80 && speed < 50 && channels > 4) && channels*2 <= mostChannels
}

// joinedGraphs: one channel a NIC, at the NIC's speed, as far as the NVLinks carry them. A ring uses each GPU's NVLink for
// all channels but those that leave the node there.
func joinedGraphs(sm, gpus, nics int, nvlink, nic float64) Graphs {
	_, inter := channelSpeeds(sm)
	speed := quantised(nic, inter)
	share := float64(max(gpus-1, 1)) / float64(gpus)
	channels := max(1, min(nics, mostChannels, int(nvlink/(speed*share))))
	tree := slices.IndexFunc(inter, func(s float64) bool { return s < 2*speed*1.0001 && float64(channels)*s*share <= nvlink })
	treeSpeed := speed
	if tree >= 0 {
		treeSpeed = max(speed, inter[tree])
	}
	ring := Graph{PatternRing, channels, speed, speed, PathNVL, PathPIX, 0}
	tr := Graph{PatternBalancedTree, channels, treeSpeed, speed, PathNVL, PathPIX, 0}
	if sm >= 90 && nics >= gpus {
		tr.Pattern = PatternTree // a balanced tree needs a second GPU at each NIC
		if sm < 100 {
			ring.CrossNic = 2 // rings that come back by another NIC; Blackwell gets there by PXN
		}
	}
	if splits(sm, channels, speed) {
		ring.Channels, ring.BwIntra, ring.BwInter = channels*2, speed/2, speed/2
		tr.Channels, tr.BwInter = channels*2, speed/2
	}
	g := Graphs{Ring: ring, Tree: tr}
	if sm >= 90 {
		heads := min(gpus, nics, mostChannels)
		g.NVLS = Graph{PatternNVLS, heads, min(speed, quantised(nvlink/float64(heads+1), inter)), speed, PathNVL, PathPIX, 0}
	}
	return g
}

// slowNICs: the search takes the speed at which channels x speed is largest, not less than about half of the full one. With
// one of eight NICs at half speed that is 15 channels at half speed, more than 7 at full: and the whole job then runs at half
// speed with the 8 channels of the other nodes. NVLS takes only heads with a full NIC.
func (m *NodeModel) slowNICs(spec NodeSpec, nvlink float64) {
	_, inter := channelSpeeds(m.SM)
	fast, slow := spec.NICBytesPerSecond/1e9, spec.SlowBytesPerSecond/1e9
	healthy := spec
	healthy.NICs, healthy.SlowNICs, healthy.SlowBytesPerSecond = spec.NICs-spec.SlowNICs, 0, 0
	m.Without = DefaultNode(healthy)
	m.Joined = m.Without.Joined
	full := quantised(fast, inter)
	share := float64(max(spec.GPUs-1, 1)) / float64(spec.GPUs)
	best := &m.Joined.Ring
	for _, s := range inter {
		if s > full || s < full*.49 {
			continue
		}
		n := healthy.NICs*int(full/s) + spec.SlowNICs*int(quantised(slow, inter)/s)
		n = min(n, mostChannels, int(nvlink/(s*share)))
		if float64(n)*s > float64(best.Channels)*best.BwInter {
			*best = Graph{PatternRing, n, s, s, PathNVL, PathPXN, 2}
			m.Joined.Tree = Graph{PatternTree, n, s, s, PathNVL, PathPIX, 0}
		}
	}
	m.Limiting = fmt.Sprintf("%s at %.0f Gb/s, others at %.0f", plural(spec.SlowNICs, "NIC", "NICs"), slow*8, fast*8)
	m.Name += ", " + m.Limiting
}

// pcieGraphs: without NVLink one ring passes between the sockets; AMD sockets carry 16 GB/s, Intel's newer ones 22. A guess.
func pcieGraphs(sm int, cpu CPU, network float64) (alone, joined Graphs) {
	intra, inter := channelSpeeds(sm)
	socket := 22.
	if cpu.amd() {
		socket = 16
	}
	s := quantised(socket, intra)
	alone = Graphs{
		Ring: Graph{PatternRing, 1, s, s, PathSYS, PathPIX, 0},
		Tree: Graph{PatternBalancedTree, 1, s, s, PathSYS, PathPIX, 0},
	}
	s = quantised(min(socket, network), inter)
	joined = Graphs{
		Ring: Graph{PatternRing, 1, s, s, PathSYS, PathSYS, 0},
		Tree: Graph{PatternBalancedTree, 1, s, s, PathSYS, PathSYS, 0},
	}
	return alone, joined
}
