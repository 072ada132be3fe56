// Package topology is the one weighted map of a GPU cluster and the documents it is made from.
//
// Reports come in from the left (NodeReport from a node probe, PairReport from measured node pairs, FabricReport from a
// fabric dump), Build turns them into a Topology: nodes, switches, links with nominal and measured bandwidth, a tree
// (leaf group, pod, core) that exporters and the placer read, and findings for everything an operator should look at.
//
//	fabric, _ := fabric.ParseIbnetdiscover(file, fabric.Options{})
//	topo, err := topology.Build(topology.Input{Fabrics: []*topology.FabricReport{fabric}}, topology.BuildOptions{})
//	for _, g := range topo.Tree.Groups { ... }
//
// The package reads no hardware, runs no program and knows no scheduler. The same input gives the same bytes, in any
// input order. Unknown values are absent, never zero. Units stand in the names of fields.
package topology
