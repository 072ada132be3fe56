// Package kubernetes renders the map for Kubernetes: labels of nodes, and where the pods of one placement go.
//
// Labels writes every level of the tree on every node, because schedulers skip a node that lacks one level label without a
// word (Kueue, KAI, Koordinator). Which keys are used is data: see Presets. Affinity pins the pods of one placement to its
// nodes. Lint reads such files back and says what a cluster would stumble over.
//
// All functions are pure: the same input gives the same bytes, no function touches a file, a network or the clock.
package kubernetes
