package fabric

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/railmap/railmap/topology"
)

// staticFile is our own short description of a fabric, for Ethernet (RoCE) and cloud clusters whose switches nobody can ask:
//
//	kind: StaticFabric
//	speed: 400                     # Gbit/s of every cable; a host group or an uplink may say otherwise
//	rails: 8                       # NICs of every host; a host group may say otherwise
//	switches:
//	- {name: "spine[1-4]", tier: 1}
//	- {name: "leaf[1-16]", tier: 0, uplinks: [{to: "spine[1-4]", cables: 8}]}
//	hosts:
//	- {names: "gpu[001-032]", leaf: "leaf[1-8]", devices: "mlx5_[0-7]"}    # rail r on the r-th leaf
//	- {names: "gpu[033-064]", leaf: "leaf[9-16]"}
//
// Names are hostlists. A host group with one leaf has all its rails there. Each switch of an entry has the uplinks of the
// entry: so many cables to each switch of "to". Ports are numbered as the file goes: hosts first, then uplinks.
type staticFile struct {
	APIVersion string         `yaml:"apiVersion"`
	Kind       string         `yaml:"kind"`
	Speed      at[float64]    `yaml:"speed"`
	Rails      at[int]        `yaml:"rails"`
	Switches   []staticSwitch `yaml:"switches"`
	Hosts      []staticHosts  `yaml:"hosts"`
}

type staticSwitch struct {
	Name    at[string]     `yaml:"name"`
	Tier    *at[int]       `yaml:"tier"`
	Model   string         `yaml:"model"`
	Uplinks []staticUplink `yaml:"uplinks"`
}

type staticUplink struct {
	To     at[string]  `yaml:"to"`
	Cables at[int]     `yaml:"cables"`
	Speed  at[float64] `yaml:"speed"`
}

type staticHosts struct {
	Names   at[string]  `yaml:"names"`
	Leaf    at[string]  `yaml:"leaf"`
	Rails   at[int]     `yaml:"rails"`
	Speed   at[float64] `yaml:"speed"`
	Devices at[string]  `yaml:"devices"`
}

// KindStaticFabric is the kind that a static file carries.
const KindStaticFabric = "StaticFabric"

// Limits of a static file, far above any cluster.
const (
	maxStaticBytes   = 16 << 20
	maxStaticDevices = 1 << 21
	maxStaticCables  = 1 << 23
	maxStaticErrors  = 20
)

// at is a value with the line it stands on; line 0 = not given.
type at[T any] struct {
	v    T
	line int
}

// UnmarshalYAML keeps the line.
func (a *at[T]) UnmarshalYAML(n *yaml.Node) error {
	a.line = n.Line
	return n.Decode(&a.v)
}

// Static reads a static file; errors carry the line. See staticFile for the form.
func Static(r io.Reader, name string) (*topology.FabricReport, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxStaticBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxStaticBytes {
		return nil, fmt.Errorf("%s: file is larger than %d bytes", name, maxStaticBytes)
	}
	var f staticFile
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		return nil, yamlError(name, err)
	}
	if err := dec.Decode(new(yaml.Node)); err != io.EOF {
		return nil, fmt.Errorf("%s: holds a second document: must hold one", name)
	}
	s := &static{name: name, index: map[string]int32{}, ports: map[int32]int32{}, hosts: map[string]int{}}
	s.header(&f)
	s.switches(&f)
	s.hostGroups(&f)
	s.uplinks(&f)
	if len(s.errs) > 0 {
		return nil, errors.Join(s.errs...)
	}
	return s.report(), nil
}

// static builds the report while it reads the file.
type static struct {
	name    string
	errs    []error
	devices []topology.FabricDevice
	links   []topology.FabricLink
	index   map[string]int32 // switch name -> device
	lines   []int            // by device: line of its entry
	ports   map[int32]int32  // by device: highest port in use
	hosts   map[string]int   // host -> line
}

func (s *static) errorf(line int, format string, args ...any) {
	if len(s.errs) < maxStaticErrors {
		s.errs = append(s.errs, fmt.Errorf("%s:%d: %s", s.name, line, fmt.Sprintf(format, args...)))
	}
}

func (s *static) header(f *staticFile) {
	if f.APIVersion != "" && f.APIVersion != topology.APIVersion {
		s.errorf(1, "apiVersion is %q: must be %q", f.APIVersion, topology.APIVersion)
	}
	if f.Kind != "" && f.Kind != KindStaticFabric {
		s.errorf(1, "kind is %q: must be %s here", f.Kind, KindStaticFabric)
	}
	s.checkSpeed(f.Speed)
	if f.Rails.line == 0 {
		f.Rails.v = 1
	} else if f.Rails.v < 1 || f.Rails.v > 256 {
		s.errorf(f.Rails.line, "rails is %d: must be between 1 and 256", f.Rails.v)
	}
	if len(f.Switches) == 0 || len(f.Hosts) == 0 {
		s.errorf(1, "must hold switches and hosts")
	}
}

func (s *static) checkSpeed(v at[float64]) {
	if v.line != 0 && !(v.v > 0 && v.v <= 1e6) {
		s.errorf(v.line, "speed is %v: must be above 0 and at most 1000000 (Gbit/s)", v.v)
	}
}

// expand reads a hostlist; nil after an error.
func (s *static) expand(field string, v at[string], line int) []string {
	if v.v == "" {
		s.errorf(max(v.line, line), "%s must not be empty", field)
		return nil
	}
	names, err := topology.ParseHostlist(v.v)
	if err != nil {
		s.errorf(v.line, "%s: %v", field, err)
		return nil
	}
	return names
}

func (s *static) add(d topology.FabricDevice, line int) int32 {
	s.devices = append(s.devices, d)
	s.lines = append(s.lines, line)
	return int32(len(s.devices) - 1)
}

func (s *static) switches(f *staticFile) {
	for i := range f.Switches {
		e := &f.Switches[i]
		if e.Tier != nil && (e.Tier.v < 0 || e.Tier.v > 15) {
			s.errorf(e.Tier.line, "tier is %d: must be between 0 (leaf) and 15", e.Tier.v)
		}
		names := s.expand("name", e.Name, 1)
		if len(s.devices)+len(names) > maxStaticDevices {
			s.errorf(e.Name.line, "more than %d switches and adapters: must be fewer", maxStaticDevices)
			return
		}
		for _, n := range names {
			if old, ok := s.index[n]; ok {
				s.errorf(e.Name.line, "switch %s stands on line %d already: must stand once", n, s.lines[old])
				continue
			}
			d := topology.FabricDevice{Kind: topology.SwitchDevice, Name: n, Model: e.Model}
			if e.Tier != nil {
				d.Tier = new(e.Tier.v)
			}
			s.index[n] = s.add(d, e.Name.line)
		}
	}
}

// find gives the switches of a hostlist; unknown names are errors.
func (s *static) find(field string, v at[string], line int) []int32 {
	var ids []int32
	for _, n := range s.expand(field, v, line) {
		id, ok := s.index[n]
		if !ok {
			s.errorf(v.line, "%s: switch %s is not described: must stand below switches", field, n)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

func (s *static) hostGroups(f *staticFile) {
	for i := range f.Hosts {
		e := &f.Hosts[i]
		rails, speed := f.Rails.v, f.Speed
		if e.Rails.line != 0 {
			if rails = e.Rails.v; rails < 1 || rails > 256 {
				s.errorf(e.Rails.line, "rails is %d: must be between 1 and 256", rails)
				continue
			}
		}
		if e.Speed.line != 0 {
			s.checkSpeed(e.Speed)
			speed = e.Speed
		}
		leaves := s.find("leaf", e.Leaf, e.Names.line)
		devices := s.deviceNames(e, rails)
		names := s.expand("names", e.Names, 1)
		if len(leaves) == 0 || devices == nil || names == nil {
			continue
		}
		if len(leaves) != 1 && len(leaves) != rails {
			s.errorf(e.Leaf.line, "leaf names %d switches for %d rails: must name 1 or one for each rail", len(leaves), rails)
			continue
		}
		s.addHosts(e, names, devices, leaves, speed.v)
	}
}

// deviceNames gives the NICs' names in order of rail: as the file says, else rail0, rail1, ...
func (s *static) deviceNames(e *staticHosts, rails int) []string {
	if e.Devices.line == 0 {
		names := make([]string, rails)
		for r := range names {
			names[r] = fmt.Sprintf("rail%d", r)
		}
		return names
	}
	names := s.expand("devices", e.Devices, e.Names.line)
	if names != nil && len(names) != rails {
		s.errorf(e.Devices.line, "devices names %d NICs for %d rails: must name one for each rail", len(names), rails)
		return nil
	}
	sorted := slices.Sorted(slices.Values(names))
	if len(slices.Compact(sorted)) != len(names) {
		s.errorf(e.Devices.line, "devices names one NIC twice: must name each once")
		return nil
	}
	return names
}

func (s *static) addHosts(e *staticHosts, names, devices []string, leaves []int32, speed float64) {
	if len(s.devices)+len(names)*len(devices) > maxStaticDevices {
		s.errorf(e.Names.line, "more than %d switches and adapters: must be fewer", maxStaticDevices)
		return
	}
	for _, host := range names {
		if line, ok := s.hosts[host]; ok {
			s.errorf(e.Names.line, "host %s stands on line %d already: must stand once", host, line)
			continue
		}
		s.hosts[host] = e.Names.line
		for r, dev := range devices {
			id := s.add(topology.FabricDevice{Kind: topology.AdapterDevice, Host: host, Name: dev, PortCount: 1, Rail: new(r)}, e.Names.line)
			s.cable(id, leaves[r%len(leaves)], speed, e.Names.line)
		}
	}
}

func (s *static) uplinks(f *staticFile) {
	for i := range f.Switches {
		e := &f.Switches[i]
		names, err := topology.ParseHostlist(e.Name.v)
		if err != nil {
			continue // an error already
		}
		for _, u := range e.Uplinks {
			cables, speed := 1, f.Speed
			if u.Cables.line != 0 {
				if cables = u.Cables.v; cables < 1 || cables > 1024 {
					s.errorf(u.Cables.line, "cables is %d: must be between 1 and 1024", cables)
					continue
				}
			}
			if u.Speed.line != 0 {
				s.checkSpeed(u.Speed)
				speed = u.Speed
			}
			s.uplink(e, names, s.find("to", u.To, e.Name.line), cables, speed.v, max(u.To.line, e.Name.line))
		}
	}
}

func (s *static) uplink(e *staticSwitch, names []string, to []int32, cables int, speed float64, line int) {
	for _, n := range names {
		from, ok := s.index[n]
		if !ok {
			continue
		}
		for _, up := range to {
			if t := s.devices[up].Tier; e.Tier != nil && t != nil && *t <= e.Tier.v {
				s.errorf(line, "uplink of %s (tier %d) leads to %s (tier %d): must lead to a higher tier", n, e.Tier.v, s.devices[up].Name, *t)
				return
			}
			if from == up {
				s.errorf(line, "uplink of %s leads to itself: must lead to another switch", n)
				return
			}
			for range cables {
				if !s.cable(from, up, speed, line) {
					return
				}
			}
		}
	}
}

// cable connects the next free port of both devices. Speed is in Gbit/s, 0 = unknown.
func (s *static) cable(a, b int32, speed float64, line int) bool {
	if len(s.links) >= maxStaticCables {
		s.errorf(line, "more than %d cables: must be fewer", maxStaticCables)
		return false
	}
	s.ports[a]++
	s.ports[b]++
	s.links = append(s.links, topology.FabricLink{A: topology.FabricEnd{Device: a, Port: s.ports[a]}, B: topology.FabricEnd{Device: b, Port: s.ports[b]},
		BandwidthBytesPerSecond: speed * 1e9 / 8})
	return true
}

func (s *static) report() *topology.FabricReport {
	for id, n := range s.ports {
		s.devices[id].PortCount = int(n)
	}
	return sortedReport(SourceStatic, s.devices, s.links)
}

// sortedReport brings devices and links of a source without GUIDs in order.
func sortedReport(source string, devices []topology.FabricDevice, links []topology.FabricLink) *topology.FabricReport {
	order := make([]int32, len(devices))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return compareDevices(&devices[a], &devices[b]) })
	rank := make([]int32, len(order))
	r := &topology.FabricReport{Header: topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindFabricReport, Source: source},
		Devices: make([]topology.FabricDevice, len(order)), Links: links}
	for pos, i := range order {
		rank[i], r.Devices[pos] = int32(pos), devices[i]
	}
	for i := range links {
		l := &links[i]
		l.A.Device, l.B.Device = rank[l.A.Device], rank[l.B.Device]
		if compareEnds(l.A, l.B) > 0 {
			l.A, l.B = l.B, l.A
		}
	}
	slices.SortFunc(links, compareLinks)
	return r
}

// yamlError gives the decoder's message file and line, without Go's type names.
func yamlError(name string, err error) error {
	var te *yaml.TypeError
	messages := []string{strings.TrimPrefix(err.Error(), "yaml: ")}
	if errors.As(err, &te) {
		messages = te.Errors
	}
	var errs []error
	for _, m := range messages[:min(len(messages), maxStaticErrors)] {
		if rest, ok := strings.CutPrefix(m, "line "); ok {
			m = rest
		}
		if field, where, ok := strings.Cut(m, " not found in type "); ok {
			_ = where
			m = field + " is not known here"
		}
		errs = append(errs, fmt.Errorf("%s:%s", name, m))
	}
	return errors.Join(errs...)
}
