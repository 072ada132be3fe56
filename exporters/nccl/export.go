package nccl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/topology"
	"github.com/railmap/railmap/topology/nccl"
)

// ConfName is the file for all nodes that have none of their own below NodesDir.
const (
	ConfName = "nccl.conf"
	NodesDir = "nodes"
)

// Export renders the settings of all nodes that have NICs in the map, for jobs over any of them. Findings say which NICs are
// left out, and which nodes have no settings.
func Export(t *topology.Topology, v nccl.Version) ([]exporters.File, []topology.Finding, error) {
	flat, err := exporters.Flatten(t)
	if err != nil {
		return nil, nil, err
	}
	if len(flat.Nodes) == 0 {
		return nil, nil, errors.New("the map has no nodes: must have at least one")
	}
	c, err := nccl.NewCluster(t, nccl.ClusterOptions{})
	if err != nil {
		return nil, nil, err
	}
	names := make([]string, len(flat.Nodes))
	for i, n := range flat.Nodes {
		names[i] = n.Name
	}
	hints, err := c.HintsFor(names, nccl.HintOptions{Version: v})
	if err != nil {
		return nil, nil, err
	}
	files := []exporters.File{{Name: ConfName, Data: conf("all nodes without a file of their own in "+NodesDir, hints.Common), Nodes: len(names)}}
	for _, n := range hints.Nodes {
		if strings.Trim(n.Node, nameBytes) != "" || strings.HasPrefix(n.Node, ".") {
			return nil, nil, fmt.Errorf("node %q: must be letters, digits, '-', '_' and '.' to name a file", n.Node)
		}
		files = append(files, exporters.File{Name: NodesDir + "/" + n.Node + ".conf", Data: conf(n.Node, hints.For(n.Node)), Nodes: 1})
	}
	return files, hints.Findings, nil
}

const nameBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

// conf writes settings. NCCL has no comments: it takes every line with '=' for a setting, so the words hold none.
func conf(whose string, env []nccl.EnvVar) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by railmap: NCCL settings of %s.\n", whose)
	for _, v := range env {
		fmt.Fprintf(&b, "# %s: %s\n%s=%s\n", v.Name, strings.NewReplacer("=", " ", "\n", " ").Replace(v.Why), v.Name, v.Value)
	}
	return []byte(b.String())
}
