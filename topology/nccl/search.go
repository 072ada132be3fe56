package nccl

import (
	"fmt"
	"strconv"
)

// Channel is one channel of a graph: GPU device numbers in order, and the NICs where it enters and leaves the node ("" inside
// one node). For NVLS only the first GPU, the head, counts.
type Channel struct {
	GPUs []int  `json:"gpus"`
	In   string `json:"in,omitempty"`
	Out  string `json:"out,omitempty"`
}

// Found is what the search finds on one machine for a job of that machine's kind: the three graphs before post-processing,
// and their channels. Fallback names the patterns for which nothing was found, where NCCL takes a simple order at 0.1 GB/s.
type Found struct {
	Graphs
	RingChannels []Channel `json:"ringChannels,omitempty"`
	TreeChannels []Channel `json:"treeChannels,omitempty"`
	NVLSChannels []Channel `json:"nvlsChannels,omitempty"`
	LatencyInter float64   `json:"latencyInter,omitempty"` // of the NIC of the last channel, microseconds
	Fallback     []string  `json:"fallback,omitempty"`
}

// Search finds the ring, tree and NVLS graphs as NCCL's search does on a node of a job with that many nodes, 1 or more; what
// counts is whether there is more than one. The result depends on nothing but the system.
func (s *System) Search(nodes int) (Found, error) {
	if nodes < 1 {
		return Found{}, fmt.Errorf("nodes is %d: must be at least 1", nodes)
	}
	several := nodes > 1
	if several && s.Nets() == 0 {
		return Found{}, fmt.Errorf("the machine has no net element and the job %d nodes: complete the file, for example with --fill SPEED=400000", nodes)
	}
	w := newWorkspace(s)
	ring := s.find(w, PatternRing, 1, searchChannels, several)
	tree := s.find(w, PatternBalancedTree, ring.channels, ring.channels, several)
	nvls := s.find(w, PatternNVLS, 1, searchChannels, several)
	f := Found{Graphs: Graphs{Ring: ring.graph(), Tree: tree.graph(), NVLS: nvls.graph()}, LatencyInter: exact(ring.latency)}
	f.RingChannels, f.TreeChannels, f.NVLSChannels = s.channelsOf(ring, several), s.channelsOf(tree, several), s.channelsOf(nvls, several)
	for _, c := range []*candidate{ring, tree} {
		if c.bwIntra == fallbackGBps {
			f.Fallback = append(f.Fallback, map[bool]string{true: "ring", false: "tree"}[c == ring])
		}
	}
	return f, nil
}

// graph is the tuple of a candidate. A pattern that does not exist is all zero.
func (c *candidate) graph() Graph {
	if c.channels == 0 {
		return Graph{Pattern: c.pattern}
	}
	return Graph{Pattern: c.pattern, Channels: c.channels, BwIntra: exact(c.bwIntra), BwInter: exact(c.bwInter),
		TypeIntra: c.typeIntra, TypeInter: c.typeInter, CrossNic: c.crossNIC}
}

// exact widens a float32 to the decimal that it stands for: 1.2 and not 1.2000000476837158.
func exact(v float32) float64 {
	d, _ := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
	return d
}

func (s *System) channelsOf(c *candidate, several bool) []Channel {
	out := make([]Channel, c.channels)
	for ch := range out {
		gpus := c.order[ch*c.gpus : (ch+1)*c.gpus]
		if c.pattern == PatternNVLS {
			gpus = gpus[:1]
		}
		for _, g := range gpus {
			out[ch].GPUs = append(out[ch].GPUs, s.vertices[kindGPU][g].dev)
		}
		if several {
			out[ch].In, out[ch].Out = s.netName(c.nets[2*ch]), s.netName(c.nets[2*ch+1])
		}
	}
	return out
}

func (s *System) netName(n int) string {
	if n < 0 {
		return ""
	}
	v := s.vertices[kindNet][n]
	if v.net.name == "" {
		return "net" + strconv.Itoa(v.dev)
	}
	return v.net.name
}

// GraphsFor finds the graphs of the machine that a topology file describes.
func GraphsFor(x *XML, nodes int, o Options) (Graphs, error) {
	s, err := NewSystem(x, o)
	if err != nil {
		return Graphs{}, err
	}
	f, err := s.Search(nodes)
	return f.Graphs, err
}
