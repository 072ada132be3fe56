package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/railmap/railmap/topology"
)

// writeProbeTable prints a node report for people: one short table for each kind of thing, findings last.
func writeProbeTable(w io.Writer, r *topology.NodeReport, o *output) error {
	sections := []struct {
		title string
		rows  *table
	}{
		{"node", nodeTable(r)},
		{"NUMA nodes", numaTable(r)},
		{"GPUs", gpuTable(r)},
		{"NICs", nicTable(r)},
		{"network devices", netTable(r)},
		{"measured", measuredTable(r)},
		{"not measured", stageTable(r)},
		{"findings", findingTable(r.Findings)},
	}
	first := true
	for _, s := range sections {
		if len(s.rows.rows) == 0 {
			continue
		}
		if !first {
			fmt.Fprintln(w)
		}
		first = false
		if _, err := fmt.Fprintln(w, s.title); err != nil {
			return err
		}
		if err := s.rows.write(w, o); err != nil {
			return err
		}
	}
	if len(r.Findings) == 0 {
		fmt.Fprintln(w, "\nno findings")
	}
	if r.Verdict != "" {
		fmt.Fprintf(w, "\nverdict: %s\n", r.Verdict)
	}
	return nil
}

func nodeTable(r *topology.NodeReport) *table {
	t := newTable("NAME", "PRODUCT", "KERNEL", "CPU", ">SOCKETS", ">CORES", ">THREADS", "DRIVER")
	var cpu topology.CPUInfo
	if r.CPU != nil {
		cpu = *r.CPU
	}
	driver := ""
	if r.Driver != nil {
		driver = r.Driver.Version
	}
	model := cpu.Model
	if model == "" {
		model = strings.TrimSpace(cpu.Vendor + " " + cpu.Arch)
	}
	t.add(r.Node, r.Product, r.Kernel, model, positive(cpu.Sockets), positive(cpu.Cores), positive(cpu.Threads), driver)
	return t
}

func numaTable(r *topology.NodeReport) *table {
	t := newTable("NUMA", "CPUS", ">MEMORY(GiB)", "DISTANCES")
	for _, n := range r.NUMANodes {
		distances := strings.Trim(fmt.Sprint(n.Distances), "[]")
		t.add(n.ID, n.CPUs, float64(n.MemoryBytes)/(1<<30), distances)
	}
	return t
}

func gpuTable(r *topology.NodeReport) *table {
	t := newTable("GPU", "MODEL", "ADDRESS", ">NUMA", "PCIE", "NVLINK", "NEAREST NIC")
	for _, g := range r.GPUs {
		active := 0
		for _, l := range g.NVLinks {
			if l.Active {
				active++
			}
		}
		links := ""
		if len(g.NVLinks) > 0 {
			links = fmt.Sprintf("%d/%d", active, len(g.NVLinks))
		}
		t.add(fmt.Sprintf("GPU%d", g.Index), g.Model, g.PCIAddress, g.NUMANode, pcieCell(g), links, nearestNIC(r, g.Index))
	}
	return t
}

// pcieCell shows the link now, and at most when that is more: "gen5 x16", "gen1 x16 of gen5 x16".
func pcieCell(g topology.GPU) string {
	if g.PCIeGeneration == nil || g.PCIeWidth == nil {
		return unknown
	}
	now := fmt.Sprintf("gen%d x%d", *g.PCIeGeneration, *g.PCIeWidth)
	if g.MaxPCIeGeneration == nil || g.MaxPCIeWidth == nil {
		return now
	}
	if most := fmt.Sprintf("gen%d x%d", *g.MaxPCIeGeneration, *g.MaxPCIeWidth); most != now {
		return now + " of " + most
	}
	return now
}

// nearestNIC lists the NICs on the shortest kind of path, with its letters.
func nearestNIC(r *topology.NodeReport, gpu int) string {
	name := fmt.Sprintf("GPU%d", gpu)
	for _, letter := range []string{"PIX", "PXB", "PHB", "NODE"} {
		var near []string
		for _, p := range r.Paths {
			if p.A == name && p.Type == letter && !strings.HasPrefix(p.B, "GPU") {
				near = append(near, p.B)
			}
		}
		if len(near) > 0 {
			return strings.Join(near, ",") + " " + letter
		}
	}
	return ""
}

func nicTable(r *topology.NodeReport) *table {
	t := newTable("NIC", "STATE", "LINK", ">RATE(Gb/s)", "ADDRESS", ">NUMA", "NET", "FIRMWARE")
	for _, n := range r.NICs {
		t.add(fmt.Sprintf("%s/%d", n.Device, n.Port), n.State, n.LinkLayer, scaled(n.RateBytesPerSecond, 8e-9), n.PCIAddress, n.NUMANode,
			strings.Join(n.NetDevices, ","), n.Firmware)
	}
	return t
}

func netTable(r *topology.NodeReport) *table {
	t := newTable("DEVICE", "STATE", ">SPEED(Gb/s)", ">MTU", "ADDRESS", ">NUMA", "RDMA")
	for _, n := range r.NetDevices {
		t.add(n.Name, n.State, scaled(n.SpeedBytesPerSecond, 8e-9), positive(n.MTU), n.PCIAddress, n.NUMANode, n.RDMADevice)
	}
	return t
}

func measuredTable(r *topology.NodeReport) *table {
	t := newTable("WHAT", ">VALUE", "UNIT", ">SPREAD(%)", ">SAMPLES", "METHOD")
	row := func(what string, m *topology.Measurement, factor float64, unit string) {
		if m != nil {
			t.add(what, m.Value*factor, unit, m.Spread*100, m.Samples, m.Method)
		}
	}
	for _, m := range r.Measurements.Memory {
		row(fmt.Sprintf("memory copy NUMA%d", m.NUMANode), &m.BandwidthBytesPerSecond, 1e-9, "GB/s")
	}
	if l := r.Measurements.Loopback; l != nil {
		row("loopback TCP", l.BandwidthBytesPerSecond, 1e-9, "GB/s")
		row("loopback TCP round trip", l.RoundTripSeconds, 1e6, "us")
	}
	for _, c := range r.Measurements.Copies {
		arrow := " -> "
		if c.Bidirectional {
			arrow = " <-> "
		}
		what := "copy " + c.From + arrow + c.To
		if c.Together {
			what += " together"
		}
		row(what, &c.BandwidthBytesPerSecond, 1e-9, "GB/s")
	}
	for _, l := range r.Measurements.Latencies {
		row("latency "+l.From+" -> "+l.To, &l.LatencySeconds, 1e6, "us")
	}
	for _, n := range r.NICs {
		row(fmt.Sprintf("%s/%d write", n.Device, n.Port), n.BandwidthBytesPerSecond, 1e-9, "GB/s")
		row(fmt.Sprintf("%s/%d write into GPU memory", n.Device, n.Port), n.GPUBandwidthBytesPerSecond, 1e-9, "GB/s")
		row(fmt.Sprintf("%s/%d write latency", n.Device, n.Port), n.LatencySeconds, 1e6, "us")
		row(fmt.Sprintf("%s/%d read latency", n.Device, n.Port), n.ReadLatencySeconds, 1e6, "us")
	}
	for _, c := range r.Measurements.Collective {
		row(fmt.Sprintf("%s %d bytes", c.Name, c.SizeBytes), &c.BusBandwidthBytesPerSecond, 1e-9, "GB/s")
	}
	return t
}

// stageTable lists what could not be measured, and why.
func stageTable(r *topology.NodeReport) *table {
	t := newTable("STAGE", "REASON")
	for _, s := range r.Stages {
		if s.Status == topology.StageFailed {
			t.add(s.Stage, s.Reason)
		}
	}
	return t
}

func findingTable(findings []topology.Finding) *table {
	t := newTable("SEVERITY", "CODE", "SUBJECT", "MESSAGE", "REMEDY")
	for _, f := range findings {
		t.add(string(f.Severity), f.Code, f.Subject, f.Message, f.Remedy)
	}
	return t
}

// scaled converts a figure that may be unknown.
func scaled(v *float64, factor float64) *float64 {
	if v == nil {
		return nil
	}
	return new(*v * factor)
}

// positive shows 0, which stands for unknown in counts, as unknown.
func positive(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}
