package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/topology"
)

// linksOptions are the flags of "railmap topology links".
type linksOptions struct {
	topology string
	states   []string
	node     string
	output   output
}

func newTopologyLinksCmd(e *env) *cobra.Command {
	var o linksOptions
	c := &cobra.Command{
		Use:   "links",
		Short: "List the links with their bandwidth",
		Example: `  railmap topology links -t topology.yaml --state degraded,down
  railmap topology links -t topology.yaml --at gpu007`,
		RunE: func(*cobra.Command, []string) error { return o.run(e) },
	}
	addTopologyFlag(c, &o.topology)
	c.Flags().StringSliceVar(&o.states, "state", nil, "only links in these states: "+joinStates())
	c.Flags().StringVar(&o.node, "at", "", "only links of this node or switch")
	addOutput(c, &o.output, formatTable, formatWide, formatJSON, formatYAML)
	return c
}

func (o *linksOptions) run(e *env) error {
	for _, s := range o.states {
		if !slices.Contains(linkStates(), topology.State(s)) {
			return usagef("--state: %q must be one of %s", s, joinStates())
		}
	}
	t, err := readTopology(e, o.topology)
	if err != nil {
		return err
	}
	links := slices.DeleteFunc(append([]topology.Link{}, t.Links...), func(l topology.Link) bool { return !o.wanted(&l) })
	if done, err := o.output.document(e, links); done {
		return err
	}
	return linkTable(links).write(e.stdout, &o.output)
}

func (o *linksOptions) wanted(l *topology.Link) bool {
	at := o.node == "" || o.node == cmp.Or(l.A.Node, l.A.Switch) || o.node == cmp.Or(l.B.Node, l.B.Switch)
	return at && (len(o.states) == 0 || slices.Contains(o.states, string(l.State)))
}

func linkTable(links []topology.Link) *table {
	t := newTable("A", "B", "CLASS", ">CABLES", ">BW(GB/s)", ">EXPECTED", ">HEALTH", "STATE", ">NOMINAL+", ">MEASURED+", "METHOD+", ">LATENCY(us)+", "PORTS+")
	for i := range links {
		l := &links[i]
		nominal := known(l.NominalBandwidthBytesPerSecond)
		now, expected := nominal, nominal
		var measured, latency *float64
		method := ""
		if m := l.MeasuredBandwidthBytesPerSecond; m != nil {
			measured, now, method = &m.Value, &m.Value, m.Method
		}
		if l.ExpectedBandwidthBytesPerSecond > 0 {
			expected = &l.ExpectedBandwidthBytesPerSecond
		}
		if m := l.MeasuredLatencySeconds; m != nil {
			latency = &m.Value
		}
		t.add(l.A.String(), l.B.String(), string(l.Class), len(l.Cables), scaled(now, 1e-9), scaled(expected, 1e-9), l.Health, string(l.State),
			scaled(nominal, 1e-9), scaled(measured, 1e-9), method, scaled(latency, 1e6), cablePorts(l.Cables))
	}
	return t
}

// known is nil for a bandwidth that is absent from the document.
func known(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return &v
}

// cablePorts prints "1:12,2:13": port of A, port of B.
func cablePorts(cables []topology.Cable) string {
	parts := make([]string, 0, len(cables))
	for _, c := range cables {
		parts = append(parts, fmt.Sprintf("%d:%d", c.PortA, c.PortB))
	}
	return strings.Join(parts, ",")
}

func linkStates() []topology.State {
	return []topology.State{topology.OK, topology.Degraded, topology.Down, topology.Unmeasured, topology.Stale}
}

func joinStates() string {
	var names []string
	for _, s := range linkStates() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}
