package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

const formatsText = `Formats of -o. Each command offers some of them; the first in its help is the default.

  table     aligned columns; "-" means not applicable, "<unknown>" means not measured; --no-headers drops the header line
  wide      the table with more columns
  json      one document, fields are only ever added
  yaml      the same document for people
  name      one name per line
  hostlist  names folded as Slurm writes them: gpu[001-004,007]
  hostfile  one name per line and task in rank order, for SLURM_HOSTFILE
  torchrun  node name and --node-rank a line, for torchrun's static rendezvous
  env       NAME=VALUE lines
  sbatch    options of sbatch, salloc and srun that give a job exactly these nodes
  affinity  the same for a pod template of Kubernetes
  tree      the levels of the cluster as indented text
  svg       the same as a picture

Documents (NodeReport, FabricReport, PairReport, Topology, ...) carry apiVersion and kind. They are read as JSON or YAML,
plain or gzip: the content decides. Where -o names a file, its extension decides how it is written (.json, .yaml, .gz on
top) and "-" is standard output in YAML. Units stand in the names of fields: bandwidthBytesPerSecond, latencySeconds.
A value that is not known is absent, never 0.
`

const environmentText = `Variables that railmap reads. Flags override them.

  RAILMAP_SERVER                URL of the placement service for place, lease, submit and store backup
  RAILMAP_TOKEN                 bearer token for it (railmap token create)
  RAILMAP_CA                    PEM file with the certificates that sign the service's
  RAILMAP_CERT, RAILMAP_KEY     PEM files of a client certificate

  RAILMAP_CONFIG                configuration file of railmap serve
  RAILMAP_LISTEN, RAILMAP_DATA, RAILMAP_STORE, RAILMAP_TOPOLOGY, RAILMAP_TOKENS, RAILMAP_TLS_CERT, RAILMAP_TLS_KEY,
  RAILMAP_CLIENT_CA, RAILMAP_INSECURE, RAILMAP_LOG_LEVEL, RAILMAP_LOG_FORMAT
                                the flags of railmap serve; they override the file
`

// helpTopics are pages of "railmap help" that belong to no command.
func helpTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesText()},
		{Use: "environment", Short: "Variables that railmap reads", Long: environmentText},
		{Use: "formats", Short: "Formats of -o and of documents", Long: formatsText},
	}
}

// newHelpCmd is "railmap help COMMAND|TOPIC"; unlike cobra's own it refuses what it does not know.
func newHelpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Help about any command or topic",
		Args: func(c *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			if err == nil && len(rest) == 0 {
				return nil
			}
			var names []string
			for _, sub := range found.Commands() {
				names = append(names, sub.Name())
			}
			word := args[len(args)-max(1, len(rest))]
			return fmt.Errorf("unknown help topic %q%s", word, didYouMean("", word, names))
		},
		RunE: func(c *cobra.Command, args []string) error {
			found, _, err := c.Root().Find(args)
			if err != nil {
				return err
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}
