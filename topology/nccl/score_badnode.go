package nccl

import "io"

var badNodeColumns = []string{"bad_node", "bad_node_graph_ring_tree_nvls", "nodes", "size_bytes", "best_algo", "best_busbw_GBps", "per_algo_busbw_GBps"}

// sameNode is the word of bad-node files for "no fault"; its graphs are those of the good nodes.
const sameNode = "same"

// ReadBadNodes reads a bad-node file: AllReduce of one node with a fault among good ones, all 8 GPUs of compute capability
// 9.0 on Intel CPUs. The row named "same" gives the graphs of the good nodes and must come first.
func ReadBadNodes(r io.Reader) ([]Vector, error) {
	var out []Vector
	var good *Graphs
	err := readTable(r, badNodeColumns, func(f fields) error {
		v := Vector{Machine: "8xH100, one bad node", GPUsPerNode: 8, CPUVendor: "intel", Env: "SM=90", Collective: AllReduce, BadNode: f.text("bad_node")}
		v.Graphs = f.graphs("bad_node_graph_ring_tree_nvls")
		v.Graphs.Tree.Pattern = PatternTree
		v.Nodes = f.integer("nodes", 1, 1<<20)
		v.SizeBytes = uint64(f.integer("size_bytes", 1, 1<<50))
		v.Best.Algorithm = Algorithm(f.text("best_algo"))
		v.Best.BusBandwidthBytesPerSecond = f.number("best_busbw_GBps") * 1e9
		v.PerAlgorithm = f.perAlgorithm("per_algo_busbw_GBps")
		if v.BadNode == sameNode && good == nil {
			g := v.Graphs
			good = &g
		}
		if good == nil {
			f.fail("bad_node", v.BadNode, "\"same\" in the first row, for the graphs of the good nodes")
			return f.err()
		}
		v.GoodGraphs = *good
		out = append(out, v)
		return f.err()
	})
	return out, err
}
