// Package fakenode makes machines that do not exist: a tree of /sys and /proc files, and stand-ins for the GPU driver's
// libraries that behave as a script says. Tests and demonstrations probe them like real nodes. Nothing here is copied from a
// real machine; addresses and names follow the layout of common servers.
//
//	m := fakenode.H100x8()
//	m.NIC("mlx5_3").State = "1: DOWN"
//	err := m.WriteTree(dir)
package fakenode
