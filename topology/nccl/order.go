package nccl

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/railmap/railmap/topology"
)

// OrderReport says what a rank order costs: NCCL joins node n to n+1 and the last to the first and never re-orders them.
type OrderReport struct {
	Nodes []string `json:"nodes"` // the order in question
	// Levels counts the ring edges by the level of the tree at which their ends meet, lowest first, for this order, for the
	// best order, and for the order of sorted names.
	Levels []OrderLevel `json:"levels"`
	// Leaving is the number of edges that leave a leaf group, for the three orders.
	Leaving OrderCounts `json:"leaving"`
	// Best is an order with the fewest edges that leave a group: the nodes as they stand in the tree.
	Best     []string           `json:"best"`
	Findings []topology.Finding `json:"findings,omitempty"`
}

// OrderLevel is one level of an OrderReport.
type OrderLevel struct {
	Level string `json:"level"` // "" = the ends meet nowhere in the map
	OrderCounts
}

// OrderCounts are edges of the ring.
type OrderCounts struct {
	Given  int `json:"given"`
	Best   int `json:"best"`
	Sorted int `json:"sorted"` // names as strings, which is what torchrun's dynamic rendezvous does
}

// Codes of order findings.
const (
	CodeOrder       = "nccl-order"        // another order crosses fewer leaves
	CodeOrderSorted = "nccl-order-sorted" // sorting the names would undo the order
	CodeOrderUnseen = "nccl-order-unseen" // a node is not in the map
)

// CheckOrder compares an order of nodes with the best one and with that of sorted names.
func CheckOrder(f *Fabric, names []string) OrderReport {
	best := f.Sort(names)
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	r := OrderReport{Nodes: names, Best: best}
	given, ideal, byName := f.ringLevels(names), f.ringLevels(best), f.ringLevels(sorted)
	for i := range given {
		if given[i]+ideal[i]+byName[i] == 0 {
			continue
		}
		l := OrderLevel{OrderCounts: OrderCounts{given[i], ideal[i], byName[i]}}
		if i < len(f.levels) {
			l.Level = f.levels[i]
		}
		r.Levels = append(r.Levels, l)
	}
	leaf := slices.Index(f.levels, topology.LeafLevel)
	for i := leaf + 1; i < len(given); i++ {
		r.Leaving.Given += given[i]
		r.Leaving.Best += ideal[i]
		r.Leaving.Sorted += byName[i]
	}
	r.find(f)
	return r
}

// Sort puts nodes in the order of the tree: depth first, so that the nodes of every group follow each other. Nodes that the
// fabric does not know come last, in their order.
func (f *Fabric) Sort(names []string) []string {
	out := slices.Clone(names)
	slices.SortStableFunc(out, func(a, b string) int {
		pa, pb := f.Place(a), f.Place(b)
		if pa < 0 || pb < 0 {
			return count(pa < 0) - count(pb < 0)
		}
		na, nb := &f.nodes[pa], &f.nodes[pb]
		return cmp.Or(cmp.Compare(uint32(na.group), uint32(nb.group)), cmp.Compare(na.rank, nb.rank), topology.CompareNames(a, b))
	})
	return out
}

// ringLevels counts ring edges by level; the last entry are edges whose ends meet nowhere.
func (f *Fabric) ringLevels(names []string) []int {
	out := make([]int, len(f.levels)+1)
	if len(names) < 2 {
		return out
	}
	scratch := make([]float64, len(f.groups))
	group := func(name string) int32 {
		if p := f.Place(name); p >= 0 {
			return f.nodes[p].group
		}
		return -1
	}
	for i, name := range names {
		a, b := group(name), group(names[(i+1)%len(names)])
		level := len(f.levels)
		if a >= 0 && b >= 0 {
			if common := f.climb(a, b, scratch, scratch, 0); common >= 0 {
				level = int(f.groups[common].level)
			}
		}
		out[level]++
	}
	return out
}

func (r *OrderReport) find(f *Fabric) {
	for _, name := range r.Nodes {
		if f.Place(name) < 0 {
			r.Findings = append(r.Findings, topology.Finding{Code: CodeOrderUnseen, Severity: topology.Warning, Subject: name,
				Message: "the map does not know this node", Remedy: "check the name, or build the map again"})
		}
	}
	if r.Leaving.Given > r.Leaving.Best {
		r.Findings = append(r.Findings, topology.Finding{Code: CodeOrder, Severity: topology.Warning, Subject: "order",
			Message: plural(r.Leaving.Given, "ring edge leaves its leaf group", "ring edges leave their leaf group") + ", the best order has " + plural(r.Leaving.Best, "such edge", "such edges"),
			Remedy:  "give ranks in the order of railmap nccl order -o hostlist"})
	}
	if r.Leaving.Sorted > r.Leaving.Given {
		r.Findings = append(r.Findings, topology.Finding{Code: CodeOrderSorted, Severity: topology.Warning, Subject: "order",
			Message: "sorted names would undo this order: " + plural(r.Leaving.Sorted, "ring edge would leave its leaf group", "ring edges would leave their leaf group") + " instead of " + fmt.Sprint(r.Leaving.Given),
			Remedy:  "torchrun's dynamic rendezvous sorts by name: use static rendezvous with --node-rank, or names that sort as the map does"})
	}
	r.Findings = topology.SortFindings(r.Findings)
}
