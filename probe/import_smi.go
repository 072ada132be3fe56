package probe

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/railmap/railmap/topology"
)

var (
	// ansi are the escapes with which nvidia-smi underlines its header.
	ansi      = regexp.MustCompile("\x1b\\[[0-9;]*m")
	smiLetter = regexp.MustCompile(`^(X|NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC|NIC\d+|PXN)$`)
	smiDevice = regexp.MustCompile(`^(GPU\d{1,3}|NIC\d{1,3}|[a-z][a-z0-9]*_[a-z0-9_]+)$`)
	smiLegend = regexp.MustCompile(`^\s*(NIC\d{1,3}):\s*(\S+)`)
)

// importSMITopo reads nvidia-smi topo -m: separated by tabs or blanks, with or without rows of NICs, numbered or named NICs,
// empty cells, and the older word SOC for SYS.
func importSMITopo(data []byte, r *topology.NodeReport) error {
	var columns []string
	var rows [][]string
	legend := map[string]string{}
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<20)
	for line := 1; sc.Scan(); line++ {
		text := ansi.ReplaceAllString(strings.ToValidUTF8(sc.Text(), ""), "")
		if m := smiLegend.FindStringSubmatch(text); m != nil {
			legend[m[1]] = m[2]
			continue
		}
		fields := strings.Fields(text)
		switch {
		case len(fields) == 0:
		case strings.HasPrefix(text, "Failed"):
			return fmt.Errorf("line %d: nvidia-smi says %q: run it where /sys/bus/pci is there", line, strings.TrimSpace(text))
		case columns == nil && fields[0] == "GPU0" && (len(fields) == 1 || fields[1] != "X"):
			columns = smiColumns(fields)
		case columns != nil && smiDevice.MatchString(fields[0]) && len(rows) < len(columns):
			if len(fields) > 1 && smiLetter.MatchString(fields[1]) {
				rows = append(rows, fields)
			}
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	if len(columns) == 0 || len(rows) == 0 {
		return errors.New("no matrix: must be the output of nvidia-smi topo -m, with a header that starts with GPU0")
	}
	return smiMatrix(r, columns, rows, legend)
}

// smiColumns keeps the device names of a header and drops its last columns.
func smiColumns(fields []string) []string {
	var columns []string
	for _, f := range fields {
		if !smiDevice.MatchString(f) || len(columns) >= maxMatrix {
			break
		}
		columns = append(columns, f)
	}
	return columns
}

func smiMatrix(r *topology.NodeReport, columns []string, rows [][]string, legend map[string]string) error {
	name := func(s string) string {
		if real := legend[s]; real != "" {
			return real
		}
		return s
	}
	letters := map[[2]string]string{}
	for _, row := range rows {
		cells := row[1:]
		for j, column := range columns {
			if j >= len(cells) || !smiLetter.MatchString(cells[j]) {
				lose(r, name(row[0]), "the row has %d cells of %d", j, len(columns))
				break
			}
			if letter := cells[j]; letter != "X" {
				letters[[2]string{row[0], column}] = strings.Replace(letter, "SOC", "SYS", 1)
			}
		}
		if isGPUName(row[0]) {
			g, err := smiGPU(row[0], cells, len(columns))
			if err != nil {
				return err
			}
			r.GPUs = append(r.GPUs, g)
		}
	}
	for _, c := range columns {
		if !isGPUName(c) {
			r.NICs = append(r.NICs, topology.NICReport{Device: name(c), Port: 1})
		} else if !slices.ContainsFunc(rows, func(row []string) bool { return row[0] == c }) {
			lose(r, c, "the row is missing")
		}
	}
	for i, a := range columns {
		for _, b := range columns[i+1:] {
			letter, back := letters[[2]string{a, b}], letters[[2]string{b, a}]
			if letter != "" && back != "" && letter != back {
				lose(r, name(a)+"-"+name(b), "the matrix says %s one way and %s the other", letter, back)
			}
			if letter == "" {
				letter = back
			}
			if letter != "" {
				r.Paths = append(r.Paths, topology.Path{A: name(a), B: name(b), Type: letter})
			}
		}
	}
	return nil
}

// smiGPU reads a GPU's row: its number, and the NUMA node that stands behind the CPU list.
func smiGPU(name string, cells []string, columns int) (topology.GPU, error) {
	index, err := strconv.Atoi(strings.TrimPrefix(name, "GPU"))
	if err != nil {
		return topology.GPU{}, fmt.Errorf("device %q: must look like GPU0", name)
	}
	g := topology.GPU{Index: index}
	if rest := cells[min(columns, len(cells)):]; len(rest) >= 2 {
		g.NUMANode = number(rest[1])
	}
	return g, nil
}
