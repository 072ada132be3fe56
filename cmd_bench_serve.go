package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/bench"
)

// newBenchServeCmd measures the placement service.
func newBenchServeCmd(e *env) *cobra.Command {
	var o bench.ServeOptions
	var out output
	c := &cobra.Command{
		Use:   "serve",
		Short: "Measure the placement service: start, placements, leases, reports",
		Long: `Serve starts a server process on loopback with a synthetic map and live leases, puts load on it from this process, and
starts it a second time with the reports that it kept. Server and load share the machine.`,
		Example: `  railmap bench serve --nodes 10240 --clients 32 -o json`,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Nodes < 32 || o.Nodes%32 != 0 || o.Clients < 1 {
				return usagef("--nodes must be a multiple of 32, --clients at least 1")
			}
			var err error
			if o.Program, err = os.Executable(); err != nil {
				return err
			}
			r, err := bench.Serve(c.Context(), o)
			if err != nil {
				return err
			}
			if done, err := out.document(e, r); done {
				return err
			}
			return printBenchServe(e, r, &out)
		},
	}
	f := c.Flags()
	f.IntVar(&o.Nodes, "nodes", 10240, "nodes of the map, a multiple of 32")
	f.IntVar(&o.Leases, "leases", 5000, "live leases at the start")
	f.IntVar(&o.Clients, "clients", 32, "clients at once")
	f.DurationVar(&o.Phase, "phase", 5*time.Second, "time of each kind of load")
	f.IntVar(&o.Reports, "reports", 0, "node reports to send (default: one for each node)")
	addOutput(c, &out, formatTable, formatJSON, formatYAML)
	return c
}

func printBenchServe(e *env, r *bench.ServeResult, out *output) error {
	fmt.Fprintf(e.stdout, "%d nodes, %d leases, %d clients; load average before: %s\n", r.Nodes, r.Leases, r.Clients, r.LoadAverage)
	fmt.Fprintf(e.stdout, "ready after %.2f s with %d MiB; after the load %d MiB; second start, with the kept reports: %.2f s, %d MiB\n\n",
		r.ReadySeconds, r.ReadyRSSBytes>>20, r.AfterRSSBytes>>20, r.SecondStartReadySeconds, r.SecondStartReadyRSSBytes>>20)
	t := newTable("LOAD", ">REQUESTS", ">FAILED", ">PER_SECOND", ">P50(ms)", ">P99(ms)")
	for _, l := range []struct {
		name string
		r    bench.LoadResult
	}{{"place", r.Place}, {"place with lease", r.PlaceWithLease}, {"node reports", r.Reports}} {
		t.add(l.name, l.r.Requests, l.r.Failed, l.r.RequestsPerSecond, l.r.P50Seconds*1e3, l.r.P99Seconds*1e3)
	}
	return t.write(e.stdout, out)
}
