package probe

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/railmap/railmap/topology"
)

const (
	perftestDuration = 2 // seconds of one bandwidth test
	perftestQueues   = 4 // queue pairs: one does not fill 400 Gb/s
	latencyLoops     = 5000
	perftestTimeout  = 30 * time.Second
	// perftestPort is where the two ends meet; one test runs at a time.
	perftestPort = 18515
	// loopbackAddress is where the ends find each other; the data goes through the device. A number needs no resolver.
	loopbackAddress = "127.0.0.1"
)

// nics measures every planned port against itself with perftest.
func (m *measurer) nics(ctx context.Context) {
	if len(m.plan.ports) == 0 {
		return
	}
	if toolPath("ib_write_bw") == "" {
		m.fail(StageNIC, "perftest is not installed (ib_write_bw); install the package perftest")
		return
	}
	gdr := m.gpuDirectWorks(ctx)
	for _, i := range m.plan.ports {
		n := &m.r.NICs[i]
		m.progress("perftest on " + portName(*n))
		if err := m.port(ctx, n, gdr); err != nil {
			m.fail(StageNIC, "%s: %v", portName(*n), err)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// port runs write bandwidth, write latency and read latency, and the bandwidth into GPU memory where perftest can do it.
func (m *measurer) port(ctx context.Context, n *topology.NICReport, gdr bool) error {
	queues := []string{"-D", strconv.Itoa(perftestDuration), "-q", strconv.Itoa(perftestQueues), "--report_gbits"}
	loops := []string{"-n", strconv.Itoa(latencyLoops)}
	if n.PCIAddress == "" {
		// A device in software loses packets when many are on their way, and takes its time.
		queues = []string{"-D", strconv.Itoa(perftestDuration), "-t", "8", "--report_gbits"}
		loops = []string{"-n", "200"}
	}
	bw, err := m.perftest(ctx, n, "ib_write_bw", queues, nil)
	if err != nil {
		return err
	}
	n.BandwidthBytesPerSecond = single(bw.BytesPerSecond, "ib_write_bw")
	for _, l := range []struct {
		tool string
		to   **topology.Measurement
	}{{"ib_write_lat", &n.LatencySeconds}, {"ib_read_lat", &n.ReadLatencySeconds}} {
		if toolPath(l.tool) == "" {
			continue
		}
		lat, err := m.perftest(ctx, n, l.tool, loops, nil)
		if err != nil {
			return err
		}
		*l.to = single(lat.LatencySeconds, l.tool)
	}
	if gpu := m.nearGPU(n); gdr && gpu >= 0 {
		bw, err := m.perftest(ctx, n, "ib_write_bw", queues, []string{fmt.Sprintf("--use_cuda=%d", gpu)})
		if err != nil {
			return fmt.Errorf("into GPU memory: %w", err)
		}
		n.GPUBandwidthBytesPerSecond = single(bw.BytesPerSecond, "ib_write_bw --use_cuda")
	}
	return nil
}

// single makes a measurement of the one figure that a tool gives.
func single(v *float64, method string) *topology.Measurement {
	if v == nil {
		return nil
	}
	return &topology.Measurement{Value: *v, Samples: 1, Method: method}
}

// perftest runs both ends of a test on one port, near the port's processors, and parses what the client prints.
func (m *measurer) perftest(ctx context.Context, n *topology.NICReport, tool string, flags, cudaFlags []string) (PerftestResult, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, perftestTimeout, fmt.Errorf("not done within %v", perftestTimeout))
	defer cancel()
	argv := append([]string{tool, "-d", n.Device, "-i", strconv.Itoa(n.Port), "-F", "-p", strconv.Itoa(perftestPort)}, flags...)
	argv = append(argv, cudaFlags...)
	if gid := m.roceIndex(n); gid >= 0 {
		argv = append(argv, "-x", strconv.Itoa(gid))
	}
	cpus := m.plan.gpu.NUMA[fmt.Sprintf("NUMA%d", deref(n.NUMANode, -1))]
	server := make(chan error, 1)
	serverCtx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, err := runTool(serverCtx, cpus, argv...)
		server <- err
	}()
	out, err := m.client(ctx, cpus, append(argv, loopbackAddress), server)
	stop()
	if err != nil {
		return PerftestResult{}, err
	}
	results, err := ParsePerftest(out)
	if err != nil {
		return PerftestResult{}, fmt.Errorf("%s: %w", tool, err)
	}
	return results[len(results)-1], nil
}

// client starts the second end until the first listens: a client that is too early ends at once. It waits for both.
func (m *measurer) client(ctx context.Context, cpus []int, argv []string, server <-chan error) ([]byte, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		out, err := runTool(ctx, cpus, argv...)
		if err == nil {
			<-server
			return out, nil
		}
		select {
		case serverErr := <-server:
			return nil, errors.Join(serverErr, err)
		case <-ctx.Done():
			<-server
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// roceIndex is the first RoCE v2 address of an Ethernet port; -1 lets perftest choose.
func (m *measurer) roceIndex(n *topology.NICReport) int {
	if n.LinkLayer != "Ethernet" {
		return -1
	}
	t, err := openTree(m.o.Root)
	if err != nil {
		return -1
	}
	defer t.close()
	dir := path.Join(ibDir, n.Device, "ports", strconv.Itoa(n.Port))
	for _, i := range t.list(path.Join(dir, "gid_attrs/types")) {
		gid := t.text(path.Join(dir, "gids", i))
		if t.text(path.Join(dir, "gid_attrs/types", i)) == "RoCE v2" && strings.Trim(gid, "0:") != "" {
			if v := number(i); v != nil {
				return *v
			}
		}
	}
	return -1
}

// gpuDirectWorks tells whether perftest was built with CUDA and the module for GPUDirect is there.
func (m *measurer) gpuDirectWorks(ctx context.Context) bool {
	if len(m.plan.gpu.GPUs) == 0 || len(m.r.NICs) == 0 || m.r.NICs[0].GPUDirect == nil || !*m.r.NICs[0].GPUDirect {
		return false
	}
	help, _ := runTool(ctx, nil, "ib_write_bw", "--help") // exits with 1 on some versions
	return strings.Contains(string(help), "--use_cuda")
}

// nearGPU is the index of a GPU on the switch of a NIC that may be used; -1 when there is none.
func (m *measurer) nearGPU(n *topology.NICReport) int {
	for _, p := range m.r.Paths {
		if p.B == n.Device && (p.Type == pathPIX || p.Type == pathPXB) && m.plan.gpu.GPUs[p.A] != "" {
			if v := number(strings.TrimPrefix(p.A, "GPU")); v != nil {
				return *v
			}
		}
	}
	return -1
}
