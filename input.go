package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology"
)

// addTopologyFlag adds -t, the map that most commands read, and --server, which names a placement service in its place.
func addTopologyFlag(c *cobra.Command, path *string) {
	c.Flags().StringVarP(path, "topology", "t", "", "file of the map, or - for standard input (make one with railmap topology build)")
	c.Flags().StringVar(path, "server", "", "in place of -t: URL of a placement service, whose current map is read")
	c.MarkFlagsOneRequired("topology", "server")
	c.MarkFlagsMutuallyExclusive("topology", "server")
}

// readTopology reads a map; "-" is standard input, a URL a placement service. Whatever is wrong with a file is a usage error.
func readTopology(e *env, path string) (*topology.Topology, error) {
	if isURL(path) {
		return fetchTopology(context.Background(), path)
	}
	t := &topology.Topology{}
	if err := readDocument(e, path, t); err != nil {
		return nil, err
	}
	return t, nil
}

// readDocument reads one document of any kind; "-" is standard input.
func readDocument(e *env, path string, doc topology.Document) error {
	var err error
	if path == "-" {
		err = topology.Read(e.stdin, "standard input", doc)
	} else {
		err = topology.ReadFile(path, doc)
	}
	return withCode(exitUsage, err)
}

// openInput opens a file to read; "-" is standard input.
func openInput(e *env, path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(e.stdin), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	return f, nil
}

// hostlistFlag expands the host list of a flag; an empty one is nil.
func hostlistFlag(flag, expr string) ([]string, error) {
	if expr == "" {
		return nil, nil
	}
	names, err := topology.ParseHostlist(expr)
	if err != nil {
		return nil, usagef("--%s: %w", flag, err)
	}
	return names, nil
}
