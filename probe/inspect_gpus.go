package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

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
