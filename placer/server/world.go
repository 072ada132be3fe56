package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/topology"
)

// world is one generation of the map with what is in use on it. The map never changes; uses do, through hold and occupy.
type world struct {
	topo *topology.Topology
	node map[string]int // node -> index in topo.Nodes
	// adapters gives each adapter's node.
	adapters map[topology.GUID]string
	engine   *placer.Engine

	mu     sync.Mutex
	used   map[string]uint64   // node -> GPUs that the engine takes as used, as bits
	gangs  map[string][]string // lease or job -> nodes whose uplinks its ring crosses
	leases map[string]bool     // live leases that held and gangs include
	held   map[string]uint64   // node -> GPUs held by leases
	occ    map[string]uint64   // node -> GPUs used according to schedulers
	closed map[string]bool     // nodes that a scheduler drained, lost or reserved
	notes  []topology.Finding  // of the occupancy
}

// newWorld prepares a map for placing.
func newWorld(t *topology.Topology, opts placer.Options) (*world, error) {
	c, err := placer.NewCluster(t, opts)
	if err != nil {
		return nil, err
	}
	w := &world{topo: t, node: make(map[string]int, len(t.Nodes)), adapters: map[topology.GUID]string{}, used: map[string]uint64{},
		gangs: map[string][]string{}, leases: map[string]bool{}, held: map[string]uint64{}, occ: map[string]uint64{}, closed: map[string]bool{}}
	for i := range t.Nodes {
		w.node[t.Nodes[i].Name] = i
		for _, n := range t.Nodes[i].NICs {
			w.adapters[n.GUID] = t.Nodes[i].Name
		}
	}
	w.engine, err = placer.NewEngine(c, placer.State{})
	return w, err
}

// gpus is the number of GPUs of a node, 8 when no report says.
func (w *world) gpus(name string) int {
	if i, ok := w.node[name]; ok && w.topo.Nodes[i].GPUCount > 0 {
		return min(w.topo.Nodes[i].GPUCount, ledger.MaxGPUs)
	}
	return 8
}

// all is every GPU of a node as bits.
func (w *world) all(name string) uint64 { return ^uint64(0) >> (64 - w.gpus(name)) }

func count(m uint64) (n int) {
	for ; m != 0; m &= m - 1 {
		n++
	}
	return n
}

// hold records that a lease took or gave back its claims, and what its ring crosses. Saying it twice does no harm.
func (w *world) hold(l *ledger.Lease, live bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leases[l.ID] == live {
		return
	}
	if live {
		w.leases[l.ID] = true
	} else {
		delete(w.leases, l.ID)
	}
	var touched []string
	for _, c := range l.Claims {
		if _, ok := w.node[c.Node]; !ok {
			continue // a node that left the map
		}
		m := bits(c)
		if live {
			w.held[c.Node] |= m
		} else {
			w.held[c.Node] &^= m
		}
		touched = append(touched, c.Node)
	}
	w.refresh(touched)
	if live {
		w.cross(l.ID, touched)
	} else {
		w.cross(l.ID, nil)
	}
}

// bits is the GPUs of a claim; all ones for a whole node.
func bits(c ledger.Claim) uint64 {
	if len(c.GPUs) == 0 {
		return ^uint64(0)
	}
	m := uint64(0)
	for _, g := range c.GPUs {
		m |= 1 << g
	}
	return m
}

// cross makes the ring of a gang cross exactly these nodes' uplinks: none to end it.
func (w *world) cross(id string, nodes []string) {
	old := w.gangs[id]
	if len(old) == 0 && len(nodes) < 2 {
		return
	}
	_ = w.engine.Update(func(tx *placer.Tx) error { // names were checked against the map
		if len(old) > 1 {
			if err := tx.Cross(-1, old...); err != nil {
				return err
			}
		}
		if len(nodes) > 1 {
			return tx.Cross(1, nodes...)
		}
		return nil
	})
	if len(nodes) > 1 {
		w.gangs[id] = nodes
	} else {
		delete(w.gangs, id)
	}
}

// refresh brings the engine up to date for some nodes.
func (w *world) refresh(nodes []string) {
	_ = w.engine.Update(func(tx *placer.Tx) error { // names were checked against the map
		for _, name := range nodes {
			all := w.all(name)
			used := (w.held[name] | w.occ[name]) & all
			w.used[name] = used
			if err := tx.UseGPUs(name, used); err != nil {
				return err
			}
			if w.closed[name] {
				if err := tx.Set(placer.Drained, name); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// occupy takes in what all schedulers say now, in place of what they said before. The gangs of jobs that have a lease are
// counted by it, not twice.
func (w *world) occupy(reports []*topology.Occupancy, leased map[string]bool) {
	st, notes := placer.Occupied(w.topo, time.Now(), withoutLeased(reports, leased)...)
	w.mu.Lock()
	defer w.mu.Unlock()
	touched := maps.Clone(w.closed)
	for name := range w.occ {
		touched[name] = true
	}
	w.occ, w.closed, w.notes = w.takenBy(&st), map[string]bool{}, notes
	for _, r := range reports {
		w.notes = append(w.notes, r.Findings...)
	}
	for _, name := range st.Drained {
		w.closed[name], touched[name] = true, true
	}
	for name := range w.occ {
		touched[name] = true
	}
	w.refresh(slices.Sorted(maps.Keys(touched)))
	w.crossJobs(st.Gangs)
	var ends []placer.GangEnd
	for _, g := range st.Gangs {
		if g.EndSeconds != nil {
			ends = append(ends, placer.GangEnd{Nodes: g.Nodes, Seconds: *g.EndSeconds})
		}
	}
	_ = w.engine.Update(func(tx *placer.Tx) error {
		tx.Ends(ends)
		return nil
	})
}

// withoutLeased drops the jobs that a lease stands for. What their nodes use is in the rows of the nodes.
func withoutLeased(reports []*topology.Occupancy, leased map[string]bool) []*topology.Occupancy {
	var out []*topology.Occupancy
	for _, r := range reports {
		own := *r
		own.Jobs = slices.DeleteFunc(slices.Clone(r.Jobs), func(j topology.JobOccupancy) bool { return leased[j.Lease] || leased[jobKey(r.Side, j.ID)] })
		out = append(out, &own)
	}
	return out
}

// takenBy is the GPUs in use on each node. A gang without a figure for a node takes all of it.
func (w *world) takenBy(st *placer.State) map[string]uint64 {
	out := map[string]uint64{}
	for name, list := range st.UsedGPUs {
		for _, g := range list {
			out[name] |= 1 << g
		}
	}
	for _, name := range st.Busy {
		out[name] = ^uint64(0)
	}
	for _, g := range st.Gangs {
		for _, name := range g.Nodes {
			if out[name] == 0 {
				out[name] = ^uint64(0)
			}
		}
	}
	return out
}

// crossJobs makes the rings of the schedulers' gangs cross their uplinks, in place of those before.
func (w *world) crossJobs(gangs []placer.Gang) {
	now := map[string][]string{}
	for _, g := range gangs {
		now["job "+g.Name] = g.Nodes
	}
	for id, nodes := range w.gangs {
		if strings.HasPrefix(id, "job ") && !slices.Equal(nodes, now[id]) {
			w.cross(id, nil)
		}
	}
	for id, nodes := range now {
		if w.gangs[id] == nil {
			w.cross(id, nodes)
		}
	}
}

// jobKey names a job of a side; ids of different sides may be equal.
func jobKey(side, id string) string { return side + " " + id }

// leasedJobs are the leases that live, by id, and the jobs that they are bound to.
func leasedJobs(st *ledger.State) map[string]bool {
	out := map[string]bool{}
	for _, l := range st.List() {
		if l.Live() {
			out[l.ID] = true
			if l.Job != "" {
				out[jobKey(l.Side, l.Job)] = true
			}
		}
	}
	return out
}

// worlds is the current world; readers take no lock.
type worlds struct{ cur atomic.Pointer[world] }

func (w *worlds) get() (*world, error) {
	if cur := w.cur.Load(); cur != nil {
		return cur, nil
	}
	return nil, fmt.Errorf("no map yet: submit a fabric report or node reports, or start with --topology FILE")
}
