// Package probe finds out what one node is made of: processors and NUMA nodes, the PCI tree, RDMA ports, network devices and
// GPUs, and how far they are from each other. It reads below a root path, so that a recorded tree is probed like a live
// machine, and asks the GPU driver when its library is there. It also measures what needs no GPU: memory copies on each NUMA
// node and TCP over loopback.
//
// The answer is a topology.NodeReport. What cannot be read is absent, never zero; what looks wrong is a finding. The package
// does not know of other nodes, of the fabric or of schedulers.
//
//	report, err := probe.Run(ctx, probe.Options{Root: "/", Measure: true})
//
// The same tree gives the same report, byte for byte, when nothing is measured.
package probe
