package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/topology"
)

// whatIfOptions are the flags of "railmap place what-if": those of place, and the supposed changes.
type whatIfOptions struct {
	place   placeOptions
	repair  string
	down    string
	end     string
	uplinks []string
	output  output
}

// whatIf is the answer. A side without placement says why.
type whatIf struct {
	Changes        []string          `json:"changes" yaml:"changes"`
	Now            *placer.Placement `json:"now,omitempty" yaml:"now,omitempty"`
	NowInfeasible  string            `json:"nowInfeasible,omitempty" yaml:"nowInfeasible,omitempty"`
	Then           *placer.Placement `json:"then,omitempty" yaml:"then,omitempty"`
	ThenInfeasible string            `json:"thenInfeasible,omitempty" yaml:"thenInfeasible,omitempty"`
}

func newWhatIfCmd(e *env) *cobra.Command {
	o := &whatIfOptions{}
	cmd := &cobra.Command{
		Use:   "what-if",
		Short: "Compare a placement with the one after a change of the map",
		Example: `  railmap place what-if -t topology.yaml -N 16 --repair node042
  railmap place what-if -t topology.yaml -N 64 --gang 'node[001-032]' --end 'node[001-032]'
  railmap place what-if -t topology.yaml -N 16 --uplink leaf3=0`,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c, e) },
	}
	o.place.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.repair, "repair", "", "host list of nodes supposed to be at full bandwidth")
	f.StringVar(&o.down, "down", "", "host list of nodes supposed to be gone")
	f.StringVar(&o.end, "end", "", "host list of nodes whose gangs are supposed to have ended")
	f.StringArrayVar(&o.uplinks, "uplink", nil, "GROUP=CAPACITY: supposed uplink of a group in node-worths, 0 = cut (repeatable)")
	addOutput(cmd, &o.output, formatTable, formatJSON, formatYAML)
	return cmd
}

func (o *whatIfOptions) run(_ context.Context, cmd *cobra.Command, e *env) error {
	if err := o.place.complete(cmd); err != nil {
		return err
	}
	topo, err := readTopology(e, o.place.topology)
	if err != nil {
		return err
	}
	change, ended, err := o.changes()
	if err != nil {
		return err
	}
	then, err := change.Apply(topo)
	if err != nil {
		return withCode(exitUsage, err)
	}
	state, err := o.place.state.state(e, topo)
	if err != nil {
		return err
	}
	pools, err := poolFlags(o.place.state.pools)
	if err != nil {
		return err
	}
	answer := &whatIf{Changes: o.describe()}
	if answer.Now, answer.NowInfeasible, err = placeOn(topo, pools, state, &o.place.req); err != nil {
		return err
	}
	if answer.Then, answer.ThenInfeasible, err = placeOn(then, pools, endGangs(state, ended), &o.place.req); err != nil {
		return err
	}
	if done, err := o.output.document(e, answer); done {
		return err
	}
	return o.print(e, answer)
}

// changes parses the supposed changes.
func (o *whatIfOptions) changes() (*placer.Change, []string, error) {
	ch := &placer.Change{Uplinks: map[string]float64{}}
	var err error
	if ch.Repair, err = hostlistFlag("repair", o.repair); err != nil {
		return nil, nil, err
	}
	if ch.Down, err = hostlistFlag("down", o.down); err != nil {
		return nil, nil, err
	}
	ended, err := hostlistFlag("end", o.end)
	if err != nil {
		return nil, nil, err
	}
	for _, u := range o.uplinks {
		i := strings.LastIndexByte(u, '=')
		if i < 1 {
			return nil, nil, usagef("--uplink %s: must be GROUP=CAPACITY", u)
		}
		capacity, err := strconv.ParseFloat(u[i+1:], 64)
		if err != nil {
			return nil, nil, usagef("--uplink %s: the capacity must be a number of nodes", u)
		}
		ch.Uplinks[u[:i]] = capacity
	}
	if o.repair == "" && o.down == "" && o.end == "" && len(o.uplinks) == 0 {
		return nil, nil, usagef("what-if: must be given a change: --repair, --down, --end or --uplink")
	}
	return ch, ended, nil
}

func (o *whatIfOptions) describe() []string {
	var out []string
	for _, c := range []struct{ what, value string }{{"repaired", o.repair}, {"down", o.down}, {"ended", o.end}, {"uplinks", strings.Join(o.uplinks, " ")}} {
		if c.value != "" {
			out = append(out, c.what+": "+c.value)
		}
	}
	return out
}

// endGangs frees the named nodes: gangs that hold one of them are over.
func endGangs(st placer.State, ended []string) placer.State {
	over := func(n string) bool { return slices.Contains(ended, n) }
	st.Busy = slices.DeleteFunc(slices.Clone(st.Busy), over)
	st.Gangs = slices.DeleteFunc(slices.Clone(st.Gangs), func(g placer.Gang) bool { return slices.ContainsFunc(g.Nodes, over) })
	return st
}

// placeOn places on a topology in a state; infeasible is an answer here.
func placeOn(t *topology.Topology, pools map[string]string, st placer.State, r *placer.Request) (*placer.Placement, string, error) {
	cluster, err := newCluster(t, pools, nil)
	if err != nil {
		return nil, "", usagef("%v", err)
	}
	snapshot, err := cluster.Snapshot(st)
	if err != nil {
		return nil, "", placeError(err)
	}
	p, err := placer.Place(snapshot, r)
	if e, ok := errors.AsType[*placer.InfeasibleError](err); ok {
		return nil, e.Error(), nil
	}
	if err != nil {
		return nil, "", placeError(err)
	}
	return p, "", nil
}

func (o *whatIfOptions) print(e *env, a *whatIf) error {
	t := newTable("WHEN", ">SHARE", ">LOSS", ">BUS(GB/s)", "LEVEL", "GROUP", "NODES")
	for _, side := range []struct {
		when string
		p    *placer.Placement
		why  string
	}{{"now", a.Now, a.NowInfeasible}, {"then", a.Then, a.ThenInfeasible}} {
		if side.p == nil {
			t.add(side.when, "", "", "", "", "", side.why)
			continue
		}
		bus := unknown
		if bw := side.p.Predicted.BusBandwidthBytesPerSecond; bw > 0 {
			bus = significant(bw / 1e9)
		}
		t.add(side.when, fmt.Sprintf("%.3f", side.p.Share), fmt.Sprintf("%.1f%%", 100*side.p.Loss), bus, side.p.Level, side.p.Group, topology.FoldHostlist(side.p.Nodes))
	}
	return t.write(e.stdout, &o.output)
}
