package occupancy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/railmap/railmap/topology"
)

// Sides that this package reads, as topology.Occupancy names them.
const (
	Slurm      = "slurm"
	Kubernetes = "kubernetes"
	PBS        = "pbs"
)

// readable says what can be read, for messages.
const readable = "the JSON of scontrol show nodes, squeue, kubectl get nodes,pods -A, pbsnodes -av -F json, qstat -f -t -F json, or an Occupancy document"

// Source is one input with the name that messages call it by.
type Source struct {
	Name string
	io.Reader
}

// FromSlurm reads "scontrol show nodes --json" (22.05: "sinfo --json") and "squeue --json". Either may be nil; a finding then
// says what is missing.
func FromSlurm(nodes, jobs io.Reader) (*topology.Occupancy, error) {
	return fromSide(Slurm, Source{"nodes", nodes}, Source{"jobs", jobs})
}

// FromKubernetes reads "kubectl get nodes -o json" and "kubectl get pods -A -o json". Either may be nil, or both kinds stand
// in one list.
func FromKubernetes(nodes, pods io.Reader) (*topology.Occupancy, error) {
	return fromSide(Kubernetes, Source{"nodes", nodes}, Source{"pods", pods})
}

// FromPBS reads "pbsnodes -av -F json" and "qstat -f -t -F json". Either may be nil.
func FromPBS(nodes, jobs io.Reader) (*topology.Occupancy, error) {
	return fromSide(PBS, Source{"nodes", nodes}, Source{"jobs", jobs})
}

func fromSide(side string, sources ...Source) (*topology.Occupancy, error) {
	sources = slices.DeleteFunc(sources, func(s Source) bool { return s.Reader == nil })
	all, err := ReadAll(sources...)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 || all[0].Side != side {
		return nil, fmt.Errorf("input is of %s: must be of %s only", all[0].Side, side)
	}
	return all[0], nil
}

// Read reads one input: what a scheduler printed (several documents after each other are fine) or an Occupancy document, JSON
// or YAML; gzip or plain. It must be of one side. Name stands in messages.
func Read(r io.Reader, name string) (*topology.Occupancy, error) {
	all, err := ReadAll(Source{name, r})
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("%s: holds %s and %s: must be of one scheduler", name, all[0].Side, all[1].Side)
	}
	return all[0], nil
}

// ReadAll reads any number of inputs in any order and gives one document per side, sorted by side. The nodes and the jobs of
// a side may come in different inputs.
func ReadAll(sources ...Source) ([]*topology.Occupancy, error) {
	if len(sources) == 0 {
		return nil, fmt.Errorf("no input: must be %s", readable)
	}
	c := &collection{views: map[string]*view{}, whole: map[string]*topology.Occupancy{}}
	for _, s := range sources {
		if err := c.read(s); err != nil {
			return nil, err
		}
	}
	return c.finish()
}

// collection is what was read so far, by side.
type collection struct {
	views map[string]*view
	whole map[string]*topology.Occupancy // read as documents
	cur   *view                          // of the document being read; nil until its first telling key
}

func (c *collection) read(s Source) error {
	in, err := openInput(s)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	if in.ours() {
		o := &topology.Occupancy{}
		if err := topology.Read(in.rest, s.Name, o); err != nil {
			return err
		}
		if c.whole[o.Side] != nil {
			return fmt.Errorf("%s: a second document of %s: must be one per side", s.Name, o.Side)
		}
		c.whole[o.Side] = o
		return nil
	}
	for n := 0; ; n++ {
		more, err := in.begin()
		if err != nil {
			return err
		}
		if !more && n == 0 {
			return fmt.Errorf("%s: empty: must be %s", s.Name, readable)
		}
		if !more {
			return nil
		}
		if err := c.document(in); err != nil {
			return in.at(err)
		}
	}
}

// document reads the keys of one JSON object.
func (c *collection) document(in *input) error {
	c.cur = nil
	d := &document{input: in}
	for in.dec.More() {
		key, err := in.dec.Token()
		if err != nil {
			return err
		}
		if err := c.key(d, key.(string)); err != nil {
			return err
		}
	}
	if _, err := in.dec.Token(); err != nil {
		return err
	}
	return c.close(d)
}

// document is what was seen of the JSON object being read.
type document struct {
	*input
	kind        string // of Kubernetes
	nodes, jobs bool   // it has nodes, it has jobs
	items       bool   // of Kubernetes
}

// key dispatches one key of the top level: each belongs to one scheduler.
func (c *collection) key(d *document, key string) error {
	if key == "nodes" {
		if err := d.enter(); err != nil {
			return err
		}
	}
	side, read := reader(d, key)
	if read == nil {
		defer d.mark()
		return d.dec.Decode(new(json.RawMessage))
	}
	if c.cur == nil {
		c.cur = c.view(side)
	} else if c.cur.side != side {
		return fmt.Errorf("key %q is of %s, others before it of %s: must be %s", key, side, c.cur.side, readable)
	}
	if err := read(c.cur, d); err != nil {
		return err
	}
	d.mark()
	return nil
}

// reader tells which scheduler writes a key and what reads it; nil for keys that say nothing to us.
func reader(d *document, key string) (side string, read func(*view, *document) error) {
	switch key {
	case "nodes":
		if d.opened == '{' {
			return PBS, (*view).pbsNodes
		}
		return Slurm, (*view).slurmNodes
	case "jobs":
		return Slurm, (*view).slurmJobs
	case "sinfo":
		return Slurm, (*view).slurmGrouped
	case "meta":
		return Slurm, (*view).slurmMeta
	case "last_update":
		return Slurm, (*view).slurmTime
	case "errors":
		return Slurm, (*view).slurmErrors
	case "warnings":
		return Slurm, (*view).slurmWarnings
	case "apiVersion":
		return Kubernetes, (*view).kubeVersion
	case "kind":
		return Kubernetes, (*view).kubeKind
	case "items":
		return Kubernetes, (*view).kubeItems
	case "timestamp":
		return PBS, (*view).pbsTime
	case "pbs_version":
		return PBS, (*view).pbsVersion
	case "Jobs":
		return PBS, (*view).pbsJobs
	}
	return "", nil
}

func (c *collection) view(side string) *view {
	v := c.views[side]
	if v == nil {
		v = &view{side: side}
		c.views[side] = v
	}
	return v
}

// close judges a document as a whole.
func (c *collection) close(d *document) error {
	switch {
	case c.cur == nil:
		return fmt.Errorf("holds no nodes and no jobs: must be %s", readable)
	case c.cur.side == Kubernetes:
		return c.cur.kubeClose(d)
	case c.cur.side == PBS && !d.nodes:
		d.jobs = true // qstat leaves the key out when there are none
	case !d.nodes && !d.jobs:
		return fmt.Errorf("holds no nodes and no jobs: must be %s", readable)
	}
	c.cur.hasNodes = c.cur.hasNodes || d.nodes
	c.cur.hasJobs = c.cur.hasJobs || d.jobs
	return nil
}

func (c *collection) finish() ([]*topology.Occupancy, error) {
	var all []*topology.Occupancy
	for _, o := range c.whole {
		all = append(all, o)
	}
	for side, v := range c.views {
		if c.whole[side] != nil {
			return nil, fmt.Errorf("an Occupancy document and the scheduler's own output of %s: must be one of them", side)
		}
		o, err := v.finish()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", side, err)
		}
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b *topology.Occupancy) int { return topology.CompareNames(a.Side, b.Side) })
	return all, nil
}

// ours tells whether the input is a document of railmap: YAML, or JSON that says so before its first list or object.
func (in *input) ours() bool {
	head, _ := in.rest.Peek(sniffBytes)
	if !startsJSON(head) {
		return looksYAML(head)
	}
	dec := json.NewDecoder(bytes.NewReader(head))
	if _, err := dec.Token(); err != nil {
		return false
	}
	for {
		key, err := dec.Token()
		if err != nil {
			return false
		}
		value, err := dec.Token()
		if err != nil {
			return false
		}
		if _, nested := value.(json.Delim); nested {
			return false
		}
		if key == "apiVersion" {
			return value == topology.APIVersion
		}
	}
}
