package placer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/railmap/railmap/topology"
)

// world is a small random cluster, kept apart from the code under test: the brute force reads only this.
type world struct {
	topo    *topology.Topology
	state   State
	parent  map[string]string // group -> group
	eta     map[string]float64
	uplink  map[string]float64
	crosses map[string]int
	leaf    map[string]string // node -> group
	share   map[string]float64
	free    []string // in depth-first order
}

// worldOptions say how nasty a random world is.
type worldOptions struct {
	maxNodes  int
	crossings bool // running gangs load uplinks
	sick      bool // leaf efficiencies below their pod's
	roots     bool // sometimes two fabrics
}

func ptr(v float64) *float64 { return &v }

// round keeps random figures short.
func round(v float64) float64 { return math.Round(v*1000) / 1000 }

func randomWorld(rng *rand.Rand, o worldOptions) *world {
	w := &world{topo: &topology.Topology{Header: topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindTopology}, Generation: 1},
		parent: map[string]string{}, eta: map[string]float64{}, uplink: map[string]float64{}, crosses: map[string]int{},
		leaf: map[string]string{}, share: map[string]float64{}}
	w.topo.Tree.Levels = []topology.Level{{Name: "leaf", Efficiency: 1}, {Name: "pod", Efficiency: .92}, {Name: "core", Efficiency: .83}}
	left := o.maxNodes/2 + rng.IntN(o.maxNodes/2+1)
	cores := 1
	if o.roots && rng.IntN(4) == 0 {
		cores = 2
	}
	for i := 0; i < cores; i++ {
		core := fmt.Sprintf("core%d", i)
		w.addGroup(rng, o, core, "core", "")
		for j := 0; j < 1+rng.IntN(3); j++ {
			pod := fmt.Sprintf("pod%d%d", i, j)
			w.addGroup(rng, o, pod, "pod", core)
			if rng.IntN(6) == 0 {
				left -= w.addNodes(rng, o, pod, 1+rng.IntN(2), left)
			}
			for l := 0; l < 1+rng.IntN(3); l++ {
				leaf := fmt.Sprintf("leaf%d%d%d", i, j, l)
				w.addGroup(rng, o, leaf, "leaf", pod)
				left -= w.addNodes(rng, o, leaf, 1+rng.IntN(5), left)
			}
		}
		if rng.IntN(8) == 0 {
			left -= w.addNodes(rng, o, core, 1, left)
		}
	}
	w.order()
	if o.crossings {
		w.addGangs(rng)
	}
	return w
}

func (w *world) addGroup(rng *rand.Rand, o worldOptions, name, level, parent string) {
	g := topology.Group{Name: name, Level: level, Parent: parent}
	w.parent[name] = parent
	w.eta[name] = map[string]float64{"leaf": 1, "pod": .92, "core": .83}[level]
	if o.sick && level == "leaf" && rng.IntN(3) == 0 {
		g.Efficiency = ptr(round(.3 + .6*rng.Float64()))
		w.eta[name] = *g.Efficiency
	}
	w.uplink[name] = math.Inf(1)
	if parent != "" && rng.IntN(5) > 0 {
		g.Uplink = ptr(round(.3 + 3*rng.Float64()))
		w.uplink[name] = *g.Uplink
	}
	w.topo.Tree.Groups = append(w.topo.Tree.Groups, g)
}

func (w *world) addNodes(rng *rand.Rand, o worldOptions, group string, n, left int) int {
	n = max(0, min(n, left))
	for i := range w.topo.Tree.Groups {
		if g := &w.topo.Tree.Groups[i]; g.Name == group {
			for j := 0; j < n; j++ {
				name := fmt.Sprintf("n%s-%d", group, j)
				share := round(.94 + .06*rng.Float64())
				if rng.IntN(4) == 0 {
					share = round(share * []float64{.25, .5, .5, .75, .875}[rng.IntN(5)])
				}
				g.Nodes = append(g.Nodes, name)
				w.leaf[name], w.share[name] = group, share
				w.topo.Nodes = append(w.topo.Nodes, topology.Node{Name: name, Group: group, GPUCount: 8, Share: ptr(share), State: topology.OK, NominalBandwidthBytesPerSecond: 4e11})
				if rng.IntN(10) < 3 {
					w.state.Busy = append(w.state.Busy, name)
				}
			}
		}
	}
	return n
}

// order puts the groups depth first and lists the free nodes in that order.
func (w *world) order() {
	var groups []topology.Group
	var visit func(parent string)
	busy := map[string]bool{}
	for _, n := range w.state.Busy {
		busy[n] = true
	}
	visit = func(parent string) {
		for _, g := range w.topo.Tree.Groups {
			if g.Parent == parent {
				groups = append(groups, g)
				for _, n := range g.Nodes {
					if !busy[n] {
						w.free = append(w.free, n)
					}
				}
				visit(g.Name)
			}
		}
	}
	visit("")
	w.topo.Tree.Groups = groups
}

// addGangs makes some pairs of busy nodes running gangs.
func (w *world) addGangs(rng *rand.Rand) {
	busy := w.state.Busy
	for i := 0; i+1 < len(busy); i += 2 {
		for c := 0; c < 1+rng.IntN(2); c++ {
			g := Gang{Name: fmt.Sprint(i, c), Nodes: []string{busy[i], busy[i+1]}}
			w.state.Gangs = append(w.state.Gangs, g)
			for e := range w.crossedBy(g.Nodes) {
				w.crosses[e]++
			}
		}
	}
}

func (w *world) chain(node string) []string {
	var out []string
	for g := w.leaf[node]; g != ""; g = w.parent[g] {
		out = append(out, g)
	}
	return out
}

// crossedBy lists the groups with some but not all of the nodes, below their lowest common group; none across two roots.
func (w *world) crossedBy(nodes []string) map[string]bool {
	count := map[string]int{}
	for _, n := range nodes {
		for _, g := range w.chain(n) {
			count[g]++
		}
	}
	out := map[string]bool{}
	for g, c := range count {
		if c < len(nodes) {
			out[g] = true
		}
	}
	return out
}

// ring evaluates one cyclic order by the definition of the model.
func (w *world) ring(order []string) float64 {
	best := math.Inf(1)
	own := map[string]int{}
	for i, u := range order {
		v := order[(i+1)%len(order)]
		best = min(best, w.share[u])
		above := map[string]bool{}
		for _, g := range w.chain(v) {
			above[g] = true
		}
		met := false
		for _, g := range w.chain(u) {
			if above[g] {
				best, met = min(best, w.eta[g]), true
				break
			}
			own[g]++
		}
		if !met {
			return 0
		}
	}
	for g, n := range own {
		best = min(best, w.uplink[g]/float64(n+w.crosses[g]))
	}
	return best
}

// eachSubset calls f with every k-subset of list, in order; f must not keep it.
func eachSubset(list []string, k int, f func([]string)) {
	set := make([]string, 0, k)
	var rec func(from int)
	rec = func(from int) {
		if len(set) == k {
			f(set)
			return
		}
		for i := from; i <= len(list)-(k-len(set)); i++ {
			set = append(set, list[i])
			rec(i + 1)
			set = set[:len(set)-1]
		}
	}
	rec(0)
}

// eachRing calls f with every cyclic order of set, the first element fixed.
func eachRing(set []string, f func([]string)) {
	order := append([]string(nil), set...)
	var rec func(i int)
	rec = func(i int) {
		if i == len(order) {
			f(order)
			return
		}
		for j := i; j < len(order); j++ {
			order[i], order[j] = order[j], order[i]
			rec(i + 1)
			order[i], order[j] = order[j], order[i]
		}
	}
	rec(1)
}

func (w *world) snapshot(t *testing.T) *Snapshot {
	t.Helper()
	c, err := NewCluster(w.topo, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Snapshot(w.state)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
