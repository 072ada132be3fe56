package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/placer/server"
	"github.com/railmap/railmap/topology"
)

// placeService are the flags of railmap place with a placement service.
type placeService struct {
	serverFlags
	lease         time.Duration
	holder        string
	job           string
	leaseFile     string
	onUnavailable string
}

func (s *placeService) addFlags(c *cobra.Command) {
	s.serverFlags.add(c, 2*time.Second)
	f := c.Flags()
	f.DurationVar(&s.lease, "lease", 0, "with --server: hold the nodes for this time, as 15m")
	f.StringVar(&s.holder, "holder", "", "with --lease: who holds them (default: the user)")
	f.StringVar(&s.job, "job", "", "with --lease: the scheduler's job id, when it is known already")
	f.StringVar(&s.leaseFile, "lease-file", "", "with --lease: write the lease here, for railmap lease --lease-file (default: it is told on standard error)")
	f.StringVar(&s.onUnavailable, "on-unavailable", "fail", "with --server, when it does not answer in --timeout: fail (exit 5), or ignore (no answer, exit 0, one warning)")
}

// validate refuses flags that do not go together.
func (s *placeService) validate(o *placeOptions) error {
	st := &o.state
	switch {
	case s.onUnavailable != "fail" && s.onUnavailable != "ignore":
		return usagef("--on-unavailable %s: must be fail or ignore", s.onUnavailable)
	case o.topology != "" && (s.url != "" || s.lease != 0):
		return usagef("--topology places on a file: must not be given with --server or --lease")
	case s.lease < 0 || s.lease == 0 && (s.holder != "" || s.job != "" || s.leaseFile != ""):
		return usagef("--holder, --job and --lease-file need --lease with the time to hold the nodes")
	case o.topology == "" && (st.busy != "" || st.lent != "" || st.drained != "" || len(st.gangs) > 0 || len(st.occupancy) > 0):
		return usagef("--busy, --lent, --drained, --gang and --occupancy are for maps in files: the service knows what is in use")
	}
	return nil
}

// placeByService asks the service and prints as for a file. A service that does not answer must not keep a job from being
// submitted: with ignore there is no answer and no error.
func (o *placeOptions) placeByService(ctx context.Context, e *env) error {
	client, ctx, cancel, err := o.service.client(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	req := &server.PlaceRequest{Request: o.req}
	if o.service.lease > 0 {
		req.Lease = &server.LeaseRequest{Holder: o.service.holder, Job: o.service.job, TTLSeconds: o.service.lease.Seconds()}
		if o.jobs.side != "any" {
			req.Lease.Side = o.jobs.side
		}
		if u, err := user.Current(); err == nil && req.Lease.Holder == "" {
			req.Lease.Holder = u.Username
		}
	}
	err = o.askService(ctx, e, client, req)
	if code := codeOf(context.Background(), err, true); code == exitUnavailable && o.service.onUnavailable == "ignore" {
		fmt.Fprintf(e.stderr, "railmap: warning: no placement hint: %v\n", err)
		return nil
	}
	return err
}

func (o *placeOptions) askService(ctx context.Context, e *env, client *server.Client, req *server.PlaceRequest) error {
	var topo *topology.Topology
	if o.needsTopology() {
		var err error
		if topo, err = client.Topology(ctx); err != nil {
			return serverError(err)
		}
	}
	resp, err := client.Place(ctx, req)
	if err != nil {
		return serverError(err)
	}
	if resp.Lease != nil {
		if err := o.tellLease(e, resp); err != nil {
			return err
		}
		if done, err := o.output.document(e, resp); done {
			return err
		}
	}
	return o.print(e, topo, resp.Placement)
}

// tellLease writes the lease to its file, or names it on standard error: standard output is for the placement.
func (o *placeOptions) tellLease(e *env, resp *server.PlaceResponse) error {
	l := resp.Lease
	if o.service.leaseFile != "" {
		return writeDocumentFile(e, o.service.leaseFile, l)
	}
	_, err := fmt.Fprintf(e.stderr, "lease %s token %d until %s\n", l.ID, l.Token, l.ExpiresAt.UTC().Format(time.RFC3339))
	return err
}

// needsTopology tells the formats that say more than the nodes.
func (o *placeOptions) needsTopology() bool {
	switch o.output.format {
	case formatSbatch, formatPBS, formatClearML:
		return true
	}
	return false
}

// useService tells whether a service is asked: it is named, and no file is.
func (o *placeOptions) useService() bool {
	return o.topology == "" && o.service.address() != ""
}

// errNoMap is what place says when neither a map nor a service is named.
var errNoMap = errors.New("--topology: must name a topology document (make one with railmap topology build), or --server a placement service")
