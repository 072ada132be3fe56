package kubernetes

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Workload is a kind of object that makes the pods of a gang.
type Workload string

// Workloads that IndexSelectors knows.
const (
	IndexedJob      Workload = "job"         // batch/v1 Job, completionMode Indexed (Kubernetes 1.28 and newer)
	JobSet          Workload = "jobset"      // one Job per node
	PyTorchJob      Workload = "pytorchjob"  // rank 0 is the master, rank i the worker i-1
	StatefulSet     Workload = "statefulset" // Kubernetes 1.28 and newer
	LeaderWorkerSet Workload = "leaderworkerset"
)

// indexLabels gives the labels that the pod of a rank carries; nil for an unknown workload.
func (w Workload) indexLabels(rank int) []label {
	index := strconv.Itoa(rank)
	switch w {
	case IndexedJob:
		return []label{{"batch.kubernetes.io/job-completion-index", index}}
	case JobSet:
		return []label{{"jobset.sigs.k8s.io/job-index", index}}
	case StatefulSet:
		return []label{{"apps.kubernetes.io/pod-index", index}}
	case LeaderWorkerSet:
		return []label{{"leaderworkerset.sigs.k8s.io/worker-index", index}}
	case PyTorchJob:
		if rank == 0 {
			return []label{{"training.kubeflow.org/replica-index", "0"}, {"training.kubeflow.org/replica-type", "master"}}
		}
		return []label{{"training.kubeflow.org/replica-index", strconv.Itoa(rank - 1)}, {"training.kubeflow.org/replica-type", "worker"}}
	}
	return nil
}

// IndexSelectors gives one document per rank: the pod with these labels goes to this node, so rank i runs on nodes[i]. A workload
// has one template for all its pods, so whoever admits the pods (a webhook, or a controller while they are gated) adds the
// nodeSelector of the document whose labels the pod carries.
func IndexSelectors(nodes []string, w Workload) ([]byte, error) {
	names, err := placementNodes(nodes)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, name := range names {
		labels := w.indexLabels(i)
		if labels == nil {
			return nil, fmt.Errorf("workload %q: must be one of %s, %s, %s, %s, %s", w, IndexedJob, JobSet, PyTorchJob, StatefulSet, LeaderWorkerSet)
		}
		b.WriteString("---\napiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n")
		for _, l := range labels {
			fmt.Fprintf(&b, "    %s: %s\n", plain(l.key), quoted(l.value))
		}
		fmt.Fprintf(&b, "spec:\n  nodeSelector:\n    %s: %s\n", HostnameKey, plain(name))
	}
	return []byte(b.String()), nil
}

// JobPatch gives the patch that pins a suspended Job to a placement and starts it, in one step:
//
//	kubectl patch job NAME --type strategic --patch-file FILE
//
// The API server takes it as long as the Job has never run (Kubernetes 1.27 and newer).
func JobPatch(nodes []string, opts AffinityOptions) ([]byte, error) {
	affinity, err := Affinity(nodes, opts)
	if err != nil {
		return nil, err
	}
	out := []byte("spec:\n  suspend: false\n  template:\n    spec:\n")
	for line := range bytes.Lines(affinity) {
		out = append(out, "      "...)
		out = append(out, line...)
	}
	return out, nil
}
