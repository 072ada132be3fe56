package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/exporters/clearml"
	"github.com/railmap/railmap/exporters/kubernetes"
	"github.com/railmap/railmap/exporters/lsf"
	"github.com/railmap/railmap/exporters/pbs"
	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/topology"
	"github.com/railmap/railmap/topology/nccl"
)

// Formats of a placement for schedulers other than Slurm.
const (
	formatAffinity = "affinity"     // the "affinity:" fragment of a pod template
	formatPodPatch = "pod-patch"    // patch of a suspended Job
	formatPodIndex = "pod-index"    // node selector of each pod by its index
	formatLease    = "lease-labels" // labels that mark the nodes, for affinities of large placements
	formatPodGroup = "podgroup"     // the object that makes the pods start together
	formatPBS      = "pbs"          // arguments of qsub
	formatLSF      = "lsf"          // file for bsub -hostfile
	formatClearML  = "clearml"      // requests to a ClearML server
)

// jobFormats are the formats that jobOptions renders.
func jobFormats() []string {
	return []string{formatAffinity, formatPodPatch, formatPodIndex, formatPodGroup, formatLease, formatPBS, formatLSF, formatClearML, formatRankfile}
}

// jobOptions are the flags that say how a job is written for its scheduler.
type jobOptions struct {
	affinity kubernetes.AffinityOptions
	workload string
	podGroup struct{ api, name, namespace string }
	cpus     int
	task     string
	queue    string
	side     string
	tasks    int // per node, from the flag that Slurm's formats share
}

func (j *jobOptions) addFlags(c *cobra.Command) {
	j.addKubernetesFlags(c)
	j.addPBSFlags(c)
	j.addClearMLFlags(c)
	c.Flags().StringVar(&j.side, "side", "any", "with -o clearml: side of the queue")
}

func (j *jobOptions) addKubernetesFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&j.affinity.Lease, "lease-label", "", "for affinities and lease labels: name of the placement in the label of its nodes (needed above 256 nodes)")
	f.BoolVar(&j.affinity.Preferred, "preferred", false, "for affinities: a wish instead of a must")
	f.StringVar(&j.workload, "workload", string(kubernetes.IndexedJob), "for pod-index: job, jobset, pytorchjob, statefulset or leaderworkerset")
	f.StringVar(&j.podGroup.api, "podgroup-api", kubernetes.PodGroupPlugins, "for podgroup: this, or "+kubernetes.PodGroupUpstream)
	f.StringVar(&j.podGroup.name, "job-name", "gang", "for podgroup: name of the pod group")
	f.StringVar(&j.podGroup.namespace, "namespace", "default", "for podgroup: its namespace")
}

func (j *jobOptions) addPBSFlags(c *cobra.Command) {
	c.Flags().IntVar(&j.cpus, "cpus-per-node", 1, "for PBS: ncpus of a chunk")
}

func (j *jobOptions) addClearMLFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&j.task, "task", "", "for ClearML: id of the task")
	f.StringVar(&j.queue, "queue", "", "for ClearML: queue (default: SIDE-LEAF of a placement in one leaf group, else SIDE-any)")
}

// text renders a placement in one of jobFormats; done is false for any other format.
func (j *jobOptions) text(format string, t *topology.Topology, p *placer.Placement) (text []byte, done bool, err error) {
	switch format {
	case formatAffinity:
		text, err = kubernetes.Affinity(p.Nodes, j.affinity)
	case formatPodPatch:
		text, err = kubernetes.JobPatch(p.Nodes, j.affinity)
	case formatPodIndex:
		text, err = kubernetes.IndexSelectors(p.Nodes, kubernetes.Workload(j.workload))
	case formatPodGroup:
		text, err = kubernetes.PodGroup(j.podGroup.api, j.podGroup.name, j.podGroup.namespace, len(p.Nodes))
	case formatLease:
		text, err = kubernetes.LeaseLabels(p.Nodes, j.affinity.Lease)
	case formatPBS:
		var args string
		args, err = pbs.Select(p.Nodes, pbs.JobOptions{CPUs: j.cpus, GPUs: commonGPUs(t, p.Nodes), Processes: j.tasks})
		text = []byte(args + "\n")
	case formatLSF:
		text, err = lsf.Hostfile(p.Nodes, j.tasks)
	case formatRankfile:
		if j.tasks < 1 {
			return nil, true, errors.New("--tasks-per-node must be at least 1")
		}
		text = []byte(nccl.Rankfile(p.Nodes, j.tasks))
	case formatClearML:
		text, err = j.clearml(t, p)
	default:
		return nil, false, nil
	}
	return text, true, err
}

// clearml puts a task into the queue of the placement's leaf group. ClearML has no gangs, so a placement over several leaf
// groups has only the queue that all agents of a side serve.
func (j *jobOptions) clearml(t *topology.Topology, p *placer.Placement) ([]byte, error) {
	queue := j.queue
	if queue == "" {
		queue = j.side + "-any"
		if leaf := leafOf(t, p); leaf != "" {
			queue = clearml.QueueName(j.side, leaf)
		}
	}
	requests, err := clearml.Enqueue(j.task, queue, clearml.TaskOptions{})
	if err != nil {
		return nil, err
	}
	return clearml.EncodeRequests(requests)
}

// leafOf is the leaf group that holds all nodes of a placement; "" when there is none, or no map.
func leafOf(t *topology.Topology, p *placer.Placement) string {
	if t == nil {
		return ""
	}
	parent := map[string]topology.Group{}
	for _, g := range t.Tree.Groups {
		parent[g.Name] = g
	}
	for name := p.Group; name != ""; name = parent[name].Parent {
		if parent[name].Level == topology.LeafLevel {
			return name
		}
	}
	return ""
}

// commonGPUs is the number of GPUs that all nodes have at least; 0 when it is unknown for one, or without a map.
func commonGPUs(t *topology.Topology, nodes []string) int {
	if t == nil {
		return 0
	}
	least := 0
	for i := range t.Nodes {
		n := &t.Nodes[i]
		switch {
		case !slices.Contains(nodes, n.Name):
		case n.GPUCount == 0:
			return 0
		case least == 0 || n.GPUCount < least:
			least = n.GPUCount
		}
	}
	return least
}
