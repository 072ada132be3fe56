package probe

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/railmap/railmap/topology"
)

// anyHost is the place of host memory when a tool does not say on which NUMA node it lies.
const anyHost = "HOST"

// maxMatrix bounds the matrices of nvbandwidth: 72 GPUs make one rack.
const maxMatrix = 256

// nvbandwidthFile is what nvbandwidth -j prints.
type nvbandwidthFile struct {
	Result struct {
		Version string `json:"git_version"`
		Tests   []struct {
			Name   string                `json:"name"`
			Status string                `json:"status"`
			Error  string                `json:"error"`
			Matrix [][]nvbandwidthFigure `json:"bandwidth_matrix"`
		} `json:"testcases"`
	} `json:"nvbandwidth"`
}

// nvbandwidthFigure is a cell: a string with a number, a number, or "N/A".
type nvbandwidthFigure struct{ v *float64 }

func (f *nvbandwidthFigure) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), "\" ")
	if text == "N/A" || text == "null" || text == "" {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1e6 {
		return fmt.Errorf("figure %s: must be a number from 0 to 1e6 or N/A", b)
	}
	f.v = &v
	return nil
}

func importNVBandwidth(data []byte, r *topology.NodeReport) error {
	var file nvbandwidthFile
	if err := json.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("nvbandwidth: %w", err)
	}
	if len(file.Result.Tests) == 0 {
		return fmt.Errorf("nvbandwidth: holds no testcases: must be the output of nvbandwidth -j")
	}
	gpus := 0
	for _, test := range file.Result.Tests {
		if test.Status != "Passed" {
			if test.Status != "Waived" {
				lose(r, test.Name, "test is %s: %s", test.Status, test.Error)
			}
			continue
		}
		if len(test.Matrix) > maxMatrix {
			return fmt.Errorf("nvbandwidth: %s has %d rows: must be at most %d", test.Name, len(test.Matrix), maxMatrix)
		}
		for row, cells := range test.Matrix {
			if len(cells) > maxMatrix {
				return fmt.Errorf("nvbandwidth: %s has %d columns: must be at most %d", test.Name, len(cells), maxMatrix)
			}
			for column, cell := range cells {
				if cell.v == nil {
					continue
				}
				if !nvbandwidthCell(r, test.Name, row, column, *cell.v) {
					continue
				}
				gpus = max(gpus, column+1)
			}
		}
	}
	for i := range gpus {
		r.GPUs = append(r.GPUs, topology.GPU{Index: i})
	}
	return nil
}

// nvbandwidthCell takes one figure; false when the test says nothing about one way. Bandwidths are GB/s, latencies ns.
// A "read" test prints row <- column, a "write" test row -> column.
func nvbandwidthCell(r *topology.NodeReport, test string, row, column int, v float64) bool {
	rowGPU, columnGPU := fmt.Sprintf("GPU%d", row), fmt.Sprintf("GPU%d", column)
	method := "nvbandwidth " + test
	switch {
	case test == "device_to_device_latency_sm" || test == "host_device_latency_sm":
		l := topology.CopyLatency{From: columnGPU, To: anyHost, LatencySeconds: topology.Measurement{Value: v * 1e-9, Samples: 1, Method: method}}
		if test == "device_to_device_latency_sm" {
			l.From, l.To = rowGPU, columnGPU
		}
		r.Measurements.Latencies = append(r.Measurements.Latencies, l)
		return true
	case !strings.HasSuffix(test, "_ce"): // copies by kernels repeat what the copy engines show
		return false
	}
	c := topology.Copy{Bidirectional: strings.Contains(test, "bidirectional"),
		BandwidthBytesPerSecond: topology.Measurement{Value: v * 1e9, Samples: 1, Method: method}}
	switch {
	case strings.HasPrefix(test, "host_to_device"):
		c.From, c.To = anyHost, columnGPU
	case strings.HasPrefix(test, "device_to_host"):
		c.From, c.To = columnGPU, anyHost
	case strings.HasPrefix(test, "device_to_device") && strings.Contains(test, "_read_"):
		c.From, c.To = columnGPU, rowGPU
	case strings.HasPrefix(test, "device_to_device") && strings.Contains(test, "_write_"):
		c.From, c.To = rowGPU, columnGPU
	default:
		return false
	}
	r.Measurements.Copies = append(r.Measurements.Copies, c)
	return true
}
