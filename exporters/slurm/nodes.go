package slurm

import (
	"context"
	"strings"
)

// Nodes asks the running controller for the nodes of slurm.conf, in its order. Nodes in state FUTURE are not among them.
func Nodes(ctx context.Context, i Install) ([]string, error) {
	out, err := i.run(ctx, "", "scontrol", "--oneliner", "show", "nodes")
	if err != nil {
		return nil, err
	}
	return parseNodes(out), nil
}

// parseNodes reads the first field of each line: "NodeName=n1 Arch=x86_64 ...". Without nodes, scontrol prints a sentence.
func parseNodes(out string) []string {
	var names []string
	for line := range strings.Lines(out) {
		first, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name, ok := strings.CutPrefix(first, "NodeName="); ok && name != "" {
			names = append(names, name)
		}
	}
	return names
}
