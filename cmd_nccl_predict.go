package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology/nccl"
)

// ncclPredictOptions are the flags of railmap nccl predict.
type ncclPredictOptions struct {
	machine     ncclMachineOptions
	collective  string
	size        string
	collNet     bool
	calibration string
	output      output
}

// newNCCLPredictCmd predicts one collective of a job.
func newNCCLPredictCmd(e *env) *cobra.Command {
	var o ncclPredictOptions
	c := &cobra.Command{
		Use:   "predict",
		Short: "Predict algorithm, time and bus bandwidth of a job's collective",
		Long: `Predict what NCCL will choose and what it will reach: the graphs of its search, algorithm and protocol, time and bus
bandwidth as nccl-tests counts it. NCCL chooses without looking at the network; the time is what the NICs and, on a map,
the uplinks leave. Unlike nodes bring the whole job to the minimum, and the answer names the one that binds.

Without --calibration the model is NCCL's own, which is optimistic below 64 MiB; the answer states the error to expect.`,
		Example: `  railmap nccl predict --xml topo.xml --fill SM=90,NVL=18,SPEED=400000 --nodes 4 --collective all_reduce --size 8G
  railmap nccl predict --xml good.xml --xml bad.xml --nodes 16 --size 1M-8G
  railmap nccl predict --gpu-model H100 --nodes 16 --collective alltoall --size 1G -o json
  railmap nccl predict -t map.yaml --hosts 'gpu-[001-016]' --size 1G`,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	o.machine.addFlags(c)
	f := c.Flags()
	f.StringVar(&o.collective, "collective", "all_reduce", "all_reduce, all_gather, reduce_scatter, broadcast, reduce or alltoall")
	f.StringVar(&o.size, "size", "8G", "bytes of the buffer as nccl-tests counts them: 8G, or a range by powers of two: 1M-8G")
	f.BoolVar(&o.collNet, "collnet", false, "a SHARP plugin is in use (NCCL_COLLNET_ENABLE=1)")
	f.StringVar(&o.calibration, "calibration", "", "file of corrections from measured runs (see railmap nccl calibrate)")
	addOutput(c, &o.output, formatTable, formatWide, formatJSON)
	return c
}

// ncclPrediction is the answer for one size.
type ncclPrediction struct {
	nccl.Prediction `yaml:",inline"`
	Advice          []nccl.Advice `json:"advice,omitempty"`
}

// ncclPredictions is the answer for a range of sizes.
type ncclPredictions struct {
	Predictions []ncclPrediction `json:"predictions"`
}

func (o *ncclPredictOptions) run(e *env) error {
	sizes, err := parseSizes(o.size)
	if err != nil {
		return usagef("--size: %w", err)
	}
	job, err := o.machine.job(e)
	if err != nil {
		return err
	}
	if job.Collective, err = nccl.ParseCollective(o.collective); err != nil {
		return usagef("--%w", err)
	}
	job.CollNet = o.collNet
	if o.calibration != "" {
		job.Calibration = &nccl.Calibration{}
		if err := readDocument(e, o.calibration, job.Calibration); err != nil {
			return err
		}
	}
	var all []ncclPrediction
	for _, size := range sizes {
		job.SizeBytes = size
		p := ncclPrediction{}
		if p.Prediction, err = nccl.Predict(job); err != nil {
			return withCode(exitUsage, err)
		}
		if p.Advice, err = nccl.Advise(job, p.Prediction); err != nil {
			return err
		}
		all = append(all, p)
	}
	return o.print(e, all)
}

// parseSizes reads "8G" or "1M-8G", a range by powers of two.
func parseSizes(s string) ([]uint64, error) {
	low, high, ranged := strings.Cut(s, "-")
	first, err := parseSize(low)
	if err != nil {
		return nil, err
	}
	last := first
	if ranged {
		if last, err = parseSize(high); err != nil {
			return nil, err
		}
	}
	if last < first {
		return nil, fmt.Errorf("%q: must go from the smaller to the larger size", s)
	}
	var out []uint64
	for n := first; n <= last; n *= 2 {
		out = append(out, uint64(n))
	}
	return out, nil
}

func (o *ncclPredictOptions) print(e *env, all []ncclPrediction) error {
	var doc any = ncclPredictions{all}
	if len(all) == 1 {
		doc = all[0]
	}
	if done, err := o.output.document(e, doc); done {
		return err
	}
	if !o.output.noHeaders {
		printNCCLHead(e.stdout, all[0])
	}
	for _, p := range all {
		printNCCLRow(e.stdout, p, o.output.format == formatWide)
	}
	if !o.output.noHeaders {
		printNCCLFoot(e.stdout, all[len(all)-1])
	}
	return nil
}

// printNCCLHead opens the table as nccl-tests does, with the graphs before it.
func printNCCLHead(w io.Writer, p ncclPrediction) {
	nodes := "1 node"
	if p.Nodes != 1 {
		nodes = fmt.Sprintf("%d nodes", p.Nodes)
	}
	fmt.Fprintf(w, "# NCCL %s, %s on %s, %d ranks\n", p.NCCLVersion, p.Collective, nodes, p.Ranks)
	for _, g := range []struct {
		name  string
		graph nccl.Graph
	}{{"ring", p.Graphs.Ring}, {"tree", p.Graphs.Tree}, {"nvls", p.Graphs.NVLS}} {
		if g.graph.Channels > 0 {
			fmt.Fprintf(w, "# %s %dx%g/%g GB/s %v/%v crossNic %d\n", g.name, g.graph.Channels, g.graph.BwIntra, g.graph.BwInter,
				g.graph.TypeIntra, g.graph.TypeInter, g.graph.CrossNic)
		}
	}
	fmt.Fprintf(w, "#\n#%12s  %11s  %8s  %8s  %-13s  %s\n#%12s  %11s  %8s  %8s\n", "size", "time", "algbw", "busbw", "algorithm", "protocol",
		"(B)", "(us)", "(GB/s)", "(GB/s)")
}

// printNCCLRow prints one size; wide adds every algorithm that NCCL considers.
func printNCCLRow(w io.Writer, p ncclPrediction, wide bool) {
	row := func(mark string, e nccl.Estimate) {
		fmt.Fprintf(w, "%s%12d  %11.2f  %8.2f  %8.2f  %-13s  %s\n", mark, p.SizeBytes, e.TimeSeconds*1e6, float64(p.SizeBytes)/e.TimeSeconds/1e9,
			e.BusBandwidthBytesPerSecond/1e9, e.Algorithm, e.Protocol)
	}
	row(" ", nccl.Estimate{Algorithm: p.Algorithm, Protocol: p.Protocol, TimeSeconds: p.TimeSeconds, BusBandwidthBytesPerSecond: p.BusBandwidthBytesPerSecond})
	if !wide {
		return
	}
	for _, a := range p.PerAlgorithm {
		if a.Algorithm != p.Algorithm {
			row("#", a)
		}
	}
}

// printNCCLFoot says what binds the last size, and how far off the prediction may be.
func printNCCLFoot(w io.Writer, p ncclPrediction) {
	fmt.Fprintf(w, "#\n# bound by %s: %s\n", p.Binding.Kind, p.Binding.Message)
	for _, c := range p.Crossings {
		level := c.Level
		if level == "" {
			level = "no common group"
		}
		fmt.Fprintf(w, "# %d ring edges meet at level %s\n", c.Edges, level)
	}
	fmt.Fprintf(w, "# correction: %s", p.Correction.Used)
	if x := p.Correction.ExpectedErrorRatio; x != nil {
		fmt.Fprintf(w, "; usual error at this size %.0f %%", 100**x)
	}
	fmt.Fprintln(w)
	for _, a := range p.Advice {
		fmt.Fprintf(w, "# advice: %s\n", a.Message)
	}
}
