package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/probe"
	"github.com/railmap/railmap/topology"
)

// newProbeMatrixCmd prints the letters of nvidia-smi topo -m, and measured bandwidths beside them.
func newProbeMatrixCmd(e *env) *cobra.Command {
	var root, driverDir, file string
	var out output
	c := &cobra.Command{
		Use:   "matrix",
		Short: "Print the paths between GPUs and NICs as nvidia-smi topo -m does, and what was measured",
		Example: `  railmap probe matrix
  railmap probe -o yaml > node.yaml; railmap probe matrix --from node.yaml`,
		RunE: func(c *cobra.Command, _ []string) error {
			var r *topology.NodeReport
			var err error
			if file != "" {
				r = new(topology.NodeReport)
				err = topology.ReadFile(file, r)
			} else {
				r, err = probe.Run(c.Context(), probe.Options{Root: root, DriverDir: driverDir, ToolVersion: toolVersion()})
			}
			if err != nil {
				return usagef("%w", err)
			}
			return writeMatrix(e, r, &out)
		},
	}
	c.Flags().StringVar(&root, "root", "/", "folder that holds sys/ and proc/")
	c.Flags().StringVar(&driverDir, "driver-dir", "", "folder where the GPU driver's libraries are looked for first")
	c.Flags().StringVar(&file, "from", "", "a report that probe wrote, with its measurements")
	addOutput(c, &out, formatTable)
	return c
}

func writeMatrix(e *env, r *topology.NodeReport, out *output) error {
	m := probe.Matrix(r)
	headers := []string{"-"}
	t := newTable(append(headers, append(m.Names, "CPUS", "NUMA")...)...)
	for i, name := range m.Names {
		row := []any{name}
		for _, letter := range m.Letters[i] {
			row = append(row, letter)
		}
		t.add(append(row, m.CPUs[i], m.NUMA[i])...)
	}
	if err := t.write(e.stdout, out); err != nil {
		return err
	}
	if !m.Measured() {
		return nil
	}
	fmt.Fprintln(e.stdout, "\nmeasured one way, GB/s (row to column)")
	b := newTable(append([]string{"-"}, numeric(m.Names[:m.GPUs])...)...)
	for i, name := range m.Names[:m.GPUs] {
		row := []any{name}
		for _, v := range m.Bandwidth[i] {
			row = append(row, scaled(v, 1e-9))
		}
		b.add(row...)
	}
	return b.write(e.stdout, out)
}

// numeric marks columns as numbers.
func numeric(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = ">" + n
	}
	return out
}
