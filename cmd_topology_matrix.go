package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology"
)

// matrixOptions are the flags of "railmap topology matrix".
type matrixOptions struct {
	topology string
	hosts    string
	node     string
	output   output
}

func newTopologyMatrixCmd(e *env) *cobra.Command {
	var o matrixOptions
	c := &cobra.Command{
		Use:   "matrix",
		Short: "Show what pairs reach: leaf groups, nodes, or GPUs and NICs of one node",
		Long: `Without --hosts the rows are leaf groups; with --hosts they are nodes. A cell is the bandwidth in GB/s, one way, that a
pair is expected to reach: measured where it was measured, nominal otherwise.

With --node REPORT the rows are the GPUs and NICs of one node, and the cells the path letters of nvidia-smi topo -m.`,
		Example: `  railmap topology matrix -t topology.yaml
  railmap topology matrix -t topology.yaml --hosts 'gpu[001-008]'
  railmap topology matrix --node gpu001.yaml`,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	f := c.Flags()
	f.StringVarP(&o.topology, "topology", "t", "", "file of the map, or - for standard input")
	f.StringVar(&o.hosts, "hosts", "", "host list: nodes against nodes")
	f.StringVar(&o.node, "node", "", "node report: GPUs and NICs of one node")
	c.MarkFlagsMutuallyExclusive("node", "topology")
	c.MarkFlagsMutuallyExclusive("node", "hosts")
	c.MarkFlagsOneRequired("node", "topology")
	addOutput(c, &o.output, formatTable, formatWide, formatJSON, formatYAML)
	return c
}

// maxMatrix is how many columns a table may have; documents have no limit.
const maxMatrix = 64

func (o *matrixOptions) run(e *env) error {
	if o.node != "" {
		return o.runNode(e)
	}
	hosts, err := hostlistFlag("hosts", o.hosts)
	if err != nil {
		return err
	}
	t, err := readTopology(e, o.topology)
	if err != nil {
		return err
	}
	m, what := t.GroupMatrix(), "leaf group"
	if hosts != nil {
		what = "node"
		if m, err = t.NodeMatrix(hosts); err != nil {
			return usagef("--hosts: %w", err)
		}
	}
	if done, err := o.output.document(e, m); done {
		return err
	}
	if len(m.Names) > maxMatrix {
		return usagef("the table would have %d columns, at most %d fit: choose nodes with --hosts, or take -o json", len(m.Names), maxMatrix)
	}
	fmt.Fprintf(e.stdout, "expected bandwidth in GB/s, one way, %s (row) -> %s (column)\n", what, what)
	return bandwidthTable(m).write(e.stdout, &o.output)
}

func bandwidthTable(m *topology.Matrix) *table {
	t := &table{columns: []column{{header: "NAME"}}}
	for _, n := range m.Names {
		t.columns = append(t.columns, column{header: n, right: true})
	}
	for i, n := range m.Names {
		row := []any{n}
		for j := range m.Names {
			v := any(scaled(m.BandwidthBytesPerSecond[i][j], 1e-9))
			if m.Levels[i][j] == "" {
				v = notApplicable
			}
			row = append(row, v)
		}
		t.add(row...)
	}
	return t
}

// runNode prints the letters of one node.
func (o *matrixOptions) runNode(e *env) error {
	r := &topology.NodeReport{}
	if err := readDocument(e, o.node, r); err != nil {
		return err
	}
	if done, err := o.output.document(e, r.Paths); done {
		return err
	}
	gpus, nics := pathEnds(r)
	if len(gpus)+len(nics) == 0 {
		return usagef("%s: has no GPU and no NIC: nothing to show", o.node)
	}
	if err := letterTable(r, gpus, nics).write(e.stdout, &o.output); err != nil {
		return err
	}
	return legend(e.stdout, nics)
}

// pathEnds lists GPU names by index and NIC devices in report order, each once.
func pathEnds(r *topology.NodeReport) (gpus, nics []string) {
	for _, g := range r.GPUs {
		gpus = append(gpus, fmt.Sprintf("GPU%d", g.Index))
	}
	for _, n := range r.NICs {
		if !slices.Contains(nics, n.Device) {
			nics = append(nics, n.Device)
		}
	}
	return gpus, nics
}

// letterTable has the form of nvidia-smi topo -m: GPUs, then NICs under short names, then where each one is.
func letterTable(r *topology.NodeReport, gpus, nics []string) *table {
	ends := slices.Concat(gpus, nics)
	letters := map[[2]string]string{}
	for _, p := range r.Paths {
		letters[[2]string{p.A, p.B}], letters[[2]string{p.B, p.A}] = p.Type, p.Type
	}
	short := slices.Clone(gpus)
	for i := range nics {
		short = append(short, fmt.Sprintf("NIC%d", i))
	}
	t := &table{columns: []column{{header: ""}}}
	for _, s := range short {
		t.columns = append(t.columns, column{header: s})
	}
	t.columns = append(t.columns, column{header: "CPU-AFFINITY"}, column{header: "NUMA-AFFINITY", right: true})
	for i, a := range ends {
		row := []any{short[i]}
		for _, b := range ends {
			switch l := letters[[2]string{a, b}]; {
			case a == b:
				row = append(row, "X")
			case l == "":
				row = append(row, unknown)
			default:
				row = append(row, l)
			}
		}
		cpus, numa := affinity(r, a)
		t.add(append(row, cpus, numa)...)
	}
	return t
}

// affinity is the NUMA node of a GPU or NIC and the CPUs of that node.
func affinity(r *topology.NodeReport, end string) (cpus string, numa *int) {
	for _, g := range r.GPUs {
		if fmt.Sprintf("GPU%d", g.Index) == end {
			numa = g.NUMANode
		}
	}
	for _, n := range r.NICs {
		if n.Device == end {
			numa = n.NUMANode
		}
	}
	if numa == nil {
		return unknown, nil
	}
	for _, n := range r.NUMANodes {
		if n.ID == *numa {
			cpus = n.CPUs
		}
	}
	return cpus, numa
}

func legend(w io.Writer, nics []string) error {
	var b strings.Builder
	b.WriteString(`
X     itself
SYS   across PCIe and the link between NUMA nodes
NODE  across PCIe and the host bridges of one NUMA node
PHB   across PCIe and one host bridge
PXB   across several PCIe bridges, no host bridge
PIX   across at most one PCIe bridge
NV#   across # NVLinks
`)
	if len(nics) > 0 {
		b.WriteByte('\n')
	}
	for i, n := range nics {
		fmt.Fprintf(&b, "NIC%d: %s\n", i, n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
