// Package pbs renders the map for PBS Pro and OpenPBS: one resource per level of the tree on every node, placement sets over
// these resources, and the select and place strings that pin a job to a placement.
//
// PBS takes its configuration through qmgr, a line at a time, and refuses a resource that is created twice. So creation stands
// in a file of its own (once), the values of the nodes in another that can be loaded any number of times:
//
//	qmgr < resources.qmgr    # once
//	qmgr < nodes.qmgr        # after every change of the map
//	qmgr < server.qmgr       # once: placement sets, finest level first
//
// Lint reads such files back with the grammar of qmgr and the rules of the server, as OpenPBS 23.06 answered them.
package pbs
