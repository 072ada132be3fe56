package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/probe"
	"github.com/railmap/railmap/probe/pair"
	"github.com/railmap/railmap/topology"
)

// probePairsOptions are the flags of railmap probe pairs.
type probePairsOptions struct {
	coordinator, tokenFile, nodeName string
	rank, of                         int
	nics, devices                    []string
	dataPort                         int
	tiers, hosts, topology, out      string
	method                           string
	observe, plan, force, progress   bool
	sweep                            pair.Options
}

func newProbePairsCmd(e *env) *cobra.Command {
	var o probePairsOptions
	c := &cobra.Command{
		Use:   "pairs",
		Short: "Measure between nodes, in rounds in which pairs do not disturb each other",
		Long: `Start the same command on every node: srun, mpirun, pdsh and Kubernetes Jobs all do. Rank 0 listens at --coordinator, plans,
keeps the clock and takes part; the others join it. Everybody proves to hold the token of --token-file; data goes only
between those that did. A node that holds a lease or runs a job of another is not measured (--force).

Rank and number come from --rank and --of, or from what started the processes (Slurm, Open MPI, PMI, an indexed Job).

Tiers: leaf (all pairs within each leaf group), group (sampled pairs between leaf groups), loaded (whole groups against
each other, which fills the uplinks: alone/loaded is the oversubscription), all (every pair). Without a map all pairs are
measured. Doubtful pairs are measured again; then culprits are named as railmap probe blame does.

The budget bounds the rounds; what it leaves out is said before the first one. An interrupt keeps what was measured.`,
		Example: `  srun --ntasks-per-node=1 railmap probe pairs --coordinator "$(hostname):7900" --token-file token -t topology.yaml -o pairs.json
  railmap probe pairs --plan -t topology.yaml --hosts 'gpu[001-128]' --budget 10m`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), e) },
	}
	f := c.Flags()
	f.StringVar(&o.coordinator, "coordinator", "", "address of rank 0, host:port")
	f.StringVar(&o.tokenFile, "token-file", "", "file with the token that all participants share")
	f.IntVar(&o.rank, "rank", -1, "number of this process; 0 coordinates (default: from the environment)")
	f.IntVar(&o.of, "of", 0, "number of processes (default: from the environment)")
	f.BoolVar(&o.observe, "observe", false, "coordinate without taking part; --of counts the participants")
	f.BoolVar(&o.plan, "plan", false, "print the plan and end; -o writes its rounds")
	f.StringVarP(&o.topology, "topology", "t", "", "file of the map; without it all pairs are measured")
	f.StringVar(&o.hosts, "hosts", "", "host list of the nodes expected (with --plan: default is every node of the map)")
	f.StringVarP(&o.out, "output", "o", "-", "file for the report, - for standard output; .json and .gz are understood")
	f.StringVar(&o.method, "method", pair.MethodTCP, "tcp, or perftest (ib_write_bw over RDMA)")
	f.StringVar(&o.tiers, "tiers", "leaf,group,loaded", "what to measure: leaf, group, loaded, all")
	f.IntVar(&o.sweep.Samples, "samples", 2, "pairs between each two leaf groups")
	f.DurationVar(&o.sweep.Budget, "budget", 10*time.Minute, "time for all rounds")
	f.DurationVar(&o.sweep.Window, "window", 3*time.Second, "time of one measurement, one way; a third more is warm-up")
	f.IntVar(&o.sweep.Streams, "streams", 4, "TCP streams, or RDMA queue pairs, of each rail")
	f.IntVar(&o.sweep.Pings, "pings", 50, "small messages for the latency (tcp)")
	f.IntVar(&o.sweep.Repeats, "repeats", 2, "how often doubtful pairs are measured again at most; negative: never")
	f.StringVar(&o.sweep.Congestion, "congestion", "", "TCP congestion control (default: the system's)")
	f.DurationVar(&o.sweep.JoinTimeout, "join-timeout", time.Minute, "begin without those who have not joined by then")
	f.StringSliceVar(&o.nics, "nics", nil, "rails of this node in order: interfaces or addresses (default: the way to the coordinator)")
	f.StringSliceVar(&o.devices, "devices", nil, "RDMA devices of the rails (perftest)")
	f.IntVar(&o.dataPort, "data-port", 0, "port for data of the first rail, the next ones count up (default: any free ones)")
	f.StringVar(&o.nodeName, "node-name", "", "name of this node (default: its host name)")
	f.BoolVar(&o.force, "force", false, "measure although a job or another process uses the node")
	f.BoolVar(&o.progress, "progress", true, "show progress on a terminal")
	return c
}

func (o *probePairsOptions) run(ctx context.Context, e *env) error {
	if err := o.complete(e); err != nil {
		return err
	}
	if o.plan {
		return o.printPlan(e)
	}
	token, err := pair.ReadToken(o.tokenFile)
	if err != nil {
		return withCode(exitUsage, err)
	}
	o.sweep.Token = token
	join := pair.JoinOptions{Coordinator: o.coordinator, Token: token, Node: o.nodeName, NICs: o.nics, Devices: o.devices, DataPort: o.dataPort, Patience: o.sweep.JoinTimeout}
	if !o.force {
		join.Busy = probe.Busy("/", os.Getenv("SLURM_JOB_ID"))
	}
	if o.rank != 0 && !o.observe {
		err := pair.Join(ctx, join)
		switch {
		case errors.Is(err, pair.ErrBusy):
			return withCode(exitPartial, err)
		case errors.Is(err, pair.ErrToken):
			return withCode(exitDenied, err)
		}
		return withCode(exitUnavailable, err)
	}
	return o.coordinate(ctx, e, join)
}

// complete checks flags and fills in what the environment says.
func (o *probePairsOptions) complete(e *env) (err error) {
	if o.sweep.Tiers, err = pair.ParseTiers(o.tiers); err != nil {
		return usagef("--tiers: %w", err)
	}
	if o.sweep.Expected, err = hostlistFlag("hosts", o.hosts); err != nil {
		return err
	}
	s := &o.sweep
	switch {
	case o.method != pair.MethodTCP && o.method != pair.MethodPerftest:
		return usagef("--method is %q: must be tcp or perftest", o.method)
	case s.Window < 10*time.Millisecond || s.Window > 3*time.Minute:
		return usagef("--window is %s: must be between 10ms and 3m", s.Window)
	case s.Streams < 1 || s.Streams > 64 || s.Samples < 1 || s.Pings < 1 || s.Budget <= 0:
		return usagef("--streams must be between 1 and 64, --samples, --pings and --budget at least 1")
	}
	s.Method, s.Now, s.ToolVersion = o.method, e.now, toolVersion()
	if s.Repeats == 0 {
		s.Repeats = -1
	}
	if o.plan {
		return o.readMap(e)
	}
	if o.coordinator == "" || o.tokenFile == "" {
		return usagef("--coordinator and --token-file must be given (or --plan)")
	}
	if _, _, err := net.SplitHostPort(o.coordinator); err != nil {
		return usagef("--coordinator is %q: must be host:port", o.coordinator)
	}
	if o.rank < 0 {
		o.rank = fromEnv("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "JOB_COMPLETION_INDEX")
	}
	if o.of == 0 {
		o.of = max(0, fromEnv("SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"))
	}
	s.Members = max(o.of, len(s.Expected))
	if (o.rank == 0 || o.observe) && s.Members < 2 {
		return usagef("--of is %d: must say how many take part, at least 2 (or --hosts which)", o.of)
	}
	if o.nodeName == "" {
		if o.nodeName, err = os.Hostname(); err != nil {
			return err
		}
	}
	if o.rank == 0 || o.observe {
		return o.readMap(e) // only the coordinator needs it
	}
	return nil
}

func (o *probePairsOptions) readMap(e *env) (err error) {
	if o.topology != "" {
		o.sweep.Topology, err = readTopology(e, o.topology)
	}
	return err
}

// fromEnv is the first number that one of the variables holds, -1 when none does.
func fromEnv(names ...string) int {
	for _, n := range names {
		if v, err := strconv.Atoi(os.Getenv(n)); err == nil {
			return v
		}
	}
	return -1
}

// planDocument is what --plan writes to a file.
type planDocument struct {
	Seconds float64      `json:"seconds" yaml:"seconds"`
	Notes   []string     `json:"notes,omitempty" yaml:"notes,omitempty"`
	Rounds  []planRounds `json:"rounds" yaml:"rounds"`
}

type planRounds struct {
	Tier  pair.Tier   `json:"tier" yaml:"tier"`
	Level string      `json:"level,omitempty" yaml:"level,omitempty"`
	Pairs [][2]string `json:"pairs" yaml:"pairs,flow"`
}

func (o *probePairsOptions) printPlan(e *env) error {
	if o.sweep.Topology == nil && len(o.sweep.Expected) == 0 {
		return usagef("--plan: -t or --hosts must say which nodes")
	}
	site := pair.SiteOf(o.sweep.Topology, o.sweep.Expected)
	tiers := o.sweep.Tiers
	if o.sweep.Topology == nil {
		tiers = []pair.Tier{pair.All}
	}
	p, err := pair.NewPlan(site, pair.PlanOptions{Tiers: tiers, Samples: o.sweep.Samples, RoundSeconds: o.sweep.RoundSeconds(), Budget: o.sweep.Budget})
	if err != nil {
		return usagef("%w", err)
	}
	if o.out != "-" {
		d := planDocument{Seconds: p.Seconds(), Notes: p.Notes}
		for _, r := range p.Rounds {
			row := planRounds{Tier: r.Tier, Level: r.Level}
			for _, run := range r.Runs {
				row.Pairs = append(row.Pairs, [2]string{site.Nodes[run.A].Name, site.Nodes[run.B].Name})
			}
			d.Rounds = append(d.Rounds, row)
		}
		if err := writeDocumentFile(e, o.out, d); err != nil {
			return err
		}
	}
	text, err := planText(p)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(e.stdout, text)
	return err
}

// planText is the plan as a table, with what the budget leaves out.
func planText(p *pair.Plan) (string, error) {
	t := newTable("TIER", "LEVEL", ">ROUNDS", ">PAIRS", ">AT-ONCE", ">SECONDS")
	for _, r := range p.Rows() {
		t.add(string(r.Tier), r.Level, r.Rounds, r.Pairs, r.AtOnce, fmt.Sprintf("%.0f", r.Seconds))
	}
	var b strings.Builder
	if err := t.write(&b, &output{}); err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "\n%d nodes, %d rounds, %.0f s\n", len(p.Site.Nodes), len(p.Rounds), p.Seconds())
	for _, n := range p.Notes {
		fmt.Fprintln(&b, n)
	}
	return b.String(), nil
}

// coordinate runs the sweep, and this node's own part of it.
func (o *probePairsOptions) coordinate(ctx context.Context, e *env, join pair.JoinOptions) error {
	l, err := o.listen(ctx, e)
	if err != nil {
		return withCode(exitUnavailable, err)
	}
	s := o.sweep
	s.Planned = func(p *pair.Plan) {
		if text, err := planText(p); err == nil {
			fmt.Fprint(e.stderr, text)
		}
	}
	if o.progress && e.isTTY {
		s.Progress = func(n, of int) { fmt.Fprintf(e.stderr, "\r\033[K[%d/%d] rounds", n, of) }
	}
	joined := make(chan error, 1)
	if o.observe {
		joined <- nil
	} else {
		_, port, _ := net.SplitHostPort(l.Addr().String())
		if host, _, _ := net.SplitHostPort(o.coordinator); host == "" {
			join.Coordinator = net.JoinHostPort("localhost", port)
		}
		go func() { joined <- pair.Join(ctx, join) }()
	}
	r, err := pair.Coordinate(ctx, l, s)
	if joinErr := <-joined; joinErr != nil && ctx.Err() == nil {
		fmt.Fprintf(e.stderr, "this node's own part: %v\n", joinErr)
	}
	if s.Progress != nil {
		fmt.Fprint(e.stderr, "\r\033[K")
	}
	return errors.Join(o.deliver(e, r), withCode(exitPartial, err))
}

// listen takes the coordinator's address, or its port on all addresses where the name leads elsewhere (a service in front).
func (o *probePairsOptions) listen(ctx context.Context, e *env) (net.Listener, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", o.coordinator)
	if err == nil {
		return l, nil
	}
	_, port, _ := net.SplitHostPort(o.coordinator)
	if l, again := c.Listen(ctx, "tcp", ":"+port); again == nil {
		fmt.Fprintf(e.stderr, "%s is no address of this host (%v): listening on port %s of all addresses\n", o.coordinator, err, port)
		return l, nil
	}
	return nil, err
}

// deliver names the culprits, writes the report and says what an operator should look at.
func (o *probePairsOptions) deliver(e *env, r *topology.PairReport) error {
	r.Findings = topology.SortFindings(append(r.Findings, pair.Blame(r, pair.BlameOptions{}).Findings...))
	if err := r.Validate(); err != nil {
		return fmt.Errorf("the sweep gave an impossible report, nothing written: %w", err)
	}
	if err := writeDocumentFile(e, o.out, r); err != nil {
		return err
	}
	if err := writeFindings(e, r.Findings, "they stand in the report"); err != nil {
		return err
	}
	if r.Partial {
		return &exitError{code: exitPartial}
	}
	return nil
}
