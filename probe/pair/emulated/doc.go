// Emulated is a cluster of network namespaces on one machine, measured by real processes over real TCP:
//
//	core0
//	├── spine0 ── leaf0 (h00 h01 h02 h03), leaf1 (h04 ...)
//	└── spine1 ── leaf2 (h08 ...), leaf3 (h12 ... h15)
//
// Hosts are namespaces, switches bridges in one more namespace, cables pairs of virtual interfaces, each shaped in both
// directions by tbf. It prints what was measured against what was shaped, and takes everything down again. It needs root
// and the programs ip and tc (iproute2).
//
//	go run ./probe/pair/emulated            # sweep of all pairs, then full uplinks
//	go run ./probe/pair/emulated -faults 8  # slow hosts and uplinks, and who is blamed
package main
