// Railmap measures what GPU nodes and their fabric deliver, keeps one weighted map of it, and answers for a gang of nodes:
// which ones, in which order, how fast. This package is the command: flags in, answer out, no logic.
//
//	railmap probe fabric --from fabric.txt -o yaml > fabric.yaml
//	railmap topology build --fabric fabric.yaml -o topology.yaml
//	railmap place -t topology.yaml -N 16 -o hostlist
//
// One file per command, cmd_<verb>.go: an options struct with complete, validate and run. Everything a command touches
// outside its flags comes from env. Only main prints errors, and exit codes come only from exitcode.go.
package main
