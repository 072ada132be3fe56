package occupancy

import (
	"fmt"
	"strings"
	"testing"
)

const ready = `"conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}], "capacity": {"cpu": "96", "nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": "8"}`

func kubeNode(name, spec, status string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": %q}, "spec": {%s}, "status": {%s}}`, name, spec, status)
}

// kubePod is a running pod with one container; meta and spec are more fields, each with a comma before it.
func kubePod(name, node string, gpus int, meta, spec string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q, "namespace": "ml"%s}, "spec": {"nodeName": %q,
 "containers": [{"name": "c", "resources": {"requests": {"cpu": "500m", "nvidia.com/gpu": "%d"}}}]%s}, "status": {"phase": "Running"}}`, name, meta, node, gpus, spec)
}

func list(items ...string) string {
	return `{"apiVersion": "v1", "items": [` + strings.Join(items, ",\n") + `], "kind": "List", "metadata": {"resourceVersion": ""}}`
}

func TestKubernetesNodes(t *testing.T) {
	for _, c := range []struct{ name, spec, status, want string }{
		{"ready", ``, ready, "n1 free of 8"},
		{"cordoned", `"unschedulable": true, "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]`, ready, "n1 drained of 8: unschedulable"},
		{"not ready", ``, `"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]`, "n1 down: not ready: NodeStatusUnknown"},
		{"not ready and cordoned", `"unschedulable": true`, `"conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]`, "n1 down: not ready: KubeletNotReady"},
		{"new", ``, ``, "n1 down: no Ready condition"},
		{"taint of GPU nodes", `"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]`, ready, "n1 free of 8"},
		{"our taint", `"taints": [{"key": "railmap.dev/probe", "value": "failed", "effect": "NoSchedule"}]`, ready, "n1 drained of 8: taint railmap.dev/probe=failed"},
		{"preference", `"taints": [{"key": "x", "effect": "PreferNoSchedule"}]`, ready, "n1 free of 8"},
		{"unknown taint", `"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]`, ready,
			"n1 free of 8|info occupancy-taint team: nodes carry a taint whose meaning is not known: they count as usable"},
		{"lost GPU", ``, strings.Replace(ready, `"allocatable": {"nvidia.com/gpu": "8"}`, `"allocatable": {"nvidia.com/gpu": "7"}`, 1),
			"n1 busy of 8 used 1: 1 of 8 GPUs cannot be allocated|warning occupancy-gpus-lost n1: GPUs of a node cannot be allocated: they count as used"},
		{"odd count", ``, strings.Replace(ready, `"nvidia.com/gpu": "8"`, `"nvidia.com/gpu": "8k"`, 1),
			"n1 busy|warning occupancy-gpus-unknown n1: the number of GPUs of a node is not understood: the node counts as wholly used"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := FromKubernetes(strings.NewReader(list(kubeNode("n1", c.spec, c.status))), strings.NewReader(`{"kind": "PodList", "items": []}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(brief(o), "|"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestKubernetesPods(t *testing.T) {
	n1, n2 := kubeNode("n1", "", ready), kubeNode("n2", "", ready)
	meta := func(s string) string { return ", " + s }
	for _, c := range []struct {
		name string
		pods []string
		want []string
	}{
		{"gang of a job, whole nodes", []string{kubePod("t-0", "n1", 8, meta(`"labels": {"job-name": "t"}`), ""), kubePod("t-1", "n2", 8, meta(`"labels": {"job-name": "t"}`), "")},
			[]string{"n1 busy of 8 used 8", "n2 busy of 8 used 8", `job ml/job/t "t" on n1,n2 x8`}},
		{"shared node", []string{kubePod("a", "n1", 2, "", ""), kubePod("b", "n1", 1, "", "")},
			[]string{"n1 busy of 8 used 3", "n2 free of 8", `job ml/pod/a "a" on n1 x2`, `job ml/pod/b "b" on n1 x1`}},
		{"no GPUs", []string{kubePod("ds", "n1", 0, meta(`"ownerReferences": [{"kind": "DaemonSet", "name": "ds", "controller": true}]`), "")}, []string{"n1 free of 8", "n2 free of 8"}},
		{"replicas serve alone", []string{kubePod("r1", "n1", 1, meta(`"ownerReferences": [{"kind": "ReplicaSet", "name": "r", "controller": true}]`), ""),
			kubePod("r2", "n2", 1, meta(`"ownerReferences": [{"kind": "ReplicaSet", "name": "r", "controller": true}]`), "")},
			[]string{"n1 busy of 8 used 1", "n2 busy of 8 used 1", `job ml/pod/r1 "r1" on n1 x1`, `job ml/pod/r2 "r2" on n2 x1`}},
		{"owner", []string{kubePod("w1", "n1", 8, meta(`"ownerReferences": [{"kind": "PyTorchJob", "name": "w", "controller": true}]`), ""),
			kubePod("w2", "n2", 4, meta(`"ownerReferences": [{"kind": "PyTorchJob", "name": "w", "controller": true}]`), "")},
			[]string{"n1 busy of 8 used 8", "n2 busy of 8 used 4", `job ml/pytorchjob/w "w" on n1,n2`}},
		{"pod group wins", []string{kubePod("g1", "n1", 8, meta(`"labels": {"job-name": "t"}, "annotations": {"scheduling.k8s.io/group-name": "g", "railmap.dev/lease": "l-9"}`), ""),
			kubePod("g2", "n2", 8, meta(`"labels": {"job-name": "u"}, "annotations": {"scheduling.k8s.io/group-name": "g"}`), "")},
			[]string{"n1 busy of 8 used 8", "n2 busy of 8 used 8", `job ml/podgroup/g "g" on n1,n2 x8 lease l-9`}},
		{"upstream group", []string{kubePod("g1", "n1", 8, "", `, "schedulingGroup": {"podGroupName": "w"}, "nodeSelector": {"placement.railmap.dev/l-7": "1"}`)},
			[]string{"n1 busy of 8 used 8", "n2 free of 8", `job ml/podgroup/w "w" on n1 x8 lease l-7`}},
		{"name that no object has", []string{kubePod("a", "n1", 8, meta(`"annotations": {"pod-group-name": "x y\u0000"}`), "")},
			[]string{"n1 busy of 8 used 8", "n2 free of 8", `job ml/pod/a "a" on n1 x8`}},
		{"leader and workers", []string{kubePod("l", "n1", 8, meta(`"labels": {"leaderworkerset.sigs.k8s.io/name": "l", "leaderworkerset.sigs.k8s.io/group-index": "1"}`), "")},
			[]string{"n1 busy of 8 used 8", "n2 free of 8", `job ml/leaderworkerset/l.1 "l.1" on n1 x8`}},
		{"finished", []string{strings.Replace(kubePod("a", "n1", 8, "", ""), "Running", "Succeeded", 1)}, []string{"n1 free of 8", "n2 free of 8"}},
		{"waits for a node", []string{strings.Replace(kubePod("a", "", 8, "", ""), "Running", "Pending", 1)}, []string{"n1 free of 8", "n2 free of 8"}},
		{"bound, pulls its image", []string{strings.Replace(kubePod("a", "n1", 8, "", ""), "Running", "Pending", 1)}, []string{"n1 busy of 8 used 8", "n2 free of 8", `job ml/pod/a "a" on n1 x8`}},
		{"static pod", []string{kubePod("a", "n1", 2, meta(`"annotations": {"kubernetes.io/config.mirror": "1"}`), "")}, []string{"n1 busy of 8 used 2", "n2 free of 8"}},
		{"limits alone", []string{strings.Replace(kubePod("a", "n1", 2, "", ""), "requests", "limits", 1)}, []string{"n1 busy of 8 used 2", "n2 free of 8", `job ml/pod/a "a" on n1 x2`}},
		{"init containers", []string{kubePod("a", "n1", 2, "", `, "initContainers": [{"restartPolicy": "Always", "resources": {"requests": {"nvidia.com/gpu": "1"}}}, {"resources": {"requests": {"nvidia.com/gpu": 4}}}]`)},
			[]string{"n1 busy of 8 used 5", "n2 free of 8", `job ml/pod/a "a" on n1 x5`}},
		{"deadline", []string{strings.Replace(kubePod("a", "n1", 2, "", `, "activeDeadlineSeconds": 3600`), `"phase"`, `"startTime": "2026-12-01T16:00:00Z", "phase"`, 1)},
			[]string{"n1 busy of 8 used 2", "n2 free of 8", `job ml/pod/a "a" on n1 x2 from 16:00:00 to 01T17:00:00`}},
		{"claims", []string{kubePod("a", "n1", 2, "", `, "resourceClaims": [{"name": "gpu"}]`)}, []string{"n1 busy of 8", "n2 free of 8", `job ml/pod/a "a" on n1`,
			"info occupancy-resource-claims ml/a: pods have resource claims, whose devices the pod does not name: their nodes count as wholly used"}},
		{"parts", []string{strings.Replace(kubePod("a", "n1", 2, "", ""), "nvidia.com/gpu", "nvidia.com/mig-1g.10gb", 1)}, []string{"n1 busy of 8", "n2 free of 8", `job ml/pod/a "a" on n1`,
			"info occupancy-gpu-parts ml/a: pods use parts of GPUs (MIG or time slices): their nodes count as wholly used"}},
		{"unlisted node", []string{kubePod("a", "n9", 2, "", "")}, []string{"n1 free of 8", "n2 free of 8", `job ml/pod/a "a" on n9 x2`,
			"warning occupancy-node-unknown n9: jobs run on nodes that the list of nodes lacks"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Together in one list, and apart in the other order.
			o, err := Read(strings.NewReader(list(append([]string{n2, n1, `{"kind": "Pod", "metadata": {"name": "x"}, "spec": {}}`}, c.pods...)...)), "list")
			if err != nil {
				t.Fatal(err)
			}
			check(t, o, c.want)
			if o, err = FromKubernetes(strings.NewReader(list(n1, n2)), strings.NewReader(list(c.pods...))); err != nil {
				t.Fatal(err)
			}
			check(t, o, c.want)
		})
	}
}

func TestKubernetesPodsOnly(t *testing.T) {
	o, err := FromKubernetes(nil, strings.NewReader(list(kubePod("a", "n1", 2, "", ""), `{"kind": "Service", "metadata": {"name": "s"}}`)))
	if err != nil {
		t.Fatal(err)
	}
	check(t, o, []string{"n1 busy used 2", `job ml/pod/a "a" on n1 x2`,
		"warning occupancy-no-nodes kubernetes: the input has jobs only: nodes that are drained, down or idle are not known",
		"info occupancy-kind-ignored Service: objects of this kind say nothing about occupancy"})
}
