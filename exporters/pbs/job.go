package pbs

import (
	"errors"
	"fmt"
	"strings"
)

// JobOptions is what a job asks of each of its nodes.
type JobOptions struct {
	CPUs      int  // ncpus; 0 = 1
	GPUs      int  // ngpus; 0 = none
	Processes int  // mpiprocs; 0 = PBS's default
	Shared    bool // do not ask for the whole host
	ByHost    bool // pin by host= instead of vnode=, for hosts with several vnodes
}

// Select gives the -l arguments of qsub that pin a job to nodes, one chunk per node. The order of the chunks is the order of
// PBS_NODEFILE, so rank order is the order of nodes.
//
//	-l select=1:ncpus=8:vnode=n03+1:ncpus=8:vnode=n11 -l place=scatter:excl
func Select(nodes []string, o JobOptions) (string, error) {
	if len(nodes) == 0 {
		return "", errors.New("a placement must have at least one node")
	}
	if o.CPUs < 0 || o.GPUs < 0 || o.Processes < 0 {
		return "", errors.New("cpus, gpus and processes of a node must not be below 0")
	}
	key := "vnode"
	if o.ByHost {
		key = "host"
	}
	want := fmt.Sprintf("1:ncpus=%d", max(o.CPUs, 1))
	if o.GPUs > 0 {
		want += fmt.Sprintf(":ngpus=%d", o.GPUs)
	}
	if o.Processes > 0 {
		want += fmt.Sprintf(":mpiprocs=%d", o.Processes)
	}
	chunks := make([]string, 0, len(nodes))
	seen := make(map[string]bool, len(nodes))
	var errs []error
	for _, n := range nodes {
		errs = append(errs, checkNode(n))
		if seen[n] {
			errs = append(errs, fmt.Errorf("node %q: must stand once in a placement", n))
		}
		seen[n] = true
		chunks = append(chunks, want+":"+key+"="+n)
	}
	place := "scatter:excl"
	if o.Shared {
		place = "scatter"
	}
	return "-l select=" + strings.Join(chunks, "+") + " -l place=" + place, errors.Join(errs...)
}
