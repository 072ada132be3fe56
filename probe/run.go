package probe

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/railmap/railmap/topology"
)

// Options say what to probe. The zero value reads this machine and measures nothing.
type Options struct {
	Root        string    // where /sys and /proc lie; "" is "/"
	DriverDir   string    // where the GPU driver's libraries are looked for first
	NodeName    string    // "" is the host name of the root
	ToolVersion string    // written into the report
	Stages      []Stage   // what to measure; nothing = the static stage alone
	Now         time.Time // time of the measurements; zero writes none
	Force       bool      // measure although somebody uses the node
	Timeout     time.Duration
	// Worker is the command that runs Worker in a process of its own: without it no GPU is measured, and the driver is
	// asked in this process.
	Worker []string
	// Expect judges the figures; nil judges nothing.
	Expect *Expectations
	// Peers are reports of other nodes; those like this one give medians to compare with.
	Peers []*topology.NodeReport
	// Progress is told before each measurement: number, how many there are, what.
	Progress func(n, of int, what string)

	driverPatience time.Duration // tests need less
}

func (o Options) live() bool { return o.Root == "" || path.Clean(o.Root) == "/" }

func (o Options) stages() []Stage { return o.Stages }

func (o Options) has(s Stage) bool { return slices.Contains(o.Stages, s) }

// needGPU tells whether a stage uses GPUs.
func (o Options) needGPU() bool {
	return o.has(StageCopy) || o.has(StageP2P) || o.has(StageLatency) || o.has(StageNCCL)
}

// measures tells whether anything beyond reading is asked for.
func (o Options) measures() bool {
	return slices.ContainsFunc(o.Stages, func(s Stage) bool { return s != StageStatic })
}

// Run probes a node. The error is about the root itself or a cancelled context; whatever else cannot be read is absent from
// the report or a finding in it, and what cannot be measured is a failed stage.
func Run(ctx context.Context, o Options) (*topology.NodeReport, error) {
	t, err := openTree(o.Root)
	if err != nil {
		return nil, err
	}
	defer t.close()
	r := readStatic(ctx, t, o)
	if o.measures() {
		if err := measure(ctx, r, o); err != nil {
			return nil, err
		}
	}
	if o.Expect != nil {
		judge(r, o)
	}
	r.Verdict = verdict(r.Findings)
	r.Findings = topology.SortFindings(r.Findings)
	return r, nil
}

// Plan reads a node and says what Run would do, without measuring, and how long that takes.
func Plan(ctx context.Context, o Options) (items []PlanItem, seconds float64, err error) {
	t, err := openTree(o.Root)
	if err != nil {
		return nil, 0, err
	}
	defer t.close()
	p := makePlan(readStatic(ctx, t, o), o)
	return p.items, p.seconds(), nil
}

// readStatic reads everything that needs no measurement.
func readStatic(ctx context.Context, t *tree, o Options) *topology.NodeReport {
	r := &topology.NodeReport{
		Header:    topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindNodeReport, Source: "probe", ToolVersion: o.ToolVersion},
		Node:      nodeName(t, o),
		MachineID: t.text("etc/machine-id"),
		BootID:    t.text("proc/sys/kernel/random/boot_id"),
		Kernel:    t.text("proc/sys/kernel/osrelease"),
		Product:   t.text("sys/class/dmi/id/product_name"),
		CPU:       readCPU(t), NUMANodes: readNUMA(t), PCI: readPCI(t),
	}
	readNetwork(ctx, t, o, r)
	readGPUs(ctx, o, r)
	r.Paths = paths(r)
	r.Findings = append(r.Findings, inspect(r)...)
	r.Findings = append(r.Findings, inspectIOMMU(t, r)...)
	r.Findings = topology.SortFindings(r.Findings)
	return r
}

func readNetwork(ctx context.Context, t *tree, o Options, r *topology.NodeReport) {
	mapper := netMapper(newTreeMapper(t, rdmaNames(t.root.Name())))
	if o.live() {
		mapper = kernelMapper{fallback: mapper.(*treeMapper)}
	}
	r.NICs = readNICs(t, mapper.devices())
	r.NetDevices = readNet(t, mapper)
	joinNet(r.PCI, r.NICs, r.NetDevices)
	r.Findings = append(r.Findings, readLLDP(ctx, t, o, r.NetDevices)...)
	direct := gpuDirect(t)
	for i := range r.NICs {
		r.NICs[i].GPUDirect = direct
	}
}

// gpuDirect tells whether GPUDirect RDMA is possible: the peer memory module is loaded, or the driver is the open one on a
// kernel that shares device memory through dma-buf (5.12). Nil without a GPU driver: then nobody can know.
func gpuDirect(t *tree) *bool {
	if !t.exists("sys/module/nvidia") {
		return nil
	}
	if t.exists("sys/module/nvidia_peermem") || t.exists("sys/module/nv_peer_mem") {
		return new(true)
	}
	open := strings.Contains(t.text("proc/driver/nvidia/version"), "Open Kernel Module")
	return new(open && kernelAtLeast(t.text("proc/sys/kernel/osrelease"), 5, 12))
}

// kernelAtLeast compares a release such as "5.15.0-91-generic".
func kernelAtLeast(release string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a > major || a == major && b >= minor
}

func readGPUs(ctx context.Context, o Options, r *topology.NodeReport) {
	onBus := pciGPUs(r.PCI)
	r.GPUs = onBus
	if !o.live() && o.DriverDir == "" {
		return // the driver of this machine knows nothing about a recorded one
	}
	i := askDriver(ctx, o)
	r.Driver = i.Driver
	r.Findings = append(r.Findings, i.Findings...)
	if i.Error != "" {
		r.Driver = nil
		r.Findings = append(r.Findings, driverFinding(i, len(onBus)))
		return
	}
	merged, lost := mergeGPUs(onBus, i.GPUs)
	r.GPUs = merged
	r.Findings = append(r.Findings, lost...)
}

// driverPatience is how long the driver may take to list its GPUs; without persistence mode it wakes each one first.
const driverPatience = 40 * time.Second

// askDriver lists the GPUs in a child, when there is a command for one: a driver that hangs must not hang the probe.
func askDriver(ctx context.Context, o Options) inventory {
	if len(o.Worker) == 0 {
		return takeInventory(o.DriverDir)
	}
	patience := o.driverPatience
	if patience == 0 {
		patience = driverPatience
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the driver does not answer within %v", patience))
	defer cancel()
	answer := inventory{Error: "the driver gave no answer"}
	err := runWorker(ctx, o.Worker, workerRequest{DriverDir: o.DriverDir, Inventory: true}, func(e workerEvent) {
		if e.Inventory != nil {
			answer = *e.Inventory
		}
	})
	if err != nil {
		return inventory{Error: err.Error()}
	}
	return answer
}

// driverFinding says that the driver did not answer. On a node without GPUs that is a note only.
func driverFinding(i inventory, gpusOnBus int) topology.Finding {
	f := topology.Finding{Code: "driver-unusable", Severity: topology.Error, Subject: "driver", Message: i.Error,
		Remedy: "check that nvidia-smi works on this node; look for Xid messages in the kernel log"}
	if i.Missing {
		f.Code, f.Remedy = "no-nvidia-driver", "install the NVIDIA driver, or say with --driver-dir where its libraries are"
		f.Severity = topology.Warning
	}
	if gpusOnBus == 0 {
		f.Severity = topology.Info
	}
	return f
}

func nodeName(t *tree, o Options) string {
	if o.NodeName != "" {
		return o.NodeName
	}
	if name := t.text("proc/sys/kernel/hostname"); name != "" && name != "(none)" {
		return name
	}
	if name := t.text("etc/hostname"); name != "" {
		return name
	}
	if o.live() {
		if name, err := os.Hostname(); err == nil {
			return name
		}
	}
	// A tree without a name is called after its folder, so that two trees differ.
	if base := path.Base(path.Clean(o.Root)); base != "/" && base != "." {
		return strings.ToLower(base)
	}
	return "unknown"
}
