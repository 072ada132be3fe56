package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

const (
	// warnAbove the floor is a warning: the part still passes, but with little left (the margin is Azure's).
	warnAbove = 1.05
	// Against like nodes: less than failRatio of their median fails, less than warnRatio warns; at least minPeers must tell.
	failRatio, warnRatio = 0.90, 0.95
	minPeers             = 5
)

// verdict sums findings up.
func verdict(findings []topology.Finding) string {
	worst := topology.VerdictPass
	for _, f := range findings {
		switch f.Severity {
		case topology.Error:
			return topology.VerdictFail
		case topology.Warning:
			worst = topology.VerdictWarn
		}
	}
	return worst
}

// judge compares what was measured with what this hardware should deliver and with other nodes like it.
func judge(r *topology.NodeReport, o Options) {
	j := &judgement{r: r, e: o.Expect, peers: likeNodes(r, o.Peers)}
	j.hardware()
	j.hostCopies()
	j.peerCopies()
	j.ports()
	j.collectives()
	j.likes()
	r.Findings = append(r.Findings, j.findings...)
}

type judgement struct {
	r        *topology.NodeReport
	e        *Expectations
	peers    []*topology.NodeReport
	findings []topology.Finding
}

func (j *judgement) add(code string, severity topology.Severity, subject, message, remedy string) {
	j.findings = append(j.findings, topology.Finding{Code: code, Severity: severity, Subject: subject, Message: message, Remedy: remedy})
}

// below tells how a figure stands to a band: "" fine, else how bad.
func below(v float64, b *Band) topology.Severity {
	switch {
	case b == nil || v >= warnAbove*b.Floor || v >= b.Expected:
		return ""
	case v < b.Floor:
		return topology.Error
	}
	return topology.Warning
}

// figures spells a measured value beside its band.
func figures(v float64, b *Band) string {
	return fmt.Sprintf("%.1f GB/s, expected %.1f, at least %.1f (%s)", v/1e9, b.Expected/1e9, b.Floor/1e9, b.Source)
}

// hardware compares what is there with what the model has.
func (j *judgement) hardware() {
	for _, g := range j.r.GPUs {
		e := j.e.gpu(g.Model)
		if e == nil {
			continue
		}
		name := gpuName(g)
		if most := g.MaxPCIeGeneration; most != nil && *most < e.PCIeGeneration {
			j.add("pcie-slot-slow", topology.Warning, name, fmt.Sprintf("GPU and slot can do PCIe generation %d, this model %d", *most, e.PCIeGeneration),
				"check the slot's speed setting in the firmware; use a faster slot")
		}
		if most := g.MaxPCIeWidth; most != nil && *most < e.PCIeWidth {
			j.add("pcie-slot-narrow", topology.Warning, name, fmt.Sprintf("GPU and slot can do PCIe x%d, this model x%d", *most, e.PCIeWidth),
				"use a wider slot; check its bifurcation setting")
		}
		if n := len(g.NVLinks); n > 0 && n < e.NVLinks {
			j.add("nvlink-missing", topology.Error, name, fmt.Sprintf("%d NVLinks are there, this model has %d", n, e.NVLinks),
				"check the fabric manager; reset the GPUs; replace the module")
		}
	}
}

// near tells whether a NUMA node is the one of a GPU.
func (j *judgement) near(gpu, numa string) bool {
	for _, g := range j.r.GPUs {
		if gpuName(g) == gpu {
			return g.NUMANode == nil && len(j.r.NUMANodes) < 2 || g.NUMANode != nil && numa == fmt.Sprintf("NUMA%d", *g.NUMANode)
		}
	}
	return false
}

// hostCopies judges each GPU alone with its own NUMA node.
func (j *judgement) hostCopies() {
	for _, c := range j.r.Measurements.Copies {
		gpu, numa := c.From, c.To
		if !isGPUName(gpu) {
			gpu, numa = numa, gpu
		}
		if c.Bidirectional || c.Together || isGPUName(numa) || !j.near(gpu, numa) {
			continue
		}
		band := j.hostBand(gpu)
		v := c.BandwidthBytesPerSecond.Value
		if s := below(v, band); s != "" {
			cause, remedy := j.hostCause(gpu)
			j.add("copy-host-low", s, gpu, fmt.Sprintf("copies %s to %s reach %s; likely cause: %s", c.From, c.To, figures(v, band), cause), remedy)
		}
	}
}

// hostBand is what copies between a GPU and the host should reach. In a slot that can do less than the model, less is right:
// the slot is a finding of its own, and how the machine was built.
func (j *judgement) hostBand(gpu string) *Band {
	e := j.e.gpu(j.model(gpu))
	if e == nil || e.Host == nil {
		return nil
	}
	for _, g := range j.r.GPUs {
		if gpuName(g) != gpu || g.MaxPCIeGeneration == nil || g.MaxPCIeWidth == nil || e.PCIeGeneration == 0 || e.PCIeWidth == 0 {
			continue
		}
		return e.Host.scaled(pcieBytes(*g.MaxPCIeGeneration, *g.MaxPCIeWidth) / pcieBytes(e.PCIeGeneration, e.PCIeWidth))
	}
	return e.Host
}

func (j *judgement) model(gpu string) string {
	for _, g := range j.r.GPUs {
		if gpuName(g) == gpu {
			return g.Model
		}
	}
	return ""
}

// found tells whether the static stage or an earlier check named a subject for one of the codes.
func (j *judgement) found(subject string, codes ...string) bool {
	has := func(f topology.Finding) bool { return f.Subject == subject && slices.Contains(codes, f.Code) }
	return slices.ContainsFunc(j.r.Findings, has) || slices.ContainsFunc(j.findings, has)
}

// hostCause looks for what explains slow copies to the host, most certain first.
func (j *judgement) hostCause(gpu string) (cause, remedy string) {
	switch {
	case j.found(gpu, "pcie-width-low", "pcie-speed-low"):
		return "its PCIe link trained down", "reseat the GPU or its riser; check the slot settings in the firmware"
	case j.uplinkLow(gpu):
		return "the switch above it has a link that trained down", "check riser or cable between processor and switch"
	case j.found(gpu, "pcie-slot-slow", "pcie-slot-narrow"):
		return "its slot is slower than the GPU", "use a faster slot"
	case j.found(gpu, "numa-mismatch", "numa-unknown"):
		return "its NUMA node is told wrongly, so that memory of the far socket was used", "update the firmware"
	case j.found(gpu, "gpu-throttled"):
		return "its clocks are lowered", "check cooling and power supply"
	case j.iommu():
		return "an IOMMU that translates every access", "boot with iommu=pt, or turn the IOMMU off"
	}
	return "not seen in the inventory", "run the probe again; compare with a GPU on the same switch; look for PCIe errors in the kernel log"
}

func (j *judgement) uplinkLow(gpu string) bool {
	byAddress := index(j.r.PCI)
	for _, g := range j.r.GPUs {
		if d := byAddress[g.PCIAddress]; gpuName(g) == gpu && d != nil {
			for _, up := range ancestors(byAddress, d) {
				if j.found(up, "pcie-uplink-low", "pcie-width-low", "pcie-speed-low") {
					return true
				}
			}
		}
	}
	return false
}

func (j *judgement) iommu() bool { return j.found("iommu", "iommu-translates") }

// peerCopies judges pairs over NVLink. A GPU that is slow with at least half of its partners is named itself, once; other
// slow pairs are named as pairs.
func (j *judgement) peerCopies() {
	type low struct {
		copy     topology.Copy
		band     *Band
		severity topology.Severity
	}
	var lows []low
	slow, all := map[string]int{}, map[string]int{}
	for _, c := range j.r.Measurements.Copies {
		if c.Together || !isGPUName(c.From) || !isGPUName(c.To) || !strings.HasPrefix(pathBetween(j.r, c.From, c.To), "NV") {
			continue
		}
		e := j.e.gpu(j.model(c.From))
		if e == nil || e.Peer == nil {
			continue
		}
		all[c.From]++
		all[c.To]++
		v := c.BandwidthBytesPerSecond.Value
		if c.Bidirectional {
			v /= 2
		}
		if s := below(v, e.Peer); s != "" {
			lows = append(lows, low{c, e.Peer, s})
			slow[c.From]++
			slow[c.To]++
		}
	}
	bad := func(gpu string) bool { return all[gpu] >= 4 && 2*slow[gpu] >= all[gpu] }
	named := map[string]bool{}
	for _, l := range lows {
		subject := l.copy.From + "-" + l.copy.To
		if topology.CompareNames(l.copy.To, l.copy.From) < 0 {
			subject = l.copy.To + "-" + l.copy.From
		}
		for _, gpu := range []string{l.copy.From, l.copy.To} {
			if bad(gpu) {
				subject = gpu
			}
		}
		if named[subject] {
			continue
		}
		named[subject] = true
		v := l.copy.BandwidthBytesPerSecond.Value
		if l.copy.Bidirectional {
			v /= 2
		}
		cause, remedy := j.peerCause(l.copy.From, l.copy.To)
		j.add("copy-peer-low", l.severity, subject, fmt.Sprintf("copies %s to %s reach %s; likely cause: %s", l.copy.From, l.copy.To, figures(v, l.band), cause), remedy)
	}
}

func (j *judgement) peerCause(a, b string) (cause, remedy string) {
	for _, g := range j.r.GPUs {
		if name := gpuName(g); name == a || name == b {
			for _, l := range g.NVLinks {
				if !l.Active {
					return fmt.Sprintf("NVLink %d of %s is down", l.Link, name), "reset the GPUs; reseat the module; check the fabric manager"
				}
				if l.Errors["replay"]+l.Errors["crcFlit"]+l.Errors["crcData"]+l.Errors["recovery"] > 0 {
					return fmt.Sprintf("NVLink %d of %s has errors", l.Link, name), "reseat the module; replace it when the errors go on"
				}
			}
			for _, p := range g.Peers {
				if other := fmt.Sprintf("GPU%d", p.GPU); (other == a || other == b) && p.P2P != "ok" {
					return "the driver allows no direct access: " + p.P2P, "turn ACS off on the PCIe switches; check the fabric manager"
				}
			}
			if j.found(name, "gpu-throttled") {
				return "the clocks of " + name + " are lowered", "check cooling and power supply"
			}
		}
	}
	return "not seen in the inventory", "run the probe again; compare both GPUs with a third; check the NVLink switches"
}

// ports judges NICs against themselves. Devices without a PCI function are software and promise nothing.
func (j *judgement) ports() {
	for _, n := range j.r.NICs {
		if n.RateBytesPerSecond == nil || n.PCIAddress == "" {
			continue
		}
		e := j.e.nic(*n.RateBytesPerSecond)
		if e == nil {
			continue
		}
		share := j.slotShare(n)
		for _, f := range []struct {
			what string
			m    *topology.Measurement
			b    *Band
		}{{"writes to itself", n.BandwidthBytesPerSecond, e.Write.scaled(share)}, {"writes into GPU memory", n.GPUBandwidthBytesPerSecond, e.GPU.scaled(share)}} {
			if f.m == nil || f.b == nil {
				continue
			}
			if s := below(f.m.Value, f.b); s != "" {
				cause, remedy := j.portCause(n)
				j.add("nic-bandwidth-low", s, portName(n), fmt.Sprintf("%s reach %s; likely cause: %s", f.what, figures(f.m.Value, f.b), cause), remedy)
			}
		}
	}
}

// slotShare is how much of a port's rate its PCIe slot can carry at best, at most 1; less is a finding.
func (j *judgement) slotShare(n topology.NICReport) float64 {
	byAddress := index(j.r.PCI)
	d := byAddress[n.PCIAddress]
	if d == nil || d.Link == nil {
		return 1
	}
	speed, width := d.Link.MaxSpeedTransfersPerSecond, d.Link.MaxWidth
	if up := byAddress[d.Parent]; up != nil && up.Link != nil {
		speed, width = least(speed, up.Link.MaxSpeedTransfersPerSecond), least(width, up.Link.MaxWidth)
	}
	slot, known := linkBytes(speed, width)
	if !known || slot*pcieEfficiency >= *n.RateBytesPerSecond {
		return 1
	}
	j.add("nic-slot-slow", topology.Warning, portName(n), fmt.Sprintf("slot and card can do %s x%d, too little for %s", gt(*speed), *width, gbit(*n.RateBytesPerSecond)),
		"use a faster slot; check the slot's settings in the firmware")
	return slot * pcieEfficiency / *n.RateBytesPerSecond
}

func (j *judgement) portCause(n topology.NICReport) (cause, remedy string) {
	switch {
	case j.found(n.Device, "pcie-width-low", "pcie-speed-low"):
		return "its PCIe link trained down", "reseat the card or its riser"
	case j.found(n.Device, "numa-mismatch", "numa-unknown"):
		return "its NUMA node is told wrongly", "update the firmware"
	case n.GPUDirect != nil && !*n.GPUDirect && n.GPUBandwidthBytesPerSecond != nil:
		return "the module for GPUDirect RDMA is missing", "load nvidia_peermem"
	case j.found(n.Device, "acs-enabled"):
		return "access control (ACS) on its switch port", "turn ACS off"
	}
	return "not seen in the inventory", "check relaxed ordering and MaxReadReq of the card; run the probe again"
}

// collectives judges the largest all-reduce; expectations are for 8 GPUs.
func (j *judgement) collectives() {
	if len(j.r.GPUs) == 0 || len(j.r.Measurements.Collective) == 0 {
		return
	}
	e := j.e.gpu(j.r.GPUs[0].Model)
	last := j.r.Measurements.Collective[0]
	for _, c := range j.r.Measurements.Collective {
		if c.SizeBytes > last.SizeBytes {
			last = c
		}
	}
	if e == nil || e.AllReduce == nil || last.GPUs != 8 || last.SizeBytes < 1<<30 {
		return
	}
	if v := last.BusBandwidthBytesPerSecond.Value; below(v, e.AllReduce) != "" {
		j.add("allreduce-low", below(v, e.AllReduce), "NCCL", "all-reduce over 8 GPUs reaches "+figures(v, e.AllReduce),
			"look at the copies between GPUs above; check NCCL's own log (NCCL_DEBUG=INFO) for the transport it chose")
	}
}
