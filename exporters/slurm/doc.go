// Package slurm writes the map for Slurm: topology.conf for topology/tree and topology/block, topology.yaml (Slurm 25.05 and
// newer) and the lines that slurm.conf needs, each for one Slurm version.
//
//	files, warnings, err := slurm.Tree(topo, slurm.Options{Version: slurm.Version{Year: 24, Month: 11}})
//
// The renderers are pure: the same map and options give the same bytes, and they touch no file. What they render goes through
// Lint first, a parser and checker of our own that is stricter than Slurm's: a bad topology file stops slurmctld at the next
// reconfigure, and Slurm takes some wrong files without a word. A file with an error is not returned.
//
// One switch line stands for one group of the tree, not for one device: Slurm ignores link speeds and parallel switches, and
// its start-up time grows with the cube of the number of switches. Leaf lines stand in physical order, because Slurm's
// SwitchAsNodeRank takes the order of ranks between leaves from the order of lines. Degraded nodes stay where they are:
// they leave by drain or features, not by topology.
//
// Sources: topology.conf(5), topology.yaml(5), slurm.conf(5) and the release notes of Slurm 22.05 to 26.05.
package slurm
