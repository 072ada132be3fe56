package topology

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// Bounds of a plausible node. They refuse typing errors and forged reports, not large machines.
const (
	maxMemory      = 1 << 53 // bytes: 8 PiB
	maxTransfers   = 1e12    // PCIe transfers per second and lane
	maxLanes       = 32
	maxLatency     = 3600 // seconds
	maxNodeDevices = 1 << 16
)

var pciFunction = regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// problems collects errors that name their field.
type problems struct{ errs []error }

func (p *problems) add(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

func (p *problems) number(field string, v *float64, limit float64) {
	if v != nil {
		p.take(checkNumber(field, *v, limit))
	}
}

func (p *problems) take(err error) {
	if err != nil {
		p.errs = append(p.errs, err)
	}
}

func (p *problems) integer(field string, v *int, low, high int) {
	if v != nil && (*v < low || *v > high) {
		p.add("%s is %d: must be between %d and %d", field, *v, low, high)
	}
}

func (p *problems) address(field, v string) {
	if v != "" && !pciFunction.MatchString(v) {
		p.add("%s is %q: must look like 0000:0c:00.0", field, v)
	}
}

func (p *problems) oneOf(field, v string, allowed ...string) {
	if v != "" && !slices.Contains(allowed, v) {
		p.add("%s is %q: must be one of %q", field, v, allowed)
	}
}

// Validate checks a node report: every problem is named with its field.
func (r *NodeReport) Validate() error {
	var p problems
	if r.Node == "" {
		p.add("node: must not be empty")
	}
	p.oneOf("verdict", r.Verdict, "pass", "warn", "fail")
	if n := len(r.PCI) + len(r.GPUs) + len(r.NICs) + len(r.NetDevices) + len(r.NUMANodes); n > maxNodeDevices {
		p.add("pci, gpus, nics, netDevices and numaNodes hold %d entries: must be at most %d", n, maxNodeDevices)
		return errors.Join(p.errs...)
	}
	r.validateHost(&p)
	r.validateGPUs(&p)
	r.validateNetwork(&p)
	r.Measurements.validate(&p)
	for i, s := range r.Stages {
		p.oneOf(fmt.Sprintf("stages[%d].status", i), s.Status, StageOK, StageSkipped, StageFailed)
	}
	for i, f := range r.Findings {
		if f.Code == "" || f.Subject == "" {
			p.add("findings[%d]: code and subject must not be empty", i)
		}
		p.oneOf(fmt.Sprintf("findings[%d].severity", i), string(f.Severity), string(Info), string(Warning), string(Error))
	}
	return errors.Join(p.errs...)
}

func (r *NodeReport) validateHost(p *problems) {
	if c := r.CPU; c != nil && (c.Sockets < 0 || c.Cores < 0 || c.Threads < 0) {
		p.add("cpu: sockets, cores and threads must not be negative")
	}
	seen := map[int]bool{}
	for i, n := range r.NUMANodes {
		field := fmt.Sprintf("numaNodes[%d]", i)
		p.integer(field+".id", &n.ID, 0, 1<<16)
		if seen[n.ID] {
			p.add("%s.id is %d: must not repeat", field, n.ID)
		}
		seen[n.ID] = true
		if n.MemoryBytes > maxMemory {
			p.add("%s.memoryBytes is %d: must be at most %d", field, n.MemoryBytes, uint64(maxMemory))
		}
		for j, d := range n.Distances {
			p.integer(fmt.Sprintf("%s.distances[%d]", field, j), &d, 0, 1<<16)
		}
	}
	addresses := map[string]bool{}
	for i, d := range r.PCI {
		field := fmt.Sprintf("pci[%d]", i)
		if d.Address == "" || addresses[d.Address] {
			p.add("%s.address is %q: must be there once", field, d.Address)
		}
		addresses[d.Address] = true
		p.address(field+".address", d.Address)
		p.address(field+".parent", d.Parent)
		if d.Parent == d.Address && d.Parent != "" {
			p.add("%s.parent: must not be the device itself", field)
		}
		p.integer(field+".numaNode", d.NUMANode, 0, 1<<16)
		d.Link.validate(p, field+".link")
	}
}

func (l *PCILink) validate(p *problems, field string) {
	if l == nil {
		return
	}
	p.number(field+".speedTransfersPerSecond", l.SpeedTransfersPerSecond, maxTransfers)
	p.number(field+".maxSpeedTransfersPerSecond", l.MaxSpeedTransfersPerSecond, maxTransfers)
	p.integer(field+".width", l.Width, 1, maxLanes)
	p.integer(field+".maxWidth", l.MaxWidth, 1, maxLanes)
}

func (r *NodeReport) validateGPUs(p *problems) {
	seen := map[int]bool{}
	for i, g := range r.GPUs {
		field := fmt.Sprintf("gpus[%d]", i)
		p.integer(field+".index", &g.Index, 0, 1<<12)
		if seen[g.Index] {
			p.add("%s.index is %d: must not repeat", field, g.Index)
		}
		seen[g.Index] = true
		p.address(field+".pciAddress", g.PCIAddress)
		if g.MemoryBytes > maxMemory {
			p.add("%s.memoryBytes is %d: must be at most %d", field, g.MemoryBytes, uint64(maxMemory))
		}
		p.integer(field+".numaNode", g.NUMANode, 0, 1<<16)
		p.integer(field+".pcieGeneration", g.PCIeGeneration, 1, 10)
		p.integer(field+".maxPcieGeneration", g.MaxPCIeGeneration, 1, 10)
		p.integer(field+".pcieWidth", g.PCIeWidth, 1, maxLanes)
		p.integer(field+".maxPcieWidth", g.MaxPCIeWidth, 1, maxLanes)
		p.integer(field+".processCount", g.ProcessCount, 0, 1<<20)
		p.integer(field+".temperatureCelsius", g.TemperatureCelsius, -50, 250)
		for j, l := range g.NVLinks {
			p.integer(fmt.Sprintf("%s.nvlinks[%d].link", field, j), &l.Link, 0, 1<<10)
			p.address(fmt.Sprintf("%s.nvlinks[%d].remote", field, j), l.Remote)
			p.oneOf(fmt.Sprintf("%s.nvlinks[%d].remoteType", field, j), l.RemoteType, "gpu", "switch", "cpu")
		}
	}
	for i, path := range r.Paths {
		if path.A == "" || path.B == "" || path.Type == "" {
			p.add("paths[%d]: a, b and type must not be empty", i)
		}
	}
}

func (r *NodeReport) validateNetwork(p *problems) {
	for i, n := range r.NICs {
		field := fmt.Sprintf("nics[%d]", i)
		if n.Device == "" {
			p.add("%s.device: must not be empty", field)
		}
		p.integer(field+".port", &n.Port, 0, 255)
		p.integer(field+".numaNode", n.NUMANode, 0, 1<<16)
		p.integer(field+".lid", n.LID, 0, 0xffff)
		p.address(field+".pciAddress", n.PCIAddress)
		p.number(field+".rateBytesPerSecond", n.RateBytesPerSecond, maxBandwidth)
		p.take(checkMeasurement(field+".bandwidthBytesPerSecond", n.BandwidthBytesPerSecond, maxBandwidth))
		p.take(checkMeasurement(field+".latencySeconds", n.LatencySeconds, maxLatency))
		p.take(checkMeasurement(field+".readLatencySeconds", n.ReadLatencySeconds, maxLatency))
		p.take(checkMeasurement(field+".gpuBandwidthBytesPerSecond", n.GPUBandwidthBytesPerSecond, maxBandwidth))
	}
	for i, n := range r.NetDevices {
		field := fmt.Sprintf("netDevices[%d]", i)
		if n.Name == "" {
			p.add("%s.name: must not be empty", field)
		}
		p.integer(field+".mtu", &n.MTU, 0, 1<<24)
		p.address(field+".pciAddress", n.PCIAddress)
		p.integer(field+".numaNode", n.NUMANode, 0, 1<<16)
		p.number(field+".speedBytesPerSecond", n.SpeedBytesPerSecond, maxBandwidth)
	}
}

func (m *Measurements) validate(p *problems) {
	for i, v := range m.Memory {
		p.integer(fmt.Sprintf("measurements.memory[%d].numaNode", i), &v.NUMANode, 0, 1<<16)
		p.take(checkMeasurement(fmt.Sprintf("measurements.memory[%d].bandwidthBytesPerSecond", i), &v.BandwidthBytesPerSecond, maxBandwidth))
	}
	if l := m.Loopback; l != nil {
		p.take(checkMeasurement("measurements.loopback.bandwidthBytesPerSecond", l.BandwidthBytesPerSecond, maxBandwidth))
		p.take(checkMeasurement("measurements.loopback.roundTripSeconds", l.RoundTripSeconds, maxLatency))
	}
	for i, v := range m.Copies {
		field := fmt.Sprintf("measurements.copies[%d]", i)
		if v.From == "" || v.To == "" {
			p.add("%s: from and to must not be empty", field)
		}
		p.take(checkMeasurement(field+".bandwidthBytesPerSecond", &v.BandwidthBytesPerSecond, maxBandwidth))
	}
	for i, v := range m.Latencies {
		field := fmt.Sprintf("measurements.latencies[%d]", i)
		if v.From == "" || v.To == "" {
			p.add("%s: from and to must not be empty", field)
		}
		p.take(checkMeasurement(field+".latencySeconds", &v.LatencySeconds, maxLatency))
	}
	for i, v := range m.Collective {
		field := fmt.Sprintf("measurements.collectives[%d]", i)
		if v.Name == "" {
			p.add("%s.name: must not be empty", field)
		}
		p.take(checkMeasurement(field+".busBandwidthBytesPerSecond", &v.BusBandwidthBytesPerSecond, maxBandwidth))
		p.number(field+".timeSeconds", v.TimeSeconds, maxLatency)
	}
}
