package kubernetes

import "fmt"

// APIs of pod groups.
const (
	PodGroupPlugins  = "scheduling.x-k8s.io/v1alpha1" // scheduler-plugins; pods carry the label scheduling.x-k8s.io/pod-group
	PodGroupUpstream = "scheduling.k8s.io/v1beta1"    // Kubernetes 1.37 (gate GenericWorkload); pods name it in spec.schedulingGroup
)

// PodGroup gives the object that makes the pods of a placement start together or not at all. pods is their number.
func PodGroup(api, name, namespace string, pods int) ([]byte, error) {
	for _, n := range []string{name, namespace} {
		if !isSubdomain(n) || len(n) > maxLabelValue {
			return nil, fmt.Errorf("name %q: must be a DNS name of at most %d lower-case letters, digits, '-' and '.'", n, maxLabelValue)
		}
	}
	if pods < 1 {
		return nil, fmt.Errorf("%d pods: a pod group must have at least one", pods)
	}
	head := fmt.Sprintf("apiVersion: %s\nkind: PodGroup\nmetadata:\n  name: %s\n  namespace: %s\nspec:\n", api, plain(name), plain(namespace))
	switch api {
	case PodGroupPlugins:
		return fmt.Appendf(nil, "# Label of the pods: scheduling.x-k8s.io/pod-group: %s\n%s  minMember: %d\n", name, head, pods), nil
	case PodGroupUpstream:
		return fmt.Appendf(nil, "# In the pods: spec.schedulingGroup.podGroupName: %s\n%s  schedulingPolicy:\n    gang:\n      minCount: %d\n", name, head, pods), nil
	}
	return nil, fmt.Errorf("pod group API %q: must be %s or %s", api, PodGroupPlugins, PodGroupUpstream)
}
