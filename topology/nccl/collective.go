package nccl

import "fmt"

// Collective is an operation, by its nccl-tests name.
type Collective string

// Collectives that the model knows.
const (
	AllReduce     Collective = "all_reduce"
	AllGather     Collective = "all_gather"
	ReduceScatter Collective = "reduce_scatter"
	Broadcast     Collective = "broadcast"
	Reduce        Collective = "reduce"
	AllToAll      Collective = "alltoall"
)

// ParseCollective reads the nccl-tests name ("all_reduce", "all_reduce_perf") or NCCL's own ("AllReduce").
func ParseCollective(s string) (Collective, error) {
	switch s {
	case "all_reduce", "all_reduce_perf", "AllReduce", "allreduce", "all-reduce":
		return AllReduce, nil
	case "all_gather", "all_gather_perf", "AllGather", "allgather", "all-gather":
		return AllGather, nil
	case "reduce_scatter", "reduce_scatter_perf", "ReduceScatter", "reducescatter", "reduce-scatter":
		return ReduceScatter, nil
	case "broadcast", "broadcast_perf", "Broadcast":
		return Broadcast, nil
	case "reduce", "reduce_perf", "Reduce":
		return Reduce, nil
	case "alltoall", "alltoall_perf", "AlltoAll", "AllToAll", "all_to_all", "all-to-all":
		return AllToAll, nil
	}
	return "", fmt.Errorf("collective %q: must be one of all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall", s)
}

// BusFactor turns algorithm bandwidth (bytes / time) into the bus bandwidth that nccl-tests prints for n ranks
// (nccl-tests doc/PERFORMANCE.md).
func (c Collective) BusFactor(n int) float64 {
	switch c {
	case AllReduce:
		return 2 * float64(n-1) / float64(n)
	case AllGather, ReduceScatter, AllToAll:
		return float64(n-1) / float64(n)
	}
	return 1
}

// Algorithm is how NCCL runs a collective, by NCCL's own name. P2P stands for send and receive, which AllToAll is made of.
type Algorithm string

// Algorithms. CollNet ones need a SHARP plugin.
const (
	Tree          Algorithm = "Tree"
	Ring          Algorithm = "Ring"
	CollNetDirect Algorithm = "CollNetDirect"
	CollNetChain  Algorithm = "CollNetChain"
	NVLS          Algorithm = "NVLS"
	NVLSTree      Algorithm = "NVLSTree"
	PAT           Algorithm = "PAT"
	P2P           Algorithm = "P2P"
)

// Protocol is how bytes travel: LL and LL128 carry flags with the data, Simple synchronises per chunk.
type Protocol string

// Protocols.
const (
	LL     Protocol = "LL"
	LL128  Protocol = "LL128"
	Simple Protocol = "Simple"
)
