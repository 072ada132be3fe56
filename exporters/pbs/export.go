package pbs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// Names of the files that Export and VnodeFile render.
const (
	ResourcesName = "resources.qmgr"
	NodesName     = "nodes.qmgr"
	ServerName    = "server.qmgr"
	VnodeName     = "railmap.vnodes"
)

// Resources of a node that hold what was measured. Both are whole numbers in a float, so that jobs can ask for ncclGbps>=350.
const (
	BandwidthResource = "nccl_gbps"     // measured network bandwidth, one way, all rails, Gbit/s, rounded down in 5 % steps
	ShareResource     = "railmap_share" // effective bandwidth in percent of a healthy node's, in steps of 5
)

// Options is how the map is rendered for PBS.
type Options struct {
	// Prefix stands before the names of the level resources ("rm_" makes rm_leaf); "" = none.
	Prefix string
	// Nodes are the nodes that the server knows (pbsnodes -a): others are left out, because the server refuses a line with an
	// unknown node, and those that the map does not know get values that no other node has; both are told as warnings. nil = the
	// nodes of the map.
	Nodes []string
	// NeverSpan makes the server hold back a job that fits in no placement set, instead of spreading it without a word.
	NeverSpan bool
	// Previous are the values in force (node -> resource -> value, see ReadNodes), for the hysteresis of measured ones.
	Previous map[string]map[string]string
}

// Export renders resources.qmgr, nodes.qmgr and server.qmgr. Every node has a value at every level; a node outside the fabric
// gets values that no other node has. Problems are warnings: what was left out.
func Export(t *topology.Topology, o Options) ([]exporters.File, []exporters.Problem, error) {
	rows, levels, warnings, err := nodeRows(t, o)
	if err != nil {
		return nil, nil, err
	}
	var b strings.Builder
	b.WriteString("# Written by railmap. May be loaded any number of times: qmgr < " + NodesName + "\n")
	for _, r := range rows {
		for _, v := range r.values {
			fmt.Fprintf(&b, "set node %s resources_available.%s = %s\n", r.node, v.resource, v.value)
		}
	}
	return []exporters.File{
		{Name: ResourcesName, Data: resourcesFile(levels)},
		{Name: NodesName, Data: []byte(b.String()), Nodes: len(rows)},
		{Name: ServerName, Data: serverFile(levels, o.NeverSpan)},
	}, warnings, nil
}

func resourcesFile(levels []string) []byte {
	var b strings.Builder
	b.WriteString("# Written by railmap. Load it once: the server refuses a resource that is there already (error 15055).\n")
	for _, l := range levels {
		fmt.Fprintf(&b, "create resource %s type=string_array,flag=h\n", l)
	}
	for _, r := range []string{BandwidthResource, ShareResource} {
		fmt.Fprintf(&b, "create resource %s type=float,flag=h\n", r)
	}
	return []byte(b.String())
}

// serverFile makes the levels placement sets, finest first. Without only_explicit_psets the server would make one more set of
// the nodes that lack the resource.
func serverFile(levels []string, neverSpan bool) []byte {
	finest := slices.Clone(levels)
	slices.Reverse(finest)
	var b strings.Builder
	b.WriteString("# Written by railmap: placement sets, finest level first.\n")
	b.WriteString("set server node_group_enable = True\n")
	fmt.Fprintf(&b, "set server node_group_key = \"%s\"\n", strings.Join(finest, ","))
	b.WriteString("set sched only_explicit_psets = True\n")
	if neverSpan {
		b.WriteString("set sched do_not_span_psets = True\n")
	}
	return []byte(b.String())
}

// VnodeFile renders the version 2 vnode file of one node for its MOM: pbs_mom -s insert railmap FILE, then HUP.
func VnodeFile(t *topology.Topology, node string, o Options) ([]exporters.File, error) {
	rows, _, _, err := nodeRows(t, o)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.node != node {
			continue
		}
		b := []byte("$configversion 2\n")
		for _, v := range r.values {
			b = fmt.Appendf(b, "%s: resources_available.%s = %s\n", r.node, v.resource, v.value)
		}
		return []exporters.File{{Name: VnodeName, Data: b, Nodes: 1}}, nil
	}
	return nil, fmt.Errorf("node %q is not in the map: must be one of its %d nodes", node, len(rows))
}

// row is the resources of one node: the levels coarse to fine, then what was measured.
type row struct {
	node   string
	values []setting
}

type setting struct{ resource, value string }

// nodeRows computes the values of all nodes, sorted by node name, and the names of the level resources, coarse to fine.
func nodeRows(t *topology.Topology, o Options) ([]row, []string, []exporters.Problem, error) {
	flat, err := exporters.Flatten(t)
	if err != nil {
		return nil, nil, nil, err
	}
	levels := make([]string, 0, len(flat.Levels))
	for _, l := range flat.Levels {
		levels = append(levels, o.Prefix+l)
		if err := checkResource(o.Prefix + l); err != nil {
			return nil, nil, nil, err
		}
	}
	if len(levels) == 0 || len(flat.Nodes) == 0 {
		return nil, nil, nil, errors.New("the map has no nodes or no tree: must have both for placement sets")
	}
	flat, warnings := flat.Known(o.Nodes, "pbs", false)
	if !slices.ContainsFunc(flat.Nodes, exporters.FlatNode.Attached) && o.Nodes != nil {
		return nil, nil, nil, errors.New("the server knows none of the nodes of the fabric: must have one in common")
	}
	nodes := flat.Nodes
	var errs []error
	rows := make([]row, 0, len(nodes))
	values := groupValues{}
	for _, n := range nodes {
		errs = append(errs, checkNode(n.Name))
		r := row{node: n.Name}
		for i, g := range n.Groups {
			v := value(exporters.Placeholder + n.Name)
			if g != "" {
				var err error
				v, err = values.of(levels[i], g)
				errs = append(errs, err)
			}
			r.values = append(r.values, setting{levels[i], v})
		}
		r.values = append(r.values, measured(n.Node, o.Previous[n.Name])...)
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int { return topology.CompareNames(a.node, b.node) })
	return rows, levels, warnings, errors.Join(errs...)
}

// groupValues remembers the value of each group, and refuses one value for two groups of a level.
type groupValues map[string]string

func (g groupValues) of(level, group string) (string, error) {
	v := value(group)
	if other, ok := g[level+" "+v]; ok && other != group {
		return "", fmt.Errorf("groups %q and %q have one value %q: must have names that differ for PBS", other, group, v)
	}
	g[level+" "+v] = group
	return v, nil
}

func measured(n *topology.Node, previous map[string]string) []setting {
	var out []setting
	add := func(resource string, v int64) {
		if v >= 0 {
			out = append(out, setting{resource, strconv.FormatInt(v, 10)})
		}
	}
	if m := n.MeasuredBandwidthBytesPerSecond; m != nil {
		add(BandwidthResource, exporters.Quantise(before(previous, BandwidthResource), m.Value/exporters.BytesPerGbit))
	}
	if n.Share != nil {
		add(ShareResource, exporters.QuantiseShare(before(previous, ShareResource), *n.Share))
	}
	return out
}

func before(previous map[string]string, resource string) int64 {
	v, err := strconv.ParseInt(previous[resource], 10, 64)
	if err != nil {
		return -1
	}
	return v
}
