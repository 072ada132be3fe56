package topology

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// SynthSpec is the shape of a synthetic cluster. Every leaf group has one leaf switch per rail; every pod has Spines spine
// switches per rail; spine j of every pod and rail is cabled to the same Cores core switches. NDR 4x everywhere.
//
//	core:1 pod:4 leaf:8 node:32 rail:8 gpu:8
type SynthSpec struct {
	Cores   int // core switches per spine index and rail; 0 = no core tier (one pod)
	Pods    int
	Leaves  int // leaf groups in a pod
	Nodes   int // nodes in a leaf group
	Rails   int
	GPUs    int // per node
	Spines  int // spine switches per pod and rail; 0 = a quarter of Nodes, at least 1
	Uplinks int // cables from a leaf to the spines, spread evenly; 0 = Nodes (no oversubscription)
}

// synthLimit bounds the adapters of one synthetic cluster.
const synthLimit = 2 << 20

// ParseSynthSpec reads "core:1 pod:4 leaf:8 node:32 rail:8 gpu:8 [spine:S] [uplink:U]", in any order. Missing words count as
// one, a missing core as none, missing GPUs as 8.
func ParseSynthSpec(s string) (SynthSpec, error) {
	spec := SynthSpec{Pods: 1, Leaves: 1, Nodes: 1, Rails: 1, GPUs: 8}
	fields := map[string]*int{"core": &spec.Cores, "pod": &spec.Pods, "leaf": &spec.Leaves, "node": &spec.Nodes, "rail": &spec.Rails,
		"gpu": &spec.GPUs, "spine": &spec.Spines, "uplink": &spec.Uplinks}
	seen := map[string]bool{}
	for _, word := range strings.Fields(s) {
		key, value, _ := strings.Cut(word, ":")
		n, err := strconv.Atoi(value)
		if fields[key] == nil || err != nil || n < 0 || n > synthLimit || seen[key] {
			return spec, fmt.Errorf("cluster %q: %q must be one of core:N pod:N leaf:N node:N rail:N gpu:N spine:N uplink:N, each once", s, word)
		}
		seen[key] = true
		*fields[key] = n
	}
	return spec, spec.complete()
}

func (s *SynthSpec) complete() error {
	if s.Pods < 1 || s.Leaves < 1 || s.Nodes < 1 || s.Rails < 1 {
		return fmt.Errorf("pod, leaf, node and rail must be at least 1")
	}
	if n := float64(s.Pods) * float64(s.Leaves) * float64(s.Nodes) * float64(s.Rails); n > synthLimit {
		return fmt.Errorf("the cluster would have %.0f adapters: must be at most %d", n, synthLimit)
	}
	if s.Pods > 1 && s.Cores == 0 {
		s.Cores = 1
	}
	if s.Spines == 0 {
		s.Spines = max(1, s.Nodes/4)
	}
	if s.Uplinks == 0 {
		s.Uplinks = s.Nodes
	}
	s.Spines = min(s.Spines, s.Uplinks)
	return nil
}

// SynthFaults are the kinds of fault that Synth knows, with what they do.
var SynthFaults = []struct{ Kind, Help string }{
	{"cable", "a host cable is out"},
	{"uplink", "a cable between leaf and spine is out"},
	{"slow", "a host cable runs at 4xHDR instead of 4xNDR"},
	{"slow-uplink", "an uplink runs at 4xHDR"},
	{"swap", "two rails of one host are exchanged (needs two rails)"},
	{"switch", "a spine switch is gone"},
	{"unnamed", "an adapter carries its firmware's default name"},
	{"twin", "a host calls itself by the name of another"},
}

// Fault asks for Count faults of one kind.
type Fault struct {
	Kind  string
	Count int
}

// Synth makes the fabric report of a synthetic cluster: node0000 on port 1 of leaf0, and so on. Faults are drawn with the
// seed; the same arguments give the same report.
func Synth(spec SynthSpec, seed uint64, faults []Fault) (*FabricReport, error) {
	if err := spec.complete(); err != nil {
		return nil, err
	}
	g := newSynth(spec)
	g.wire()
	rng := rand.New(rand.NewPCG(seed, 0x7261696c6d6170))
	for _, f := range faults {
		if err := g.hurt(f, rng); err != nil {
			return nil, err
		}
	}
	return g.report(), nil
}

// SynthTopology builds the map of a synthetic cluster, with the GPUs of the spec on every node.
func SynthTopology(spec SynthSpec, seed uint64, faults []Fault, opts BuildOptions) (*Topology, error) {
	r, err := Synth(spec, seed, faults)
	if err != nil {
		return nil, err
	}
	t, err := Build(Input{Fabrics: []*FabricReport{r}}, opts)
	if err != nil {
		return nil, err
	}
	for i := range t.Nodes {
		t.Nodes[i].GPUCount = spec.GPUs
	}
	return t, nil
}

// synth numbers devices: adapters by node and rail, then leaves, spines, cores.
type synth struct {
	SynthSpec
	nodes, groups, leaf0, spine0, core0, total int
	names                                      []string // description of each device
	links                                      []FabricLink
	gone                                       map[int32]bool
	next                                       []int32 // next free port of each switch
}

func newSynth(spec SynthSpec) *synth {
	g := &synth{SynthSpec: spec, gone: map[int32]bool{}}
	g.groups = spec.Pods * spec.Leaves
	g.nodes = g.groups * spec.Nodes
	g.leaf0 = g.nodes * spec.Rails
	g.spine0 = g.leaf0 + g.groups*spec.Rails
	g.core0 = g.spine0 + spec.Pods*spec.Rails*spec.Spines
	g.total = g.core0 + spec.Cores*spec.Rails*spec.Spines
	g.names = make([]string, g.total)
	digits := max(4, len(strconv.Itoa(g.nodes-1)))
	for i := range g.total {
		switch {
		case i < g.leaf0:
			g.names[i] = fmt.Sprintf("node%0*d mlx5_%d", digits, i/spec.Rails, i%spec.Rails)
		case i < g.spine0:
			g.names[i] = "leaf" + strconv.Itoa(i-g.leaf0)
		case i < g.core0:
			g.names[i] = "spine" + strconv.Itoa(i-g.spine0)
		default:
			g.names[i] = "core" + strconv.Itoa(i-g.core0)
		}
	}
	g.next = make([]int32, g.total)
	return g
}

// wire lays all cables: hosts first, so that port 1+h of a leaf is host h of its group.
func (g *synth) wire() {
	for n := range g.nodes {
		for r := range g.Rails {
			leaf := g.leaf0 + n/g.Nodes*g.Rails + r
			g.cable(n*g.Rails+r, leaf)
		}
	}
	for l := range g.groups * g.Rails {
		pod, rail := l/g.Rails/g.Leaves, l%g.Rails
		for u := range g.Uplinks {
			g.cable(g.leaf0+l, g.spine0+(pod*g.Rails+rail)*g.Spines+u*g.Spines/g.Uplinks)
		}
	}
	if g.Cores == 0 {
		return
	}
	perCore := max(1, g.Leaves*g.Uplinks/g.Spines/g.Cores) // a spine has as many cables up as down
	for s := range g.core0 - g.spine0 {
		plane := s % (g.Rails * g.Spines)
		for c := range g.Cores {
			for range perCore {
				g.cable(g.spine0+s, g.core0+plane*g.Cores+c)
			}
		}
	}
}

func (g *synth) cable(a, b int) {
	g.next[a]++
	g.next[b]++
	g.links = append(g.links, FabricLink{A: FabricEnd{int32(a), g.next[a]}, B: FabricEnd{int32(b), g.next[b]}, Width: 4, Speed: SpeedNDR, BandwidthBytesPerSecond: SpeedNDR.BytesPerSecond(4)})
}

// hurt applies one kind of fault to cables or devices not yet hurt by it.
func (g *synth) hurt(f Fault, rng *rand.Rand) error {
	hosts := g.leaf0
	uplinks := g.groups * g.Rails * g.Uplinks
	for range f.Count {
		switch f.Kind {
		case "cable":
			g.links[rng.IntN(hosts)].Width = 0
		case "uplink":
			g.links[hosts+rng.IntN(uplinks)].Width = 0
		case "slow":
			g.slow(rng.IntN(hosts))
		case "slow-uplink":
			g.slow(hosts + rng.IntN(uplinks))
		case "swap":
			if g.Rails < 2 {
				return fmt.Errorf("fault swap: needs at least two rails")
			}
			i := rng.IntN(g.nodes) * g.Rails
			j := 1 + rng.IntN(g.Rails-1)
			g.links[i].B, g.links[i+j].B = g.links[i+j].B, g.links[i].B
		case "switch":
			g.gone[int32(g.spine0+rng.IntN(g.core0-g.spine0))] = true
		case "unnamed":
			g.names[rng.IntN(g.leaf0)] = "MT4129 ConnectX7   Mellanox Technologies"
		case "twin":
			g.rename(rng.IntN(g.nodes), rng.IntN(g.nodes))
		default:
			return fmt.Errorf("fault %q: must be one of %s", f.Kind, faultKinds())
		}
	}
	return nil
}

func faultKinds() string {
	var kinds []string
	for _, f := range SynthFaults {
		kinds = append(kinds, f.Kind)
	}
	return strings.Join(kinds, ", ")
}

func (g *synth) slow(link int) {
	g.links[link].Speed, g.links[link].BandwidthBytesPerSecond = SpeedHDR, SpeedHDR.BytesPerSecond(4)
}

// rename makes node a claim the name of node b (of the next node when they are the same).
func (g *synth) rename(a, b int) {
	if a == b {
		b = (a + 1) % g.nodes
	}
	for r := range g.Rails {
		host, _, _ := strings.Cut(g.names[b*g.Rails], " ")
		g.names[a*g.Rails+r] = host + " mlx5_" + strconv.Itoa(r)
	}
}

// report lists the devices and cables that are left. An adapter without a cable is not there, as for a real subnet manager.
func (g *synth) report() *FabricReport {
	seen := make([]bool, g.total)
	links := make([]FabricLink, 0, len(g.links))
	for _, l := range g.links {
		if l.Width > 0 && !g.gone[l.A.Device] && !g.gone[l.B.Device] {
			links = append(links, l)
			seen[l.A.Device], seen[l.B.Device] = true, true
		}
	}
	r := &FabricReport{Header: Header{APIVersion: APIVersion, Kind: KindFabricReport, Source: "synthetic"}}
	index := make([]int32, g.total)
	for i := range g.total {
		if !seen[i] {
			continue
		}
		index[i] = int32(len(r.Devices))
		r.Devices = append(r.Devices, g.device(i))
	}
	for i := range links {
		links[i].A.Device, links[i].B.Device = index[links[i].A.Device], index[links[i].B.Device]
	}
	slices.SortFunc(links, compareLinks)
	r.Links = links
	return r
}

// device gives adapters a GUID of the vendor range used in documentation, 16 apart per node, and switches one of their own.
func (g *synth) device(i int) FabricDevice {
	const adapters, switches = 0x0002c90300000000, 0x0002c90400000000
	if i >= g.leaf0 {
		guid := GUID(switches + i - g.leaf0)
		return FabricDevice{GUID: guid, SystemImageGUID: guid, Kind: SwitchDevice, Description: "MF0;" + g.names[i] + ":MQM9700/U1", PortCount: max(64, int(g.next[i]))}
	}
	guid := GUID(adapters + i*16)
	return FabricDevice{GUID: guid, SystemImageGUID: guid, Kind: AdapterDevice, Description: g.names[i], PortCount: 1,
		Ports: []PortInfo{{Number: 1, GUID: guid + 1}}}
}
