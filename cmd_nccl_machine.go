package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology"
	"github.com/railmap/railmap/topology/nccl"
)

// ncclMachineOptions are the flags that say which machines a job runs on: XML files, node reports, a map, or an outline.
type ncclMachineOptions struct {
	xml      []string
	fill     string
	reports  []string
	topology string
	hosts    string
	nodes    int
	outline  nccl.NodeSpec
	nicGbps  float64
	perNode  int
	version  string
	crossNIC int
	merge    string
	graphs   string
}

func (o *ncclMachineOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&o.xml, "xml", nil, "NCCL topology file of a node (repeatable: unlike nodes; the first stands for all that are not given)")
	f.StringVar(&o.fill, "fill", "", "what the XML lacks: SM=90,NVL=18,SPEED=400000 (compute capability × 10, NVLinks to NVSwitch, NIC speed in Mb/s)")
	f.StringArrayVar(&o.reports, "node", nil, "node report of railmap probe (repeatable), in place of XML; with -t the hardware of those nodes")
	f.StringVarP(&o.topology, "topology", "t", "", "file of the map, for jobs on its nodes")
	f.StringVar(&o.hosts, "hosts", "", "host list of the job in rank order, nodes of the map")
	f.IntVarP(&o.nodes, "nodes", "N", 0, "number of nodes (default: as many as are given)")
	f.IntVar(&o.perNode, "gpus-per-node", 0, "GPUs used on each node of the map (default: all)")
	f.StringVar(&o.outline.GPUModel, "gpu-model", "", "outline in place of a description: GPU model, as H100")
	f.IntVar(&o.outline.GPUs, "gpus", 0, "outline: GPUs in a node (default 8)")
	f.IntVar(&o.outline.NICs, "nics", 0, "outline: NICs in a node (default: one a GPU)")
	f.Float64Var(&o.nicGbps, "nic-gbps", 0, "outline: speed of a NIC in Gb/s (default 400)")
	f.StringVar(&o.version, "nccl-version", "", "NCCL release, 2.27 to 2.30 (default: the newest known)")
	f.StringVar(&o.graphs, "graphs", "", "graph file of NCCL (NCCL_GRAPH_DUMP_FILE), in place of the search")
	f.StringVar(&o.merge, "merge-level", "", "NCCL_NET_MERGE_LEVEL: make one NIC of the ports of a card (PORT) or of ports as near as PIX, PXB, ... (default: as the XML has them)")
	f.IntVar(&o.crossNIC, "cross-nic", 2, "NCCL_CROSS_NIC: 0 never, 1 always, 2 where it helps")
}

// validate refuses mixtures.
func (o *ncclMachineOptions) validate() error {
	outline := o.outline != (nccl.NodeSpec{}) || o.nicGbps != 0
	kinds := 0
	for _, given := range []bool{len(o.xml) > 0, len(o.reports) > 0 && o.topology == "", o.topology != "", outline && o.topology == ""} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds == 0:
		return usagef("one of --xml, --node, -t with --hosts, and --gpu-model must say which machines the job runs on")
	case kinds > 1:
		return usagef("only one of --xml, --node, -t and an outline (--gpu-model, --gpus, --nics, --nic-gbps) may be given; --node goes with -t")
	case o.topology == "" && o.hosts != "":
		return usagef("--hosts names nodes of a map: -t must be given with it")
	case o.topology != "" && o.hosts == "":
		return usagef("--hosts must be given with -t: the nodes of the job in rank order")
	case o.topology != "" && o.nodes > 0:
		return usagef("--nodes may not be given with --hosts, which says how many there are")
	case o.fill != "" && len(o.xml) == 0:
		return usagef("--fill completes --xml, which must be given with it")
	case o.nodes < 0 || o.outline.GPUs < 0 || o.outline.NICs < 0 || o.nicGbps < 0 || o.perNode < 0:
		return usagef("--nodes, --gpus, --nics, --nic-gbps and --gpus-per-node must not be negative")
	}
	return nil
}

// options are the settings of the search.
func (o *ncclMachineOptions) options() (nccl.Options, error) {
	v, err := nccl.ParseVersion(o.version)
	if err != nil {
		return nccl.Options{}, usagef("--nccl-version: %w", err)
	}
	if o.crossNIC < 0 || o.crossNIC > 2 {
		return nccl.Options{}, usagef("--cross-nic %d: must be 0, 1 or 2", o.crossNIC)
	}
	return nccl.Options{Version: v, CrossNIC: &o.crossNIC}, nil
}

// job makes the job; collective and size are the caller's.
func (o *ncclMachineOptions) job(e *env) (*nccl.Job, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	options, err := o.options()
	if err != nil {
		return nil, err
	}
	o.outline.NICBytesPerSecond = o.nicGbps * 1e9 / 8
	var job *nccl.Job
	switch {
	case o.topology != "":
		job, err = o.jobOnMap(e, options)
	case len(o.xml) > 0:
		job, err = o.jobOnModels(e, o.xml, options, o.readXML)
	case len(o.reports) > 0:
		job, err = o.jobOnModels(e, o.reports, options, func(e *env, path string) (string, *nccl.XML, string, error) {
			r, x, err := readReportXML(e, path)
			if err != nil {
				return "", nil, "", err
			}
			return r.Node, x, gpuModelOf(r), nil
		})
	default:
		job = repeatNode(nccl.JobNode{Name: "node1", Model: nccl.DefaultNode(o.outline), Place: nccl.NoPlace}, max(o.nodes, 1))
	}
	if err != nil {
		return nil, err
	}
	job.Version = options.Version
	return job, o.useGraphs(e, job)
}

// useGraphs puts the graphs of a file in place of those that were searched.
func (o *ncclMachineOptions) useGraphs(e *env, job *nccl.Job) error {
	if o.graphs == "" {
		return nil
	}
	f, err := openInput(e, o.graphs)
	if err != nil {
		return err
	}
	defer f.Close()
	file, err := nccl.ReadGraphXML(f)
	if err != nil {
		return withCode(exitUsage, fmt.Errorf("%s: %w", o.graphs, err))
	}
	given := make(map[*nccl.NodeModel]*nccl.NodeModel)
	for i := range job.Nodes {
		m := job.Nodes[i].Model
		if given[m] == nil {
			if given[m], err = m.WithGraphs(file); err != nil {
				return withCode(exitUsage, fmt.Errorf("%s: %w", o.graphs, err))
			}
		}
		job.Nodes[i].Model = given[m]
	}
	return nil
}

// readXML reads and completes one topology file.
func (o *ncclMachineOptions) readXML(e *env, path string) (string, *nccl.XML, string, error) {
	fill, err := nccl.ParseFill(o.fill)
	if err != nil {
		return "", nil, "", usagef("--fill: %w", err)
	}
	x, err := readXMLFile(e, path)
	if err != nil {
		return "", nil, "", err
	}
	if x, err = nccl.Fill(x, fill); err != nil {
		return "", nil, "", withCode(exitUsage, fmt.Errorf("%s: %w", path, err))
	}
	if x, err = mergeNICs(x, o.merge); err != nil {
		return "", nil, "", err
	}
	return filepath.Base(path), x, o.outline.GPUModel, nil
}

// jobOnModels makes a job of the machines in files; the first stands for all nodes that are not given.
func (o *ncclMachineOptions) jobOnModels(e *env, paths []string, options nccl.Options,
	read func(*env, string) (string, *nccl.XML, string, error)) (*nccl.Job, error) {
	models := nccl.Models{Options: options}
	var given []nccl.JobNode
	for _, path := range paths {
		name, x, sku, err := read(e, path)
		if err != nil {
			return nil, err
		}
		m, err := models.Get(path, x)
		if err != nil {
			return nil, withCode(exitUsage, fmt.Errorf("%s: %w", path, err))
		}
		if m.SKU == "" {
			m.SKU = sku
		}
		given = append(given, nccl.JobNode{Name: name, Model: m, Place: nccl.NoPlace})
	}
	count := max(o.nodes, len(given))
	if o.nodes > 0 && o.nodes < len(given) {
		return nil, usagef("--nodes %d: must be at least the number of machines given, %d", o.nodes, len(given))
	}
	job := repeatNode(given[0], count-len(given)+1)
	job.Nodes = append(job.Nodes, given[1:]...)
	return job, needNICs(job)
}

// needNICs refuses several nodes without a network.
func needNICs(job *nccl.Job) error {
	for _, n := range job.Nodes {
		if len(job.Nodes) > 1 && n.Model.Joined.Ring.Channels == 0 {
			return usagef("%s has no NIC and the job %d nodes: complete it, for example with --fill SPEED=400000", n.Model.Name, len(job.Nodes))
		}
	}
	return nil
}

func repeatNode(n nccl.JobNode, times int) *nccl.Job {
	job := &nccl.Job{}
	for range times {
		job.Nodes = append(job.Nodes, n)
	}
	return job
}

// jobOnMap makes a job on nodes of a map. Node reports replace the outline of their nodes.
func (o *ncclMachineOptions) jobOnMap(e *env, options nccl.Options) (*nccl.Job, error) {
	hosts, err := hostlistFlag("hosts", o.hosts)
	if err != nil {
		return nil, err
	}
	c, _, err := o.cluster(e, options)
	if err != nil {
		return nil, err
	}
	job, err := c.Job(hosts, o.perNode)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	return job, needNICs(job)
}

// cluster reads the map and the node reports given with it.
func (o *ncclMachineOptions) cluster(e *env, options nccl.Options) (*nccl.Cluster, map[string]*topology.NodeReport, error) {
	t, err := readTopology(e, o.topology)
	if err != nil {
		return nil, nil, err
	}
	models := nccl.Models{Options: options}
	known := make(map[string]*nccl.NodeModel)
	reports := make(map[string]*topology.NodeReport)
	for _, path := range o.reports {
		r, x, err := readReportXML(e, path)
		if err != nil {
			return nil, nil, err
		}
		m, err := models.Get(path, x)
		if err != nil {
			return nil, nil, withCode(exitUsage, fmt.Errorf("%s: %w", path, err))
		}
		m.SKU = gpuModelOf(r)
		known[r.Node], reports[r.Node] = m, r
	}
	c, err := nccl.NewCluster(t, nccl.ClusterOptions{Known: known, Usual: o.outline})
	if err != nil {
		return nil, nil, withCode(exitUsage, fmt.Errorf("%s: %w", o.topology, err))
	}
	return c, reports, nil
}

// readReportXML reads a node report and turns it into NCCL's description; what is doubtful is told on stderr.
func readReportXML(e *env, path string) (*topology.NodeReport, *nccl.XML, error) {
	r := &topology.NodeReport{}
	if err := readDocument(e, path, r); err != nil {
		return nil, nil, err
	}
	x, findings, err := nccl.FromReport(r, nccl.ReportOptions{AssumeGPUDirect: true})
	if err != nil {
		return nil, nil, withCode(exitUsage, fmt.Errorf("%s: %w", path, err))
	}
	tellFindings(e, path, findings)
	return r, x, nil
}

// gpuModelOf is the model of the first GPU.
func gpuModelOf(r *topology.NodeReport) string {
	if len(r.GPUs) == 0 {
		return ""
	}
	return nccl.GPUWord(r.GPUs[0].Model)
}

// tellFindings tells findings on stderr, one a line.
func tellFindings(e *env, source string, findings []topology.Finding) {
	for _, f := range findings {
		fmt.Fprintf(e.stderr, "%s: %s: %s: %s\n", source, f.Severity, f.Subject, f.Message)
	}
}
