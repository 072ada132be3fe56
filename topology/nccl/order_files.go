package nccl

import (
	"fmt"
	"strings"
)

// plural writes a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// HostList is one host a line, in rank order: what mpirun --hostfile and most launchers read.
func HostList(names []string) string { return lines(names, 1) }

// SlurmHostfile repeats every host once per task, one a line: the file that SLURM_HOSTFILE names, for srun
// --distribution=arbitrary (man srun).
func SlurmHostfile(names []string, tasksPerNode int) string { return lines(names, tasksPerNode) }

func lines(names []string, times int) string {
	var b strings.Builder
	for _, n := range names {
		for range times {
			b.WriteString(n)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Rankfile places rank r on slot r modulo tasksPerNode of its host, as Open MPI's --rankfile reads it.
func Rankfile(names []string, tasksPerNode int) string {
	var b strings.Builder
	rank := 0
	for _, n := range names {
		for slot := range tasksPerNode {
			fmt.Fprintf(&b, "rank %d=%s slot=%d\n", rank, n, slot)
			rank++
		}
	}
	return b.String()
}

// TorchrunMap is "host node-rank" a line, for static rendezvous: each host starts torchrun with its own --node-rank, and the
// first host is the master.
func TorchrunMap(names []string) string {
	var b strings.Builder
	for i, n := range names {
		fmt.Fprintf(&b, "%s %d\n", n, i)
	}
	return b.String()
}
