package probe

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// PerftestResult is one line of figures of ib_write_bw and its sisters. What a test does not print is nil.
type PerftestResult struct {
	Test           string   // "RDMA_Write BW Test"
	Device         string   // mlx5_0
	MessageBytes   int      // size of one message
	BytesPerSecond *float64 // average
	LatencySeconds *float64 // typical when printed, else average
}

// maxPerftestResults bounds the results of one file: -a prints 23 sizes.
const maxPerftestResults = 4096

// perftestColumn finds the columns of a result table: perftest pads them with blanks and puts blanks into their names.
var perftestColumn = regexp.MustCompile(`#bytes|#iterations|BW peak\[[^\]]*\]|BW average\[[^\]]*\]|MsgRate\[[^\]]*\]|t_\w+\[\w+\]|tps average|[0-9.]+% percentile\[\w+\]|CPU_Util\[%\]`)

// ParsePerftest reads what perftest prints: its text tables, or the file of --out_json, which is no JSON because its keys
// have no quotes. Bandwidths without a unit are recognised by the message rate beside them.
func ParsePerftest(data []byte) ([]PerftestResult, error) {
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		return parsePerftestPairs(data)
	}
	var results []PerftestResult
	var current PerftestResult
	var columns []string
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<20)
	for line := 1; sc.Scan(); line++ {
		text := strings.TrimSpace(sc.Text())
		switch {
		case strings.HasSuffix(text, "Test") && !strings.Contains(text, ":"):
			current.Test = text
		case strings.Contains(text, "Device") && strings.Contains(text, ":"):
			if f := strings.Fields(text[strings.LastIndex(text, "Device"):]); len(f) >= 3 {
				current.Device = f[2]
			}
		case strings.HasPrefix(text, "#bytes"):
			columns = perftestColumn.FindAllString(text, -1)
		case columns != nil && text != "" && text[0] >= '0' && text[0] <= '9':
			r, err := perftestRow(current, columns, strings.Fields(text))
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
			if results = append(results, r); len(results) > maxPerftestResults {
				return nil, fmt.Errorf("line %d: more than %d results: must be the output of one test", line, maxPerftestResults)
			}
		}
	}
	if err := sc.Err(); err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, errors.New("no result: must hold a table with a line that starts with #bytes, or an --out_json file")
	}
	return results, nil
}

func perftestRow(r PerftestResult, columns, values []string) (PerftestResult, error) {
	if len(values) < len(columns) {
		return r, fmt.Errorf("%d figures: must be %d, one for each of %q", len(values), len(columns), columns)
	}
	for i, name := range columns {
		v, err := strconv.ParseFloat(values[i], 64)
		if err != nil || math.IsNaN(v) || v < 0 || v > 1e15 {
			return r, fmt.Errorf("%s is %q: must be a number from 0 to 1e15", name, values[i])
		}
		switch {
		case name == "#bytes":
			r.MessageBytes = int(v)
		case strings.HasPrefix(name, "BW average"):
			r.BytesPerSecond = new(v * perftestUnit(name))
		case strings.HasPrefix(name, "t_typical"):
			r.LatencySeconds = new(v * 1e-6)
		case strings.HasPrefix(name, "t_avg") && r.LatencySeconds == nil:
			r.LatencySeconds = new(v * 1e-6)
		}
	}
	return r, nil
}

// perftestUnit is the factor to bytes per second. perftest's MB are 2^20 bytes, its Gb 10^9 bits.
func perftestUnit(column string) float64 {
	if strings.Contains(column, "Gb/sec") {
		return 1e9 / 8
	}
	return 1 << 20
}

// parsePerftestPairs reads the "key: value," lines of --out_json, with or without quotes.
func parsePerftestPairs(data []byte) ([]PerftestResult, error) {
	var results []PerftestResult
	var r PerftestResult
	rate := 0.0
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<20)
	for line := 1; sc.Scan(); line++ {
		key, value, ok := strings.Cut(strings.Trim(strings.TrimSpace(sc.Text()), ","), ":")
		key, value = strings.Trim(key, " \""), strings.Trim(value, " \"")
		if !ok || value == "{" || value == "" {
			continue
		}
		if key == "test" || key == "Device" {
			if key == "test" {
				r = PerftestResult{Test: value}
			} else {
				r.Device = value
			}
			continue
		}
		field := perftestField(key)
		if field == "" {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(v) || v < 0 || v > 1e15 {
			return nil, fmt.Errorf("line %d: %s is %q: must be a number from 0 to 1e15", line, key, value)
		}
		switch field {
		case "bytes":
			results = append(results, PerftestResult{Test: r.Test, Device: r.Device, MessageBytes: int(v)})
			rate = 0
		case "bandwidth", "rate", "latency", "typical":
			if len(results) == 0 {
				return nil, fmt.Errorf("line %d: %s before MsgSize", line, key)
			}
			perftestValue(&results[len(results)-1], field, v, &rate)
		}
		if len(results) > maxPerftestResults {
			return nil, fmt.Errorf("line %d: more than %d results: must be the output of one test", line, maxPerftestResults)
		}
	}
	if len(results) == 0 {
		return nil, errors.New("no result: must hold MsgSize and BW_average or t_avg")
	}
	return results, nil
}

// perftestField names what a key holds; "" for keys that say nothing.
func perftestField(key string) string {
	switch key {
	case "MsgSize":
		return "bytes"
	case "BW_average":
		return "bandwidth"
	case "MsgRate":
		return "rate"
	case "t_avg":
		return "latency"
	case "t_typical":
		return "typical"
	}
	return ""
}

func perftestValue(r *PerftestResult, field string, v float64, raw *float64) {
	switch field {
	case "bandwidth":
		*raw = v
		r.BytesPerSecond = new(v * (1 << 20))
	case "rate":
		// Messages per second times their size tell the unit: the file itself does not.
		expected := v * 1e6 * float64(r.MessageBytes)
		if gbit := *raw * 1e9 / 8; r.BytesPerSecond != nil && math.Abs(gbit-expected) < math.Abs(*r.BytesPerSecond-expected) {
			r.BytesPerSecond = new(gbit)
		}
	case "typical":
		r.LatencySeconds = new(v * 1e-6)
	case "latency":
		if r.LatencySeconds == nil {
			r.LatencySeconds = new(v * 1e-6)
		}
	}
}
