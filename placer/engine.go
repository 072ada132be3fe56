package placer

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Engine keeps the current snapshot of a cluster, with an index, for one writer at a time and any number of readers.
// Readers take no lock: a snapshot that they hold stays as it is.
type Engine struct {
	mu  sync.Mutex
	cur atomic.Pointer[Snapshot]
}

// NewEngine indexes a cluster in the given state.
func NewEngine(c *Cluster, st State) (*Engine, error) {
	d := c.base.draft(c.generation)
	if err := d.apply(st); err != nil {
		return nil, err
	}
	d.buildIndex()
	e := &Engine{}
	e.cur.Store(&d.Snapshot)
	return e, nil
}

// Snapshot is the current generation.
func (e *Engine) Snapshot() *Snapshot { return e.cur.Load() }

// Update makes the next generation: change is given a transaction, and what it does becomes visible at once when it returns
// nil, or not at all when it returns an error.
func (e *Engine) Update(change func(*Tx) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.cur.Load()
	tx := &Tx{d: s.draft(s.generation + 1)}
	if err := change(tx); err != nil {
		return err
	}
	e.cur.Store(&tx.d.Snapshot)
	return nil
}

// Tx is a change of an engine's state. It must not be used after the function that it was given to returned.
type Tx struct {
	d       *draft
	ownGPUs bool // the draft's map of GPUs is a copy of its own
}

// Set changes what nodes are used for.
func (t *Tx) Set(use Use, names ...string) error {
	for _, name := range names {
		v, err := t.position(name)
		if err != nil {
			return err
		}
		t.d.setUse(v, use)
	}
	return nil
}

// Take marks nodes busy; a node that is not free is an error.
func (t *Tx) Take(names ...string) error {
	for _, name := range names {
		v, err := t.position(name)
		if err != nil {
			return err
		}
		if !t.d.freeAt(v) {
			return fmt.Errorf("take %s: must be free", name)
		}
		t.d.setUse(v, Busy)
	}
	return nil
}

// Give makes nodes free again.
func (t *Tx) Give(names ...string) error { return t.Set(Free, names...) }

// Start takes the nodes of a gang and loads the uplinks that its ring crosses; End undoes it.
func (t *Tx) Start(names ...string) error {
	at, err := t.d.c.names.positions("nodes", names)
	if err != nil {
		return err
	}
	if len(at) < len(names) {
		return fmt.Errorf("start: a node is named twice: must be named once")
	}
	for _, v := range at {
		if !t.d.freeAt(v) {
			return fmt.Errorf("start %s: must be free", t.d.c.nodes[v].name)
		}
		t.d.setUse(v, Busy)
	}
	t.d.cross(at, 1)
	return nil
}

// End gives the nodes of a gang back and takes its ring off the uplinks.
func (t *Tx) End(names ...string) error {
	at, err := t.d.c.names.positions("nodes", names)
	if err != nil {
		return err
	}
	for _, v := range at {
		t.d.setUse(v, Free)
	}
	t.d.cross(at, -1)
	return nil
}

// Cross adds delta rings over these nodes to the uplinks that they cross, and changes no node. Start and End do it themselves.
func (t *Tx) Cross(delta int, names ...string) error {
	at, err := t.d.c.names.positions("nodes", names)
	if err != nil {
		return err
	}
	t.d.cross(at, int32(delta))
	return nil
}

// Ends says when running gangs are expected to end, in place of what was said before: for the advice to wait.
func (t *Tx) Ends(ends []GangEnd) { t.d.ends = ends }

// Measure sets the measured bandwidth of a node in shares of nominal.
func (t *Tx) Measure(name string, share float64) error {
	v, err := t.position(name)
	if err != nil {
		return err
	}
	if !validShare(share) {
		return fmt.Errorf("measure %s: share is %v: must be between 0 and 1000", name, share)
	}
	t.d.setShare(v, share)
	return nil
}

func (t *Tx) position(name string) (int32, error) {
	v, ok := t.d.c.names.lookup(name)
	if !ok {
		return 0, t.d.c.names.unknown("nodes", []string{name})
	}
	return v, nil
}
