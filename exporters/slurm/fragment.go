package slurm

import "strings"

// Fragment renders the lines of slurm.conf that make Slurm use the file: put "include slurm-topology.conf" there. Ranks then
// follow the network instead of node names, from Slurm 23.11 for trees and 25.11 for blocks on.
func Fragment(kind Kind, v Version) []byte {
	var b strings.Builder
	b.WriteString(header)
	var params []string
	if (kind == TreeKind || kind == YAMLKind) && !v.mayBeBefore(v2311) {
		params = append(params, "SwitchAsNodeRank")
	}
	if (kind == BlockKind || kind == YAMLKind) && !v.mayBeBefore(v2511) {
		params = append(params, "BlockAsNodeRank")
	}
	switch kind {
	case YAMLKind:
		b.WriteString("# topology.yaml names the plugins; Slurm ignores TopologyPlugin while that file exists.\n")
	default:
		b.WriteString("TopologyPlugin=topology/" + string(kind) + "\n")
	}
	switch {
	case len(params) > 0:
		b.WriteString("TopologyParam=" + strings.Join(params, ",") + "\n")
	case v.IsZero() && kind == BlockKind:
		b.WriteString("# From Slurm 25.11 on, TopologyParam=BlockAsNodeRank makes ranks follow the network.\n")
	case v.IsZero():
		b.WriteString("# From Slurm 23.11 on, TopologyParam=SwitchAsNodeRank makes ranks follow the network.\n")
	default:
		b.WriteString("# This release orders ranks by node name only: give jobs a host file in the order of the placement.\n")
	}
	return []byte(b.String())
}
