package nccl

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Vector is one row of a vectors file: a machine, a job of identical nodes, and what NCCL's own code says about it.
type Vector struct {
	XML          string // file name of the machine's topology
	Machine      string
	GPUsPerNode  int
	CPUVendor    string // intel or amd
	Env          string // what the XML lacks: "SM=90 NVL=18 SPEED=400000"
	Nodes        int
	Graphs       Graphs
	Collective   Collective
	SizeBytes    uint64
	Best         Estimate
	PerAlgorithm []Estimate // bus bandwidth only, with one decimal
	BadNode      string     // bad-node files: the fault of one node
	GoodGraphs   Graphs     // bad-node files: the graphs of the other nodes
}

// maxVectorRows bounds a vectors file.
const maxVectorRows = 1_000_000

var vectorColumns = []string{"xml", "machine", "gpus_per_node", "cpu_vendor", "env", "nodes", "graph_ring_tree_nvls", "tree_pattern",
	"collective", "size_bytes", "best_algo", "best_proto", "time_us", "busbw_GBps", "per_algo_busbw_GBps"}

// ReadVectors reads a vectors file: CSV with the columns of vectorColumns, in any order.
func ReadVectors(r io.Reader) ([]Vector, error) {
	var out []Vector
	err := readTable(r, vectorColumns, func(f fields) error {
		v, err := parseVector(f)
		out = append(out, v)
		return err
	})
	return out, err
}

func parseVector(f fields) (Vector, error) {
	v := Vector{XML: f.text("xml"), Machine: f.text("machine"), CPUVendor: f.text("cpu_vendor"), Env: f.text("env")}
	v.GPUsPerNode = f.integer("gpus_per_node", 1, 1024)
	v.Nodes = f.integer("nodes", 1, 1<<20)
	v.Graphs = f.graphs("graph_ring_tree_nvls")
	v.Graphs.Tree.Pattern = Pattern(f.integer("tree_pattern", 1, 6))
	v.Collective = f.collective("collective")
	v.SizeBytes = uint64(f.integer("size_bytes", 1, 1<<50))
	v.Best.Algorithm, v.Best.Protocol = Algorithm(f.text("best_algo")), Protocol(f.text("best_proto"))
	v.Best.TimeSeconds = f.number("time_us") * 1e-6
	v.Best.BusBandwidthBytesPerSecond = f.number("busbw_GBps") * 1e9
	v.PerAlgorithm = f.perAlgorithm("per_algo_busbw_GBps")
	return v, f.err()
}

// ParseTuple reads the three graphs as vectors files and bench write them: for ring, tree and NVLS
// "channels bwIntra bwInter typeIntra typeInter crossNic".
func ParseTuple(s string) (Graphs, error) {
	word := strings.Fields(s)
	if len(word) != 18 {
		return Graphs{}, fmt.Errorf("graphs %q: must be three times \"channels bwIntra bwInter typeIntra typeInter crossNic\"", s)
	}
	var number [18]float64
	for i, w := range word {
		x, err := strconv.ParseFloat(w, 64)
		if err != nil || !(x >= 0 && x <= 1e6) {
			return Graphs{}, fmt.Errorf("graphs %q: %q must be a number from 0 to 1e6", s, w)
		}
		number[i] = x
	}
	one := func(p Pattern, n []float64) Graph {
		return Graph{Pattern: p, Channels: int(n[0]), BwIntra: n[1], BwInter: n[2],
			TypeIntra: PathType(n[3]), TypeInter: PathType(n[4]), CrossNic: int(n[5])}
	}
	return Graphs{Ring: one(PatternRing, number[:6]), Tree: one(PatternBalancedTree, number[6:12]), NVLS: one(PatternNVLS, number[12:])}, nil
}

// Tuple prints the graphs as ParseTuple reads them. A pattern that does not exist is all zeros.
func (g Graphs) Tuple() string {
	one := func(g Graph) string {
		if g.Channels == 0 {
			return "0 0 0 0 0 0"
		}
		return fmt.Sprintf("%d %g %g %d %d %d", g.Channels, g.BwIntra, g.BwInter, g.TypeIntra, g.TypeInter, g.CrossNic)
	}
	return one(g.Ring) + " " + one(g.Tree) + " " + one(g.NVLS)
}

// fields reads one CSV row by column name and keeps the first error.
type fields struct {
	line  int
	at    map[string]int
	row   []string
	first *error
}

func (f fields) err() error { return *f.first }

func (f fields) fail(column, text, must string) {
	if *f.first == nil {
		*f.first = fmt.Errorf("line %d: %s %q: must be %s", f.line, column, text, must)
	}
}

func (f fields) text(column string) string { return f.row[f.at[column]] }

func (f fields) integer(column string, low, high int) int {
	n, err := strconv.Atoi(f.text(column))
	if err != nil || n < low || n > high {
		f.fail(column, f.text(column), fmt.Sprintf("a whole number from %d to %d", low, high))
	}
	return n
}

func (f fields) number(column string) float64 {
	x, err := strconv.ParseFloat(f.text(column), 64)
	if err != nil || !(x >= 0 && x <= 1e12) {
		f.fail(column, f.text(column), "a number from 0 to 1e12")
	}
	return x
}

func (f fields) graphs(column string) Graphs {
	g, err := ParseTuple(f.text(column))
	if err != nil && *f.first == nil {
		*f.first = fmt.Errorf("line %d: %s: %w", f.line, column, err)
	}
	return g
}

func (f fields) collective(column string) Collective {
	c, err := ParseCollective(f.text(column))
	if err != nil && *f.first == nil {
		*f.first = fmt.Errorf("line %d: %w", f.line, err)
	}
	return c
}

// perAlgorithm reads "Tree=0.9 Ring=0.9 NVLS=0.6".
func (f fields) perAlgorithm(column string) []Estimate {
	var out []Estimate
	for _, part := range strings.Fields(f.text(column)) {
		name, value, ok := strings.Cut(part, "=")
		x, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil || !(x >= 0 && x <= 1e12) {
			f.fail(column, part, "ALGORITHM=GB/s")
			return out
		}
		out = append(out, Estimate{Algorithm: Algorithm(name), BusBandwidthBytesPerSecond: x * 1e9})
	}
	return out
}

// readTable reads CSV with a header line that has all the columns named, and gives each row to one.
func readTable(r io.Reader, columns []string, one func(fields) error) error {
	in := csv.NewReader(r)
	in.ReuseRecord = true
	header, err := in.Read()
	if err != nil {
		return fmt.Errorf("header: %w; must name the columns %s", err, strings.Join(columns, ","))
	}
	at := make(map[string]int, len(header))
	for i, name := range header {
		at[strings.Clone(name)] = i
	}
	for _, name := range columns {
		if _, ok := at[name]; !ok {
			return fmt.Errorf("header: column %s is missing; must name the columns %s", name, strings.Join(columns, ","))
		}
	}
	for n := 0; ; n++ {
		row, err := in.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if n >= maxVectorRows {
			return fmt.Errorf("more than %d rows: must be split", maxVectorRows)
		}
		line, _ := in.FieldPos(0)
		if err := one(fields{line: line, at: at, row: row, first: new(error)}); err != nil {
			return err
		}
	}
}
