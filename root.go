package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// How to add a command (the conventions of this package):
//
//   - newXCmd(env) *cobra.Command in cmd_<verb>.go, listed below in commands or in the group it belongs to.
//   - An xOptions struct: flags in its fields, then complete (fill in what flags leave open), validate (usagef on
//     nonsense) and run(ctx). The work itself is done by a package, not here.
//   - -o: addOutput(cmd, &o.output, formatTable, formatJSON, ...): the first is the default, others are refused.
//     writeDocument(env, doc, format) for json and yaml, newTable(...) for tables, writeFile for "-o FILE".
//   - Errors: usagef(...) for wrong flags and wrong input (exit 2), withCode(exitInfeasible, err) and so on for the rest,
//     a plain error for the unexpected (exit 1). Before a command has started, every error is a usage error.
//   - No positional arguments unless Args is set: the default refuses them and suggests the nearest subcommand.

// commands are the verbs of railmap, in the order of the help.
func commands(e *env) []*cobra.Command {
	return []*cobra.Command{
		newProbeCmd(e),
		newAgentCmd(e),
		newTopologyCmd(e),
		newPlaceCmd(e),
		newLendCmd(e),
		newServeCmd(e),
		newLeaseCmd(e),
		newSubmitCmd(e),
		newExportCmd(e),
		newNCCLCmd(e),
		newTokenCmd(e),
		newStoreCmd(e),
		newConfigCmd(e),
		newBenchCmd(e),
		newDemoCmd(e),
		newVersionCmd(e),
	}
}

// newRootCmd makes the whole tree. Started is called when a command begins its work.
func newRootCmd(e *env, started func()) *cobra.Command {
	root := newGroup("railmap", "The map of a GPU cluster, and the best place on it for a gang of nodes", commands(e)...)
	root.AddCommand(helpTopics()...)
	root.SetHelpCommand(newHelpCmd())
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.InitDefaultHelpCmd()
	finish(root, started)
	return root
}

// newGroup is a command that only holds others: alone it shows its help.
func newGroup(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	cmd.AddCommand(subs...)
	return cmd
}

// finish gives every command of the tree the same manners. Started is called when flags and arguments are accepted, right
// before the work (cobra checks required flags after all its other hooks).
func finish(c *cobra.Command, started func()) {
	c.SilenceErrors, c.SilenceUsage, c.DisableAutoGenTag = true, true, true
	c.SuggestionsMinimumDistance = 2
	c.SetFlagErrorFunc(flagError)
	if c.Runnable() {
		args := c.Args
		if args == nil {
			args = noArguments
		}
		c.Args = func(c *cobra.Command, a []string) error {
			if err := args(c, a); err != nil {
				return &usageError{command: c.CommandPath(), err: err}
			}
			return nil
		}
	}
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, a []string) error {
			started()
			return run(c, a)
		}
	}
	for _, sub := range c.Commands() {
		finish(sub, started)
	}
}

// noArguments refuses positional arguments; on a command with subcommands they are most likely a misspelled one.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasAvailableSubCommands() {
		return fmt.Errorf("unexpected argument %q: %s takes flags only", args[0], c.CommandPath())
	}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], c.CommandPath(), didYouMean("", args[0], names))
}

// flagError turns what pflag says into one line with the nearest flag.
func flagError(c *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		err = fmt.Errorf("unknown flag --%s%s", name, didYouMean("--", name, names))
	}
	return &usageError{command: c.CommandPath(), err: err}
}
