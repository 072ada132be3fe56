package probe

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/railmap/railmap/topology"
)

// dcgmTest is a test of dcgmi diag -j. Versions name things differently, so that results are kept loose.
type dcgmTest struct {
	Name    string       `json:"name"`
	Results []dcgmResult `json:"results"`
}

type dcgmResult struct {
	GPU      any    `json:"gpu_id"`
	GPUs     string `json:"gpu_ids"`
	Entity   any    `json:"entity_id"`
	Status   string `json:"status"`
	Info     any    `json:"info"`
	Warnings any    `json:"warnings"`
}

// dcgmFigure finds "GPU 0 GPU to Host bandwidth:\t\t23.1 GB/s" and its like.
var dcgmFigure = regexp.MustCompile(`GPU (\d{1,3}) (GPU to Host|Host to GPU|bidirectional) (bandwidth|latency):\s*([0-9.]+) (GB/s|us)`)

const maxDCGMTests = 10000

func importDCGM(data []byte, r *topology.NodeReport) error {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("dcgmi diag: %w", err)
	}
	var tests []dcgmTest
	for key, raw := range file {
		if !strings.HasPrefix(key, "DCGM") {
			continue
		}
		var diag struct {
			Categories []struct {
				Tests []dcgmTest `json:"tests"`
			} `json:"test_categories"`
		}
		if err := json.Unmarshal(raw, &diag); err == nil {
			for _, c := range diag.Categories {
				tests = append(tests, c.Tests...)
			}
		}
	}
	if len(tests) == 0 {
		return fmt.Errorf("dcgmi diag: holds no test_categories: must be the output of dcgmi diag -j")
	}
	seen := map[int]bool{}
	for i, test := range tests {
		if i > maxDCGMTests {
			return fmt.Errorf("dcgmi diag: more than %d tests", maxDCGMTests)
		}
		for _, result := range test.Results {
			dcgmTake(r, test.Name, result, seen)
		}
	}
	for i := range 1000 {
		if seen[i] {
			r.GPUs = append(r.GPUs, topology.GPU{Index: i})
		}
	}
	return nil
}

func dcgmTake(r *topology.NodeReport, test string, result dcgmResult, seen map[int]bool) {
	subject := "node"
	for _, id := range []string{fmt.Sprint(result.GPU), fmt.Sprint(result.Entity), result.GPUs} {
		if n := number(id); n != nil && *n < 1000 {
			subject = fmt.Sprintf("GPU%d", *n)
			seen[*n] = true
			break
		}
	}
	text := strings.Join(append(flatten(result.Info, 0), flatten(result.Warnings, 0)...), "\n")
	for _, m := range dcgmFigure.FindAllStringSubmatch(text, -1) {
		dcgmMeasured(r, m)
	}
	severity := topology.Warning
	switch strings.ToLower(result.Status) {
	case "fail":
		severity = topology.Error
	case "warn":
	default:
		return
	}
	message := strings.Join(flatten(result.Warnings, 0), "; ")
	if message == "" {
		message = "no reason given"
	}
	r.Findings = append(r.Findings, topology.Finding{Code: "dcgm-" + strings.ToLower(strings.ReplaceAll(test, " ", "-")), Severity: severity, Subject: subject,
		Message: fmt.Sprintf("DCGM test %s: %s: %s", test, result.Status, message), Remedy: "see the DCGM diagnostics guide for this test"})
}

func dcgmMeasured(r *topology.NodeReport, m []string) {
	v, err := strconv.ParseFloat(m[4], 64)
	if err != nil || v <= 0 || v > 1e5 {
		return
	}
	gpu, host := "GPU"+m[1], anyHost
	if m[3] == "latency" && m[5] == "us" {
		r.Measurements.Latencies = append(r.Measurements.Latencies, topology.CopyLatency{From: gpu, To: host,
			LatencySeconds: topology.Measurement{Value: v * 1e-6, Samples: 1, Method: "dcgmi diag " + m[2]}})
		return
	}
	if m[5] != "GB/s" {
		return
	}
	c := topology.Copy{From: gpu, To: host, Bidirectional: m[2] == "bidirectional", BandwidthBytesPerSecond: topology.Measurement{Value: v * 1e9, Samples: 1, Method: "dcgmi diag"}}
	if m[2] != "GPU to Host" {
		c.From, c.To = host, gpu
	}
	r.Measurements.Copies = append(r.Measurements.Copies, c)
}

// flatten collects the strings of a value that may be a string, a list, or objects with one text each.
func flatten(v any, depth int) []string {
	if depth > 8 {
		return nil
	}
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, flatten(x, depth+1)...)
		}
		return out
	case map[string]any:
		for _, key := range []string{"warning", "message", "info"} {
			if out := flatten(v[key], depth+1); len(out) > 0 {
				return out
			}
		}
	}
	return nil
}
