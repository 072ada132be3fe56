// Package nccl predicts what NVIDIA's NCCL will make of a machine and a job: it reads and writes NCCL topology XML, finds
// the rings, trees and NVLS graphs that NCCL's search would find, and computes time and bus bandwidth per algorithm and
// protocol. It never loads NCCL; every rule is written from the behaviour of the published source, per version.
//
//	topology file --ReadXML--> XML --NewSystem--> System --Search--> Graphs --NewNodeModel--> NodeModel
//	node report --FromReport--^  ^--Fill, Fuse, FuseNICs                     (kept by Digest in Models)
//	outline --NodeSpec.XML-------'
//	                         NodeModels of a job + Fabric + Job --Predict--> time, bus bandwidth, what binds
//
// A machine is searched once: the graphs depend on nothing but its hardware (XML.Digest) and NCCL's settings (Options).
//
//	x, err := nccl.ReadXML(f)                                        // what NCCL_TOPO_DUMP_FILE wrote
//	x, err = nccl.Fill(x, nccl.FillOptions{SM: 90, NVLinks: 18, SpeedMbps: 400000}) // what it leaves out
//	g, err := nccl.GraphsFor(x, 2, nccl.Options{})                   // 8 channels of 48 GB/s on an HGX H100
//
// It is no simulator: it knows NCCL's own model of a machine, not what the machine does. Measured results correct it
// (Calibration). Collectives of AMD's RCCL, whose search is another one, are not predicted.
package nccl
