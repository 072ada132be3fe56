package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/placer/server"
	"github.com/railmap/railmap/topology"
)

// serverFlags say which placement service to ask.
type serverFlags struct {
	url     string
	timeout time.Duration
}

// add adds --server and --timeout.
func (f *serverFlags) add(c *cobra.Command, timeout time.Duration) {
	c.Flags().StringVar(&f.url, "server", "", "URL of the placement service (default: RAILMAP_SERVER)")
	c.Flags().DurationVar(&f.timeout, "timeout", timeout, "give up on the service after this time")
}

// address is the service to ask; "" = none is named.
func (f *serverFlags) address() string {
	if f.url != "" {
		return f.url
	}
	return os.Getenv("RAILMAP_SERVER")
}

// client makes the client. The context ends when the time is over.
func (f *serverFlags) client(ctx context.Context) (*server.Client, context.Context, context.CancelFunc, error) {
	if f.address() == "" {
		return nil, nil, nil, usagef("--server: must be the URL of the placement service, or set RAILMAP_SERVER")
	}
	if f.timeout <= 0 {
		return nil, nil, nil, usagef("--timeout %s: must be above 0", f.timeout)
	}
	c, err := newClient(f.address())
	if err != nil {
		return nil, nil, nil, withCode(exitUsage, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("waited %s", f.timeout))
	return c, ctx, cancel, nil
}

// newClient takes who we are and whom we trust from RAILMAP_TOKEN, RAILMAP_CA, RAILMAP_CERT and RAILMAP_KEY.
func newClient(base string) (*server.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	cfg := &tls.Config{MinVersion: tls.VersionTLS13}
	if path := os.Getenv("RAILMAP_CA"); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("RAILMAP_CA: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("RAILMAP_CA: %s must hold PEM certificates", path)
		}
	}
	if cert := os.Getenv("RAILMAP_CERT"); cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, os.Getenv("RAILMAP_KEY"))
		if err != nil {
			return nil, fmt.Errorf("RAILMAP_CERT and RAILMAP_KEY: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	transport.TLSClientConfig = cfg
	return server.NewClient(base, os.Getenv("RAILMAP_TOKEN"), transport)
}

// serverError gives what the service says its exit code: 3 infeasible, 4 not allowed, 5 unreachable or busy, 7 conflict, 2 a
// wrong request.
func serverError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*server.UnreachableError](err); ok {
		return withCode(exitUnavailable, err)
	}
	p, ok := errors.AsType[*server.Problem](err)
	if !ok {
		return err
	}
	if hints := strings.Join(p.Hints, "; "); hints != "" && !strings.Contains(p.Detail, hints) {
		err = fmt.Errorf("%w (%s)", err, hints)
	}
	switch p.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return withCode(exitDenied, err)
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return withCode(exitUnavailable, err)
	case http.StatusConflict, http.StatusPreconditionFailed:
		return withCode(exitConflict, err)
	case http.StatusUnprocessableEntity:
		if p.Code == "infeasible" {
			return withCode(exitInfeasible, err)
		}
		return withCode(exitUsage, err)
	}
	if p.Status < 500 {
		return withCode(exitUsage, err)
	}
	return err
}

// isURL tells a placement service from a file.
func isURL(path string) bool {
	return strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")
}

// fetchTopology reads the current map of a service.
func fetchTopology(ctx context.Context, base string) (*topology.Topology, error) {
	c, err := newClient(base)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("waited 30s"))
	defer cancel()
	t, err := c.Topology(ctx)
	return t, serverError(err)
}
