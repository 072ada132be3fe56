package topology

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Input is everything a map is made from. Any part may be empty, not all of it.
type Input struct {
	Fabrics []*FabricReport
	Nodes   []*NodeReport
	Pairs   []*PairReport
}

// BuildOptions change how the map is made. The zero value is right for most fabrics.
type BuildOptions struct {
	Hosts       []string          // project on these hosts; nil = every compute host found
	Alias       map[string]string // host or switch name as found, or GUID ("0x...") -> name to use
	HostPattern *regexp.Regexp    // reads adapter descriptions; named groups "host" and "device"; nil = the usual forms
	ComputeNICs *regexp.Regexp    // device names that carry collectives; nil = by structure: all ports outside storage planes
	Efficiency  []float64         // default level efficiencies from the leaf up; nil = DefaultEfficiency
	Now         time.Time         // measurements older than MaxAge before it are stale; zero = age is not looked at
	MaxAge      time.Duration     // 0 = 7 days
	ToolVersion string            // written into the document
}

// DefaultEfficiency is what a pair of healthy, idle nodes reaches at each level when nothing was measured: 1 in a leaf
// group, 0.92 one level up, 0.83 above that (the 17 % loss of arXiv 2509.15940). Stated defaults: measure to replace them.
var defaultEfficiency = []float64{1, 0.92, 0.83}

// Build makes the map: it classifies every switch from the whole fabric, groups hosts tolerantly, weighs the links and
// projects the result on the hosts asked for. A broken fabric still gives a map; what is wrong with it stands in Findings.
// The result depends on the content of the input only, not on the order of reports, records or cables. It is an error
// when there is nothing to build from.
func Build(in Input, opts BuildOptions) (*Topology, error) {
	if len(in.Fabrics) == 0 && len(in.Nodes) == 0 {
		return nil, errors.New("nothing to build from: give at least one fabric report or node report")
	}
	b := &builder{in: in, opts: opts}
	b.f, b.findings = mergeFabrics(in.Fabrics)
	b.findHosts()
	b.findSwitches()
	b.classify()
	b.groupLeaves()
	b.groupUpwards()
	b.joinRoots()
	b.assignRails()
	b.project()
	b.checkCables()
	t := &Topology{Header: b.header(), Generation: 1}
	b.emitNodes(t)
	b.emitSwitches(t)
	b.emitLinks(t)
	b.emitTree(t)
	b.applyPairs(t)
	t.Findings = SortFindings(b.findings)
	return t, nil
}

// builder carries the work of one Build. Hosts, switches and groups are dense indices; -1 means none.
type builder struct {
	in       Input
	opts     BuildOptions
	f        *fabric
	findings []Finding

	hosts    []host
	families map[string]string // device name -> the same without numbers
	rails    []*int            // rail number -> shared pointer for documents
	twins    map[string]string // node name with GUID suffix -> the name that several machines claim, lower case
	hostOf   []int32           // device -> host
	device   []string          // device -> device name on its host ("mlx5_0"), where known

	sws       []sw
	swOf      []int32           // device -> switch
	peersOf   [][]int32         // switch -> switch at the far end of each cable
	railSpeed map[int32]float64 // leaf group -> usual bandwidth of a compute port
	groups    []vgroup
	byCluster [][]int32 // hosts of each leaf cluster, while groups are formed
	maxT      int       // highest tier in use
}

// host is one machine.
type host struct {
	name     string
	adapters []int32 // devices
	report   *NodeReport
	nics     []nic
	group    int32 // leaf group
	asked    bool
	nominal  float64
}

// nic is one cabled port of an adapter.
type nic struct {
	dev      int32
	name     string // device name with "/2" for a second port
	port     int32
	sw       int32 // -1: not on a switch
	swPort   int32
	link     int32
	bw       float64
	compute  bool
	rail     int32 // -1: none
	miswired bool
}

// sw is one switch.
type sw struct {
	dev    int32
	name   string
	hosts  int32 // adapter ports on it, whoever owns them
	tier   int32 // -1 not known yet
	aux    bool
	idle   bool
	group  int32
	rail   int32
	router bool
}

// vgroup is one vertex of the tree while it is made.
type vgroup struct {
	tier     int
	switches []int32
	children []int32
	hosts    []int32
	parent   int32
	name     string
	joined   bool // a root put over pieces that only stray cables join: has no switches of its own
}

func (b *builder) find(code string, sev Severity, subject, remedy, format string, args ...any) {
	b.findings = append(b.findings, Finding{Code: code, Severity: sev, Subject: subject, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

// header names the newest time and the sources of the input.
func (b *builder) header() Header {
	h := Header{APIVersion: APIVersion, Kind: KindTopology, ToolVersion: b.opts.ToolVersion, Source: "build"}
	newest := func(t *time.Time) {
		if t != nil && (h.Time == nil || t.After(*h.Time)) {
			utc := t.UTC()
			h.Time = &utc
		}
	}
	for _, r := range b.in.Fabrics {
		newest(r.Time)
	}
	for _, r := range b.in.Nodes {
		newest(r.Time)
	}
	for _, r := range b.in.Pairs {
		newest(r.Time)
	}
	return h
}

// alias gives the name to use for a found name or GUID.
func (b *builder) alias(guid GUID, name string) string {
	if len(b.opts.Alias) == 0 {
		return name
	}
	if a, ok := b.opts.Alias[guid.String()]; ok {
		return a
	}
	if a, ok := b.opts.Alias[name]; ok {
		return a
	}
	return name
}
