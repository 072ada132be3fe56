package occupancy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railmap/railmap/topology"
)

// Keys by which a pod names railmap's lease: an annotation or a label with the id as its value, or a node selector with the
// label that export kubernetes puts on the nodes of a placement.
const (
	LeaseKey       = "railmap.dev/lease"
	leaseSelectors = "placement.railmap.dev/"
)

// pod is what is kept of a pod that is bound to a node and uses GPUs.
type pod struct {
	job   string // namespace/kind/name
	name  string // of the job
	node  string
	gpus  int
	whole bool // how many GPUs it uses is not known
	start *time.Time
	end   *time.Time
	lease string
}

// kubePod takes a pod. Pods that wait for a node or are finished use nothing; pods without GPUs leave the node free.
func (v *view) kubePod(at string, o *kubeObject) error {
	if err := cmp.Or(checkName(at, o.Metadata.Name), checkName(at+".metadata.namespace", cmp.Or(o.Metadata.Namespace, "default"))); err != nil {
		return err
	}
	switch o.Status.Phase {
	case "Succeeded", "Failed":
		return nil
	case "Pending", "Running", "Unknown", "":
	default:
		v.odd.add("occupancy-state-unknown", topology.Warning, o.Metadata.Namespace+"/"+o.Metadata.Name,
			fmt.Sprintf("phase %q of a pod is not known: it counts as running", clip(o.Status.Phase, 40)), "")
	}
	if o.Spec.NodeName == "" {
		return nil
	}
	p := pod{node: o.Spec.NodeName}
	p.gpus, p.whole = v.podGPUs(o)
	if p.gpus == 0 && !p.whole {
		return nil
	}
	if err := checkName(at+".spec.nodeName", p.node); err != nil {
		return err
	}
	if len(v.pods) == MaxJobs {
		return fmt.Errorf("more than %d pods with GPUs: must be fewer", MaxJobs)
	}
	if _, static := o.Metadata.Annotations["kubernetes.io/config.mirror"]; !static {
		// A static pod holds its GPUs but is no job: nothing will end it.
		var kind string
		kind, p.name = o.group()
		p.job = strings.Join([]string{o.Metadata.Namespace, kind, p.name}, "/")
	}
	p.start, p.end = o.times()
	p.lease = o.lease()
	v.pods = append(v.pods, p)
	return nil
}

// podGPUs is what a pod asks for: the sum of its containers and sidecars, or one init container if that asks for more.
func (v *view) podGPUs(o *kubeObject) (count int, whole bool) {
	name := o.Metadata.Namespace + "/" + o.Metadata.Name
	if len(o.Spec.ResourceClaims) > 0 {
		v.odd.add("occupancy-resource-claims", topology.Info, name, "pods have resource claims, whose devices the pod does not name: their nodes count as wholly used", "")
		whole = true
	}
	ask := func(c *kubeContainer) int {
		list := c.Resources.Requests
		if _, ok := list[gpuResource]; !ok {
			list = c.Resources.Limits // what a request defaults to
		}
		n, ok := v.quantity(list, gpuResource)
		sliced := false
		for _, m := range []map[string]text{c.Resources.Requests, c.Resources.Limits} {
			for key := range m {
				sliced = sliced || strings.HasPrefix(key, slicePrefix) || key == sharedResource
			}
		}
		if !ok || n > topology.MaxNodeGPUs {
			v.odd.add("occupancy-gpus-unknown", topology.Warning, name, "the GPUs that pods ask for are not understood: their nodes count as wholly used", "")
			n, whole = 0, true
		}
		if sliced {
			v.odd.add("occupancy-gpu-parts", topology.Info, name, "pods use parts of GPUs (MIG or time slices): their nodes count as wholly used", "")
			whole = true
		}
		return n
	}
	sidecars, peak := 0, 0
	for i := range o.Spec.InitContainers {
		c := &o.Spec.InitContainers[i]
		n := ask(c)
		peak = max(peak, sidecars+n)
		if c.RestartPolicy == "Always" {
			sidecars += n
		}
	}
	for i := range o.Spec.Containers {
		count += ask(&o.Spec.Containers[i])
	}
	if count = max(count+sidecars, peak); count > topology.MaxNodeGPUs {
		count, whole = topology.MaxNodeGPUs, true
	}
	return count, whole
}

// gangKeys are labels or annotations that name the gang of a pod, the most certain first.
var gangKeys = [...]struct{ key, kind string }{
	{"scheduling.k8s.io/group-name", "podgroup"},            // Volcano
	{"pod-group-name", "podgroup"},                          // KAI
	{"scheduling.x-k8s.io/pod-group", "podgroup"},           // scheduler-plugins
	{"pod-group.scheduling.sigs.k8s.io", "podgroup"},        // scheduler-plugins before 0.24
	{"gang.scheduling.koordinator.sh/name", "podgroup"},     // Koordinator
	{"kueue.x-k8s.io/pod-group-name", "podgroup"},           // Kueue, plain pods
	{"jobset.sigs.k8s.io/jobset-name", "jobset"},            // JobSet
	{"leaderworkerset.sigs.k8s.io/name", "leaderworkerset"}, // one gang per group index
	{"training.kubeflow.org/job-name", "trainingjob"},       // Kubeflow
	{"ray.io/cluster", "raycluster"},                        // KubeRay
	{"batch.kubernetes.io/job-name", "job"},                 // Job
	{"job-name", "job"},                                     // Job before 1.27
}

// group names the gang that a pod belongs to; names that no object can have, which users may write into annotations, are not
// believed. Pods of a ReplicaSet or DaemonSet serve by themselves and are each their own.
func (o *kubeObject) group() (kind, name string) {
	if g := o.Spec.SchedulingGroup.PodGroupName; validObject(g) {
		return "podgroup", g
	}
	if w := o.Spec.WorkloadRef; validObject(w.Name) {
		return "workload", strings.TrimSuffix(w.Name+"."+w.PodGroup, ".")
	}
	for _, k := range gangKeys {
		name := cmp.Or(o.Metadata.Labels[k.key], o.Metadata.Annotations[k.key])
		if !validObject(name) {
			continue
		}
		if k.kind == "leaderworkerset" {
			name = strings.TrimSuffix(name+"."+o.Metadata.Labels["leaderworkerset.sigs.k8s.io/group-index"], ".")
		}
		return k.kind, name
	}
	for _, w := range o.Metadata.OwnerReferences {
		switch w.Kind {
		case "ReplicaSet", "ReplicationController", "DaemonSet", "NodeSet", "Node", "":
		default:
			if w.Controller && validObject(w.Name) {
				return strings.ToLower(w.Kind), w.Name
			}
		}
	}
	return "pod", o.Metadata.Name
}

func validObject(name string) bool { return checkName("", name) == nil && !strings.Contains(name, "/") }

func (o *kubeObject) times() (start, end *time.Time) {
	t, err := time.Parse(time.RFC3339, string(o.Status.StartTime))
	if err != nil || t.Year() < 1970 || t.Year() > 2242 {
		return nil, nil
	}
	t = t.UTC()
	if n, ok := o.Spec.ActiveDeadlineSeconds.id(); ok && n > 0 && n < 1<<31 {
		e := t.Add(time.Duration(n) * time.Second)
		return &t, &e
	}
	return &t, nil
}

func (o *kubeObject) lease() string {
	if id := cmp.Or(o.Metadata.Annotations[LeaseKey], o.Metadata.Labels[LeaseKey]); validLease(id) {
		return id
	}
	var ids []string
	for key := range o.Spec.NodeSelector {
		if id, ok := strings.CutPrefix(key, leaseSelectors); ok && validLease(id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 1 {
		return ids[0]
	}
	return ""
}

// settlePods turns pods into jobs and into the use of nodes.
func (v *view) settlePods() {
	slices.SortStableFunc(v.pods, func(a, b pod) int {
		return cmp.Or(cmp.Compare(a.job, b.job), topology.CompareNames(a.node, b.node), cmp.Compare(a.lease, b.lease))
	})
	uses := map[string]pod{}
	for i := 0; i < len(v.pods); {
		j := i + 1
		for j < len(v.pods) && v.pods[j].job == v.pods[i].job {
			j++
		}
		for k := i; k < j; k++ {
			u := uses[v.pods[k].node]
			u.gpus += v.pods[k].gpus
			u.whole = u.whole || v.pods[k].whole
			uses[v.pods[k].node] = u
		}
		if v.pods[i].job != "" {
			v.jobs = append(v.jobs, jobOf(v.pods[i:j]))
		}
		i = j
	}
	if !v.hasNodes {
		for name := range uses {
			v.nodes = append(v.nodes, topology.NodeOccupancy{Name: name, Use: topology.UseFree})
		}
	}
	for i := range v.nodes {
		if u, ok := uses[v.nodes[i].Name]; ok {
			use(&v.nodes[i], u.gpus, u.whole)
		}
	}
}

// use puts GPUs in use on a node that may have some already.
func use(n *topology.NodeOccupancy, gpus int, whole bool) {
	if n.Use == topology.UseBusy && n.GPUsUsedCount == 0 {
		return // wholly used
	}
	if n.Use == topology.UseFree {
		n.Use = topology.UseBusy
	}
	n.GPUsUsedCount += gpus
	if n.GPUCount > 0 {
		n.GPUsUsedCount = min(n.GPUsUsedCount, n.GPUCount)
	}
	if whole || n.GPUsUsedCount > topology.MaxNodeGPUs {
		n.GPUsUsedCount = 0
	}
}

// jobOf makes a job of its pods, which are sorted by node.
func jobOf(pods []pod) topology.JobOccupancy {
	j := topology.JobOccupancy{ID: pods[0].job, Name: clip(pods[0].name, 200)}
	each := map[string]int{}
	whole := false
	ends := true
	for i := range pods {
		p := &pods[i]
		if len(j.Nodes) == 0 || j.Nodes[len(j.Nodes)-1] != p.node {
			j.Nodes = append(j.Nodes, p.node)
		}
		each[p.node] += p.gpus
		whole = whole || p.whole
		if p.start != nil && (j.StartedAt == nil || p.start.Before(*j.StartedAt)) {
			j.StartedAt = p.start
		}
		if ends = ends && p.end != nil; ends && (j.EndsAt == nil || p.end.After(*j.EndsAt)) {
			j.EndsAt = p.end
		}
		j.Lease = cmp.Or(j.Lease, p.lease)
	}
	if !ends {
		j.EndsAt = nil
	}
	j.GPUsPerNode = each[j.Nodes[0]]
	for _, n := range each {
		if n != j.GPUsPerNode {
			whole = true
		}
	}
	if whole {
		j.GPUsPerNode = 0
	}
	return j
}
