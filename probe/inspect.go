package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// inspect looks for what is wrong by comparing the parts of the node with what they can do and with each other.
func inspect(r *topology.NodeReport) []topology.Finding {
	var out []topology.Finding
	out = append(out, inspectLinks(r)...)
	out = append(out, inspectACS(r)...)
	out = append(out, inspectNUMA(r)...)
	out = append(out, inspectPorts(r)...)
	out = append(out, inspectRails(r)...)
	out = append(out, inspectGPUDirect(r)...)
	out = append(out, inspectGPUs(r)...)
	return out
}

// inspectLinks compares each PCIe link with what both its ends can do. A link shows at both ends; the lower one speaks.
func inspectLinks(r *topology.NodeReport) []topology.Finding {
	byAddress := index(r.PCI)
	var out []topology.Finding
	for i := range r.PCI {
		d := &r.PCI[i]
		up := byAddress[d.Parent]
		if d.Link == nil || up == nil || up.Link == nil || downstreamPort(byAddress, d) {
			continue
		}
		out = append(out, inspectLink(r, d, up)...)
	}
	return out
}

func inspectLink(r *topology.NodeReport, d, up *topology.PCIDevice) []topology.Finding {
	var out []topology.Finding
	width := cmp.Or(d.Link.Width, up.Link.Width)
	if most := least(d.Link.MaxWidth, up.Link.MaxWidth); width != nil && most != nil && *width < *most {
		out = append(out, topology.Finding{Code: "pcie-width-low", Severity: topology.Error, Subject: pciName(r, d),
			Message: fmt.Sprintf("the PCIe link of %s runs at x%d, both ends can do x%d", d.Address, *width, *most),
			Remedy:  "reseat the card or its riser; clean the contacts; check the slot's bifurcation setting"})
	}
	speed := cmp.Or(d.Link.SpeedTransfersPerSecond, up.Link.SpeedTransfersPerSecond)
	if most := least(d.Link.MaxSpeedTransfersPerSecond, up.Link.MaxSpeedTransfersPerSecond); speed != nil && most != nil && *speed < *most {
		f := topology.Finding{Code: "pcie-speed-low", Severity: topology.Error, Subject: pciName(r, d),
			Message: fmt.Sprintf("the PCIe link of %s runs at %s, both ends can do %s", d.Address, gt(*speed), gt(*most)),
			Remedy:  "reseat the card or its riser; check the slot's speed setting in the firmware"}
		if isGPU(d) {
			// An idle GPU lowers its link to save power: only a busy one can be judged.
			f.Code, f.Severity = "pcie-speed-idle", topology.Info
			f.Remedy = "an idle GPU lowers its link; measure the copy stage, which wakes it, before believing this"
		}
		out = append(out, f)
	}
	if out == nil {
		return inspectUplink(d, up)
	}
	return out
}

// inspectUplink speaks about a switch whose link is far below what the port above it can do: everything behind it shares
// that link. Less than a quarter is no matter of one generation or of half the lanes.
func inspectUplink(d, up *topology.PCIDevice) []topology.Finding {
	if !strings.HasPrefix(d.Class, "0x0604") {
		return nil
	}
	now, ok := linkBytes(d.Link.SpeedTransfersPerSecond, d.Link.Width)
	could, ok2 := linkBytes(up.Link.MaxSpeedTransfersPerSecond, up.Link.MaxWidth)
	if !ok || !ok2 || now >= could/4 {
		return nil
	}
	return []topology.Finding{{Code: "pcie-uplink-low", Severity: topology.Warning, Subject: d.Address,
		Message: fmt.Sprintf("the switch %s below port %s runs at %s x%d, the port can do %s x%d", d.Address, up.Address,
			gt(*d.Link.SpeedTransfersPerSecond), *d.Link.Width, gt(*up.Link.MaxSpeedTransfersPerSecond), *up.Link.MaxWidth),
		Remedy: "check the riser or cable between port and switch; all devices behind the switch share this link"}}
}

// inspectACS speaks about switches that send peer-to-peer traffic of GPUs and NICs up to the processor.
func inspectACS(r *topology.NodeReport) []topology.Finding {
	byAddress := index(r.PCI)
	var out []topology.Finding
	for i := range r.PCI {
		d := &r.PCI[i]
		if !(isGPU(d) || isNIC(d)) {
			continue
		}
		up := byAddress[d.Parent]
		if up == nil || up.ACSEnabled == nil || !*up.ACSEnabled || !downstreamPort(byAddress, up) || up.Parent == "" {
			continue
		}
		out = append(out, topology.Finding{Code: "acs-enabled", Severity: topology.Warning, Subject: pciName(r, d),
			Message: fmt.Sprintf("access control (ACS) on switch port %s sends peer-to-peer traffic of %s through the processor", up.Address, d.Address),
			Remedy:  "turn ACS off on this port (firmware setting, or setpci of the ACS control register) unless virtual machines need it"})
	}
	return out
}

// inspectNUMA compares a device's NUMA node with the bridges above it.
func inspectNUMA(r *topology.NodeReport) []topology.Finding {
	if len(r.NUMANodes) < 2 {
		return nil
	}
	byAddress := index(r.PCI)
	var out []topology.Finding
	for i := range r.PCI {
		d := &r.PCI[i]
		if !(isGPU(d) || isNIC(d)) {
			continue
		}
		if d.NUMANode == nil {
			out = append(out, topology.Finding{Code: "numa-unknown", Severity: topology.Warning, Subject: pciName(r, d),
				Message: fmt.Sprintf("the firmware does not tell the NUMA node of %s", d.Address),
				Remedy:  "update the firmware or turn on its NUMA setting; bindings to processors are guesses until then"})
			continue
		}
		if up := byAddress[d.Parent]; up != nil && up.NUMANode != nil && *up.NUMANode != *d.NUMANode {
			out = append(out, topology.Finding{Code: "numa-mismatch", Severity: topology.Error, Subject: pciName(r, d),
				Message: fmt.Sprintf("%s says NUMA node %d, the bridge above it says %d", d.Address, *d.NUMANode, *up.NUMANode),
				Remedy:  "update the firmware: its proximity table is wrong and threads will be bound to the far socket"})
		}
	}
	return out
}

// inspectPorts speaks about RDMA ports that are down or slower than most of their kind.
func inspectPorts(r *topology.NodeReport) []topology.Finding {
	var out []topology.Finding
	for _, n := range r.NICs {
		up, all, rate := siblings(r.NICs, n)
		if n.State != "" && n.State != "ACTIVE" {
			out = append(out, inspectDownPort(r, n, all >= 3 && up*2 > all))
			continue
		}
		if n.RateBytesPerSecond != nil && rate > 0 && *n.RateBytesPerSecond < rate {
			f := topology.Finding{Code: "port-rate-low", Severity: topology.Error, Subject: portName(n),
				Message: fmt.Sprintf("port runs at %s (%s), most ports of this kind at %s", gbit(*n.RateBytesPerSecond), n.RateDescription, gbit(rate)),
				Remedy:  "clean or replace the cable; check speed and splitting of the switch port"}
			if farFromGPUs(r, n) {
				f.Severity = topology.Info // storage often gets a slower port of the same card
			}
			out = append(out, f)
		}
	}
	return out
}

// inspectDownPort judges a port that is not up. Where most ports of the kind are up this one should be; a port that was
// disabled, or the second port of a card whose first is in use, is a note only.
func inspectDownPort(r *topology.NodeReport, n topology.NICReport, most bool) topology.Finding {
	f := topology.Finding{Code: "port-down", Severity: topology.Warning, Subject: portName(n),
		Message: fmt.Sprintf("port is %s, physical state %s", n.State, n.PhysicalState),
		Remedy:  "check cable and switch port; disable the port if it is not used"}
	if n.PhysicalState == "Polling" {
		f.Code, f.Message = "port-polling", "port sees no partner: state "+n.State+", physical state Polling"
		f.Remedy = "plug in or replace the cable; check that the switch port is enabled"
	}
	twin := slices.ContainsFunc(r.NICs, func(o topology.NICReport) bool {
		return n.SystemImageGUID != 0 && o.SystemImageGUID == n.SystemImageGUID && o.State == "ACTIVE"
	})
	switch {
	case most && !farFromGPUs(r, n):
		f.Severity = topology.Error
	case !most && (twin || n.PhysicalState == "Disabled"):
		f.Severity = topology.Info
	}
	return f
}

// farFromGPUs holds for a NIC whose place is known and is on no GPU's switch, while other NICs are.
func farFromGPUs(r *topology.NodeReport, n topology.NICReport) bool {
	others := false
	for _, p := range r.Paths {
		if isGPUName(p.A) && !isGPUName(p.B) && (p.Type == pathPIX || p.Type == pathPXB) {
			if p.B == n.Device {
				return false
			}
			others = true
		}
	}
	return others && n.PCIAddress != ""
}

// siblings counts the ports of the same board and link layer, those that are up, and the rate that more than half of the up ones have (0: none).
func siblings(nics []topology.NICReport, like topology.NICReport) (up, all int, rate float64) {
	rates := map[float64]int{}
	for _, n := range nics {
		if n.BoardID != like.BoardID || n.LinkLayer != like.LinkLayer {
			continue
		}
		all++
		if n.State == "ACTIVE" {
			up++
			if n.RateBytesPerSecond != nil {
				rates[*n.RateBytesPerSecond]++
			}
		}
	}
	for v, n := range rates {
		if n*2 > up && n > 1 {
			rate = v
		}
	}
	return up, all, rate
}

// inspectRails looks for a GPU whose neighbours all have a NIC on their switch while it has none: there a NIC is missing.
func inspectRails(r *topology.NodeReport) []topology.Finding {
	near := map[string]bool{}
	for _, p := range r.Paths {
		if p.Type == pathPIX || p.Type == pathPXB {
			if isGPUName(p.A) && !isGPUName(p.B) {
				near[p.A] = true
			}
		}
	}
	if len(r.GPUs) < 3 || len(near)*2 <= len(r.GPUs) {
		return nil
	}
	var out []topology.Finding
	for _, g := range r.GPUs {
		name := fmt.Sprintf("GPU%d", g.Index)
		if near[name] {
			continue
		}
		out = append(out, topology.Finding{Code: "nic-missing", Severity: topology.Error, Subject: name,
			Message: fmt.Sprintf("no NIC below the PCIe switch of %s (%s), while %d of %d GPUs have one", name, g.PCIAddress, len(near), len(r.GPUs)),
			Remedy:  "look for the card with lspci; reseat it; check that its driver is loaded"})
	}
	return out
}

// inspectGPUs reads the health that the driver reports.
func inspectGPUs(r *topology.NodeReport) []topology.Finding {
	var out []topology.Finding
	for _, g := range r.GPUs {
		add := func(code string, s topology.Severity, message, remedy string) {
			out = append(out, topology.Finding{Code: code, Severity: s, Subject: fmt.Sprintf("GPU%d", g.Index), Message: message, Remedy: remedy})
		}
		if rows := g.RemappedRows; rows != nil && rows.Failed {
			add("gpu-remap-failed", topology.Error, "a memory row could not be remapped", "replace the GPU")
		} else if rows != nil && rows.Pending {
			add("gpu-remap-pending", topology.Warning, "a memory row waits to be remapped", "reset the GPU when it is idle")
		}
		if f := g.Fabric; f != nil && len(f.Health) > 0 {
			add("nvlink-fabric-unhealthy", topology.Error, "NVLink fabric: "+strings.Join(f.Health, ", "), "check the fabric manager and the NVLink switches")
		}
		if reasons := badThrottle(g.ThrottleReasons); len(reasons) > 0 {
			add("gpu-throttled", topology.Warning, "clocks are lowered: "+strings.Join(reasons, ", "), "check cooling and power supply")
		}
		if peers := deniedPeers(r, g); len(peers) > 0 {
			add("p2p-denied", topology.Error, "the driver allows no direct access over NVLink: "+strings.Join(peers, ", "),
				"check the fabric manager and the driver's settings; restart both")
		}
		for _, l := range g.NVLinks {
			if n := nvlinkErrors(l); n >= maxNVLinkErrors {
				add("nvlink-errors", topology.Warning, fmt.Sprintf("NVLink %d counts %d errors", l.Link, n), "reseat the module; replace it when the errors go on")
			}
			if !l.Active {
				add("nvlink-down", topology.Error, fmt.Sprintf("NVLink %d is down", l.Link), "check the fabric manager; reset the GPUs; reseat the module")
			}
		}
	}
	return out
}

// maxNVLinkErrors is the number of errors of one link from which it is suspect (the limit of Imbue's host checks).
const maxNVLinkErrors = 5

func nvlinkErrors(l topology.NVLink) uint64 {
	var n uint64
	for _, v := range l.Errors {
		n += v
	}
	return n
}

// inspectGPUDirect speaks about NICs beside GPUs that cannot write into them.
func inspectGPUDirect(r *topology.NodeReport) []topology.Finding {
	if len(r.GPUs) == 0 || len(r.NICs) == 0 || r.NICs[0].GPUDirect == nil || *r.NICs[0].GPUDirect {
		return nil
	}
	return []topology.Finding{{Code: "gdr-missing", Severity: topology.Warning, Subject: "driver",
		Message: "the module for GPUDirect RDMA is not loaded: NICs reach GPU memory through the host only",
		Remedy:  "load nvidia_peermem, or use the open driver on Linux 5.12 or newer"}}
}

// deniedPeers lists the GPUs that a GPU has NVLink to but may not reach.
func deniedPeers(r *topology.NodeReport, g topology.GPU) []string {
	var out []string
	for _, p := range g.Peers {
		other := fmt.Sprintf("GPU%d", p.GPU)
		if p.P2P != "ok" && strings.HasPrefix(pathBetween(r, gpuName(g), other), "NV") {
			out = append(out, other+" ("+p.P2P+")")
		}
	}
	return out
}

// badThrottle drops the power cap: a busy GPU reaches it in normal work.
func badThrottle(reasons []string) []string {
	return slices.DeleteFunc(slices.Clone(reasons), func(s string) bool { return s == "power cap" })
}
