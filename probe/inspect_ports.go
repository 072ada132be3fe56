package probe

import (
	"fmt"
	"slices"

	"github.com/railmap/railmap/topology"
)

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
