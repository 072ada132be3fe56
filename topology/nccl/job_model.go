package nccl

import (
	"fmt"
	"slices"
	"sync"
)

// NewNodeModel searches the graphs of the machine that a complete topology document describes, alone and with others. A
// machine without NICs can only be alone; its Joined graphs are empty.
func NewNodeModel(name string, x *XML, o Options) (*NodeModel, error) {
	s, err := NewSystem(x, o)
	if err != nil {
		return nil, err
	}
	low, high := s.SM()
	m := &NodeModel{Name: name, GPUs: s.GPUs(), SM: low, MaxSM: high, CPU: s.Processor(), NVSwitch: s.NVSwitch(), Limiting: x.limiting()}
	if m.NVSwitch && len(s.hosts) == 1 {
		m.Fused = (&domainModels{host: x, options: o, alone: m}).of
	}
	alone, err := s.Search(1)
	if err != nil {
		return nil, err
	}
	m.Alone = alone.Graphs
	if s.Nets() == 0 {
		return m, nil
	}
	joined, err := s.Search(2)
	if err != nil {
		return nil, err
	}
	m.Joined, m.LatencyInter = joined.Graphs, joined.LatencyInter
	m.Channels = joined.RingChannels
	return m, nil
}

// NewNodeModelWithout is NewNodeModel that also searches the machine without its slow NICs, for Advise.
func NewNodeModelWithout(name string, x *XML, o Options) (*NodeModel, error) {
	m, err := NewNodeModel(name, x, o)
	if err != nil || x.slowNIC() == "" {
		return m, err
	}
	without, err := NewNodeModel(name+" without "+m.Limiting, x.withoutSlowNICs(), o)
	if err != nil {
		return nil, err
	}
	without.SKU = m.SKU
	m.Without = without
	return m, nil
}

// withoutSlowNICs is a copy without the nets that are slower than the fastest one.
func (x *XML) withoutSlowNICs() *XML {
	x = x.Clone()
	fastest := 0
	speedOf := func(e *Element) int {
		speed, _ := e.number("speed", 0)
		return speed
	}
	x.Root.walk(func(e *Element, _ []*Element) {
		if e.Name == "net" {
			fastest = max(fastest, speedOf(e))
		}
	})
	x.Root.walk(func(e *Element, _ []*Element) {
		e.Children = slices.DeleteFunc(e.Children, func(c *Element) bool {
			return c.Name == "net" && speedOf(c) > 0 && speedOf(c) < fastest
		})
	})
	return x
}

// Models keeps one NodeModel per hardware: nodes whose documents have one digest share a model, whatever their bus numbers
// and GUIDs. It is safe for use by many goroutines; two that ask for the same new hardware at once may both search, and one
// result is kept.
type Models struct {
	Options Options

	mu    sync.Mutex
	known map[string]*NodeModel
}

// Get returns the model of a complete document. Name is used for new hardware only; "" takes the digest.
func (m *Models) Get(name string, x *XML) (*NodeModel, error) {
	digest := x.Digest()
	m.mu.Lock()
	found := m.known[digest]
	m.mu.Unlock()
	if found != nil {
		return found, nil
	}
	if name == "" {
		name = "sha256:" + digest[:16]
	}
	made, err := NewNodeModelWithout(name, x, m.Options)
	if err != nil {
		return nil, err
	}
	made.Fused = fuser(made, x, m.Options)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = make(map[string]*NodeModel)
	}
	if found := m.known[digest]; found != nil {
		return found, nil
	}
	m.known[digest] = made
	return made, nil
}

// Outlines keeps one NodeModel per outline. It is safe for use by many goroutines; the zero value is ready.
type Outlines struct {
	mu    sync.Mutex
	known map[NodeSpec]*NodeModel
}

// Get returns DefaultNode(spec), made once. Others wait while a new outline is searched.
func (o *Outlines) Get(spec NodeSpec) *NodeModel {
	o.mu.Lock()
	defer o.mu.Unlock()
	m, ok := o.known[spec]
	if !ok {
		if o.known == nil {
			o.known = make(map[NodeSpec]*NodeModel)
		}
		m = DefaultNode(spec)
		o.known[spec] = m
	}
	return m
}

// fuser searches NVLink domains of so many hosts like x: 72 GPUs take a good part of a second.
func fuser(one *NodeModel, x *XML, o Options) func(int) *NodeModel {
	return once(func(n int) *NodeModel {
		hosts := make([]*XML, n)
		for i := range hosts {
			hosts[i] = x
		}
		all, err := Fuse(hosts...)
		if err != nil {
			return nil
		}
		m, err := NewNodeModel(fmt.Sprintf("%d x %s", n, one.Name), all, o)
		if err != nil {
			return nil
		}
		m.SKU = one.SKU
		return m
	})
}

// once makes each size once, for many goroutines; nil stays nil.
func once(build func(int) *NodeModel) func(int) *NodeModel {
	var mu sync.Mutex
	known := make(map[int]*NodeModel)
	return func(n int) *NodeModel {
		mu.Lock()
		defer mu.Unlock()
		m, ok := known[n]
		if !ok {
			m = build(n)
			known[n] = m
		}
		return m
	}
}

// WithGraphs is the same machine with the graphs of a graph file (NCCL_GRAPH_DUMP_FILE) in place of those of the search.
func (m *NodeModel) WithGraphs(f *GraphFile) (*NodeModel, error) {
	ring, ok := f.Of(GraphRing)
	if !ok || ring.Graph.Channels < 1 {
		return nil, fmt.Errorf("graph file: must have a ring (graph id %d)", GraphRing)
	}
	// Without a tree the algorithm has no bandwidth, but ring and tree share their number of channels.
	g := Graphs{Ring: ring.Graph, Tree: Graph{Pattern: PatternBalancedTree, Channels: ring.Graph.Channels}}
	if tree, ok := f.Of(GraphTree); ok {
		g.Tree = tree.Graph
	}
	if nvls, ok := f.Of(GraphNVLS); ok {
		g.NVLS = nvls.Graph
	}
	given := *m
	given.Alone, given.Joined, given.LatencyInter = g, g, ring.LatencyInter
	given.Name, given.Fused, given.Without = m.Name+" with the graphs of a file", nil, nil
	return &given, nil
}

// highest is the highest compute capability of the node's GPUs.
func (m *NodeModel) highest() int { return max(m.SM, m.MaxSM) }
