// Package placer answers, for a gang of k nodes: which nodes, in which order, how fast, and what stands in the way.
//
// A Cluster is the tree of a topology.Topology made fast to ask. A Snapshot adds what is taken right now. Place is a pure
// function of a Snapshot and a Request: the same two give the same bytes.
//
//	c, err := placer.NewCluster(topo, placer.Options{})
//	s, err := c.Snapshot(placer.State{Busy: []string{"node003"}})
//	p, err := placer.Place(s, &placer.Request{Nodes: 16})
//	fmt.Println(p.Nodes, p.Share, p.Binding)
//
// The model is a bottleneck on a tree. A node v carries b_v, its measured share of the nominal bandwidth; an uplink e of
// capacity A_e (in node-worths) that x_e running rings already cross carries A_e/(1+x_e) of one more; a pair of nodes whose
// lowest common group is T reaches at most eta_T. For a ring the best set of k nodes then has a closed form (ring.go), for
// all-to-all an exact search (alltoall.go). NCCL's rings follow rank order and never re-order nodes, so the answer is an
// ordered list, depth first over the tree: every uplink is passed once.
//
// An Engine keeps the current Snapshot up to date for many readers: one writer, copy on write, no locks for readers.
//
// The package reads no file, runs no program, and knows no scheduler and no clock.
package placer
