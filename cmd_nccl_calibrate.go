package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology"
	"github.com/railmap/railmap/topology/nccl"
)

// ncclCalibrateOptions are the flags of railmap nccl calibrate.
type ncclCalibrateOptions struct {
	machine    ncclMachineOptions
	sku        string
	collective string
	extend     string
	out        string
}

// newNCCLCalibrateCmd makes corrections from measured runs.
func newNCCLCalibrateCmd(e *env) *cobra.Command {
	var o ncclCalibrateOptions
	c := &cobra.Command{
		Use:   "calibrate RESULTS...",
		Short: "Make corrections from nccl-tests results",
		Long: `Compare nccl-tests results (what the programs print, or what -J writes) with the plain model on the same machines, and
write the factors by kind of machine, collective, one node or several, and size class. The file is YAML, made to be kept
and extended: --extend reads one and replaces only what the new results cover. Use it with nccl predict --calibration.

The machines are described as for nccl predict. The number of nodes comes from the results where they name their hosts.`,
		Example: `  railmap nccl calibrate all_reduce.log --gpu-model H100 --sku H100 --out calibration.yaml
  railmap nccl calibrate *.json --xml topo.xml --fill SM=90,NVL=18,SPEED=400000 --sku site-h100 --extend calibration.yaml --out calibration.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(e, args) },
	}
	o.machine.addFlags(c)
	f := c.Flags()
	f.StringVar(&o.sku, "sku", "", "name of this kind of machine in the file (default: the GPU model)")
	f.StringVar(&o.collective, "collective", "", "collective of results that do not say it")
	f.StringVar(&o.extend, "extend", "", "calibration file to start from; one that does not exist is empty")
	f.StringVar(&o.out, "out", "-", "file to write, - for standard output")
	return c
}

func (o *ncclCalibrateOptions) run(e *env, paths []string) error {
	c, err := o.start(e)
	if err != nil {
		return err
	}
	var samples []nccl.Sample
	for _, path := range paths {
		s, err := o.samples(e, path)
		if err != nil {
			return err
		}
		samples = append(samples, s...)
	}
	entries := nccl.Calibrate(samples)
	if len(entries) == 0 {
		return usagef("no result has a measured time: must have at least one")
	}
	c.Merge(entries)
	fmt.Fprintf(e.stderr, "%d results, %d entries made\n", len(samples), len(entries))
	return writeFile(e, o.out, func(w io.Writer) error { return topology.Write(w, c, topology.YAML) })
}

// start reads the file to extend.
func (o *ncclCalibrateOptions) start(e *env) (*nccl.Calibration, error) {
	c := &nccl.Calibration{}
	if o.extend != "" {
		if _, err := os.Stat(o.extend); err == nil {
			if err := readDocument(e, o.extend, c); err != nil {
				return nil, err
			}
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	c.Header = topology.Header{APIVersion: topology.APIVersion, Kind: nccl.KindCalibration, Source: "nccl-tests", ToolVersion: toolVersion()}
	return c, nil
}

// samples predicts every row of one result file.
func (o *ncclCalibrateOptions) samples(e *env, path string) ([]nccl.Sample, error) {
	f, err := openInput(e, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	run, err := nccl.ReadTests(f)
	if err != nil {
		return nil, withCode(exitUsage, fmt.Errorf("%s: %w", path, err))
	}
	machine := o.machine
	if machine.nodes == 0 && machine.topology == "" {
		machine.nodes = len(run.Hosts)
	}
	job, err := machine.job(e)
	if err != nil {
		return nil, err
	}
	job.Collective = run.Collective
	if job.Collective == "" {
		if job.Collective, err = nccl.ParseCollective(o.collective); err != nil {
			return nil, usagef("%s does not say its collective: --%w", path, err)
		}
	}
	sku := o.sku
	if sku == "" {
		if sku = cmp.Or(job.Nodes[0].Model.SKU, nccl.GPUWord(run.GPUModel)); sku == "" {
			return nil, usagef("--sku must be given: the name of this kind of machine")
		}
	}
	return nccl.SamplesOf(run, job, sku, filepath.Base(path))
}
