package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/probe/fabric"
	"github.com/railmap/railmap/topology"
)

// probeFabricOptions are the flags of railmap probe fabric.
type probeFabricOptions struct {
	from    []string
	lldp    []string
	static  string
	labels  string
	preset  string
	errors  string
	devices []string
	port    int
	timeout time.Duration
	output  output
}

func newProbeFabricCmd(e *env) *cobra.Command {
	var o probeFabricOptions
	c := &cobra.Command{
		Use:   "fabric",
		Short: "Read the fabric: ibnetdiscover, iblinkinfo, LLDP, static files, labels",
		Long: `Fabric reads what a cluster's network says about itself and prints it as one FabricReport, the input of railmap topology
build. Without a file it runs ibnetdiscover on this host, once for each --device.

--from takes dumps of ibnetdiscover (plain, -p), iblinkinfo (plain, -l), FabricReports, static files and node lists, gzip
or plain; the content decides. Several are joined by GUID: subnets, planes, or two tools that looked at the same fabric.

--static is a short YAML file for Ethernet or cloud clusters:

  speed: 400                       # Gbit/s
  rails: 8                         # NICs of a host
  switches:
  - {name: "spine[1-4]", tier: 1}
  - {name: "leaf[1-8]", tier: 0, uplinks: [{to: "spine[1-4]", cables: 8}]}
  hosts:
  - {names: "gpu[001-032]", leaf: "leaf[1-8]", devices: "mlx5_[0-7]"}

--labels is a Kubernetes node list (kubectl get nodes -o json). Presets: auto, ` + strings.Join(fabric.LabelPresets(), ", ") + `,
or the label keys from the leaf up, separated by commas.

--lldp is what lldpcli -f json0 show neighbors prints on a host or a switch, in a file named after it (gpu0001.json); a
folder of such files is fine. Hosts alone give leaves; switches, or a static file, what is above them.

--errors adds the counters of ibqueryerrors.`,
		Example: `  railmap probe fabric --from fabric.txt.gz -o json > fabric.json
  railmap probe fabric -C mlx5_0 -C mlx5_4/1 > fabric.yaml
  kubectl get nodes -o json | railmap probe fabric --labels - --preset topograph-v1`,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.from, "from", nil, "dump or report to read, - for standard input (repeatable)")
	f.StringArrayVar(&o.lldp, "lldp", nil, "what one system hears by LLDP, or folder of such files (repeatable)")
	f.StringVar(&o.static, "static", "", "static file, - for standard input")
	f.StringVar(&o.labels, "labels", "", "Kubernetes node list in JSON, - for standard input")
	f.StringVar(&o.preset, "preset", fabric.AutoPreset, "which labels of --labels name the switches")
	f.StringVar(&o.errors, "errors", "", "output of ibqueryerrors to add, - for standard input")
	f.StringArrayVarP(&o.devices, "device", "C", nil, "live: RDMA device to look through, or device/port (repeatable: one run each)")
	f.IntVarP(&o.port, "port", "P", 0, "live: port of the devices that name none")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "live: give up a run after this time")
	addOutput(c, &o.output, formatYAML, formatJSON)
	return c
}

func (o *probeFabricOptions) run(ctx context.Context, e *env) error {
	if err := o.validate(); err != nil {
		return err
	}
	r, err := o.read(ctx, e)
	if err != nil {
		return err
	}
	if o.errors != "" {
		err := o.file(e, o.errors, func(in io.Reader, name string) error { return fabric.MergeErrors(r, in, name) })
		if err != nil {
			return err
		}
	}
	r.ToolVersion = toolVersion()
	if err := r.Validate(); err != nil {
		return fmt.Errorf("the fabric gave an impossible report, nothing written: %w", err)
	}
	if _, err := o.output.document(e, r); err != nil {
		return err
	}
	return writeFindings(e, r.Findings, "they stand in the report")
}

// validate refuses flags that contradict each other.
func (o *probeFabricOptions) validate() error {
	stdin, files := 0, append([]string{o.static, o.labels, o.errors}, o.from...)
	for _, f := range files {
		if f == "-" {
			stdin++
		}
	}
	live := len(o.devices) > 0 || o.port != 0
	switch {
	case stdin > 1:
		return usagef("standard input is named %d times: must be named once", stdin)
	case live && (len(o.from) > 0 || len(o.lldp) > 0 || o.static != "" || o.labels != ""):
		return usagef("--device and --port are for a live run: may not stand with --from, --lldp, --static or --labels")
	case o.preset != fabric.AutoPreset && o.labels == "":
		return usagef("--preset belongs to --labels: must name the node list there")
	case o.port < 0 || o.port > 255:
		return usagef("--port is %d: must be between 1 and 255", o.port)
	case o.timeout <= 0:
		return usagef("--timeout is %s: must be above 0", o.timeout)
	}
	return nil
}

// read joins all that the flags name; without any it looks for itself.
func (o *probeFabricOptions) read(ctx context.Context, e *env) (*topology.FabricReport, error) {
	var reports []*topology.FabricReport
	add := func(path string, read func(io.Reader, string) (*topology.FabricReport, error)) error {
		return o.file(e, path, func(in io.Reader, name string) error {
			r, err := read(in, name)
			reports = append(reports, r)
			return err
		})
	}
	var errs []error
	for _, path := range o.from {
		errs = append(errs, add(path, fabric.Read))
	}
	if o.static != "" {
		errs = append(errs, add(o.static, fabric.Static))
	}
	if o.labels != "" {
		errs = append(errs, add(o.labels, func(in io.Reader, name string) (*topology.FabricReport, error) {
			return fabric.Labels(in, name, o.preset)
		}))
	}
	if len(o.lldp) > 0 {
		r, err := o.readLLDP(e)
		reports, errs = append(reports, r), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, withCode(exitUsage, err)
	}
	if len(reports) > 0 {
		r, err := fabric.Merge(reports...)
		return r, withCode(exitUsage, err)
	}
	return o.live(ctx, e)
}

// readLLDP reads the files of all systems; the name of a file without its extensions is the system's.
func (o *probeFabricOptions) readLLDP(e *env) (*topology.FabricReport, error) {
	var systems []fabric.SystemLLDP
	for _, path := range o.lldp {
		files := []string{path}
		if entries, err := os.ReadDir(path); err == nil {
			files = nil
			for _, f := range entries {
				files = append(files, filepath.Join(path, f.Name()))
			}
		}
		for _, file := range files {
			system, _, _ := strings.Cut(filepath.Base(file), ".json")
			err := o.file(e, file, func(in io.Reader, name string) error {
				n, err := fabric.ParseLLDP(in, name)
				systems = append(systems, fabric.SystemLLDP{System: system, Neighbors: n})
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return fabric.LLDP(systems), nil
}

// file opens a file for a reader; whatever is wrong with it is a usage error.
func (o *probeFabricOptions) file(e *env, path string, read func(io.Reader, string) error) error {
	f, err := openInput(e, path)
	if err != nil {
		return err
	}
	defer f.Close()
	name := path
	if path == "-" {
		name = "standard input"
	}
	return withCode(exitUsage, read(f, name))
}

func (o *probeFabricOptions) live(ctx context.Context, e *env) (*topology.FabricReport, error) {
	var ports []fabric.LocalPort
	for _, d := range o.devices {
		p := fabric.LocalPort{CA: d, Port: o.port}
		if name, number, ok := strings.Cut(d, "/"); ok {
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 || n > 255 {
				return nil, usagef("--device %s: the port must be between 1 and 255", d)
			}
			p = fabric.LocalPort{CA: name, Port: n}
		}
		ports = append(ports, p)
	}
	if len(ports) == 0 && o.port != 0 {
		ports = []fabric.LocalPort{{Port: o.port}}
	}
	r, err := fabric.Live(ctx, fabric.LiveOptions{Ports: ports, Timeout: o.timeout})
	if err != nil {
		return nil, withCode(exitUnavailable, err)
	}
	now := e.now().UTC().Truncate(time.Second)
	r.Time = &now
	return r, nil
}
