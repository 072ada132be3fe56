package nccl

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// GraphFile is a graph file as NCCL_GRAPH_DUMP_FILE writes it and NCCL_GRAPH_FILE reads it.
type GraphFile struct {
	Graphs []FileGraph
}

// Ids of the graphs in a graph file.
const (
	GraphRing          = 0
	GraphTree          = 1
	GraphCollnetChain  = 2
	GraphNVLS          = 3
	GraphCollnetDirect = 4
)

// FileGraph is one graph of a graph file. Latency is that of the network in microseconds.
type FileGraph struct {
	ID int
	Graph
	LatencyInter float64
	SameChannels bool
	Channels     []FileChannel
}

// FileChannel is one channel: GPUs in order by device number, and the NICs that start and end it (none inside one node).
type FileChannel struct {
	GPUs []int64
	Nets []int64
}

// Of returns the graph with that id, or false.
func (f *GraphFile) Of(id int) (FileGraph, bool) {
	for _, g := range f.Graphs {
		if g.ID == id {
			return g, true
		}
	}
	return FileGraph{}, false
}

// ReadGraphXML reads a graph file. Device numbers are hexadecimal, with or without 0x; that is how NCCL reads them.
func ReadGraphXML(r io.Reader) (*GraphFile, error) {
	root, err := readElements(r, "graphs")
	if err != nil {
		return nil, err
	}
	f := &GraphFile{}
	for _, e := range root.Children {
		if e.Name != "graph" {
			return nil, e.errorf("must be a graph element")
		}
		g, err := readGraph(e)
		if err != nil {
			return nil, err
		}
		f.Graphs = append(f.Graphs, g)
	}
	return f, nil
}

func readGraph(e *Element) (FileGraph, error) {
	var g FileGraph
	var pattern, same int
	ints := []struct {
		name string
		to   *int
	}{{"id", &g.ID}, {"pattern", &pattern}, {"crossnic", &g.CrossNic}, {"nchannels", &g.Graph.Channels}, {"samechannels", &same}}
	for _, f := range ints {
		if _, ok := e.Get(f.name); !ok {
			return g, e.errorf("has no %s: must have it", f.name)
		}
		var err error
		if *f.to, err = e.number(f.name, 0); err != nil {
			return g, err
		}
	}
	g.Pattern, g.SameChannels = Pattern(pattern), same != 0
	if err := readGraphSpeeds(e, &g); err != nil {
		return g, err
	}
	for _, c := range e.Children {
		channel, err := readChannel(c)
		if err != nil {
			return g, err
		}
		g.Channels = append(g.Channels, channel)
	}
	if len(g.Channels) != g.Graph.Channels {
		return g, e.errorf("nchannels is %d and it holds %d channel elements: must be equal", g.Graph.Channels, len(g.Channels))
	}
	return g, nil
}

func readGraphSpeeds(e *Element, g *FileGraph) (err error) {
	if g.BwIntra, err = e.decimal("speedintra"); err != nil {
		return err
	}
	if g.BwInter, err = e.decimal("speedinter"); err != nil {
		return err
	}
	if g.LatencyInter, err = e.decimal("latencyinter"); err != nil {
		return err
	}
	if g.TypeIntra, err = e.pathType("typeintra"); err != nil {
		return err
	}
	g.TypeInter, err = e.pathType("typeinter")
	return err
}

func (e *Element) pathType(name string) (PathType, error) {
	s, _ := e.Get(name)
	t, err := ParsePathType(s)
	if err != nil {
		return 0, e.errorf("%s: %v", name, err)
	}
	return t, nil
}

func readChannel(e *Element) (FileChannel, error) {
	var c FileChannel
	if e.Name != "channel" {
		return c, e.errorf("must be a channel element")
	}
	for _, d := range e.Children {
		dev, ok, err := d.hex("dev")
		if err != nil {
			return c, err
		}
		if !ok {
			return c, d.errorf("has no dev: must have it")
		}
		switch d.Name {
		case "gpu":
			c.GPUs = append(c.GPUs, int64(dev))
		case "net":
			c.Nets = append(c.Nets, int64(dev))
		default:
			return c, d.errorf("must be a gpu or net element")
		}
	}
	return c, nil
}

// Write writes the graph file; ReadGraphXML reads the same back.
func (f *GraphFile) Write(w io.Writer) error {
	root := &Element{Name: "graphs", Attrs: []Attr{{"version", "1"}}}
	for _, g := range f.Graphs {
		same := 0
		if g.SameChannels {
			same = 1
		}
		e := root.Add("graph", "id", strconv.Itoa(g.ID), "pattern", strconv.Itoa(int(g.Pattern)), "crossnic", strconv.Itoa(g.CrossNic),
			"nchannels", strconv.Itoa(len(g.Channels)), "speedintra", shortest(g.BwIntra), "speedinter", shortest(g.BwInter),
			"latencyinter", shortest(g.LatencyInter), "typeintra", g.TypeIntra.String(), "typeinter", g.TypeInter.String(),
			"samechannels", strconv.Itoa(same))
		for _, c := range g.Channels {
			writeChannel(e.Add("channel"), c)
		}
	}
	return writeElements(w, root)
}

// writeChannel puts the first NIC before the GPUs and the others after them.
func writeChannel(e *Element, c FileChannel) {
	for i, n := range c.Nets {
		if i == 0 {
			e.Add("net", "dev", fmt.Sprintf("0x%x", n))
		}
	}
	for _, g := range c.GPUs {
		e.Add("gpu", "dev", fmt.Sprintf("0x%x", g))
	}
	for i, n := range c.Nets {
		if i > 0 {
			e.Add("net", "dev", fmt.Sprintf("0x%x", n))
		}
	}
}

func shortest(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// pathNames are the names in NCCL's files and log, in the order of PathType.
var pathNames = []string{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS"}

// String gives NCCL's name of the path type.
func (t PathType) String() string {
	if t < 0 || int(t) >= len(pathNames) {
		return "PathType(" + strconv.Itoa(int(t)) + ")"
	}
	return pathNames[t]
}

// ParsePathType reads NCCL's name of a path type.
func ParsePathType(s string) (PathType, error) {
	for i, n := range pathNames {
		if n == s {
			return PathType(i), nil
		}
	}
	return 0, fmt.Errorf("path type %q: must be one of %s", s, strings.Join(pathNames, " "))
}
