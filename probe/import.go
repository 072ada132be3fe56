package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/railmap/railmap/topology"
	"github.com/railmap/railmap/topology/nccl"
)

// maxImport bounds a file that another tool wrote.
const maxImport = 64 << 20

// ImportFormats are the outputs of other tools that Import reads.
func ImportFormats() []string {
	return []string{"nvbandwidth", "nccl-tests", "perftest", "dcgm", "smi-topo", "nccl-xml", "hwloc", "lspci", "nvlink"}
}

// Import makes a report of what another tool printed about a node: nvbandwidth -j, the text or JSON of nccl-tests, perftest,
// dcgmi diag -j, nvidia-smi topo -m, the topology XML of NCCL, the XML of hwloc, lspci, or nvidia-smi nvlink -s. Errors name
// the line where there is one; what is only partly readable is used, and each loss is a finding.
func Import(format string, r io.Reader, node string) (*topology.NodeReport, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxImport+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxImport {
		return nil, fmt.Errorf("larger than %d bytes: must be the output of one run", maxImport)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("empty: must hold the output of a run")
	}
	report := &topology.NodeReport{Header: topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindNodeReport, Source: format}, Node: node}
	switch format {
	case "nvbandwidth":
		err = importNVBandwidth(data, report)
	case "nccl-tests":
		err = importNCCLTests(data, report)
	case "perftest":
		err = importPerftest(data, report)
	case "dcgm":
		err = importDCGM(data, report)
	case "smi-topo":
		err = importSMITopo(data, report)
	case "nccl-xml":
		report, err = importNCCLXML(data, node)
	case "hwloc":
		err = importHwloc(data, report)
	case "lspci":
		err = importLspci(data, report)
	case "nvlink":
		err = importNVLink(data, report)
	default:
		err = fmt.Errorf("format %q: must be one of %q", format, ImportFormats())
	}
	if err != nil {
		return nil, err
	}
	report.Findings = topology.SortFindings(report.Findings)
	if err := report.Validate(); err != nil {
		return nil, err
	}
	return report, nil
}

// lose writes down something that could not be used.
func lose(r *topology.NodeReport, subject, format string, args ...any) {
	r.Findings = append(r.Findings, topology.Finding{Code: "import-loss", Severity: topology.Warning, Subject: subject, Message: fmt.Sprintf(format, args...),
		Remedy: "check the file; the rest of it was used"})
}

func importNCCLTests(data []byte, r *topology.NodeReport) error {
	run, err := nccl.ReadTests(bytes.NewReader(data))
	if err != nil {
		return err
	}
	name := string(run.Collective)
	if name == "" {
		name = "unknown"
	}
	if len(run.Hosts) > 1 {
		lose(r, "hosts", "the run used %d hosts: its figures are not those of one node", len(run.Hosts))
	}
	for i := range run.Ranks {
		if len(run.Hosts) <= 1 && run.GPUModel != "" && i < 64 {
			r.GPUs = append(r.GPUs, topology.GPU{Index: i, Model: run.GPUModel})
		}
	}
	for _, row := range run.Rows {
		best := row.Better()
		if best == nil {
			continue
		}
		method := "nccl-tests"
		if run.NCCLVersion != "" {
			method += ", NCCL " + run.NCCLVersion
		}
		r.Measurements.Collective = append(r.Measurements.Collective, topology.Collective{Name: name, SizeBytes: row.SizeBytes, GPUs: run.Ranks,
			BusBandwidthBytesPerSecond: topology.Measurement{Value: best.BusBandwidthBytesPerSecond, Samples: 1, Method: method},
			TimeSeconds:                new(best.TimeSeconds)})
	}
	return nil
}

func importPerftest(data []byte, r *topology.NodeReport) error {
	results, err := ParsePerftest(data)
	if err != nil {
		return err
	}
	for _, p := range results {
		device := p.Device
		if device == "" {
			device = "unknown"
		}
		i := slices.IndexFunc(r.NICs, func(n topology.NICReport) bool { return n.Device == device })
		if i < 0 {
			i = len(r.NICs)
			r.NICs = append(r.NICs, topology.NICReport{Device: device, Port: 1})
		}
		n := &r.NICs[i]
		method := "perftest"
		if p.Test != "" {
			method = p.Test
		}
		// Of several sizes the fastest bandwidth and the smallest latency count.
		if v := p.BytesPerSecond; v != nil && (n.BandwidthBytesPerSecond == nil || *v > n.BandwidthBytesPerSecond.Value) {
			n.BandwidthBytesPerSecond = single(v, method)
		}
		if v := p.LatencySeconds; v != nil && (n.LatencySeconds == nil || *v < n.LatencySeconds.Value) {
			n.LatencySeconds = single(v, method)
		}
	}
	slices.SortFunc(r.NICs, func(a, b topology.NICReport) int { return topology.CompareNames(a.Device, b.Device) })
	return nil
}

func importNCCLXML(data []byte, node string) (*topology.NodeReport, error) {
	x, err := nccl.ReadXML(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	r, lost, err := nccl.ToReport(x, node)
	if err != nil {
		return nil, err
	}
	if len(r.Paths) == 0 {
		r.Paths = paths(r)
	}
	r.Findings = append(r.Findings, lost...)
	return r, nil
}
