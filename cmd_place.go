package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/bench"
	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/topology"
)

// placeOptions are the flags of "railmap place". Host lists are kept as written until complete.
type placeOptions struct {
	topology string
	request  string
	state    stateOptions
	exclude  string
	include  string
	req      placer.Request
	message  string
	layout   string
	weights  string
	slurm    slurmJobOptions
	jobs     jobOptions
	service  placeService
	output   output
}

// stateOptions say what is taken on the cluster.
type stateOptions struct {
	occupancy []string
	busy      string
	lent      string
	drained   string
	gangs     []string
	gpus      []string
	pools     []string
	history   string
}

func newPlaceCmd(e *env) *cobra.Command {
	o := &placeOptions{}
	cmd := &cobra.Command{
		Use:   "place",
		Short: "Choose the nodes of a gang, in rank order",
		Long: `Choose the nodes of a gang, in rank order: the set with the best predicted bandwidth, and among equals the one that
harms later gangs least. NCCL's rings follow rank order, so the order is part of the answer.

The map is a file (-t) or that of a placement service (--server or RAILMAP_SERVER), which knows what is in use and can hold
the nodes for the job (--lease).

Exit code 3: no set of nodes satisfies the request; the message says what would make it feasible.`,
		Example: `  railmap place -t topology.yaml -N 16
  railmap place -t topology.yaml -N 16 --busy 'node[001-040]' --within pod -o json
  sbatch $(railmap place -t topology.yaml -N 16 -o sbatch) job.sh
  railmap place -t topology.yaml -N 16 -o hostfile --tasks-per-node 8 > hosts
  sbatch $(railmap place --server http://127.0.0.1:7070 -N 16 --lease 15m -o sbatch --on-unavailable ignore) job.sh`,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c, e) },
	}
	o.addFlags(cmd)
	o.slurm.addFlags(cmd)
	o.jobs.addFlags(cmd)
	o.service.addFlags(cmd)
	cmd.AddCommand(newWhatIfCmd(e))
	addOutput(cmd, &o.output, append([]string{formatTable, formatWide, formatJSON, formatYAML, formatName, formatHostlist, formatSbatch, formatHostfile}, jobFormats()...)...)
	return cmd
}

// addFlags adds one flag for every constraint of a request.
func (o *placeOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.topology, "topology", "t", "", "topology document to place on, - for standard input")
	f.StringVar(&o.request, "request", "", "PlacementRequest document; flags override its fields")
	f.IntVarP(&o.req.Nodes, "nodes", "N", 0, "nodes of the gang")
	f.IntVar(&o.req.GPUs, "gpus", 0, "in place of --nodes: GPUs of the gang, a multiple of --gpus-per-node")
	f.IntVar(&o.req.GPUsPerNode, "gpus-per-node", 0, "GPUs on every node (default: whole nodes)")
	o.state.addFlags(cmd)
	f.StringVar(&o.exclude, "exclude", "", "host list of nodes that may not be used")
	f.StringVar(&o.include, "include", "", "host list: choose only among these nodes")
	f.StringVar(&o.req.Within, "within", "", "keep the gang below one group of this level: domain, leaf, pod, ...")
	f.StringVar(&o.req.GPUModel, "gpu-model", "", "use only nodes with this GPU model, as the topology spells it")
	f.StringSliceVar(&o.req.Pools, "pools", nil, "use only nodes of these pools, as --pool defines them")
	f.StringVar(&o.state.history, "history", "", "CSV of past jobs (column nodes): prices broken leaf groups by your own mix of gang sizes")
	f.StringArrayVar(&o.state.pools, "pool", nil, "NAME=HOSTLIST: nodes of a pool (partition, side) (repeatable)")
	f.StringVar((*string)(&o.req.Collective), "collective", "", "pattern of the communication: ring, all-to-all, tree or mixed (default ring)")
	f.StringVar(&o.message, "message-size", "", "bytes of one collective call for the prediction, as 64M or 1G (default: large)")
	f.Float64Var(&o.req.MinimumShare, "minimum-share", 0, "refuse placements below this share of the nominal bandwidth")
	f.Float64Var(&o.req.Tolerance, "tolerance", 0, "share of bandwidth that may be given up for a tighter placement, as 0.02")
	f.Float64Var(&o.req.DurationSeconds, "duration", 0, "run time in seconds at ideal bandwidth: the answer may then be to wait for a running gang's end")
	f.Float64Var(&o.req.CommunicationFraction, "communication-fraction", 0, "share of the run time that is communication (default 0.3)")
	f.BoolVar(&o.req.ChooseSegment, "choose-segment", false, "prefer the largest segments that cost next to no bandwidth")
	f.StringVar(&o.layout, "layout", "", "TENSORxPIPELINExDATA: keep pipeline stages together, as 8x4x2; needs --gpus-per-node")
	f.StringVar(&o.weights, "weights", "", "shares of traffic of --collective mixed: RING,ALL-TO-ALL,TREE, as 0.7,0.3,0")
	f.IntVar(&o.req.SegmentNodes, "segment", 0, "nodes of a segment that must share a leaf group; divides --nodes")
}

func (s *stateOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&s.occupancy, "occupancy", nil, "file that says what is in use: scontrol show nodes --json, squeue --json, kubectl get nodes,pods -A -o json, pbsnodes -av -F json, qstat -f -t -F json, or an Occupancy document (repeatable)")
	f.StringVar(&s.busy, "busy", "", "host list of nodes in use")
	f.StringVar(&s.lent, "lent", "", "host list of nodes lent to the other scheduler")
	f.StringVar(&s.drained, "drained", "", "host list of nodes closed to jobs")
	f.StringArrayVar(&s.gpus, "used-gpus", nil, "NODE=INDEXES: GPUs in use on a shared node, as node01=0-3 (repeatable)")
	f.StringArrayVar(&s.gangs, "gang", nil, "host list of one running gang, or HOSTLIST@SECONDS with the time until its expected end: busy, and its traffic loads the uplinks it crosses (repeatable)")
}

func (o *placeOptions) run(ctx context.Context, cmd *cobra.Command, e *env) error {
	if err := o.service.validate(o); err != nil {
		return err
	}
	if err := o.complete(cmd); err != nil {
		return err
	}
	o.jobs.tasks = o.slurm.tasks
	if o.useService() {
		return o.placeByService(ctx, e)
	}
	topo, snapshot, err := readSnapshot(e, o.topology, &o.state)
	if err != nil {
		return err
	}
	p, err := placer.Place(snapshot, &o.req)
	if err != nil {
		return placeError(err)
	}
	p.ToolVersion = toolVersion()
	return o.print(e, topo, p)
}

// complete reads the request file and the host lists, and lets flags override.
func (o *placeOptions) complete(cmd *cobra.Command) error {
	if o.topology == "" && !o.useService() {
		return withCode(exitUsage, errNoMap)
	}
	if o.request != "" {
		if err := o.mergeRequest(cmd); err != nil {
			return err
		}
	}
	for _, list := range []struct {
		flag string
		expr string
		to   *[]string
	}{{"exclude", o.exclude, &o.req.Exclude}, {"include", o.include, &o.req.Include}} {
		names, err := hostlistFlag(list.flag, list.expr)
		if err != nil {
			return err
		}
		if names != nil {
			*list.to = names
		}
	}
	if o.message != "" {
		n, err := parseSize(o.message)
		if err != nil {
			return usagef("--message-size: %v", err)
		}
		o.req.MessageBytes = n
	}
	if err := o.parseShapes(); err != nil {
		return err
	}
	if o.req.Nodes == 0 && o.req.GPUs == 0 {
		return usagef("--nodes: must be given (or --gpus with --gpus-per-node)")
	}
	if err := o.req.Validate(); err != nil {
		return usagef("%v", err)
	}
	return nil
}

// parseShapes reads --layout and --weights.
func (o *placeOptions) parseShapes() error {
	if o.layout != "" {
		l := &placer.Layout{}
		if n, err := fmt.Sscanf(o.layout, "%dx%dx%d", &l.Tensor, &l.Pipeline, &l.Data); err != nil || n != 3 {
			return usagef("--layout %s: must be TENSORxPIPELINExDATA, as 8x4x2", o.layout)
		}
		o.req.Layout = l
	}
	if o.weights != "" {
		w := &placer.Weights{}
		if n, err := fmt.Sscanf(o.weights, "%g,%g,%g", &w.Ring, &w.AllToAll, &w.Tree); err != nil || n != 3 {
			return usagef("--weights %s: must be RING,ALL-TO-ALL,TREE, as 0.7,0.3,0", o.weights)
		}
		o.req.Weights = w
	}
	return nil
}

// mergeRequest reads the request document below the flags that were given.
func (o *placeOptions) mergeRequest(cmd *cobra.Command) error {
	var file placer.Request
	if err := topology.ReadFile(o.request, &file); err != nil {
		return usagef("--request: %v", err)
	}
	given, flags := cmd.Flags().Changed, o.req
	o.req = file
	for name, set := range map[string]func(){
		"nodes":                  func() { o.req.Nodes = flags.Nodes },
		"gpus":                   func() { o.req.GPUs = flags.GPUs },
		"gpus-per-node":          func() { o.req.GPUsPerNode = flags.GPUsPerNode },
		"within":                 func() { o.req.Within = flags.Within },
		"gpu-model":              func() { o.req.GPUModel = flags.GPUModel },
		"collective":             func() { o.req.Collective = flags.Collective },
		"minimum-share":          func() { o.req.MinimumShare = flags.MinimumShare },
		"tolerance":              func() { o.req.Tolerance = flags.Tolerance },
		"segment":                func() { o.req.SegmentNodes = flags.SegmentNodes },
		"choose-segment":         func() { o.req.ChooseSegment = flags.ChooseSegment },
		"duration":               func() { o.req.DurationSeconds = flags.DurationSeconds },
		"communication-fraction": func() { o.req.CommunicationFraction = flags.CommunicationFraction },
	} {
		if given(name) {
			set()
		}
	}
	return nil
}

// readSnapshot reads a topology and puts the state of the flags on it.
func readSnapshot(e *env, path string, s *stateOptions) (*topology.Topology, *placer.Snapshot, error) {
	topo, err := readTopology(e, path)
	if err != nil {
		return nil, nil, err
	}
	pools, err := poolFlags(s.pools)
	if err != nil {
		return nil, nil, err
	}
	mix, err := readJobMix(s.history)
	if err != nil {
		return nil, nil, err
	}
	cluster, err := newCluster(topo, pools, mix)
	if err != nil {
		return nil, nil, usagef("%s: %v", path, err)
	}
	state, err := s.state(e, topo)
	if err != nil {
		return nil, nil, err
	}
	snapshot, err := cluster.Snapshot(state)
	if err != nil {
		return nil, nil, placeError(err)
	}
	return topo, snapshot, nil
}

// usedGPUs parses NODE=0-3,6 and adds the indexes to out, which may be nil.
func usedGPUs(out map[string][]int, list []string) (map[string][]int, error) {
	for _, s := range list {
		i := strings.LastIndexByte(s, '=')
		if i < 1 {
			return nil, usagef("--used-gpus %s: must be NODE=INDEXES, as node01=0-3,6", s)
		}
		for _, part := range strings.Split(s[i+1:], ",") {
			low, high, ranged := strings.Cut(part, "-")
			a, err := strconv.Atoi(low)
			b := a
			if err == nil && ranged {
				b, err = strconv.Atoi(high)
			}
			if err != nil || a < 0 || b < a || b >= 64 {
				return nil, usagef("--used-gpus %s: %q must be an index or a range between 0 and 63", s, part)
			}
			if out == nil {
				out = map[string][]int{}
			}
			for ; a <= b; a++ {
				out[s[:i]] = append(out[s[:i]], a)
			}
		}
	}
	return out, nil
}

// readJobMix learns the mix of gang sizes from a CSV of past jobs; nil without one.
func readJobMix(path string) ([]placer.JobClass, error) {
	if path == "" {
		return nil, nil
	}
	sizes, err := bench.ReadSizes(path)
	if err != nil {
		return nil, usagef("--history: %v", err)
	}
	return placer.LearnJobMix(sizes), nil
}

// poolFlags parses NAME=HOSTLIST into the pool of every node.
func poolFlags(list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range list {
		name, expr, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, usagef("--pool %s: must be NAME=HOSTLIST", p)
		}
		nodes, err := hostlistFlag("pool", expr)
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			if other, ok := out[n]; ok && other != name {
				return nil, usagef("--pool %s: node %s is in pool %s already", name, n, other)
			}
			out[n] = name
		}
	}
	return out, nil
}

// newCluster is a topology made fast to ask, with NCCL's model for predictions.
func newCluster(topo *topology.Topology, pools map[string]string, mix []placer.JobClass) (*placer.Cluster, error) {
	predict, err := ncclPredictor(topo, nil)
	if err != nil {
		return nil, err
	}
	return placer.NewCluster(topo, placer.Options{Predict: predict, Pools: pools, JobMix: mix})
}

// state reads what schedulers report and adds the host lists of the flags.
func (s *stateOptions) state(e *env, topo *topology.Topology) (placer.State, error) {
	var st placer.State
	var err error
	if len(s.occupancy) > 0 {
		if st, err = readOccupancy(e, s.occupancy, topo); err != nil {
			return st, err
		}
	}
	for _, list := range []struct {
		flag string
		expr string
		to   *[]string
	}{{"busy", s.busy, &st.Busy}, {"lent", s.lent, &st.Lent}, {"drained", s.drained, &st.Drained}} {
		names, err := hostlistFlag(list.flag, list.expr)
		if err != nil {
			return st, err
		}
		*list.to = append(*list.to, names...)
	}
	if st.UsedGPUs, err = usedGPUs(st.UsedGPUs, s.gpus); err != nil {
		return st, err
	}
	for i, expr := range s.gangs {
		g := placer.Gang{Name: fmt.Sprint(i + 1)}
		if at := strings.LastIndexByte(expr, '@'); at >= 0 {
			end, err := strconv.ParseFloat(expr[at+1:], 64)
			if err != nil || !(end >= 0) || end > 1e9 {
				return st, usagef("--gang %s: must end in @SECONDS, the time until its expected end", expr)
			}
			expr, g.EndSeconds = expr[:at], &end
		}
		names, err := hostlistFlag("gang", expr)
		if err != nil {
			return st, err
		}
		g.Nodes = names
		st.Gangs = append(st.Gangs, g)
	}
	return st, nil
}

// placeError gives the errors of the placer their exit codes: infeasible 3, anything wrong in the request 2.
func placeError(err error) error {
	if _, ok := errors.AsType[*placer.InfeasibleError](err); ok {
		return withCode(exitInfeasible, err)
	}
	return withCode(exitUsage, err)
}
