package server

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/topology"
)

// world is one generation of the map with what is in use on it. The map never changes; uses do, through hold and occupy.
type world struct {
	topo   *topology.Topology
	node   map[string]int // node -> index in topo.Nodes
	engine *placer.Engine

	mu     sync.Mutex
	used   map[string]uint64                      // node -> GPUs that the engines take as used, as bits
	state  map[string]map[string]topology.NodeUse // node -> side -> drained, down or reserved
	gangs  map[string][]string                    // lease or job -> nodes whose uplinks its ring crosses
	leases map[string]bool                        // live leases that held and gangs include
	held   map[string]uint64                      // node -> GPUs held by leases
	occ    map[string]map[string]uint64           // node -> side -> GPUs used according to it
}

// newWorld prepares a map for placing.
func newWorld(t *topology.Topology, opts placer.Options) (*world, error) {
	c, err := placer.NewCluster(t, opts)
	if err != nil {
		return nil, err
	}
	w := &world{topo: t, node: make(map[string]int, len(t.Nodes)), used: map[string]uint64{}, state: map[string]map[string]topology.NodeUse{},
		gangs: map[string][]string{}, leases: map[string]bool{}, held: map[string]uint64{}, occ: map[string]map[string]uint64{}}
	for i := range t.Nodes {
		w.node[t.Nodes[i].Name] = i
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
			used := w.held[name] & all
			for _, m := range w.occ[name] {
				used |= m & all
			}
			w.used[name] = used
			if err := tx.UseGPUs(name, used); err != nil {
				return err
			}
			if len(w.state[name]) > 0 {
				if err := tx.Set(placer.Drained, name); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// occupy takes in what a scheduler says, replacing what it said before. Jobs that carry a lease cross no uplink twice. It
// returns the names that the map does not know.
func (w *world) occupy(o *topology.Occupancy, leased map[string]bool) (unknown []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	touched := w.forget(o.Side)
	for _, n := range o.Nodes {
		if _, ok := w.node[n.Name]; !ok {
			unknown = append(unknown, n.Name)
			continue
		}
		if m := w.occupied(n); m != 0 {
			if w.occ[n.Name] == nil {
				w.occ[n.Name] = map[string]uint64{}
			}
			w.occ[n.Name][o.Side] = m
		}
		switch n.Use {
		case topology.UseDrained, topology.UseDown, topology.UseReserved:
			if w.state[n.Name] == nil {
				w.state[n.Name] = map[string]topology.NodeUse{}
			}
			w.state[n.Name][o.Side] = n.Use
		}
		touched = append(touched, n.Name)
	}
	w.refresh(touched)
	for _, j := range o.Jobs {
		if !leased[j.ID] && !leased[j.Lease] {
			w.cross(jobKey(o.Side, j.ID), w.known(j.Nodes))
		}
	}
	return unknown
}

func jobKey(side, id string) string { return "job " + side + " " + id }

// forget drops what a side said before and lists the nodes.
func (w *world) forget(side string) []string {
	var touched []string
	for name, by := range w.occ {
		if _, ok := by[side]; ok {
			delete(by, side)
			touched = append(touched, name)
		}
	}
	for name, by := range w.state {
		if _, ok := by[side]; ok {
			delete(by, side)
			touched = append(touched, name)
		}
	}
	for id := range w.gangs {
		if strings.HasPrefix(id, jobKey(side, "")) {
			w.cross(id, nil)
		}
	}
	return touched
}

// occupied is the GPUs that a scheduler uses on a node. A count without indices takes the lowest.
func (w *world) occupied(n topology.NodeOccupancy) uint64 {
	m := uint64(0)
	for _, g := range n.GPUsUsed {
		m |= 1 << g
	}
	if m == 0 && n.GPUsUsedCount > 0 {
		m = ^uint64(0) >> (64 - n.GPUsUsedCount)
	}
	if m == 0 && n.Use == topology.UseBusy {
		m = ^uint64(0)
	}
	return m
}

func (w *world) known(names []string) []string {
	var out []string
	for _, n := range names {
		if _, ok := w.node[n]; ok {
			out = append(out, n)
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
