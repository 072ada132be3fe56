package probe

import (
	"fmt"
	"slices"

	"github.com/railmap/railmap/topology"
)

// likeNodes keeps the reports of other nodes with the same product and the same GPUs.
func likeNodes(r *topology.NodeReport, peers []*topology.NodeReport) []*topology.NodeReport {
	var like []*topology.NodeReport
	for _, p := range peers {
		if p.Node != r.Node && p.Product == r.Product && slices.Equal(models(p), models(r)) {
			like = append(like, p)
		}
	}
	return like
}

func models(r *topology.NodeReport) []string {
	var m []string
	for _, g := range r.GPUs {
		m = append(m, g.Model)
	}
	return m
}

// metrics are the figures of a report that can be compared between like nodes, larger being better.
func metrics(r *topology.NodeReport) map[string]float64 {
	m := map[string]float64{}
	put := func(key string, v *topology.Measurement) {
		if v != nil {
			m[key] = v.Value
		}
	}
	for _, c := range r.Measurements.Copies {
		put(copyKey(c), &c.BandwidthBytesPerSecond)
	}
	for _, v := range r.Measurements.Memory {
		put(fmt.Sprintf("memory copies on NUMA%d", v.NUMANode), &v.BandwidthBytesPerSecond)
	}
	for _, n := range r.NICs {
		put("writes of "+portName(n), n.BandwidthBytesPerSecond)
		put("writes of "+portName(n)+" into GPU memory", n.GPUBandwidthBytesPerSecond)
	}
	for _, c := range r.Measurements.Collective {
		put(fmt.Sprintf("%s of %d bytes", c.Name, c.SizeBytes), &c.BusBandwidthBytesPerSecond)
	}
	return m
}

func copyKey(c topology.Copy) string {
	key := "copies " + c.From + " to " + c.To
	if c.Bidirectional {
		key += " both ways"
	}
	if c.Together {
		key += " together with its switch"
	}
	return key
}

// ratioToPeers compares every metric with the median of like nodes. Metrics that fewer than minPeers nodes have say nothing.
func ratioToPeers(r *topology.NodeReport, like []*topology.NodeReport) (ratios, medians map[string]float64) {
	values := map[string][]float64{}
	for _, p := range like {
		for key, v := range metrics(p) {
			values[key] = append(values[key], v)
		}
	}
	ratios, medians = map[string]float64{}, map[string]float64{}
	for key, v := range metrics(r) {
		if len(values[key]) < minPeers {
			continue
		}
		if median := summarize(values[key], "").Value; median > 0 {
			ratios[key], medians[key] = v/median, median
		}
	}
	return ratios, medians
}

// likes names what is slower than on other nodes of this kind.
func (j *judgement) likes() {
	ratios, medians := ratioToPeers(j.r, j.peers)
	keys := make([]string, 0, len(ratios))
	for key := range ratios {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, topology.CompareNames)
	mine := metrics(j.r)
	for _, key := range keys {
		severity := topology.Warning
		switch ratio := ratios[key]; {
		case ratio < failRatio:
			severity = topology.Error
		case ratio >= warnRatio:
			continue
		}
		j.add("below-peers", severity, key, fmt.Sprintf("%.1f GB/s, %.0f %% of the median %.1f GB/s of %d like nodes", mine[key]/1e9, 100*ratios[key],
			medians[key]/1e9, len(j.peers)), "compare settings and firmware with a like node; run the probe again")
	}
}

// suspects gives the copies that would be condemned, by key: they are measured once more first.
func suspects(r *topology.NodeReport, o Options) map[string]bool {
	out := map[string]bool{}
	if o.Expect == nil {
		return out
	}
	ratios, _ := ratioToPeers(r, likeNodes(r, o.Peers))
	j := &judgement{r: r, e: o.Expect}
	for _, c := range r.Measurements.Copies {
		if ratio, known := ratios[copyKey(c)]; known && ratio < failRatio || j.low(c) {
			out[copyKey(c)] = true
		}
	}
	return out
}

// low tells whether a copy is under the floor of its kind.
func (j *judgement) low(c topology.Copy) bool {
	gpu, other := c.From, c.To
	if !isGPUName(gpu) {
		gpu, other = other, gpu
	}
	e := j.e.gpu(j.model(gpu))
	if e == nil || c.Together {
		return false
	}
	v := c.BandwidthBytesPerSecond.Value
	if c.Bidirectional {
		v /= 2
	}
	if isGPUName(other) {
		letter := pathBetween(j.r, gpu, other)
		return e.Peer != nil && len(letter) > 2 && letter[:2] == "NV" && v < e.Peer.Floor
	}
	band := j.hostBand(gpu)
	return band != nil && !c.Bidirectional && j.near(gpu, other) && v < band.Floor
}
