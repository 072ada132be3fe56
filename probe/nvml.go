//go:build cgo && linux

package probe

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/railmap/railmap/topology"
)

// nvmlDriver reads GPUs through the driver's management library. A call that an older library does not have would end the
// process, because it is bound lazily: so each is looked up before it is used.
type nvmlDriver struct {
	lib   nvml.Interface
	known map[string]bool
}

// openDriver loads libnvidia-ml.so.1, from dir first when that is not empty, and starts it.
func openDriver(dir string) (gpuDriver, error) {
	var options []nvml.LibraryOption
	if _, err := os.Stat(filepath.Join(dir, nvmlLibrary)); dir != "" && err == nil {
		options = append(options, nvml.WithLibraryPath(filepath.Join(dir, nvmlLibrary)))
	}
	d := &nvmlDriver{lib: nvml.New(options...), known: map[string]bool{}}
	switch ret := d.lib.Init(); ret {
	case nvml.SUCCESS:
		return d, nil
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return nil, errNoDriver
	default:
		return nil, fmt.Errorf("start NVML: error %d (%s)", int(ret), nvmlText(ret))
	}
}

func (d *nvmlDriver) close() { d.lib.Shutdown() }

// has tells whether the loaded library has a call.
func (d *nvmlDriver) has(symbol string) bool {
	known, asked := d.known[symbol]
	if !asked {
		known = d.lib.Extensions().LookupSymbol(symbol) == nil
		d.known[symbol] = known
	}
	return known
}

func (d *nvmlDriver) info() topology.DriverInfo {
	var info topology.DriverInfo
	if v, ret := d.lib.SystemGetDriverVersion(); ret == nvml.SUCCESS {
		info.Version = v
	}
	if v, ret := d.lib.SystemGetNVMLVersion(); ret == nvml.SUCCESS {
		info.NVMLVersion = v
	}
	if d.has("nvmlSystemGetCudaDriverVersion") {
		if v, ret := d.lib.SystemGetCudaDriverVersion(); ret == nvml.SUCCESS {
			info.CUDAVersion = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
		}
	}
	return info
}

func (d *nvmlDriver) gpus() ([]topology.GPU, []topology.Finding, error) {
	n, ret := d.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, nil, fmt.Errorf("count GPUs: NVML error %d (%s)", int(ret), nvmlText(ret))
	}
	var gpus []topology.GPU
	var findings []topology.Finding
	var handles []nvml.Device
	for i := range n {
		dev, ret := d.lib.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			findings = append(findings, unreadableGPU(i, int(ret), nvmlText(ret)))
			continue
		}
		g := topology.GPU{Index: i}
		d.identity(dev, &g)
		d.health(dev, &g)
		g.NVLinks = d.nvlinks(dev)
		g.Fabric = d.fabric(dev)
		gpus, handles = append(gpus, g), append(handles, dev)
	}
	d.peers(handles, gpus)
	return gpus, findings, nil
}

func unreadableGPU(index, code int, text string) topology.Finding {
	return topology.Finding{Code: "gpu-unreadable", Severity: topology.Error, Subject: fmt.Sprintf("GPU%d", index),
		Message: fmt.Sprintf("the driver does not open this GPU: NVML error %d (%s)", code, text),
		Remedy:  "look for Xid messages in the kernel log; reset the GPU or the node"}
}

func (d *nvmlDriver) pcieLink(address string) (generation, width *int) {
	n, _ := d.lib.DeviceGetCount()
	for i := range n {
		dev, ret := d.lib.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue
		}
		if v, ret := dev.GetPciInfo(); ret == nvml.SUCCESS && busAddress(v) == address {
			return count(dev.GetCurrPcieLinkGeneration()), count(dev.GetCurrPcieLinkWidth())
		}
	}
	return nil, nil
}

// identity fills what a GPU is: names, address, memory, PCIe link.
func (d *nvmlDriver) identity(dev nvml.Device, g *topology.GPU) {
	if v, ret := dev.GetName(); ret == nvml.SUCCESS {
		g.Model = v
	}
	if v, ret := dev.GetUUID(); ret == nvml.SUCCESS {
		g.UUID = v
	}
	if v, ret := dev.GetPciInfo(); ret == nvml.SUCCESS {
		g.PCIAddress = busAddress(v)
	}
	if v, ret := dev.GetMemoryInfo(); ret == nvml.SUCCESS {
		g.MemoryBytes = v.Total
	}
	if d.has("nvmlDeviceGetCudaComputeCapability") {
		if major, minor, ret := dev.GetCudaComputeCapability(); ret == nvml.SUCCESS {
			g.ComputeCapability = fmt.Sprintf("%d.%d", major, minor)
		}
	}
	g.PCIeGeneration = count(dev.GetCurrPcieLinkGeneration())
	g.MaxPCIeGeneration = count(dev.GetMaxPcieLinkGeneration())
	g.PCIeWidth = count(dev.GetCurrPcieLinkWidth())
	g.MaxPCIeWidth = count(dev.GetMaxPcieLinkWidth())
	if d.has("nvmlDeviceGetMigMode") {
		if now, _, ret := dev.GetMigMode(); ret == nvml.SUCCESS {
			g.MIGEnabled = new(now == nvml.DEVICE_MIG_ENABLE)
		}
	}
	if d.has("nvmlDeviceGetC2cModeInfoV") {
		if v, ret := dev.GetC2cModeInfoV().V1(); ret == nvml.SUCCESS {
			g.C2CEnabled = new(v.IsC2cEnabled != 0)
		}
	}
}

// health fills counters and states that tell a sick GPU.
func (d *nvmlDriver) health(dev nvml.Device, g *topology.GPU) {
	if v, ret := dev.GetTemperature(nvml.TEMPERATURE_GPU); ret == nvml.SUCCESS {
		g.TemperatureCelsius = new(int(v))
	}
	if v, ret := dev.GetPcieReplayCounter(); ret == nvml.SUCCESS && v >= 0 {
		g.PCIeReplays = new(uint64(v))
	}
	if v, ret := dev.GetComputeRunningProcesses(); ret == nvml.SUCCESS {
		g.ProcessCount = new(len(v))
	}
	if d.has("nvmlDeviceGetRemappedRows") {
		if c, u, pending, failed, ret := dev.GetRemappedRows(); ret == nvml.SUCCESS {
			g.RemappedRows = &topology.RemappedRows{Correctable: c, Uncorrectable: u, Pending: pending, Failed: failed}
		}
	}
	switch {
	case d.has("nvmlDeviceGetCurrentClocksEventReasons"):
		if mask, ret := dev.GetCurrentClocksEventReasons(); ret == nvml.SUCCESS {
			g.ThrottleReasons = throttleNames(mask)
		}
	case d.has("nvmlDeviceGetCurrentClocksThrottleReasons"):
		if mask, ret := dev.GetCurrentClocksThrottleReasons(); ret == nvml.SUCCESS {
			g.ThrottleReasons = throttleNames(mask)
		}
	}
}

// nvlinks lists the NVLink ports that this GPU has. Ports that the driver calls unsupported are not there.
func (d *nvmlDriver) nvlinks(dev nvml.Device) []topology.NVLink {
	var links []topology.NVLink
	for i := range nvml.NVLINK_MAX_LINKS {
		state, ret := dev.GetNvLinkState(i)
		if ret != nvml.SUCCESS {
			continue
		}
		l := topology.NVLink{Link: i, Active: state == nvml.FEATURE_ENABLED}
		if l.Active {
			d.nvlinkPeer(dev, &l)
		}
		links = append(links, l)
	}
	return links
}

func (d *nvmlDriver) nvlinkPeer(dev nvml.Device, l *topology.NVLink) {
	if v, ret := dev.GetNvLinkVersion(l.Link); ret == nvml.SUCCESS {
		l.Version = new(int(v))
	}
	if v, ret := dev.GetNvLinkRemotePciInfo(l.Link); ret == nvml.SUCCESS {
		l.Remote = busAddress(v)
	}
	if d.has("nvmlDeviceGetNvLinkRemoteDeviceType") {
		if v, ret := dev.GetNvLinkRemoteDeviceType(l.Link); ret == nvml.SUCCESS {
			l.RemoteType = map[nvml.IntNvLinkDeviceType]string{nvml.NVLINK_DEVICE_TYPE_GPU: "gpu",
				nvml.NVLINK_DEVICE_TYPE_SWITCH: "switch", nvml.NVLINK_DEVICE_TYPE_IBMNPU: "cpu"}[v]
		}
	}
	if !d.has("nvmlDeviceGetNvLinkErrorCounter") {
		return
	}
	for name, counter := range map[string]nvml.NvLinkErrorCounter{"replay": nvml.NVLINK_ERROR_DL_REPLAY,
		"recovery": nvml.NVLINK_ERROR_DL_RECOVERY, "crcFlit": nvml.NVLINK_ERROR_DL_CRC_FLIT, "crcData": nvml.NVLINK_ERROR_DL_CRC_DATA} {
		if v, ret := dev.GetNvLinkErrorCounter(l.Link, counter); ret == nvml.SUCCESS {
			if l.Errors == nil {
				l.Errors = map[string]uint64{}
			}
			l.Errors[name] = v
		}
	}
}

// fabric reads the multi-node NVLink membership; nil when the GPU has none or the library does not know the call.
func (d *nvmlDriver) fabric(dev nvml.Device) *topology.NVLinkFabric {
	if !d.has("nvmlDeviceGetGpuFabricInfoV") {
		return nil
	}
	v, ret := dev.GetGpuFabricInfoV().V2()
	if ret != nvml.SUCCESS || v.State == nvml.GPU_FABRIC_STATE_NOT_SUPPORTED {
		return nil
	}
	f := &topology.NVLinkFabric{ClusterUUID: formatUUID(v.ClusterUuid), CliqueID: new(v.CliqueId), HealthMask: new(v.HealthMask)}
	f.State = map[uint8]string{nvml.GPU_FABRIC_STATE_NOT_STARTED: "not started",
		nvml.GPU_FABRIC_STATE_IN_PROGRESS: "in progress", nvml.GPU_FABRIC_STATE_COMPLETED: "completed"}[v.State]
	f.Health = DecodeFabricHealth(v.HealthMask)
	return f
}

// peers fills which GPUs can reach each other directly.
func (d *nvmlDriver) peers(handles []nvml.Device, gpus []topology.GPU) {
	if !d.has("nvmlDeviceGetP2PStatus") {
		return
	}
	for i, a := range handles {
		for j, b := range handles {
			if i == j {
				continue
			}
			if v, ret := a.GetP2PStatus(b, nvml.P2P_CAPS_INDEX_READ); ret == nvml.SUCCESS {
				gpus[i].Peers = append(gpus[i].Peers, topology.GPUPeer{GPU: gpus[j].Index, P2P: p2pName(v)})
			}
		}
	}
}

func p2pName(s nvml.GpuP2PStatus) string {
	switch s {
	case nvml.P2P_STATUS_OK:
		return "ok"
	case nvml.P2P_STATUS_CHIPSET_NOT_SUPPORTED:
		return "chipset not supported"
	case nvml.P2P_STATUS_GPU_NOT_SUPPORTED:
		return "gpu not supported"
	case nvml.P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED:
		return "topology not supported"
	case nvml.P2P_STATUS_DISABLED_BY_REGKEY:
		return "disabled"
	case nvml.P2P_STATUS_NOT_SUPPORTED:
		return "not supported"
	}
	return "unknown"
}

// throttleNames spells the reasons for lowered clocks that matter; idle and wanted settings are left out.
func throttleNames(mask uint64) []string {
	names := map[uint64]string{nvml.ClocksEventReasonSwPowerCap: "power cap", nvml.ClocksThrottleReasonHwSlowdown: "hardware slowdown",
		nvml.ClocksEventReasonSwThermalSlowdown: "software thermal slowdown", nvml.ClocksThrottleReasonHwThermalSlowdown: "hardware thermal slowdown",
		nvml.ClocksThrottleReasonHwPowerBrakeSlowdown: "power brake"}
	var out []string
	for bit := uint64(1); mask != 0 && bits.Len64(bit) <= 16; bit <<= 1 {
		if name := names[mask&bit]; name != "" {
			out = append(out, name)
		}
	}
	return out
}

// busAddress writes an NVML PCI place as the kernel does: 0000:0c:00.0. Ends that have no place (NVSwitches of another
// tray) come as all zeros or all ones: those are "".
func busAddress(v nvml.PciInfo) string {
	if v.Bus > 0xff || v.Device > 0x1f || v.Domain|v.Bus|v.Device == 0 {
		return ""
	}
	return fmt.Sprintf("%04x:%02x:%02x.0", v.Domain, v.Bus, v.Device)
}

func count(v int, ret nvml.Return) *int {
	if ret != nvml.SUCCESS || v <= 0 {
		return nil
	}
	return &v
}

func formatUUID(b [16]uint8) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

func nvmlText(ret nvml.Return) string { return strings.ToLower(nvml.ErrorString(ret)) }
