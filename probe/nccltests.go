package probe

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/railmap/railmap/topology"
	"github.com/railmap/railmap/topology/nccl"
)

const (
	allReducePerf    = "all_reduce_perf"
	ncclTestsTimeout = 2 * time.Minute
)

// ncclTests runs all_reduce_perf of nccl-tests over the GPUs of the node, when it is installed.
func (m *measurer) ncclTests(ctx context.Context) {
	if m.plan.ncclTests == 0 || ctx.Err() != nil {
		return
	}
	m.progress(allReducePerf)
	ctx, cancel := context.WithTimeoutCause(ctx, ncclTestsTimeout, fmt.Errorf("not done within %v", ncclTestsTimeout))
	defer cancel()
	out, err := runTool(ctx, nil, allReducePerf, "-b", "8M", "-e", "1G", "-f", "2", "-g", strconv.Itoa(m.plan.ncclTests))
	if err != nil {
		m.fail(StageNCCL, "%v", err)
		return
	}
	run, err := nccl.ReadTests(bytes.NewReader(out))
	if err != nil {
		m.fail(StageNCCL, "%s: %v", allReducePerf, err)
		return
	}
	for _, row := range run.Rows {
		if best := row.Better(); best != nil {
			m.r.Measurements.Collective = append(m.r.Measurements.Collective, topology.Collective{Name: "all_reduce", SizeBytes: row.SizeBytes, GPUs: m.plan.ncclTests,
				BusBandwidthBytesPerSecond: topology.Measurement{Value: best.BusBandwidthBytesPerSecond, Samples: 1, Method: strings.TrimSpace("nccl-tests " + run.NCCLVersion)},
				TimeSeconds:                new(best.TimeSeconds)})
		}
	}
}
