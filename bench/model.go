package bench

import (
	"fmt"
	"math/rand/v2"

	"github.com/railmap/railmap/topology"
)

// Model is a uniform three-level cluster (leaf, pod, core) with measured links, small and fast enough to be simulated
// thousands of times. Positions follow the cabling: node i stands in leaf i/LeafNodes. Its bandwidth rules are written
// here once more, apart from the placer's, so that the one checks the other.
type Model struct {
	Nodes, LeafNodes, PodLeaves int
	Share                       []float64 // per node, of nominal
	LeafUp, PodUp               []float64 // uplink capacity in node-worths
	EtaLeaf, EtaPod, EtaCore    float64
}

// ModelSpec says how a model is drawn.
type ModelSpec struct {
	Nodes     int
	LeafNodes int     // 32
	PodNodes  int     // 512
	Degraded  float64 // probability that a node is slow
	Seed      uint64
}

// slowFactors are what a slow node keeps: a quarter (a lane or a rail at a quarter), half, three of four rails, seven of eight.
var slowFactors = [...]float64{.25, .5, .5, .75, .875}

// NewModel draws a cluster: healthy nodes at 0.985 ± 0.012 between 0.94 and 1, slow ones at a fraction of that; uplinks 2:1
// at the leaf and 4:1 in all, a little below nominal, 2 % of them halved.
func NewModel(s ModelSpec) *Model {
	rng := rand.New(rand.NewPCG(s.Seed, 0x7261696c))
	m := &Model{Nodes: s.Nodes, LeafNodes: s.LeafNodes, PodLeaves: s.PodNodes / s.LeafNodes, EtaLeaf: 1, EtaPod: .92, EtaCore: .83}
	for i := 0; i < m.Nodes; i++ {
		b := min(1, max(.94, .985+.012*rng.NormFloat64()))
		if rng.Float64() < s.Degraded {
			b *= slowFactors[rng.IntN(len(slowFactors))]
		}
		m.Share = append(m.Share, b)
	}
	up := func(nominal float64) float64 {
		a := nominal * (.97 + .03*rng.Float64())
		if rng.Float64() < .02 {
			a /= 2
		}
		return a
	}
	for range m.Leaves() {
		m.LeafUp = append(m.LeafUp, up(float64(m.LeafNodes)/2))
	}
	for range m.Pods() {
		m.PodUp = append(m.PodUp, up(float64(m.LeafNodes*m.PodLeaves)/4))
	}
	return m
}

// Leaves is the number of leaves.
func (m *Model) Leaves() int { return (m.Nodes + m.LeafNodes - 1) / m.LeafNodes }

// Pods is the number of pods.
func (m *Model) Pods() int { return (m.Leaves() + m.PodLeaves - 1) / m.PodLeaves }

// Leaf is the leaf of node i.
func (m *Model) Leaf(i int) int { return i / m.LeafNodes }

// Pod is the pod of node i.
func (m *Model) Pod(i int) int { return i / m.LeafNodes / m.PodLeaves }

// Name is the name of node i; names sort as positions do.
func (m *Model) Name(i int) string { return fmt.Sprintf("node%06d", i) }

// Topology is the model as the placer reads it.
func (m *Model) Topology() *topology.Topology {
	t := &topology.Topology{Header: topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindTopology}, Generation: 1}
	t.Tree.Levels = []topology.Level{{Name: topology.LeafLevel, Efficiency: m.EtaLeaf}, {Name: topology.PodLevel, Efficiency: m.EtaPod}, {Name: topology.CoreLevel, Efficiency: m.EtaCore}}
	t.Tree.Groups = append(t.Tree.Groups, topology.Group{Name: "core", Level: topology.CoreLevel})
	for p := range m.Pods() {
		pod := fmt.Sprintf("pod%04d", p)
		t.Tree.Groups = append(t.Tree.Groups, topology.Group{Name: pod, Level: topology.PodLevel, Parent: "core", Uplink: &m.PodUp[p]})
		for l := p * m.PodLeaves; l < min((p+1)*m.PodLeaves, m.Leaves()); l++ {
			leaf := topology.Group{Name: fmt.Sprintf("leaf%05d", l), Level: topology.LeafLevel, Parent: pod, Uplink: &m.LeafUp[l]}
			for i := l * m.LeafNodes; i < min((l+1)*m.LeafNodes, m.Nodes); i++ {
				leaf.Nodes = append(leaf.Nodes, m.Name(i))
				t.Nodes = append(t.Nodes, topology.Node{Name: m.Name(i), Group: leaf.Name, GPUCount: 8, GPUModel: "B200",
					NominalBandwidthBytesPerSecond: 4e11, Share: &m.Share[i], State: topology.OK})
			}
			t.Tree.Groups = append(t.Tree.Groups, leaf)
		}
	}
	return t
}

// Load is what runs on a model: free nodes and rings on uplinks. Every policy lives with its own.
type Load struct {
	M        *Model
	Free     []bool
	LeafFree []int
	PodFree  []int
	LeafX    []int // running rings over the uplink of a leaf
	PodX     []int
	Busy     int // nodes of running jobs; drained ones are not among them
}

// NewLoad is an empty cluster.
func NewLoad(m *Model) *Load {
	l := &Load{M: m, Free: make([]bool, m.Nodes), LeafFree: make([]int, m.Leaves()), PodFree: make([]int, m.Pods()), LeafX: make([]int, m.Leaves()), PodX: make([]int, m.Pods())}
	for i := range l.Free {
		l.mark(i, true)
	}
	return l
}

func (l *Load) mark(i int, free bool) {
	if l.Free[i] == free {
		panic(fmt.Sprintf("bench: node %d is given or taken twice", i))
	}
	d := -1
	if free {
		d = 1
	}
	l.Free[i] = free
	l.LeafFree[l.M.Leaf(i)] += d
	l.PodFree[l.M.Pod(i)] += d
}

// Drain takes every node below the limit away for good, without counting it as busy.
func (l *Load) Drain(limit float64) {
	for i, b := range l.M.Share {
		if b < limit && l.Free[i] {
			l.mark(i, false)
		}
	}
}

// Start takes the nodes of a job (sorted positions); End gives them back.
func (l *Load) Start(set []int) { l.change(set, false) }

// End gives the nodes of a job back.
func (l *Load) End(set []int) { l.change(set, true) }

func (l *Load) change(set []int, free bool) {
	d := 1
	if free {
		d = -1
	}
	l.Busy += d * len(set)
	for _, i := range set {
		l.mark(i, free)
	}
	leaves, pods := l.M.spans(set)
	for _, x := range leaves {
		l.LeafX[x] += d
	}
	for _, x := range pods {
		l.PodX[x] += d
	}
}

// spans lists the leaves and pods whose uplinks a ring over the set crosses.
func (m *Model) spans(set []int) (leaves, pods []int) {
	for i, v := range set {
		if i == 0 || m.Leaf(v) != m.Leaf(set[i-1]) {
			leaves = append(leaves, m.Leaf(v))
		}
		if i == 0 || m.Pod(v) != m.Pod(set[i-1]) {
			pods = append(pods, m.Pod(v))
		}
	}
	if len(leaves) == 1 {
		leaves = nil
	}
	if len(pods) == 1 {
		pods = nil
	}
	return leaves, pods
}

// Ring is the bandwidth of a ring over the sorted set, in shares of nominal, next to what runs on the cluster.
func (l *Load) Ring(set []int) float64 {
	m := l.M
	if len(set) < 2 {
		return 1
	}
	leaves, pods := m.spans(set)
	b := m.EtaLeaf
	if leaves != nil {
		b = m.EtaPod
	}
	if pods != nil {
		b = m.EtaCore
	}
	for _, x := range leaves {
		b = min(b, m.LeafUp[x]/float64(1+l.LeafX[x]))
	}
	for _, x := range pods {
		b = min(b, m.PodUp[x]/float64(1+l.PodX[x]))
	}
	for _, v := range set {
		b = min(b, m.Share[v])
	}
	return b
}
