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

// maxNVLinks bounds the links of one GPU; the most that exist are 18.
const maxNVLinks = 64

var (
	nvlinkGPU  = regexp.MustCompile(`^GPU (\d{1,4}): (.+?)(?: \(UUID: (\S+)\))?$`)
	nvlinkLink = regexp.MustCompile(`^Link (\d{1,3}): (?:<(inactive)>|([0-9.]+) GB/s)$`)
)

// importNVLink reads nvidia-smi nvlink -s: the links of each GPU with their rate, or that they are inactive. The far ends
// are not in it, and a report has no place for rates: links of one GPU that differ are a finding.
func importNVLink(data []byte, r *topology.NodeReport) error {
	var rates []float64
	odd, first, line := 0, 0, 1
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<20)
	for ; sc.Scan(); line++ {
		text := strings.TrimSpace(strings.ToValidUTF8(sc.Text(), ""))
		gpu, link := nvlinkGPU.FindStringSubmatch(text), nvlinkLink.FindStringSubmatch(text)
		switch {
		case text == "":
		case gpu != nil:
			nvlinkUneven(r, rates)
			rates = nil
			if err := addNVLinkGPU(r, gpu); err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
		case len(r.GPUs) > 0 && link != nil:
			rate, err := addNVLink(&r.GPUs[len(r.GPUs)-1], link)
			if err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
			if rate > 0 {
				rates = append(rates, rate)
			}
		case len(r.GPUs) > 0 && strings.Contains(strings.ToLower(text), "all links are inactive"):
			lose(r, gpuName(r.GPUs[len(r.GPUs)-1]), "nvidia-smi lists no links: it says that all are inactive")
		default:
			if odd++; odd == 1 {
				first = line
			}
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	if len(r.GPUs) == 0 {
		return errors.New("no GPU: must be the output of nvidia-smi nvlink -s")
	}
	nvlinkUneven(r, rates)
	if odd > 0 {
		lose(r, "nvlink", "%d lines tell no state of a link, the first is line %d", odd, first)
	}
	slices.SortFunc(r.GPUs, func(a, b topology.GPU) int { return a.Index - b.Index })
	r.Findings = append(r.Findings, inspectGPUs(r)...)
	return nil
}

func addNVLinkGPU(r *topology.NodeReport, m []string) error {
	index, err := strconv.Atoi(m[1])
	if err != nil {
		return err
	}
	if slices.ContainsFunc(r.GPUs, func(g topology.GPU) bool { return g.Index == index }) {
		return fmt.Errorf("GPU %d stands twice: must be the output of one run", index)
	}
	r.GPUs = append(r.GPUs, topology.GPU{Index: index, Model: m[2], UUID: m[3]})
	return nil
}

// addNVLink adds a link and gives its rate in GB/s, 0 when it is inactive.
func addNVLink(g *topology.GPU, m []string) (float64, error) {
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0, err
	}
	if len(g.NVLinks) >= maxNVLinks || slices.ContainsFunc(g.NVLinks, func(l topology.NVLink) bool { return l.Link == n }) {
		return 0, fmt.Errorf("GPU %d link %d: must be there once, and at most %d links", g.Index, n, maxNVLinks)
	}
	rate := 0.0
	if m[2] == "" {
		if rate, err = strconv.ParseFloat(m[3], 64); err != nil || rate > 1e6 {
			return 0, fmt.Errorf("rate %q: must be a number of GB/s", m[3])
		}
	}
	// A rate of 0 moves no data: no more active than a link that says so.
	g.NVLinks = append(g.NVLinks, topology.NVLink{Link: n, Active: rate > 0})
	return rate, nil
}

// nvlinkUneven speaks about the GPU read last when its links run at different rates.
func nvlinkUneven(r *topology.NodeReport, rates []float64) {
	if len(rates) == 0 {
		return
	}
	low, high := slices.Min(rates), slices.Max(rates)
	if low == high {
		return
	}
	r.Findings = append(r.Findings, topology.Finding{Code: "nvlink-rate-uneven", Severity: topology.Warning, Subject: gpuName(r.GPUs[len(r.GPUs)-1]),
		Message: fmt.Sprintf("its NVLinks run at %g to %g GB/s", low, high),
		Remedy:  "reset the GPU; reseat the module; replace it when the link stays slow"})
}
