package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/placer/server"
	"github.com/railmap/railmap/topology"
)

// newLeaseCmd works with the leases of the placement service.
func newLeaseCmd(e *env) *cobra.Command {
	return newGroup("lease", "List, bind, renew and release what the placement service holds for jobs",
		newLeaseListCmd(e), newLeaseShowCmd(e), newLeaseBindCmd(e), newLeaseRenewCmd(e), newLeaseReleaseCmd(e))
}

func newLeaseListCmd(e *env) *cobra.Command {
	var flags serverFlags
	var all bool
	var out output
	c := &cobra.Command{
		Use:   "list",
		Short: "List the leases, oldest grant first",
		RunE: func(c *cobra.Command, _ []string) error {
			client, ctx, cancel, err := flags.client(c.Context())
			if err != nil {
				return err
			}
			defer cancel()
			leases, err := client.Leases(ctx, !all)
			if err != nil {
				return serverError(err)
			}
			if done, err := out.document(e, leases); done {
				return err
			}
			return printLeases(e, leases, &out)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "also those that have ended in the last day")
	flags.add(c, 10*time.Second)
	addOutput(c, &out, formatTable, formatWide, formatJSON, formatYAML, formatName)
	return c
}

// printLeases is one line for each lease.
func printLeases(e *env, leases []*ledger.Lease, out *output) error {
	t := newTable("LEASE", "PHASE", "HOLDER", "SIDE", "JOB", ">NODES", "HOSTS", ">TOKEN+", "EXPIRES")
	for _, l := range leases {
		if out.format == formatName {
			if _, err := fmt.Fprintln(e.stdout, l.ID); err != nil {
				return err
			}
			continue
		}
		t.add(l.ID, string(l.Phase), l.Holder, l.Side, l.Job, len(l.Claims), topology.FoldHostlist(l.Nodes()), l.Token, l.ExpiresAt.UTC().Format(time.RFC3339))
	}
	if out.format == formatName {
		return nil
	}
	return t.write(e.stdout, out)
}

func newLeaseShowCmd(e *env) *cobra.Command {
	var flags serverFlags
	var of jobLease
	var out output
	c := &cobra.Command{
		Use:   "show [LEASE]",
		Short: "Show one lease; -o name and hostlist print its nodes in rank order",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 1) == (of.job != "") {
				return usagef("name the lease once: LEASE, or --side and --job")
			}
			client, ctx, cancel, err := flags.client(c.Context())
			if err != nil {
				return err
			}
			defer cancel()
			var l *ledger.Lease
			if of.job != "" {
				l, err = of.find(ctx, client)
			} else {
				l, err = client.Lease(ctx, args[0])
			}
			if err != nil {
				return serverError(err)
			}
			return printLease(e, l, &out)
		},
	}
	of.addFlags(c)
	flags.add(c, 10*time.Second)
	addOutput(c, &out, formatYAML, formatJSON, formatName, formatHostlist)
	return c
}

// printLease is the document, or the nodes alone.
func printLease(e *env, l *ledger.Lease, out *output) error {
	if done, err := out.document(e, l); done {
		return err
	}
	text := topology.FoldHostlist(l.Nodes())
	if out.format == formatName {
		text = strings.Join(l.Nodes(), "\n")
	}
	_, err := fmt.Fprintln(e.stdout, text)
	return err
}

// jobLease names a lease by the job that it is bound to: what a scheduler's own scripts know.
type jobLease struct{ side, job string }

func (j *jobLease) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&j.side, "side", "", "with --job: the scheduler, as for lease bind")
	c.Flags().StringVar(&j.job, "job", "", "in place of LEASE and its token: the job that the lease is bound to")
}

// find looks for the live lease of the job.
func (j *jobLease) find(ctx context.Context, s *server.Client) (*ledger.Lease, error) {
	leases, err := s.Leases(ctx, true)
	if err != nil {
		return nil, err
	}
	for _, l := range leases {
		if l.Job == j.job && l.Side == j.side {
			return l, nil
		}
	}
	return nil, withCode(exitConflict, fmt.Errorf("no live lease is bound to job %q of side %q (railmap lease list shows them)", j.job, j.side))
}

// leaseAction are the flags of bind, renew and release: which lease, and the token that proves who holds it.
type leaseAction struct {
	serverFlags
	id     string
	file   string
	of     jobLease // renew and release
	action server.LeaseAction
	ttl    time.Duration
	output output
}

func (a *leaseAction) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.Uint64Var(&a.action.Token, "token", 0, "fencing token that came with the lease")
	f.StringVar(&a.file, "lease-file", "", "in place of LEASE and --token: the file that railmap place --lease-file wrote")
	a.serverFlags.add(c, 10*time.Second)
	addOutput(c, &a.output, formatTable, formatJSON, formatYAML, formatName)
	c.Args = cobra.MaximumNArgs(1)
}

// run finds the lease and its token, acts and prints what the lease is now.
func (a *leaseAction) run(ctx context.Context, e *env, args []string, act func(context.Context, *server.Client) (*ledger.Lease, error)) error {
	switch {
	case a.of.job != "" && a.file == "" && len(args) == 0:
	case a.of.job != "":
		return usagef("name the lease once: LEASE with --token, --lease-file FILE, or --side and --job")
	case a.file != "" && len(args) == 0:
		var l ledger.Lease
		if err := readDocument(e, a.file, &l); err != nil {
			return err
		}
		a.id, a.action.Token = l.ID, l.Token
	case a.file == "" && len(args) == 1:
		a.id = args[0]
	default:
		return usagef("name the lease once: LEASE with --token, or --lease-file FILE")
	}
	a.action.TTLSeconds = a.ttl.Seconds()
	client, ctx, cancel, err := a.client(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	if a.of.job != "" {
		l, err := a.of.find(ctx, client)
		if err != nil {
			return serverError(err)
		}
		a.id, a.action.Token = l.ID, l.Token
	}
	l, err := act(ctx, client)
	if err != nil {
		return serverError(err)
	}
	if done, err := a.output.document(e, l); done {
		return err
	}
	return printLeases(e, []*ledger.Lease{l}, &a.output)
}

func newLeaseBindCmd(e *env) *cobra.Command {
	var a leaseAction
	c := &cobra.Command{
		Use:     "bind [LEASE]",
		Short:   "Tell which job of a scheduler has the lease now",
		Example: `  railmap lease bind --lease-file lease.json --side slurm --job 1234`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.run(c.Context(), e, args, func(ctx context.Context, s *server.Client) (*ledger.Lease, error) { return s.Bind(ctx, a.id, a.action) })
		},
	}
	f := c.Flags()
	f.StringVar(&a.action.Job, "job", "", "job id")
	f.StringVar(&a.action.Side, "side", "", "scheduler: slurm, kubernetes, pbs, lsf or clearml")
	f.DurationVar(&a.ttl, "ttl", 0, "hold for this time unless renewed (default 24h)")
	_ = c.MarkFlagRequired("job")
	a.addFlags(c)
	return c
}

func newLeaseRenewCmd(e *env) *cobra.Command {
	var a leaseAction
	c := &cobra.Command{
		Use:   "renew [LEASE]",
		Short: "Give a lease its time again",
		RunE: func(c *cobra.Command, args []string) error {
			return a.run(c.Context(), e, args, func(ctx context.Context, s *server.Client) (*ledger.Lease, error) {
				return s.Renew(ctx, a.id, a.action)
			})
		},
	}
	c.Flags().DurationVar(&a.ttl, "ttl", 0, "time from now (default: as before)")
	a.of.addFlags(c)
	a.addFlags(c)
	return c
}

func newLeaseReleaseCmd(e *env) *cobra.Command {
	var a leaseAction
	c := &cobra.Command{
		Use:   "release [LEASE]",
		Short: "Give the nodes of a lease back; administrators need no token",
		RunE: func(c *cobra.Command, args []string) error {
			return a.run(c.Context(), e, args, func(ctx context.Context, s *server.Client) (*ledger.Lease, error) {
				return s.Release(ctx, a.id, a.action.Token)
			})
		},
	}
	a.of.addFlags(c)
	a.addFlags(c)
	return c
}
