package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology/nccl"
)

// benchNCCLOptions are the flags of railmap bench nccl.
type benchNCCLOptions struct {
	vectors   string
	badNodes  string
	published string
	xmlDir    string
	badXML    string
	badFill   string
	version   string
	failBelow float64
	output    output
}

// newBenchNCCLCmd scores the model of NCCL against files of known answers.
func newBenchNCCLCmd(e *env) *cobra.Command {
	var o benchNCCLOptions
	c := &cobra.Command{
		Use:   "nccl",
		Short: "Score the model of NCCL against known answers",
		Long: `Compare what railmap predicts with files of known answers, all CSV:

  --vectors    rows computed by NCCL's own code: graphs, choice, time and bus bandwidth of jobs of identical nodes
  --bad-nodes  the same for one node with a fault among good ones
  --published  results that others measured, by size class

For vectors the graphs are searched from the XML file of the row's machine in --xml-dir, completed as the row's env column
says; GIVEN columns use the graphs of the file, and so show the tuning arithmetic alone. Errors compare figures at the
precision of the file.

With --fail-below R the exit code is 6 when, over all rows, exactTupleShare or choiceShare is below R, or when 1 - the
median error of published Ring results of 1 GiB and more is.`,
		Example: `  railmap bench nccl --vectors vectors.csv --xml-dir xml
  railmap bench nccl --vectors vectors.csv --bad-nodes bad_node_vectors.csv --xml-dir xml --fail-below 0.99 -o json
  railmap bench nccl --published published.csv`,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	f := c.Flags()
	f.StringVar(&o.vectors, "vectors", "", "file of rows computed by NCCL's own code")
	f.StringVar(&o.badNodes, "bad-nodes", "", "file of jobs with one faulty node")
	f.StringVar(&o.published, "published", "", "file of published results")
	f.StringVar(&o.xmlDir, "xml-dir", "", "folder of the XML files that --vectors and --bad-nodes name")
	f.StringVar(&o.badXML, "bad-xml", "azure-ndv5-8xH100-topo.xml", "machine of --bad-nodes: a file in --xml-dir")
	f.StringVar(&o.badFill, "bad-fill", "SM=90,NVL=18,SPEED=400000", "what the XML of --bad-xml lacks")
	f.StringVar(&o.version, "nccl-version", "", "NCCL release to compare with (default: the newest known)")
	f.Float64Var(&o.failBelow, "fail-below", 0, "exit 6 when a share is below this ratio")
	addOutput(c, &o.output, formatTable, formatWide, formatJSON)
	return c
}

// benchNCCLReport is the answer: the shares over all rows of --vectors, then the tables.
type benchNCCLReport struct {
	Rows            int                  `json:"rows"`
	ExactTupleShare *float64             `json:"exactTupleShare,omitempty"`
	ChoiceShare     *float64             `json:"choiceShare,omitempty"`
	Vectors         []nccl.VectorScore   `json:"vectors,omitempty"`
	BadNodes        []nccl.VectorScore   `json:"badNodes,omitempty"`
	Published       *nccl.PublishedScore `json:"published,omitempty"`
}

func (o *benchNCCLOptions) run(e *env) error {
	if o.vectors == "" && o.badNodes == "" && o.published == "" {
		return usagef("one of --vectors, --bad-nodes and --published must be given")
	}
	if (o.vectors != "" || o.badNodes != "") && o.xmlDir == "" {
		return usagef("--xml-dir must be given with --vectors and --bad-nodes: the folder of the machines' XML files")
	}
	report, err := o.score(e)
	if err != nil {
		return err
	}
	if err := o.print(e, report); err != nil {
		return err
	}
	return report.below(o.failBelow)
}

func (o *benchNCCLOptions) score(e *env) (*benchNCCLReport, error) {
	version, err := nccl.ParseVersion(o.version)
	if err != nil {
		return nil, usagef("--nccl-version: %w", err)
	}
	scorer := nccl.Scorer{Options: nccl.Options{Version: version}, Load: func(name string) (*nccl.XML, error) {
		return readXMLFile(e, filepath.Join(o.xmlDir, filepath.Base(name)))
	}}
	r := &benchNCCLReport{}
	if o.vectors != "" {
		rows, err := readTableFile(e, o.vectors, nccl.ReadVectors)
		if err != nil {
			return nil, err
		}
		if r.Vectors, err = scorer.Vectors(rows); err != nil {
			return nil, withCode(exitUsage, fmt.Errorf("%s: %w", o.vectors, err))
		}
		all := &r.Vectors[len(r.Vectors)-1]
		r.Rows, r.ExactTupleShare, r.ChoiceShare = len(rows), &all.ExactTupleShare, &all.ChoiceShare
	}
	if o.badNodes != "" {
		rows, err := readTableFile(e, o.badNodes, nccl.ReadBadNodes)
		if err != nil {
			return nil, err
		}
		if r.BadNodes, err = scorer.BadNodes(rows, o.badXML, o.badFill); err != nil {
			return nil, withCode(exitUsage, fmt.Errorf("%s: %w", o.badNodes, err))
		}
	}
	if o.published != "" {
		rows, err := readTableFile(e, o.published, nccl.ReadPublished)
		if err != nil {
			return nil, err
		}
		score := nccl.ScorePublished(rows)
		r.Published = &score
	}
	return r, nil
}

// below is the gate of --fail-below.
func (r *benchNCCLReport) below(limit float64) error {
	if limit <= 0 {
		return nil
	}
	check := func(what string, share float64) error {
		if share < limit {
			return withCode(exitBelow, fmt.Errorf("%s is %.4f: must be at least %g", what, share, limit))
		}
		return nil
	}
	for _, table := range []struct {
		name string
		rows []nccl.VectorScore
	}{{"vectors", r.Vectors}, {"bad nodes", r.BadNodes}} {
		if len(table.rows) == 0 {
			continue
		}
		all := table.rows[len(table.rows)-1]
		if err := check("exactTupleShare of "+table.name, all.ExactTupleShare); err != nil {
			return err
		}
		if err := check("choiceShare of "+table.name, all.ChoiceShare); err != nil {
			return err
		}
	}
	if r.Published != nil {
		return check("1 - median error of published Ring results of 1 GiB and more", 1-r.Published.LargeRing.MedianError)
	}
	return nil
}

func (o *benchNCCLOptions) print(e *env, r *benchNCCLReport) error {
	if done, err := o.output.document(e, r); done {
		return err
	}
	for _, table := range []struct {
		name string
		rows []nccl.VectorScore
	}{{"MACHINE", r.Vectors}, {"FAULT", r.BadNodes}} {
		if len(table.rows) > 0 {
			if err := printVectorScores(e, &o.output, table.name, table.rows); err != nil {
				return err
			}
		}
	}
	if r.Published != nil {
		return o.printPublished(e, r.Published)
	}
	return nil
}

func printVectorScores(e *env, o *output, first string, rows []nccl.VectorScore) error {
	t := newTable(first, "NODES", ">ROWS", ">EXACT-TUPLES", ">SAME-CHOICE", ">TIME-MEDIAN", ">TIME-MAX", ">BUSBW-MEDIAN", ">BUSBW-MAX",
		">GIVEN-CHOICE+", ">GIVEN-TIME-MAX+", ">GIVEN-BUSBW-MAX+", "FIRST-DIFFERENCE+")
	for _, r := range rows {
		t.add(r.Machine, r.Nodes, r.Rows, percent(r.ExactTupleShare), percent(r.ChoiceShare), percentOf(r.MedianTimeError), percentOf(r.MaxTimeError),
			percent(r.MedianBusError), percent(r.MaxBusError), percent(r.GivenChoiceShare), percentOf(r.GivenMaxTimeError), percent(r.GivenMaxBusError), r.Wrong)
	}
	return t.write(e.stdout, o)
}

func (o *benchNCCLOptions) printPublished(e *env, p *nccl.PublishedScore) error {
	t := newTable("SIZE", "NODES", ">ROWS", ">RATIO-P10", ">RATIO-MEDIAN", ">RATIO-P90", ">ERROR-MEDIAN", ">ERROR-P90")
	for _, c := range append(p.Classes, p.LargeRing, p.LargeRingGroups, p.LargeRingWithoutFacts) {
		t.add(c.SizeClass, c.Nodes, c.Rows, c.P10Ratio, c.MedianRatio, c.P90Ratio, percent(c.MedianError), percent(c.P90Error))
	}
	if err := t.write(e.stdout, &o.output); err != nil {
		return err
	}
	for _, s := range p.Skipped {
		fmt.Fprintf(e.stderr, "%d rows not modelled: %s\n", s.Rows, s.Reason)
	}
	if o.output.format != formatWide {
		return nil
	}
	rows := newTable(">ID", "SYSTEM", ">NODES", ">GPUS", "COLLECTIVE", ">BYTES", "ALGORITHM", ">MEASURED(GB/s)", ">PREDICTED", ">RATIO")
	for _, r := range p.Errors {
		rows.add(r.ID, r.System, r.Nodes, r.GPUs, r.Collective, r.SizeBytes, r.Algorithm, r.Measured/1e9, r.Predicted/1e9, r.Ratio)
	}
	return rows.write(e.stdout, &o.output)
}

// percent prints a ratio with two decimals.
func percent(ratio float64) string { return fmt.Sprintf("%.2f%%", 100*ratio) }

// percentOf is percent of a figure that may not be there.
func percentOf(ratio *float64) string {
	if ratio == nil {
		return notApplicable
	}
	return percent(*ratio)
}
