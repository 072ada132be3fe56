package kubernetes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// SlinkyName is the file that Slinky renders.
const SlinkyName = "slinky-annotations.yaml"

// Keys that slurm-operator and slurm-bridge read of a node (SlinkyProject, version 1.2).
const (
	slinkySpecKey = "topology.slinky.slurm.net/spec"
	slinkyNameKey = "slinky.slurm.net/slurm-nodename"
)

// Membership is the place of a node in one topology of Slurm's topology.yaml: the name of the topology, and of the leaf switch
// or block. Both must be the names in that file.
type Membership struct{ Topology, Unit string }

// Slinky renders the annotation that gives a node of slurm-operator or slurm-bridge its place in Slurm's topology.yaml. units
// holds the memberships of each Slurm node; the default topology stands first. A node whose Slurm name is not its Kubernetes
// name also gets the label that tells slurm-bridge.
func Slinky(units map[string][]Membership) ([]exporters.File, error) {
	if len(units) == 0 {
		return nil, errors.New("no node has a place in topology.yaml: must have at least one")
	}
	hosts := make([]string, 0, len(units))
	for h := range units {
		hosts = append(hosts, h)
	}
	slices.SortFunc(hosts, topology.CompareNames)
	var b strings.Builder
	b.WriteString("# Places of the nodes in Slurm's topology.yaml, written by railmap. Apply with a field manager of their own (the one\n" +
		"# of the labels would drop the labels):\n#   kubectl apply --server-side --field-manager=railmap-slinky -f " + SlinkyName + "\n")
	seen := map[string]string{}
	var errs []error
	for _, h := range hosts {
		name, err := nodeName(h)
		if err == nil && seen[name] != "" {
			err = fmt.Errorf("nodes %q and %q are one node for Kubernetes: must differ in more than case", seen[name], h)
		}
		seen[name] = h
		spec, specErr := slinkySpec(h, units[h])
		errs = append(errs, err, specErr)
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: %s\n", plain(name))
		if name != h {
			fmt.Fprintf(&b, "  labels:\n    %s: %s\n", slinkyNameKey, quoted(h))
		}
		fmt.Fprintf(&b, "  annotations:\n    %s: %s\n", slinkySpecKey, quoted(spec))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return []exporters.File{
		{Name: SlinkyName, Data: []byte(b.String()), Nodes: len(hosts)},
		{Name: KustomizationName, Data: kustomization([]string{SlinkyName})},
	}, nil
}

// slinkySpec joins memberships: "ib:leaf0,nvl:block3".
func slinkySpec(host string, m []Membership) (string, error) {
	parts := make([]string, 0, len(m))
	for _, x := range m {
		if strings.ContainsAny(x.Topology+x.Unit, ":, \"\\\n") || x.Topology == "" || x.Unit == "" {
			return "", fmt.Errorf("node %s: the place %q in topology %q: must be a name without ':', ',' and blanks", host, x.Unit, x.Topology)
		}
		parts = append(parts, x.Topology+":"+x.Unit)
	}
	if len(parts) == 0 {
		return "", fmt.Errorf("node %s: must have a place in at least one topology", host)
	}
	return strings.Join(parts, ","), nil
}
