package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/placer/occupancy"
	"github.com/railmap/railmap/placer/server"
	"github.com/railmap/railmap/topology"
)

// newSubmitCmd sends documents to the placement service.
func newSubmitCmd(e *env) *cobra.Command {
	var flags serverFlags
	c := &cobra.Command{
		Use:   "submit FILE...",
		Short: "Send reports and occupancy to the placement service",
		Long: `Submit sends NodeReport, PairReport, FabricReport and Occupancy documents, and what a scheduler prints about its nodes and
jobs: scontrol show nodes --json, squeue --json, kubectl get nodes,pods -A -o json, pbsnodes -av -F json, qstat -f -t -F json.
Give nodes and jobs of a scheduler at once: they are one occupancy. "-" is standard input. Exit code 8: some of the files were
not taken.`,
		Example: `  railmap probe -o json | railmap submit --server https://railmap.example:7070 -
  railmap submit --server http://127.0.0.1:7070 fabric.yaml node-*.yaml
  scontrol show nodes --json > nodes.json; squeue --json | railmap submit nodes.json -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, ctx, cancel, err := flags.client(c.Context())
			if err != nil {
				return err
			}
			defer cancel()
			return submit(ctx, e, client, args)
		},
	}
	flags.add(c, 60*time.Second)
	return c
}

// submission is one document to send, and the file that it comes from.
type submission struct {
	name string
	data []byte
}

// submit sends every file as a document of its own, and those of schedulers together as one occupancy a side.
func submit(ctx context.Context, e *env, client *server.Client, paths []string) error {
	var errs []error
	var all []submission
	var sources []occupancy.Source
	for _, path := range paths {
		data, err := readSubmission(e, path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
			continue
		}
		if kind, err := topology.KindOf(data); err == nil && kind != "" && kind != topology.KindOccupancy && isReport(kind) {
			all = append(all, submission{path, data})
			continue
		}
		sources = append(sources, occupancy.Source{Name: path, Reader: bytes.NewReader(data)})
	}
	if len(sources) > 0 {
		more, err := occupancies(e, sources)
		errs = append(errs, err)
		all = append(all, more...)
	}
	sent := 0
	for _, s := range all {
		if err := serverError(client.Submit(ctx, s.data)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
			continue
		}
		sent++
		fmt.Fprintf(e.stderr, "%s: taken\n", s.name)
	}
	if err := errors.Join(errs...); err != nil && sent > 0 {
		return withCode(exitPartial, err)
	}
	return errors.Join(errs...)
}

// isReport tells documents that the service takes as they are.
func isReport(kind string) bool {
	return slices.Contains([]string{topology.KindNodeReport, topology.KindPairReport, topology.KindFabricReport}, kind)
}

// occupancies reads what schedulers print: one document a side.
func occupancies(e *env, sources []occupancy.Source) ([]submission, error) {
	reports, err := occupancy.ReadAll(sources...)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	var out []submission
	for _, r := range reports {
		tellFindings(e, r.Side, r.Findings)
		var buf bytes.Buffer
		if err := topology.Write(&buf, r, topology.JSON); err != nil {
			return nil, err
		}
		out = append(out, submission{"occupancy of " + r.Side, buf.Bytes()})
	}
	return out, nil
}

// readSubmission reads a file as it is: the service checks it, and says what is wrong.
func readSubmission(e *env, path string) ([]byte, error) {
	f, err := openInput(e, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, topology.MaxDocumentBytes))
	if err == nil && len(data) == 0 {
		err = usagef("empty: must hold a report")
	}
	return data, err
}
