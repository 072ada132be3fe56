package probe

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/railmap/railmap/topology"
)

// WriteMetrics writes a report in the text format of Prometheus, for node_exporter's textfile collector. Series are bounded
// by the parts of one node; pairs of GPUs are given as the slowest per GPU.
func WriteMetrics(w io.Writer, r *topology.NodeReport) error {
	m := &metricWriter{w: bufio.NewWriter(w)}
	m.family("railmap_probe_verdict", "Verdict of the last probe: 1 for the one that holds.")
	for _, v := range []string{topology.VerdictPass, topology.VerdictWarn, topology.VerdictFail} {
		m.value(truth(r.Verdict == v), "verdict", v)
	}
	m.family("railmap_probe_findings", "Findings of the last probe by severity.")
	for _, s := range []topology.Severity{topology.Error, topology.Warning, topology.Info} {
		n := 0
		for _, f := range r.Findings {
			if f.Severity == s {
				n++
			}
		}
		m.value(float64(n), "severity", string(s))
	}
	if r.Time != nil {
		m.family("railmap_probe_timestamp_seconds", "When the last probe measured.")
		m.value(float64(r.Time.Unix()))
	}
	m.family("railmap_probe_stage_ok", "Whether a stage could be measured.")
	for _, s := range r.Stages {
		m.value(truth(s.Status != topology.StageFailed), "stage", s.Stage)
	}
	m.copies(r)
	m.nics(r)
	return m.w.Flush()
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

type metricWriter struct {
	w    *bufio.Writer
	name string
}

func (m *metricWriter) family(name, help string) {
	m.name = name
	fmt.Fprintf(m.w, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
}

// value writes one sample; labels are pairs of name and value.
func (m *metricWriter) value(v float64, labels ...string) {
	var pairs []string
	for i := 0; i+1 < len(labels); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%s=%q", labels[i], labels[i+1]))
	}
	if len(pairs) > 0 {
		fmt.Fprintf(m.w, "%s{%s} %g\n", m.name, strings.Join(pairs, ","), v)
		return
	}
	fmt.Fprintf(m.w, "%s %g\n", m.name, v)
}

func (m *metricWriter) copies(r *topology.NodeReport) {
	slowest := map[string]float64{}
	m.family("railmap_probe_host_copy_bytes_per_second", "Copies between a GPU and a NUMA node, one way.")
	for _, c := range r.Measurements.Copies {
		if c.Bidirectional || c.Together {
			continue
		}
		v := c.BandwidthBytesPerSecond.Value
		if isGPUName(c.From) && isGPUName(c.To) {
			if s, known := slowest[c.From]; !known || v < s {
				slowest[c.From] = v
			}
			continue
		}
		m.value(v, "from", c.From, "to", c.To)
	}
	m.family("railmap_probe_peer_copy_slowest_bytes_per_second", "Slowest copy from a GPU to another, one way.")
	for _, g := range r.GPUs {
		if v, known := slowest[gpuName(g)]; known {
			m.value(v, "gpu", gpuName(g))
		}
	}
	m.family("railmap_probe_memory_copy_bytes_per_second", "Memory copies on a NUMA node.")
	for _, v := range r.Measurements.Memory {
		m.value(v.BandwidthBytesPerSecond.Value, "numa", fmt.Sprint(v.NUMANode))
	}
}

func (m *metricWriter) nics(r *topology.NodeReport) {
	m.family("railmap_probe_nic_active", "Whether a port is up.")
	for _, n := range r.NICs {
		m.value(truth(n.State == "ACTIVE"), "port", portName(n))
	}
	m.family("railmap_probe_nic_write_bytes_per_second", "RDMA writes of a port to itself.")
	for _, n := range r.NICs {
		if n.BandwidthBytesPerSecond != nil {
			m.value(n.BandwidthBytesPerSecond.Value, "port", portName(n))
		}
	}
}

// WriteFeatures writes a feature file for Node Feature Discovery: one label a line, without the prefix that the tool adds.
func WriteFeatures(w io.Writer, r *topology.NodeReport) error {
	active := 0
	for _, n := range r.NICs {
		if n.State == "ACTIVE" {
			active++
		}
	}
	domain := ""
	for _, g := range r.GPUs {
		if g.Fabric != nil && domain == "" {
			domain = g.Fabric.Domain()
		}
	}
	_, err := fmt.Fprintf(w, "railmap-verdict=%s\nrailmap-gpus=%d\nrailmap-nics-active=%d\n", r.Verdict, len(r.GPUs), active)
	if err == nil && domain != "" {
		_, err = fmt.Fprintf(w, "railmap-nvlink-domain=%s\n", domain)
	}
	return err
}
