package kubernetes

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
)

// Names and limits of node feature discovery (NFD).
const (
	NFDFeatureName = "railmap"            // in /etc/kubernetes/node-feature-discovery/features.d
	NFDObjectsName = "node-features.yaml" // NodeFeature objects
	maxNFDFile     = 64 << 10             // a larger feature file is ignored whole
	nfdNodeKey     = "nfd.node.kubernetes.io/node-name"
)

// NFDFile renders the feature file of one node: NFD on that node turns it into labels without any right to write to the API
// server. expiry, when it is set, makes NFD drop the features at that time unless the file is written again.
func NFDFile(t *topology.Topology, node string, expiry time.Time, opts Options) ([]exporters.File, error) {
	rows, err := nfdRows(t, opts)
	if err != nil {
		return nil, err
	}
	name, err := nodeName(node)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.node != name {
			continue
		}
		var b strings.Builder
		if !expiry.IsZero() {
			fmt.Fprintf(&b, "# +expiry-time=%s\n", expiry.UTC().Format(time.RFC3339))
		}
		for _, l := range r.labels {
			fmt.Fprintf(&b, "%s=%s\n", l.key, l.value)
		}
		if b.Len() > maxNFDFile {
			return nil, fmt.Errorf("the feature file of %s has %d bytes: must have at most %d", node, b.Len(), maxNFDFile)
		}
		return []exporters.File{{Name: NFDFeatureName, Data: []byte(b.String()), Nodes: 1}}, nil
	}
	return nil, fmt.Errorf("node %q is not in the map: must be one of its %d nodes", node, len(rows))
}

// NFDObjects renders one NodeFeature of nfd.k8s-sigs.io/v1alpha1 per node, for nfd-master to turn into labels. namespace is
// NFD's own.
func NFDObjects(t *topology.Topology, namespace string, opts Options) ([]exporters.File, error) {
	rows, err := nfdRows(t, opts)
	if err != nil {
		return nil, err
	}
	if !isSubdomain(namespace) || strings.Contains(namespace, ".") {
		return nil, fmt.Errorf("namespace %q: must be a DNS label of lower-case letters, digits and '-'", namespace)
	}
	var b strings.Builder
	b.WriteString("# Features of the nodes, written by railmap; nfd-master makes labels of them.\n")
	for _, r := range rows {
		if len(r.node) > maxLabelValue {
			return nil, fmt.Errorf("node %s: a NodeFeature names its node in a label: must have at most %d characters", r.node, maxLabelValue)
		}
		fmt.Fprintf(&b, "---\napiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: NodeFeature\nmetadata:\n  name: %s\n  namespace: %s\n  labels:\n    %s: %s\nspec:\n  labels:\n",
			plain(r.node+"-railmap"), plain(namespace), nfdNodeKey, quoted(r.node))
		for _, l := range r.labels {
			fmt.Fprintf(&b, "    %s: %s\n", plain(l.key), quoted(l.value))
		}
	}
	return []exporters.File{
		{Name: NFDObjectsName, Data: []byte(b.String()), Nodes: len(rows)},
		{Name: KustomizationName, Data: kustomization([]string{NFDObjectsName})},
	}, nil
}

// nfdRows are the labels of Labels. NFD refuses keys of kubernetes.io, and of its own it has no use here.
func nfdRows(t *topology.Topology, opts Options) ([]row, error) {
	flat, err := exporters.Flatten(t)
	if err != nil {
		return nil, err
	}
	flat, _ = flat.Known(opts.Nodes, "kubernetes", true)
	if len(flat.Nodes) == 0 {
		return nil, errors.New("the map has no nodes of the cluster: must have at least one")
	}
	rows, err := labelRows(flat, opts)
	if err != nil {
		return nil, err
	}
	for _, l := range rows[0].labels {
		prefix, _, _ := strings.Cut(l.key, "/")
		if prefix == "kubernetes.io" || strings.HasSuffix(prefix, ".kubernetes.io") {
			return nil, fmt.Errorf("label %s: NFD writes no keys of kubernetes.io: must be another preset", l.key)
		}
	}
	return rows, nil
}
