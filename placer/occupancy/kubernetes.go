package occupancy

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/railmap/railmap/topology"
)

// gpuResource is the extended resource of NVIDIA's device plugin; others of it are parts of GPUs: nvidia.com/mig-1g.10gb,
// nvidia.com/gpu.shared.
const (
	gpuResource    = "nvidia.com/gpu"
	slicePrefix    = "nvidia.com/mig-"
	sharedResource = "nvidia.com/gpu.shared"
)

// kubeObject is what we read of a Node or a Pod.
type kubeObject struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name            string            `json:"name"`
		Namespace       string            `json:"namespace"`
		Labels          map[string]string `json:"labels"`
		Annotations     map[string]string `json:"annotations"`
		OwnerReferences []kubeOwner       `json:"ownerReferences"`
	} `json:"metadata"`
	Spec   kubeSpec   `json:"spec"`
	Status kubeStatus `json:"status"`
}

type kubeOwner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller bool   `json:"controller"`
}

type kubeSpec struct {
	Unschedulable bool        `json:"unschedulable"` // nodes
	Taints        []kubeTaint `json:"taints"`

	NodeName              string          `json:"nodeName"` // pods
	NodeSelector          map[string]text `json:"nodeSelector"`
	Containers            []kubeContainer `json:"containers"`
	InitContainers        []kubeContainer `json:"initContainers"`
	ActiveDeadlineSeconds number          `json:"activeDeadlineSeconds"`
	ResourceClaims        []struct {
		Name string `json:"name"`
	} `json:"resourceClaims"`
	SchedulingGroup struct {
		PodGroupName string `json:"podGroupName"`
	} `json:"schedulingGroup"` // 1.36 and newer
	WorkloadRef struct {
		Name     string `json:"name"`
		PodGroup string `json:"podGroup"`
	} `json:"workloadRef"` // 1.35
}

type kubeTaint struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

type kubeContainer struct {
	RestartPolicy string `json:"restartPolicy"`
	Resources     struct {
		Requests map[string]text `json:"requests"`
		Limits   map[string]text `json:"limits"`
	} `json:"resources"`
}

type kubeStatus struct {
	Conditions []struct {
		Type   string `json:"type"`
		Status string `json:"status"`
		Reason string `json:"reason"`
	} `json:"conditions"`
	Capacity    map[string]text `json:"capacity"`
	Allocatable map[string]text `json:"allocatable"`
	Phase       string          `json:"phase"`
	StartTime   text            `json:"startTime"`
}

func (v *view) kubeVersion(d *document) error {
	var s text
	if err := d.dec.Decode(&s); err != nil {
		return err
	}
	if s == topology.APIVersion {
		return fmt.Errorf("a document of railmap: apiVersion must stand before its first list")
	}
	return nil
}

func (v *view) kubeKind(d *document) error { return d.dec.Decode(&d.kind) }

func (v *view) kubeItems(d *document) error {
	d.items = true
	return d.list("items", '[', func(at string) error {
		var o kubeObject
		if err := d.dec.Decode(&o); err != nil {
			return err
		}
		switch kind := cmp.Or(o.Kind, o.shape()); kind {
		case "Node":
			d.nodes = true
			return v.addNode(at, v.kubeNode(&o))
		case "Pod":
			d.jobs = true
			return v.kubePod(at, &o)
		default:
			v.odd.add("occupancy-kind-ignored", topology.Info, clip(kind, 60), "objects of this kind say nothing about occupancy", "")
			return nil
		}
	})
}

// shape is the kind of an object in a list whose items carry none, as the API server gives them.
func (o *kubeObject) shape() string {
	if o.Spec.Containers != nil {
		return "Pod"
	}
	return "Node"
}

// kubeClose judges a list.
func (v *view) kubeClose(d *document) error {
	switch d.kind {
	case "NodeList":
		d.nodes = true
	case "PodList":
		d.jobs = true
	case "List", "":
	default:
		return fmt.Errorf("kind is %q: must be a List, a NodeList or a PodList", clip(d.kind, 60))
	}
	if !d.items {
		return fmt.Errorf("holds no items: must be a List, a NodeList or a PodList")
	}
	v.hasNodes = v.hasNodes || d.nodes
	v.hasJobs = v.hasJobs || d.jobs
	return nil
}

// kubeNode judges one node; its pods come later.
func (v *view) kubeNode(o *kubeObject) topology.NodeOccupancy {
	out := topology.NodeOccupancy{Name: o.Metadata.Name, Use: topology.UseFree}
	use := func(u topology.NodeUse, why string) {
		if rank(u) > rank(out.Use) {
			out.Use, out.Reason = u, clip(why, 200)
		}
	}
	ready := false
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			ready = c.Status == "True"
			if !ready {
				use(topology.UseDown, "not ready: "+cmp.Or(c.Reason, c.Status))
			}
		}
	}
	if !ready {
		use(topology.UseDown, "no Ready condition")
	}
	if o.Spec.Unschedulable {
		use(topology.UseDrained, "unschedulable")
	}
	for _, t := range o.Spec.Taints {
		if t.Effect == "NoSchedule" || t.Effect == "NoExecute" {
			use(v.taintUse(t), "taint "+t.Key+"="+t.Value)
		}
	}
	v.kubeGPUs(o, &out)
	return out
}

// rank orders uses by how much they close a node.
func rank(u topology.NodeUse) int {
	switch u {
	case topology.UseBusy:
		return 1
	case topology.UseReserved:
		return 2
	case topology.UseDrained:
		return 3
	case topology.UseDown:
		return 4
	}
	return 0
}

// taintUse tells what a taint means for jobs in general. Taints that keep out all but certain pods do not close a node: its
// users tolerate them.
func (v *view) taintUse(t kubeTaint) topology.NodeUse {
	switch t.Key {
	case "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/network-unavailable", "node.kubernetes.io/out-of-service",
		"node.cloudprovider.kubernetes.io/uninitialized", "node.cloudprovider.kubernetes.io/shutdown":
		return topology.UseDown
	case "node.kubernetes.io/unschedulable", "node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure", "node.kubernetes.io/pid-pressure",
		"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted":
		return topology.UseDrained
	case gpuResource:
		return topology.UseFree
	}
	if strings.HasPrefix(t.Key, "railmap.dev/") {
		return topology.UseDrained
	}
	v.odd.add("occupancy-taint", topology.Info, clip(t.Key, 100), "nodes carry a taint whose meaning is not known: they count as usable", "drain them if no job may use them")
	return topology.UseFree
}

// kubeGPUs counts the GPUs of a node. Those that the device plugin has but does not offer (unhealthy ones) count as used.
func (v *view) kubeGPUs(o *kubeObject, out *topology.NodeOccupancy) {
	have, ok := v.quantity(o.Status.Capacity, gpuResource)
	offered, ok2 := v.quantity(o.Status.Allocatable, gpuResource)
	if !ok || !ok2 || have > topology.MaxNodeGPUs {
		v.odd.add("occupancy-gpus-unknown", topology.Warning, o.Metadata.Name, "the number of GPUs of a node is not understood: the node counts as wholly used", "")
		if out.Use == topology.UseFree {
			out.Use = topology.UseBusy
		}
		return
	}
	out.GPUCount = have
	if have > offered {
		out.GPUsUsedCount = have - offered
		if out.Use == topology.UseFree {
			out.Use = topology.UseBusy
		}
		out.Reason = cmp.Or(out.Reason, fmt.Sprintf("%d of %d GPUs cannot be allocated", have-offered, have))
		v.odd.add("occupancy-gpus-lost", topology.Warning, o.Metadata.Name, "GPUs of a node cannot be allocated: they count as used", "look at the device plugin's log on the node")
	}
}

// quantity reads a count of an extended resource, which is a whole number; absent is 0.
func (v *view) quantity(m map[string]text, key string) (int, bool) {
	s, ok := m[key]
	if !ok {
		return 0, true
	}
	n, err := strconv.Atoi(string(s))
	return n, err == nil && n >= 0 && n <= math.MaxInt32
}
