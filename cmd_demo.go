package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/exporters"
	"github.com/railmap/railmap/exporters/kubernetes"
	"github.com/railmap/railmap/exporters/slurm"
	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/probe"
	"github.com/railmap/railmap/probe/fabric"
	"github.com/railmap/railmap/topology"
)

// demoFabric is what ibnetdiscover says of a simulated fabric: 32 hosts with 8 rails, one cable slow, one out.
// Made by .ci/make-demo-fabric.
//
//go:embed testdata/demo/fabric.txt
var demoFabric string

const (
	demoNodes = 16
	demoBusy  = "gpu[003-004]"
)

// demoOptions are the flags of "railmap demo".
type demoOptions struct {
	once   bool
	out    string
	listen string
}

func newDemoCmd(e *env) *cobra.Command {
	var o demoOptions
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run the main job on this machine and a bundled fabric",
		Long: `Demo probes this machine, reads a bundled fabric dump of 32 hosts with 8 rails in which one cable is slow and one is out,
builds the map, places a gang of 16 nodes while two nodes are busy, and writes the files for Slurm and Kubernetes into a
folder. Then it serves the map, /metrics and /healthz on loopback until it is interrupted.`,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	f := c.Flags()
	f.BoolVar(&o.once, "once", false, "end when the files are written, serve nothing")
	f.StringVar(&o.out, "out", "demo-out", "folder to write to")
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "loopback address to serve on; port 0 takes a free one")
	return c
}

func (o *demoOptions) run(ctx context.Context, e *env) error {
	if err := o.validate(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return withCode(exitUsage, err)
	}
	if err := o.probeNode(ctx, e); err != nil {
		return err
	}
	t, err := o.buildMap(e)
	if err != nil {
		return err
	}
	p, err := o.place(e, t)
	if err != nil {
		return err
	}
	if err := o.export(e, t, p); err != nil {
		return err
	}
	o.next(e)
	if o.once {
		return nil
	}
	return serveMap(ctx, e, o.listen, t)
}

// validate keeps the demo, which asks nobody for a password, on this machine.
func (o *demoOptions) validate() error {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return usagef("--listen: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usagef("--listen: %q must be a loopback address such as 127.0.0.1:8080: the demo has no access control", o.listen)
	}
	return nil
}

func (o *demoOptions) file(name string) string { return filepath.Join(o.out, name) }

// probeNode looks at the machine that the demo runs on. It is no part of the bundled fabric, so it stays out of the map.
func (o *demoOptions) probeNode(ctx context.Context, e *env) error {
	heading(e, "This machine (railmap probe)")
	r, err := probe.Run(ctx, probe.Options{Stages: []probe.Stage{probe.StageStatic, probe.StageHost}, ToolVersion: toolVersion(), Now: e.now()})
	if err != nil {
		return err
	}
	if err := writeProbeTable(e.stdout, r, &output{format: formatTable}); err != nil {
		return err
	}
	return writeDocumentFile(e, o.file("node.yaml"), r)
}

func (o *demoOptions) buildMap(e *env) (*topology.Topology, error) {
	heading(e, "A fabric dump becomes a map (railmap topology build)")
	report, err := fabric.Read(strings.NewReader(demoFabric), "demo fabric")
	if err != nil {
		return nil, err
	}
	t, err := topology.Build(topology.Input{Fabrics: []*topology.FabricReport{report}}, topology.BuildOptions{ToolVersion: toolVersion()})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(e.stdout, "%d devices, %d cables -> %d nodes, %d switches, %d links\n\n",
		len(report.Devices), len(report.Links), len(t.Nodes), len(t.Switches), len(t.Links))
	if err := topology.RenderTree(e.stdout, t); err != nil {
		return nil, err
	}
	fmt.Fprintln(e.stdout)
	if err := findingTable(t.Findings).write(e.stdout, &output{format: formatTable}); err != nil {
		return nil, err
	}
	if err := writeFile(e, o.file("fabric.txt"), func(w io.Writer) error { _, err := io.WriteString(w, demoFabric); return err }); err != nil {
		return nil, err
	}
	if err := writeFile(e, o.file("map.svg"), func(w io.Writer) error { return topology.RenderSVG(w, t) }); err != nil {
		return nil, err
	}
	return t, writeDocumentFile(e, o.file("topology.yaml"), t)
}

func (o *demoOptions) place(e *env, t *topology.Topology) (*placer.Placement, error) {
	heading(e, fmt.Sprintf("Where do %d nodes go while %s are busy? (railmap place)", demoNodes, demoBusy))
	busy, err := topology.ParseHostlist(demoBusy)
	if err != nil {
		return nil, err
	}
	cluster, err := placer.NewCluster(t, placer.Options{})
	if err != nil {
		return nil, err
	}
	snapshot, err := cluster.Snapshot(placer.State{Busy: busy})
	if err != nil {
		return nil, err
	}
	p, err := placer.Place(snapshot, &placer.Request{Nodes: demoNodes})
	if err != nil {
		return nil, placeError(err)
	}
	p.ToolVersion = toolVersion()
	po := placeOptions{output: output{format: formatTable}}
	return p, po.printText(e.stdout, p)
}

// export writes what the schedulers read.
func (o *demoOptions) export(e *env, t *topology.Topology, p *placer.Placement) error {
	heading(e, "Files for the schedulers (railmap export)")
	conf, problems, err := slurm.Tree(t, slurm.Options{})
	if err != nil {
		return err
	}
	for _, w := range problems {
		fmt.Fprintln(e.stderr, w)
	}
	labels, err := kubernetes.Labels(t, kubernetes.Options{})
	if err != nil {
		return err
	}
	affinity, err := kubernetes.Affinity(p.Nodes, kubernetes.AffinityOptions{})
	if err != nil {
		return err
	}
	labels = append(labels, exporters.File{Name: "affinity.yaml", Data: affinity, Nodes: len(p.Nodes)})
	for _, target := range []struct {
		name  string
		files []exporters.File
	}{{"slurm", conf}, {"kubernetes", labels}} {
		dir := o.file(target.name)
		changes, err := exporters.Write(dir, target.files, exporters.WriteOptions{Target: target.name, ToolVersion: toolVersion()})
		if err != nil {
			return err
		}
		for _, c := range changes {
			fmt.Fprintf(e.stdout, "%s/%s\n", dir, c)
		}
	}
	return writeDocumentFile(e, o.file("placement.yaml"), p)
}

func (o *demoOptions) next(e *env) {
	heading(e, "Next, on a real cluster")
	fmt.Fprintf(e.stdout, `  ibnetdiscover | railmap topology build --fabric - -o topology.yaml       on the host that runs the subnet manager
  railmap probe -o yaml > node.yaml                                        on every node; then build with --node FOLDER
  railmap topology findings -t topology.yaml                               what to repair first
  sbatch $(railmap place -t topology.yaml -N 16 -o sbatch) job.sh          place a job
  railmap export slurm -t topology.yaml --out /etc/slurm --check           what would change; without --check, write it

Everything above is in %s/; map.svg is the picture for a ticket.
`, o.out)
}

func heading(e *env, text string) {
	fmt.Fprintf(e.stdout, "\n== %s\n\n", text)
}
