package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/probe"
)

// newProbeImportCmd makes node reports of what other tools printed.
func newProbeImportCmd(e *env) *cobra.Command {
	var format, node string
	var out output
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a node report of what another tool measured",
		Long: `Import reads the output of another tool and writes a node report. FILE may be - for standard input.

Formats: nvbandwidth (nvbandwidth -j), nccl-tests (text or -J file), perftest (text or --out_json file), dcgm (dcgmi diag -j),
smi-topo (nvidia-smi topo -m), nccl-xml (NCCL_TOPO_DUMP_FILE), hwloc (lstopo --of xml),
lspci (lspci -nn or, as root for links and access control, lspci -nn -vvv; NICs are named by PCI address), nvlink (nvidia-smi nvlink -s).`,
		Example: `  nvbandwidth -j > bw.json; railmap probe import --format nvbandwidth --node gpu-0001 bw.json
  nvidia-smi topo -m | railmap probe import --format smi-topo --node gpu-0001 -
  sudo lspci -D -nn -vvv | railmap probe import --format lspci --node gpu-0001 -`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			in, name, err := openImport(e, args[0])
			if err != nil {
				return usagef("%w", err)
			}
			defer in.Close()
			if node == "" {
				node = name
			}
			r, err := probe.Import(format, in, node)
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			r.ToolVersion = toolVersion()
			if done, err := out.document(e, r); done {
				return err
			}
			return writeProbeTable(e.stdout, r, &out)
		},
	}
	c.Flags().StringVar(&format, "format", "", "what wrote the file: "+strings.Join(probe.ImportFormats(), "|"))
	c.Flags().StringVar(&node, "node", "", "name of the node (default: the file's name without its ending)")
	_ = c.MarkFlagRequired("format")
	addOutput(c, &out, formatYAML, formatJSON, formatTable)
	return c
}

// openImport opens a file or standard input and gives a name for the node.
func openImport(e *env, path string) (io.ReadCloser, string, error) {
	if path == "-" {
		return io.NopCloser(e.stdin), "imported", nil
	}
	f, err := os.Open(path)
	base := filepath.Base(path)
	return f, strings.TrimSuffix(base, filepath.Ext(base)), err
}
