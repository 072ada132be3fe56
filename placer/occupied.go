package placer

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/railmap/railmap/topology"
)

// Occupied is the state that schedulers report, for the nodes of a map. A node that any of them uses is used, one that any of
// them has closed (drained, down, reserved) is closed. Gangs of two and more nodes load the uplinks that they cross; the time
// until their ends counts from now. GPUs that are only counted take the lowest indices that are left.
//
// Names are matched exactly, or without domain and case where that is unambiguous. Findings name what the map and the reports
// do not share.
func Occupied(t *topology.Topology, now time.Time, reports ...*topology.Occupancy) (State, []topology.Finding) {
	b := &occupied{t: t, now: now, index: make(map[string]int, len(t.Nodes)), plain: make(map[string]int, len(t.Nodes)), nodes: make([]occupiedNode, len(t.Nodes))}
	for i := range t.Nodes {
		b.index[t.Nodes[i].Name] = i
		key := withoutDomain(t.Nodes[i].Name)
		if _, twice := b.plain[key]; twice {
			i = -1
		}
		b.plain[key] = i
	}
	for _, r := range reports {
		b.report(r)
	}
	b.settle()
	if len(reports) > 0 {
		b.missing()
	}
	return b.state, topology.SortFindings(b.findings)
}

type occupied struct {
	t        *topology.Topology
	now      time.Time
	index    map[string]int
	plain    map[string]int // -1 = ambiguous
	nodes    []occupiedNode
	state    State
	findings []topology.Finding
}

// occupiedNode is what the reports say of one node of the map.
type occupiedNode struct {
	reported bool
	busy     bool   // as a whole
	closed   bool   // drained, down or reserved
	used     uint64 // GPUs in use by index
	counted  int    // GPUs in use whose indices are not known
}

// withoutDomain folds a host name; an address keeps its dots.
func withoutDomain(name string) string {
	name = strings.ToLower(name)
	if dot := strings.IndexByte(name, '.'); dot > 0 && !strings.Contains("0123456789", name[:1]) {
		return name[:dot]
	}
	return name
}

// lookup finds a node of the map; -1 when there is none.
func (b *occupied) lookup(name string) int {
	if i, ok := b.index[name]; ok {
		return i
	}
	if i, ok := b.plain[withoutDomain(name)]; ok {
		return i
	}
	return -1
}

func (b *occupied) report(o *topology.Occupancy) {
	var strange []string
	for i := range o.Nodes {
		n := &o.Nodes[i]
		v := b.lookup(n.Name)
		if v < 0 {
			strange = append(strange, n.Name)
			continue
		}
		b.node(&b.nodes[v], n)
	}
	for i := range o.Jobs {
		strange = append(strange, b.job(o.Side, &o.Jobs[i])...)
	}
	if strange != nil {
		slices.SortFunc(strange, topology.CompareNames)
		strange = slices.Compact(strange)
		b.find("occupancy-not-on-map", topology.Info, o.Side, strange, "of %s are not on the map: they are left out", o.Side)
	}
}

func (b *occupied) node(to *occupiedNode, n *topology.NodeOccupancy) {
	to.reported = true
	switch n.Use {
	case topology.UseFree:
	case topology.UseBusy:
		to.busy = to.busy || len(n.GPUsUsed) == 0 && n.GPUsUsedCount == 0
	default:
		to.closed = true
	}
	for _, g := range n.GPUsUsed {
		if g < 0 || g >= maxGPUs {
			to.busy = true
			continue
		}
		to.used |= 1 << g
	}
	to.counted += max(0, n.GPUsUsedCount-len(n.GPUsUsed))
}

// job takes a gang, and gives back its nodes that are not on the map. A job of one node loads no uplink; its node's report
// says what it uses, unless there is none or the job began after it was taken.
func (b *occupied) job(side string, j *topology.JobOccupancy) (strange []string) {
	var at []int
	for _, name := range j.Nodes {
		if v := b.lookup(name); v >= 0 {
			at = append(at, v)
		} else {
			strange = append(strange, name)
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	if len(at) < 2 {
		for _, v := range at {
			if n := &b.nodes[v]; n.used == 0 && n.counted == 0 {
				n.counted = max(0, j.GPUsPerNode)
				n.busy = n.busy || n.counted == 0
			}
			b.nodes[v].reported = true
		}
		return strange
	}
	g := Gang{Name: side + " " + j.ID}
	for _, v := range at {
		g.Nodes = append(g.Nodes, b.t.Nodes[v].Name)
		b.nodes[v].reported = true
	}
	if j.EndsAt != nil {
		left := max(0, j.EndsAt.Sub(b.now).Seconds())
		g.EndSeconds = &left
	}
	b.state.Gangs = append(b.state.Gangs, g)
	return strange
}

// settle makes the state of what was reported.
func (b *occupied) settle() {
	for v := range b.nodes {
		n, name, total := &b.nodes[v], b.t.Nodes[v].Name, b.t.Nodes[v].GPUCount
		if n.closed {
			b.state.Drained = append(b.state.Drained, name)
		}
		taken := bits.OnesCount64(n.used) + n.counted
		switch {
		case n.busy || taken > 0 && (total <= 0 || total > maxGPUs || taken >= total || n.used>>total != 0):
			b.state.Busy = append(b.state.Busy, name)
		case taken > 0:
			if b.state.UsedGPUs == nil {
				b.state.UsedGPUs = map[string][]int{}
			}
			b.state.UsedGPUs[name] = n.indices()
		}
	}
}

// indices are the GPUs in use; the counted ones stand on the lowest indices that are left.
func (n *occupiedNode) indices() []int {
	used := n.used
	for range n.counted {
		used |= used + 1 // sets the lowest bit that is not set
	}
	var out []int
	for ; used != 0; used &= used - 1 {
		out = append(out, bits.TrailingZeros64(used))
	}
	return out
}

// missing names the nodes of the map that no scheduler lists.
func (b *occupied) missing() {
	var names []string
	for v := range b.nodes {
		if !b.nodes[v].reported {
			names = append(names, b.t.Nodes[v].Name)
		}
	}
	if names != nil {
		slices.SortFunc(names, topology.CompareNames)
		b.find("occupancy-not-reported", topology.Warning, "map", names, "of the map are in no scheduler's list: they count as free")
	}
}

func (b *occupied) find(code string, severity topology.Severity, subject string, names []string, format string, args ...any) {
	list := topology.FoldHostlist(names[:min(len(names), 100)])
	if len(names) > 100 {
		list += ",..."
	}
	b.findings = append(b.findings, topology.Finding{Code: code, Severity: severity, Subject: subject,
		Message: fmt.Sprintf("%d nodes %s: %s", len(names), fmt.Sprintf(format, args...), list),
		Remedy:  "give both the same host names, or the same cluster"})
}
