package lsf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// Names of the files that Export renders.
const (
	UnitsName     = "railmap.computeunits"
	ParamsName    = "railmap.params"
	ResourcesName = "railmap.resources"
)

// BandwidthResource is the numeric host resource for the measured network bandwidth in Gbit/s; an elim on the host reports it.
const BandwidthResource = "nccl_gbps"

// unit is one line of the ComputeUnit section.
type unit struct {
	name    string
	kind    string
	members []string
}

// Export renders the compute units, their types and the resources for measured values. Hosts are members of the finest type
// only, and every host is in exactly one unit of every type, because a job that asks for a type uses no host outside it. A host
// outside the fabric is alone in units of its own.
func Export(t *topology.Topology) ([]exporters.File, error) {
	flat, err := exporters.Flatten(t)
	if err != nil {
		return nil, err
	}
	if len(flat.Levels) == 0 || len(flat.Nodes) == 0 {
		return nil, errors.New("the map has no nodes or no tree: must have both for compute units")
	}
	units, err := unitsOf(flat)
	if err != nil {
		return nil, err
	}
	finest := slices.Clone(flat.Levels)
	slices.Reverse(finest)
	return []exporters.File{
		{Name: UnitsName, Data: unitsFile(units), Nodes: len(flat.Nodes)},
		{Name: ParamsName, Data: paramsFile(finest)},
		{Name: ResourcesName, Data: resourcesFile()},
	}, nil
}

// unitsOf makes the units, finest type first, in ring order: with pref=config LSF tries them in this order. A group that stands
// for itself on a coarser level gets the level behind its name there.
func unitsOf(flat exporters.Flat) ([]unit, error) {
	names, err := newNamer(flat)
	if err != nil {
		return nil, err
	}
	var units []unit
	for c := len(flat.Levels) - 1; c >= 0; c-- {
		index := map[string]int{}
		for _, n := range flat.Nodes {
			name := names.at(n, c)
			i, ok := index[name]
			if !ok {
				i = len(units)
				index[name] = i
				units = append(units, unit{name: name, kind: flat.Levels[c]})
			}
			member := n.Name
			if c < len(flat.Levels)-1 {
				member = names.at(n, c+1)
			}
			if m := units[i].members; len(m) == 0 || m[len(m)-1] != member {
				units[i].members = append(m, member)
			}
		}
	}
	return units, nil
}

// namer gives the unit of a node at a level.
type namer struct {
	levels []string
	unit   map[string]string // level and group -> name
}

// newNamer names all units: names are unique among units of all types, and differ from the names of hosts.
func newNamer(flat exporters.Flat) (*namer, error) {
	n := &namer{levels: flat.Levels, unit: map[string]string{}}
	owner := make(map[string]string, len(flat.Nodes))
	var errs []error
	for _, node := range flat.Nodes {
		errs = append(errs, checkHost(node.Name))
		owner[node.Name] = "the host " + node.Name
	}
	for c, level := range slices.Backward(flat.Levels) {
		for _, node := range flat.Nodes {
			key := level + " " + n.group(node, c)
			if n.unit[key] != "" {
				continue
			}
			raw := n.group(node, c)
			if c < len(flat.Levels)-1 && n.group(node, c+1) == raw {
				raw += "-" + level
			}
			name := unitName(raw)
			if owner[name] != "" {
				name = unitName(raw + " " + level)
			}
			if other := owner[name]; other != "" {
				errs = append(errs, fmt.Errorf("compute unit %s of %s is also %s: must have a name of its own", name, raw, other))
			}
			owner[name] = "the " + level + " " + raw
			n.unit[key] = name
		}
	}
	return n, errors.Join(errs...)
}

// group is the group of a node at a level, or a name that no other node has.
func (n *namer) group(node exporters.FlatNode, c int) string {
	if g := node.Groups[c]; g != "" {
		return g
	}
	return exporters.Placeholder + node.Name
}

func (n *namer) at(node exporters.FlatNode, c int) string {
	return n.unit[n.levels[c]+" "+n.group(node, c)]
}

func unitsFile(units []unit) []byte {
	width := len("NAME")
	for _, u := range units {
		width = max(width, len(u.name))
	}
	var b strings.Builder
	b.WriteString("# Written by railmap. In lsb.hosts: #INCLUDE \"" + UnitsName + "\"\n")
	fmt.Fprintf(&b, "Begin ComputeUnit\n%-*s  TYPE  MEMBER\n", width, "NAME")
	for _, u := range units {
		fmt.Fprintf(&b, "%-*s  %s  (%s)\n", width, u.name, u.kind, strings.Join(u.members, " "))
	}
	b.WriteString("End ComputeUnit\n")
	return []byte(b.String())
}

// paramsFile lists the types, finest first; '!' marks the one that a job gets that names none.
func paramsFile(finest []string) []byte {
	types := slices.Clone(finest)
	at := max(slices.Index(types, topology.LeafLevel), 0)
	types[at] += "!"
	return []byte("# Written by railmap. In the Parameters section of lsb.params:\nCOMPUTE_UNIT_TYPES = " + strings.Join(types, " ") + "\n")
}

func resourcesFile() []byte {
	return []byte("# Written by railmap. In the Resource section of lsf.shared, with the columns RESOURCENAME TYPE INTERVAL INCREASING DESCRIPTION;\n" +
		"# in the ResourceMap section of lsf.cluster: " + BandwidthResource + " ([default])\n" +
		BandwidthResource + "  Numeric  60  N  (measured network bandwidth of the host in Gbit/s)\n")
}
