// Package occupancy reads what schedulers print about their nodes and running jobs, and makes topology.Occupancy documents of
// it: which nodes are free, used, drained, down or reserved, which GPUs of them are taken, and which gangs run where until
// when.
//
//	o, err := occupancy.FromSlurm(nodes, jobs)        // scontrol show nodes --json, squeue --json
//	o, err := occupancy.FromKubernetes(nodes, pods)   // kubectl get nodes -o json, kubectl get pods -A -o json
//	o, err := occupancy.FromPBS(nodes, jobs)          // pbsnodes -av -F json, qstat -f -t -F json
//	all, err := occupancy.ReadAll(sources...)         // any of these, in any number of files
//
// The formats are foreign: fields that are not known are skipped. What is known but cannot be understood is either an error
// that names the line, when the whole answer would be wrong, or a finding in the document, when one node or job is concerned.
// Doubt never frees a GPU: a state that is not understood closes its node, a use that cannot be counted takes the whole node.
//
// The package runs no program and opens no connection. It does not decide what may be placed: placer.Cluster.Occupied does.
//
// Sources: the manual pages of scontrol, squeue and sinfo of Slurm 22.05 to 26.05 and what these releases print; the
// Kubernetes API of v1 Node and Pod; the PBS Professional reference guide and what OpenPBS 23.06 prints.
package occupancy
