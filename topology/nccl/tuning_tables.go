package nccl

// The constants of NCCL's tuning model (NVIDIA/nccl src/graph/tuning.cc): latencies in microseconds, bandwidths in GB/s.
// A row of protocols is {LL, LL128, Simple}.

// Indexes of the tables below: algorithms and protocols in NCCL's own order.
const (
	iTree = iota
	iRing
	iCollNetDirect
	iCollNetChain
	iNVLS
	iNVLSTree
	iPAT
	nAlgorithms
)

const (
	iLL = iota
	iLL128
	iSimple
	nProtocols
)

var algorithmOf = [nAlgorithms]Algorithm{Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT}
var protocolOf = [nProtocols]Protocol{LL, LL128, Simple}

// baseLatency is paid once a collective.
var baseLatency = [nAlgorithms][nProtocols]float64{
	iTree: {6.8, 14, 8.4},
	iRing: {6.6, 14, 8.4},
	iPAT:  {8, 8, 8},
}

// Rows of hopLatency: what a step crosses.
const (
	hopNVLink = iota
	hopPCI
	hopNet
)

// hopLatency is paid a step.
var hopLatency = [3][nAlgorithms][nProtocols]float64{
	hopNVLink: {{.6, 1.25, 4}, {.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}},
	hopPCI:    {{1, 1.9, 4}, {1, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {}, {}, {0, 0, 4}},
	hopNet:    {{5, 8.5, 14}, {2.7, 4, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}},
}

// nvlsTreeNetLatencyBefore2289 is the network step of NVLSTree up to 2.28.8.
const nvlsTreeNetLatencyBefore2289 = 14

// Columns of the cap tables: GPU generations by compute capability.
const (
	volta = iota
	ampere
	hopper
	blackwell
	nGenerations
)

func generation(sm int) int {
	switch {
	case sm >= 100:
		return blackwell
	case sm >= 90:
		return hopper
	case sm >= 80:
		return ampere
	}
	return volta
}

// caps bound the bandwidth of one GPU generation; arrays are by node count: one, two, three or more.
type caps struct {
	ll             [3]float64 // LL, all channels together
	ringLL128      [3]float64 // per channel
	treeLL128      [3]float64 // per channel
	tree           [3]float64 // per channel
	nvlsTree       [3]float64 // per channel; 2.28.3 and later
	nvlsEfficiency float64    // 2.28.3 and later
}

var capsOf = [nGenerations]caps{
	volta: {
		ll: [3]float64{39, 39, 20.4}, ringLL128: [3]float64{20, 20, 20}, treeLL128: [3]float64{20, 20, 20},
		tree: [3]float64{26.5, 18.5, 10}, nvlsTree: [3]float64{26.5, 18.5, 10},
	},
	ampere: {
		ll: [3]float64{87.7, 22.5, 19}, ringLL128: [3]float64{20, 20, 20}, treeLL128: [3]float64{20, 20, 20},
		tree: [3]float64{24, 23.6, 17.8}, nvlsTree: [3]float64{24, 23.6, 17.8},
	},
	hopper: {
		ll: [3]float64{141, 45, 35}, ringLL128: [3]float64{36.7, 36.7, 36.7}, treeLL128: [3]float64{36.7, 36.7, 29},
		tree: [3]float64{38.7, 41.4, 36}, nvlsTree: [3]float64{0, 57.7, 45.5}, nvlsEfficiency: .85,
	},
	blackwell: {
		ll: [3]float64{282, 90, 70}, ringLL128: [3]float64{40, 40, 40}, treeLL128: [3]float64{55.6, 31.67, 20},
		tree: [3]float64{70, 42.8, 24}, nvlsTree: [3]float64{0, 96, 80}, nvlsEfficiency: .74,
	},
}

// capsFor applies what changed between 2.27 and the newest release; only Blackwell rows did.
func capsFor(gen int, v Version) caps {
	c := capsOf[gen]
	if gen != blackwell {
		return c
	}
	if !v.AtLeast(30, 3) {
		c.nvlsTree[2] = 43.8
	}
	switch {
	case v.AtLeast(29, 7):
	case v.AtLeast(29, 2):
		c.ringLL128 = [3]float64{34.5, 34.6, 34.5}
	case v.AtLeast(28, 9):
		c.ringLL128 = [3]float64{73.4, 34.6, 73.4}
	default:
		c.ringLL128 = [3]float64{73.4, 73.4, 73.4}
		c.nvlsTree[2] = 43.1
	}
	if !v.AtLeast(28, 3) {
		c.treeLL128 = [3]float64{73.4, 73.4, 58}
		c.tree = [3]float64{77.4, 82.8, 72}
	}
	return c
}

// treeCorrection scales the bandwidth of Tree (and NVLSTree on Blackwell with x86) by log2(bytes/64): 64 B to 512 MiB.
var treeCorrection = [nProtocols][24]float64{
	iLL:     {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
	iLL128:  {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
	iSimple: {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}

// Indexes up to which treeCorrection applies.
const (
	treeCorrectionEnd     = 23
	nvlsTreeCorrectionEnd = 24
)
