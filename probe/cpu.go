package probe

import (
	"bufio"
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/railmap/railmap/topology"
)

const (
	cpuDir  = "sys/devices/system/cpu"
	nodeDir = "sys/devices/system/node"
	// maxCPU bounds CPU numbers in lists; Linux itself stops at 8192.
	maxCPU = 1 << 16
)

// readCPU describes the processors from /proc/cpuinfo and the topology files; nil when neither can be read.
func readCPU(t *tree) *topology.CPUInfo {
	data, _ := t.bytes("proc/cpuinfo")
	info := ParseCPUInfo(data)
	packages, cores := map[string]bool{}, map[string]bool{}
	for _, name := range t.list(cpuDir) {
		if !numbered(name, "cpu") {
			continue
		}
		dir := path.Join(cpuDir, name, "topology")
		pkg := t.text(path.Join(dir, "physical_package_id"))
		if pkg == "" {
			continue
		}
		packages[pkg] = true
		siblings := t.text(path.Join(dir, "thread_siblings_list"))
		if siblings == "" {
			siblings = pkg + "/" + t.text(path.Join(dir, "core_id"))
		}
		cores[siblings] = true
	}
	info.Sockets, info.Cores = len(packages), len(cores)
	if info == (topology.CPUInfo{}) {
		return nil
	}
	return &info
}

// ParseCPUInfo reads /proc/cpuinfo of x86_64 and arm64. Arch is told by the fields that only one of them prints; what is
// not there stays unknown. It never fails: the file is for people and differs between kernels.
func ParseCPUInfo(data []byte) topology.CPUInfo {
	var info topology.CPUInfo
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		key, value, ok := strings.Cut(sc.Text(), ":")
		if !ok {
			continue
		}
		cpuField(&info, strings.TrimSpace(key), strings.ToValidUTF8(strings.TrimSpace(value), ""))
	}
	return info
}

func cpuField(info *topology.CPUInfo, key, value string) {
	switch key {
	case "processor":
		info.Threads++
	case "vendor_id":
		info.Arch, info.Vendor = "x86_64", value
	case "model name":
		info.Model = value
	case "cpu family":
		info.Family = number(value)
	case "model":
		info.ModelID = number(value)
	case "CPU implementer":
		info.Arch, info.Vendor = "arm64", armVendor(value)
	case "CPU part":
		info.ModelID = number(value)
	}
}

// armVendor names the implementers of the arm64 MIDR register that occur in GPU servers.
func armVendor(code string) string {
	switch code {
	case "0x41":
		return "ARM"
	case "0x4e":
		return "NVIDIA"
	case "0xc0":
		return "Ampere"
	}
	return code
}

// number reads a non-negative decimal or 0x number; nil for anything else.
func number(s string) *int {
	v, err := strconv.ParseInt(s, 0, 32)
	if err != nil || v < 0 {
		return nil
	}
	return new(int(v))
}

// numbered reports whether name is prefix and then digits only.
func numbered(name, prefix string) bool {
	digits, ok := strings.CutPrefix(name, prefix)
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// readNUMA lists the NUMA nodes; a kernel without NUMA support has none.
func readNUMA(t *tree) []topology.NUMANode {
	var nodes []topology.NUMANode
	for _, name := range t.list(nodeDir) {
		if !numbered(name, "node") {
			continue
		}
		dir := path.Join(nodeDir, name)
		id, err := strconv.Atoi(strings.TrimPrefix(name, "node"))
		if err != nil {
			continue
		}
		meminfo, _ := t.bytes(path.Join(dir, "meminfo"))
		nodes = append(nodes, topology.NUMANode{
			ID:          id,
			CPUs:        t.text(path.Join(dir, "cpulist")),
			MemoryBytes: parseMemTotal(meminfo),
			Distances:   parseDistances(t.text(path.Join(dir, "distance"))),
		})
	}
	return nodes
}

// parseMemTotal reads "Node 0 MemTotal: 65536000 kB"; 0 when there is no such line.
func parseMemTotal(data []byte) uint64 {
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		for i, word := range f {
			if word == "MemTotal:" && i+1 < len(f) {
				kib, err := strconv.ParseUint(f[i+1], 10, 50)
				if err != nil {
					return 0
				}
				return kib << 10
			}
		}
	}
	return 0
}

// parseDistances reads the ACPI SLIT row "10 21"; nil when a word is no number.
func parseDistances(s string) []int {
	var row []int
	for _, word := range strings.Fields(s) {
		d, err := strconv.Atoi(word)
		if err != nil || d < 0 || len(row) == 4096 {
			return nil
		}
		row = append(row, d)
	}
	return row
}

// ParseCPUList reads a kernel CPU list such as "0-3,8,10-11" and returns the numbers in ascending order, each once.
func ParseCPUList(s string) ([]int, error) {
	seen := map[int]bool{}
	for word := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		if word == "" {
			continue
		}
		lo, hi, err := cpuRange(word)
		if err != nil {
			return nil, fmt.Errorf("cpu list %q: %w", s, err)
		}
		for c := lo; c <= hi; c++ {
			seen[c] = true
		}
	}
	cpus := make([]int, 0, len(seen))
	for c := range seen {
		cpus = append(cpus, c)
	}
	slices.Sort(cpus)
	return cpus, nil
}

func cpuRange(word string) (lo, hi int, err error) {
	first, last, isRange := strings.Cut(word, "-")
	lo, err = strconv.Atoi(first)
	hi = lo
	if err == nil && isRange {
		hi, err = strconv.Atoi(last)
	}
	if err != nil || lo < 0 || hi < lo || hi >= maxCPU {
		return 0, 0, fmt.Errorf("%q must be a number or a range such as 0-31, below %d", word, maxCPU)
	}
	return lo, hi, nil
}
