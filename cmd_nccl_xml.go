package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology"
	"github.com/railmap/railmap/topology/nccl"
)

// ncclXMLOptions are the flags of railmap nccl xml.
type ncclXMLOptions struct {
	xml    string
	report string
	fill   string
	merge  string
	node   string
	check  bool
	assume bool
	to     string
	out    string
}

// newNCCLXMLCmd reads, checks, completes, converts and writes NCCL topology files.
func newNCCLXMLCmd(e *env) *cobra.Command {
	var o ncclXMLOptions
	c := &cobra.Command{
		Use:   "xml",
		Short: "Check, complete and convert NCCL topology files",
		Long: `Write NCCL's topology file from a node report (for NCCL_TOPO_FILE on machines that hide their PCI tree), complete or
check one, or turn a dump of NCCL (NCCL_TOPO_DUMP_FILE) into a node report.`,
		Example: `  railmap nccl xml --node report.yaml --out nccl-topo.xml
  railmap nccl xml --xml dump.xml --check
  railmap nccl xml --xml topo.xml --fill SM=90,NVL=18,SPEED=400000
  railmap nccl xml --xml dump.xml --to report --node-name gpu-001`,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	f := c.Flags()
	f.StringVar(&o.xml, "xml", "", "NCCL topology file to read, - for standard input")
	f.StringVar(&o.report, "node", "", "node report to read")
	f.StringVar(&o.fill, "fill", "", "what the XML lacks: SM=90,NVL=18,SPEED=400000")
	f.StringVar(&o.merge, "merge-level", "", "make one NIC of the ports of a card (PORT) or of ports as near as PIX, PXB, ..., as NCCL_NET_MERGE_LEVEL does")
	f.StringVar(&o.node, "node-name", "", "name of the node in a report made by --to report (default: the file's name)")
	f.BoolVar(&o.check, "check", false, "only check: findings on standard error, exit 2 when NCCL would refuse the file")
	f.BoolVar(&o.assume, "assume-gpudirect", false, "write gdr=1 where the report does not say (for predictions; NCCL finds out by itself)")
	f.StringVar(&o.to, "to", "xml", "what to write: xml or report")
	f.StringVar(&o.out, "out", "-", "file to write, - for standard output")
	return c
}

func (o *ncclXMLOptions) run(e *env) error {
	if (o.xml == "") == (o.report == "") {
		return usagef("one of --xml and --node must be given")
	}
	if o.to != "xml" && o.to != "report" {
		return usagef("--to %q: must be xml or report", o.to)
	}
	x, err := o.read(e)
	if err != nil {
		return err
	}
	if x, err = mergeNICs(x, o.merge); err != nil {
		return err
	}
	if o.check {
		return o.checked(e, x)
	}
	if o.to == "report" {
		return o.writeReport(e, x)
	}
	return writeFile(e, o.out, x.Write)
}

func (o *ncclXMLOptions) read(e *env) (*nccl.XML, error) {
	if o.report != "" {
		r := &topology.NodeReport{}
		if err := readDocument(e, o.report, r); err != nil {
			return nil, err
		}
		x, findings, err := nccl.FromReport(r, nccl.ReportOptions{AssumeGPUDirect: o.assume})
		if err != nil {
			return nil, withCode(exitUsage, fmt.Errorf("%s: %w", o.report, err))
		}
		tellFindings(e, o.report, findings)
		return x, nil
	}
	fill, err := nccl.ParseFill(o.fill)
	if err != nil {
		return nil, usagef("--fill: %w", err)
	}
	x, err := readXMLFile(e, o.xml)
	if err != nil || o.fill == "" {
		return x, err
	}
	if x, err = nccl.Fill(x, fill); err != nil {
		return nil, withCode(exitUsage, fmt.Errorf("%s: %w", o.xml, err))
	}
	return x, nil
}

// checked tells what is wrong with a document.
func (o *ncclXMLOptions) checked(e *env, x *nccl.XML) error {
	name := o.xml
	if name == "" {
		name = o.report
	}
	findings := x.Check()
	tellFindings(e, name, findings)
	for _, f := range findings {
		if f.Severity == topology.Error {
			return usagef("%s: NCCL would refuse it: see above", name)
		}
	}
	fmt.Fprintf(e.stdout, "%s: %d findings, digest %s\n", name, len(findings), x.Digest())
	return nil
}

func (o *ncclXMLOptions) writeReport(e *env, x *nccl.XML) error {
	name := o.node
	if name == "" {
		name = o.xml
	}
	r, findings, err := nccl.ToReport(x, name)
	if err != nil {
		return withCode(exitUsage, fmt.Errorf("%s: %w", o.xml, err))
	}
	tellFindings(e, o.xml, findings)
	r.ToolVersion = toolVersion()
	return writeFile(e, o.out, func(w io.Writer) error { return topology.Write(w, r, topology.YAML) })
}
