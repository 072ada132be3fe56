package nccl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// Cluster predicts jobs on one topology: its fabric, and a model for every node. A node whose hardware is known (Known) has
// the graphs of its own search; any other has those of a regular node with its GPUs and NICs (DefaultNode). It is safe for
// use by many goroutines.
type Cluster struct {
	fabric *Fabric
	nodes  []topology.Node
	known  map[string]*NodeModel
	usual  NodeSpec // of nodes about which nothing is known

	outlines Outlines
}

// ClusterOptions change how a cluster is read. The zero value is right.
type ClusterOptions struct {
	Known map[string]*NodeModel // models by node name, from XML or node reports
	Usual NodeSpec              // nodes about which nothing is known; zero = eight H100 with a NIC each
}

// NewCluster reads a topology.
func NewCluster(t *topology.Topology, o ClusterOptions) (*Cluster, error) {
	f, err := NewFabric(t)
	if err != nil {
		return nil, err
	}
	return &Cluster{fabric: f, nodes: t.Nodes, known: o.Known, usual: o.Usual}, nil
}

// Model returns the model of one node of the topology; gpus is how many of its GPUs the job uses, 0 = all.
func (c *Cluster) Model(place int32, gpus int) *NodeModel {
	n := &c.nodes[place]
	if m := c.known[n.Name]; m != nil && (gpus == 0 || gpus == m.GPUs) {
		return m
	}
	return c.outlines.Get(c.spec(n, gpus))
}

// spec is the outline of a node: the compute NICs that are there, and which of them are slower than the fastest.
func (c *Cluster) spec(n *topology.Node, gpus int) NodeSpec {
	s := c.usual
	if n.GPUModel != "" {
		s.GPUModel = n.GPUModel
	}
	if n.GPUCount > 0 {
		s.GPUs = n.GPUCount
	}
	speeds := nicSpeeds(n)
	s = s.complete()
	switch {
	case len(speeds) > 0:
		s.NICs, s.NICBytesPerSecond = len(speeds), slices.Max(speeds)
		for _, x := range speeds {
			if x < slowNIC*s.NICBytesPerSecond {
				s.SlowNICs, s.SlowBytesPerSecond = s.SlowNICs+1, slices.Min(speeds)
			}
		}
	case n.NominalBandwidthBytesPerSecond > 0:
		s.NICBytesPerSecond = n.NominalBandwidthBytesPerSecond / float64(s.NICs)
	}
	if gpus > 0 && gpus < s.GPUs {
		s.NICs = max(1, s.NICs*gpus/s.GPUs)
		s.GPUs, s.SlowNICs = gpus, min(s.SlowNICs, s.NICs-1)
	}
	return s
}

// slowNIC is the share of the fastest NIC's speed below which a NIC counts as slow.
const slowNIC = .9

// nicSpeeds lists the nominal speeds of the compute NICs that are not down; nil when one of them is unknown.
func nicSpeeds(n *topology.Node) []float64 {
	var out []float64
	for i := range n.NICs {
		nic := &n.NICs[i]
		if nic.Rail == nil || nic.State == topology.Down {
			continue
		}
		if nic.NominalBandwidthBytesPerSecond <= 0 {
			return nil
		}
		out = append(out, nic.NominalBandwidthBytesPerSecond)
	}
	return out
}

// Job makes a job on nodes in rank order; gpus is the number of GPUs used on each, 0 = all. Collective and size are left to
// the caller.
func (c *Cluster) Job(names []string, gpus int) (*Job, error) {
	j := &Job{Fabric: c.fabric, Nodes: make([]JobNode, 0, len(names))}
	var unknown []string
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return nil, fmt.Errorf("%s stands twice among the nodes of the job: each node must stand once, whatever its number of ranks", name)
		}
		seen[name] = true
		place := c.fabric.Place(name)
		if place < 0 {
			unknown = append(unknown, name)
			continue
		}
		j.Nodes = append(j.Nodes, JobNode{Name: name, Model: c.Model(place, gpus), Place: place})
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("the map does not know %s: names must be those of the map", strings.Join(unknown[:min(len(unknown), 5)], ", "))
	}
	return j, nil
}
