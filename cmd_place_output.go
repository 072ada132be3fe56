package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/topology"
)

// formatSbatch is the options of sbatch, srun and salloc that ask for exactly these nodes.
const formatSbatch = "sbatch"

// print writes a placement in the chosen format.
func (o *placeOptions) print(e *env, t *topology.Topology, p *placer.Placement) error {
	if done, err := o.output.document(e, p); done {
		return err
	}
	switch o.output.format {
	case formatName:
		_, err := io.WriteString(e.stdout, strings.Join(p.Nodes, "\n")+"\n")
		return err
	case formatHostlist:
		_, err := fmt.Fprintln(e.stdout, topology.FoldHostlist(p.Nodes))
		return err
	case formatSbatch:
		return o.slurm.printSbatch(e.stdout, t, p)
	case formatHostfile:
		return o.slurm.printHostfile(e.stdout, p)
	}
	if text, done, err := o.jobs.text(o.output.format, t, p); done {
		if err != nil {
			return usagef("-o %s: %w", o.output.format, err)
		}
		_, err = e.stdout.Write(text)
		return err
	}
	return o.printText(e.stdout, p)
}

// printText says what was chosen, why, what limits it, and what comes next.
func (o *placeOptions) printText(w io.Writer, p *placer.Placement) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", topology.FoldHostlist(p.Nodes))
	fmt.Fprintf(&b, "share      %.3f of nominal bandwidth", p.Share)
	if bw := p.Predicted.BusBandwidthBytesPerSecond; bw > 0 {
		fmt.Fprintf(&b, ", bus bandwidth %s GB/s", significant(bw/1e9))
	}
	fmt.Fprintf(&b, "\nloss       %.1f%% against the empty cluster\n", 100*p.Loss)
	for i, r := range p.Reasons {
		label := "           "
		if i == 0 {
			label = "because    "
		}
		fmt.Fprintf(&b, "%s%s\n", label, strings.Map(printable, r))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if len(p.Alternatives) > 0 {
		if err := o.printAlternatives(w, p); err != nil {
			return err
		}
	}
	if o.output.format != formatWide {
		return nil
	}
	return o.printRanks(w, p)
}

func (o *placeOptions) printAlternatives(w io.Writer, p *placer.Placement) error {
	fmt.Fprintln(w, "\nNext best:")
	t := newTable("LEVEL", "GROUP", ">SHARE", ">LOSS", "NODES")
	for _, a := range p.Alternatives {
		t.add(a.Level, a.Group, fmt.Sprintf("%.3f", a.Share), fmt.Sprintf("%.1f%%", 100*a.Loss), topology.FoldHostlist(a.Nodes))
	}
	return t.write(w, &o.output)
}

func (o *placeOptions) printRanks(w io.Writer, p *placer.Placement) error {
	fmt.Fprintln(w, "\nNodes in rank order:")
	t := newTable(">INDEX", "NODE")
	for i, n := range p.Nodes {
		t.add(i, n)
	}
	return t.write(w, &o.output)
}

// parseSize reads a number of bytes with an optional binary suffix: 512, 64K, 256M, 1G.
func parseSize(s string) (int64, error) {
	shift := 0
	digits := strings.TrimSuffix(strings.TrimSuffix(s, "iB"), "B")
	for suffix, n := range map[string]int{"K": 10, "M": 20, "G": 30} {
		if d, ok := strings.CutSuffix(digits, suffix); ok {
			digits, shift = d, n
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > 1<<50>>shift {
		return 0, fmt.Errorf("%q: must be a number of bytes such as 65536, 64M or 1G", s)
	}
	return n << shift, nil
}
