package kubernetes

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxListNodes is the largest placement that is written as a list of host names. Every pod of a gang carries the list: with
// 1,024 nodes it would be 18 MB in etcd, so larger ones select a label that the placement's nodes carry (see LeaseLabels).
const MaxListNodes = 256

// LeasePrefix is the prefix of the label that marks the nodes of one placement: LeasePrefix/<lease>: "1".
const LeasePrefix = "placement.railmap.dev"

// AffinityOptions is how a placement is written.
type AffinityOptions struct {
	// Lease names the placement, for the label that its nodes carry. It is needed above MaxListNodes; when it is set for a
	// smaller placement, the list is used all the same.
	Lease string
	// HostKey is the label that carries the node name; empty = HostnameKey.
	HostKey string
	// Preferred makes the nodes a wish of weight 100 instead of a must, for gang schedulers that may know better.
	Preferred bool
	// MinBusGbps adds the demand that a node's measured bandwidth label is at least this many Gbit/s; 0 = no demand.
	MinBusGbps int64
}

// Affinity gives the "affinity:" fragment of a pod template that keeps pods on nodes, in the order of nodes (rank order).
// Errors name nodes that no Kubernetes cluster can have, repeats, and a missing lease.
func Affinity(nodes []string, opts AffinityOptions) ([]byte, error) {
	names, err := placementNodes(nodes)
	if err != nil {
		return nil, err
	}
	key, values := opts.HostKey, names
	if key == "" {
		key = HostnameKey
	}
	if len(nodes) > MaxListNodes {
		if key, err = leaseKey(opts.Lease); err != nil {
			return nil, fmt.Errorf("%d nodes are too many for a list of host names (at most %d): %w", len(nodes), MaxListNodes, err)
		}
		values = []string{"1"}
	}
	if err := checkLabelKey(key); err != nil {
		return nil, err
	}
	var b strings.Builder
	const indent = "        "
	b.WriteString("affinity:\n  nodeAffinity:\n")
	if opts.Preferred {
		b.WriteString("    preferredDuringSchedulingIgnoredDuringExecution:\n    - weight: 100\n      preference:\n        matchExpressions:\n")
	} else {
		b.WriteString("    requiredDuringSchedulingIgnoredDuringExecution:\n      nodeSelectorTerms:\n      - matchExpressions:\n")
	}
	writeIn(&b, indent, key, values)
	if opts.MinBusGbps > 0 {
		fmt.Fprintf(&b, "%s- key: %s\n%s  operator: Gt\n%s  values:\n%s  - %s\n", indent, plain(BusBandwidthKey), indent, indent, indent,
			quoted(strconv.FormatInt(opts.MinBusGbps-1, 10)))
	}
	return []byte(b.String()), nil
}

func writeIn(b *strings.Builder, indent, key string, values []string) {
	fmt.Fprintf(b, "%s- key: %s\n%s  operator: In\n%s  values:\n", indent, plain(key), indent, indent)
	for _, v := range values {
		fmt.Fprintf(b, "%s  - %s\n", indent, plain(v))
	}
}

// LeaseLabels gives the documents that mark the nodes of a placement with its lease label, for server-side apply with a field
// manager of its own (kubectl apply --server-side --field-manager=railmap-placement).
func LeaseLabels(nodes []string, lease string) ([]byte, error) {
	names, err := placementNodes(nodes)
	if err != nil {
		return nil, err
	}
	key, err := leaseKey(lease)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		writeNode(&b, name, []label{{key, "1"}})
	}
	return []byte(b.String()), nil
}

func leaseKey(lease string) (string, error) {
	if lease == "" {
		return "", errors.New("a lease name must be given for the label that marks the nodes")
	}
	key := LeasePrefix + "/" + lease
	if err := checkLabelKey(key); err != nil {
		return "", fmt.Errorf("lease %q: %w", lease, err)
	}
	return key, nil
}

// placementNodes checks the nodes of a placement and gives their Kubernetes names in the same order.
func placementNodes(nodes []string) ([]string, error) {
	if len(nodes) == 0 {
		return nil, errors.New("a placement must have at least one node")
	}
	var errs []error
	names := make([]string, 0, len(nodes))
	seen := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		name, err := nodeName(n)
		switch {
		case err != nil:
			errs = append(errs, err)
		case len(name) > maxLabelValue:
			errs = append(errs, fmt.Errorf("node %q: a host name above %d characters has no usable %s label: must be selected by a lease label", n, maxLabelValue, HostnameKey))
		case seen[name]:
			errs = append(errs, fmt.Errorf("node %q: must stand once in a placement", n))
		}
		seen[name] = true
		names = append(names, name)
	}
	return names, errors.Join(errs...)
}
