package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology"
)

// newSubmitCmd sends documents to the placement service.
func newSubmitCmd(e *env) *cobra.Command {
	var flags serverFlags
	c := &cobra.Command{
		Use:   "submit FILE...",
		Short: "Send reports and occupancy to the placement service",
		Long: `Submit sends NodeReport, PairReport, FabricReport and Occupancy documents. "-" is standard input. Exit code 8: some
of the files were not taken.`,
		Example: `  railmap probe -o json | railmap submit --server https://railmap.example:7070 -
  railmap submit --server http://127.0.0.1:7070 fabric.yaml node-*.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, ctx, cancel, err := flags.client(c.Context())
			if err != nil {
				return err
			}
			defer cancel()
			var errs []error
			for _, path := range args {
				data, err := readSubmission(e, path)
				if err == nil {
					err = serverError(client.Submit(ctx, data))
				}
				if err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", path, err))
					continue
				}
				fmt.Fprintf(e.stderr, "%s: taken\n", path)
			}
			if len(errs) > 0 && len(errs) < len(args) {
				return withCode(exitPartial, errors.Join(errs...))
			}
			return errors.Join(errs...)
		},
	}
	flags.add(c, 60*time.Second)
	return c
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
