package probe

import (
	"cmp"
	"fmt"
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
		if d.Link == nil || up == nil || up.Link == nil || downstreamPort(byAddress, d) || sharesLink(byAddress, d) {
			continue
		}
		out = append(out, inspectLink(r, d, up)...)
	}
	return out
}

// sharesLink reports whether d is a further function of a device whose function 0 is listed: the link is that one's, and what
// the other functions claim to be able to do (the management function of a switch says x16 on an x2 link) means nothing.
func sharesLink(byAddress map[string]*topology.PCIDevice, d *topology.PCIDevice) bool {
	device, function, ok := strings.Cut(d.Address, ".")
	return ok && function != "0" && byAddress[device+".0"] != nil
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
