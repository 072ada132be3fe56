package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"
)

// newConfigCmd checks and shows the configuration of railmap serve.
func newConfigCmd(e *env) *cobra.Command {
	check := &cobra.Command{
		Use:     "check FILE",
		Short:   "Check a configuration file; exit 2 when something is wrong",
		Example: `  railmap config check /etc/railmap/config.yaml`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := readConfig(args[0]); err != nil {
				return withCode(exitUsage, err)
			}
			_, err := fmt.Fprintf(e.stdout, "%s: valid\n", args[0])
			return err
		},
	}
	var o serveOptions
	show := &cobra.Command{
		Use:   "show",
		Short: "Print what railmap serve would use with the same flags: defaults, file, environment and flags together",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := o.config(c)
			if err != nil {
				return err
			}
			data, err := yaml.Marshal(cfg.redacted())
			if err != nil {
				return err
			}
			_, err = e.stdout.Write(data)
			return err
		},
	}
	o.addFlags(show)
	return newGroup("config", "Check and show the configuration of railmap serve", check, show)
}
