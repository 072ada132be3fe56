package occupancy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// pbsNode is what we read of a vnode of "pbsnodes -av -F json".
type pbsNode struct {
	State     words           `json:"state"`
	Jobs      []text          `json:"jobs"`
	Comment   text            `json:"comment"`
	Available map[string]text `json:"resources_available"`
	Assigned  map[string]text `json:"resources_assigned"`
}

// pbsTime keeps the server's clock, the newest of several answers.
func (v *view) pbsTime(d *document) error {
	var n number
	if err := d.dec.Decode(&n); err != nil {
		return err
	}
	if t := n.time(); t != nil && (v.time == nil || t.After(*v.time)) {
		v.time = t
	}
	return nil
}

func (v *view) pbsVersion(d *document) error {
	var s text
	if err := d.dec.Decode(&s); err != nil {
		return err
	}
	v.source = "pbs " + clip(string(s), 40)
	return nil
}

func (v *view) pbsNodes(d *document) error {
	d.nodes = true
	return d.list("nodes", '{', func(name string) error {
		var n pbsNode
		if err := d.dec.Decode(&n); err != nil {
			return err
		}
		return v.addNode("node", v.pbsNode(name, &n))
	})
}

// pbsNode judges one vnode.
func (v *view) pbsNode(name string, n *pbsNode) topology.NodeOccupancy {
	out := topology.NodeOccupancy{Name: name, Use: topology.UseFree}
	busy, whole := len(n.Jobs) > 0, false
	for _, w := range n.State {
		u, full := v.pbsState(name, w)
		busy, whole = busy || u == topology.UseBusy, whole || full
		if rank(u) > rank(out.Use) {
			out.Use = u
		}
	}
	if rank(out.Use) > rank(topology.UseBusy) {
		out.Reason = cmp.Or(clip(string(n.Comment), 200), strings.Join(n.State, ", "))
	}
	have, ok := v.quantity(n.Available, "ngpus")
	used, ok2 := v.quantity(n.Assigned, "ngpus")
	if !ok || !ok2 || have > topology.MaxNodeGPUs || used > topology.MaxNodeGPUs {
		v.odd.add("occupancy-gpus-unknown", topology.Warning, name, "ngpus of a node is not understood: the node counts as wholly used when it runs jobs", "")
		have, used, whole = 0, 0, true
	}
	out.GPUCount = have
	if (busy || used > 0) && out.Use == topology.UseFree {
		out.Use = topology.UseBusy
	}
	if !whole {
		out.GPUsUsedCount = used
	}
	return out
}

// pbsState reads one word of a vnode's state (pbs_node_attributes, "state"); full means that no GPU is left whatever the counts
// say. A word that is not known closes the node.
func (v *view) pbsState(name, w string) (u topology.NodeUse, full bool) {
	switch w {
	case "free":
		return topology.UseFree, false
	case "job-busy", "job-exclusive", "busy":
		return topology.UseBusy, true
	case "job-sharing":
		return topology.UseBusy, false
	case "resv-exclusive":
		return topology.UseReserved, true
	case "offline", "offline_by_mom", "maintenance", "provisioning", "wait-provisioning", "sleep", "powered-off":
		return topology.UseDrained, false
	case "down", "unresolvable", "stale", "state-unknown", "initializing":
		return topology.UseDown, false
	}
	v.odd.add("occupancy-state-unknown", topology.Warning, name, fmt.Sprintf("state %q of a node is not known: the node counts as drained", clip(w, 40)),
		"report it with the version of PBS")
	return topology.UseDrained, false
}

// hostOf is the host of a vnode: "n01[0]" and "n01[1]" are parts of n01, as hooks make them, one for each NUMA node.
func hostOf(vnode string) string {
	at := strings.LastIndexByte(vnode, '[')
	if at <= 0 || !strings.HasSuffix(vnode, "]") {
		return vnode
	}
	for _, c := range vnode[at+1 : len(vnode)-1] {
		if c < '0' || c > '9' {
			return vnode
		}
	}
	return vnode[:at]
}

// foldVnodes makes one node of the vnodes of a host: GPUs add up, and the use that closes most counts.
func (v *view) foldVnodes() {
	byHost := map[string]int{}
	var out []topology.NodeOccupancy
	slices.SortStableFunc(v.nodes, func(a, b topology.NodeOccupancy) int { return topology.CompareNames(a.Name, b.Name) })
	for i, n := range v.nodes {
		name := n.Name
		n.Name = hostOf(name)
		at, seen := byHost[n.Name]
		if !seen || i > 0 && v.nodes[i-1].Name == name { // the same vnode twice is an error, see finish
			byHost[n.Name] = len(out)
			out = append(out, n)
			continue
		}
		out[at] = foldVnode(out[at], n)
	}
	v.nodes = out
}

func foldVnode(a, b topology.NodeOccupancy) topology.NodeOccupancy {
	whole := a.Use == topology.UseBusy && a.GPUsUsedCount == 0 || b.Use == topology.UseBusy && b.GPUsUsedCount == 0
	a.GPUCount = min(a.GPUCount+b.GPUCount, topology.MaxNodeGPUs)
	a.GPUsUsedCount += b.GPUsUsedCount
	if rank(b.Use) > rank(a.Use) {
		a.Use, a.Reason = b.Use, b.Reason
	}
	if whole || a.GPUsUsedCount > topology.MaxNodeGPUs {
		a.GPUsUsedCount = 0
	}
	return a
}
