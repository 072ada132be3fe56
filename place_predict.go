package main

import (
	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/topology"
	"github.com/railmap/railmap/topology/nccl"
)

// defaultMessageBytes is the message that stands for "large": 1 GiB, where the model is within a few per cent.
const defaultMessageBytes = 1 << 30

// ncclPredictor predicts placements by the model of NCCL: nodes whose hardware is known have the graphs of their own search,
// others those of a regular node with the map's NICs. The share that the placer found caps the network only where it says
// more than the nodes themselves do, as other jobs on an uplink.
func ncclPredictor(t *topology.Topology, known map[string]*nccl.NodeModel) (placer.Predictor, error) {
	cluster, err := nccl.NewCluster(t, nccl.ClusterOptions{Known: known})
	if err != nil {
		return nil, err
	}
	shares := make(map[string]float64, len(t.Nodes))
	for i := range t.Nodes {
		if s := t.Nodes[i].Share; s != nil {
			shares[t.Nodes[i].Name] = *s
		}
	}
	return func(nodes []string, share float64, r *placer.Request) placer.Prediction {
		out := placer.Prediction{Method: "nccl " + nccl.NewestVersion.String(), MessageBytes: r.MessageBytes}
		if out.MessageBytes == 0 {
			out.MessageBytes = defaultMessageBytes
		}
		job, err := cluster.Job(nodes, r.GPUsPerNode)
		if err != nil {
			return out
		}
		job.Collective, job.SizeBytes = collectiveOf(r.Collective), uint64(out.MessageBytes)
		if weakest := weakestShare(nodes, shares); share > 0 && share < weakest*.999 {
			job.ShareCap = share
		}
		p, err := nccl.Predict(job)
		if err != nil { // one GPU alone moves nothing
			return out
		}
		out.BusBandwidthBytesPerSecond = p.BusBandwidthBytesPerSecond
		out.Algorithm, out.Protocol = string(p.Algorithm), string(p.Protocol)
		return out
	}, nil
}

// collectiveOf is the collective that stands for a pattern of communication.
func collectiveOf(c placer.Collective) nccl.Collective {
	if c == placer.AllToAll {
		return nccl.AllToAll
	}
	return nccl.AllReduce
}

// weakestShare is the smallest share of the nodes; a node without one counts as whole.
func weakestShare(nodes []string, shares map[string]float64) float64 {
	weakest := 1.
	for _, n := range nodes {
		if s, ok := shares[n]; ok {
			weakest = min(weakest, s)
		}
	}
	return weakest
}
