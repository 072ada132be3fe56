package fabric

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/railmap/railmap/topology"
)

// Merge joins reports of one fabric: several subnets or planes read through different local ports, or the same subnet read by
// two tools. Devices are the same when they share a node or port GUID or, without GUIDs, host, name and description. The
// result does not depend on the order of the reports.
func Merge(reports ...*topology.FabricReport) (*topology.FabricReport, error) {
	if len(reports) == 0 {
		return nil, errors.New("no report to merge: must be at least one")
	}
	if len(reports) == 1 {
		return reports[0], nil
	}
	m := &merger{reports: reports}
	for i, r := range reports {
		if err := r.Validate(); err != nil {
			return nil, fmt.Errorf("report %d: %w", i, err)
		}
		m.base = append(m.base, m.total)
		m.total += len(r.Devices)
	}
	m.join()
	out := &topology.FabricReport{Header: m.header()}
	m.devices(out)
	m.links(out)
	for _, r := range reports {
		for _, f := range r.Findings {
			if f.Code != CodeReferenceOnly || m.stillLost[f.Subject] {
				m.findings = append(m.findings, f)
			}
		}
	}
	if len(m.findings) > 0 {
		out.Findings = topology.SortFindings(m.findings)
	}
	return out, nil
}

// merger numbers the devices of all reports through and joins equal ones (union-find).
type merger struct {
	reports   []*topology.FabricReport
	base      []int // number of a report's first device
	total     int
	parent    []int
	rank      []int32 // by number: index in the result
	stillLost map[string]bool
	findings  []topology.Finding
}

func (m *merger) find(i int) int {
	for m.parent[i] != i {
		m.parent[i] = m.parent[m.parent[i]]
		i = m.parent[i]
	}
	return i
}

func (m *merger) join() {
	m.parent = make([]int, m.total)
	for i := range m.parent {
		m.parent[i] = i
	}
	byGUID := make(map[topology.GUID]int, m.total)
	byName := map[string]int{}
	for ri, r := range m.reports {
		for di := range r.Devices {
			d, n := &r.Devices[di], m.base[ri]+di
			guids := []topology.GUID{d.GUID}
			if d.Kind != topology.SwitchDevice {
				for _, p := range d.Ports {
					guids = append(guids, p.GUID)
				}
			}
			for _, g := range guids {
				if g == 0 {
					continue
				}
				if o, ok := byGUID[g]; ok {
					m.parent[m.find(n)] = m.find(o)
				} else {
					byGUID[g] = n
				}
			}
			if d.GUID == 0 {
				key := strings.Join([]string{d.Host, d.Name, d.Description}, "\x00")
				if o, ok := byName[key]; ok {
					m.parent[m.find(n)] = m.find(o)
				} else {
					byName[key] = n
				}
			}
		}
	}
}

func (m *merger) device(n int) *topology.FabricDevice {
	ri, _ := slices.BinarySearch(m.base, n+1)
	return &m.reports[ri-1].Devices[n-m.base[ri-1]]
}

// header names all sources; the time is the latest one.
func (m *merger) header() topology.Header {
	h := topology.Header{APIVersion: topology.APIVersion, Kind: topology.KindFabricReport}
	sources := map[string]bool{}
	for _, r := range m.reports {
		for s := range strings.SplitSeq(r.Source, "+") {
			sources[s] = true
		}
		if r.Time != nil && (h.Time == nil || r.Time.After(*h.Time)) {
			h.Time = r.Time
		}
		h.ToolVersion = max(h.ToolVersion, r.ToolVersion)
	}
	delete(sources, "")
	h.Source = strings.Join(slices.Sorted(maps.Keys(sources)), "+")
	return h
}

func (m *merger) devices(out *topology.FabricReport) {
	members := make(map[int][]int, m.total)
	for n := range m.total {
		root := m.find(n)
		members[root] = append(members[root], n)
	}
	type group struct {
		dev     topology.FabricDevice
		members []int
	}
	groups := make([]group, 0, len(members))
	for _, list := range members {
		groups = append(groups, group{m.mergeDevices(list), list})
	}
	slices.SortFunc(groups, func(a, b group) int { return compareDevices(&a.dev, &b.dev) })
	m.rank = make([]int32, m.total)
	m.stillLost = map[string]bool{}
	out.Devices = make([]topology.FabricDevice, len(groups))
	for i, g := range groups {
		out.Devices[i] = g.dev
		if g.dev.ReferenceOnly {
			m.stillLost[deviceSubject(&g.dev)] = true
		}
		for _, n := range g.members {
			m.rank[n] = int32(i)
		}
	}
}

// compareDevices is the order of devices in a report.
func compareDevices(a, b *topology.FabricDevice) int {
	return cmp.Or(cmp.Compare(a.GUID, b.GUID), topology.CompareNames(a.Host, b.Host), topology.CompareNames(a.Name, b.Name),
		cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Description, b.Description))
}

// better orders views of one device: records before references, sources with node ids before those without, then content.
func better(a, b *topology.FabricDevice) int {
	rank := func(d *topology.FabricDevice) int {
		switch {
		case d.ReferenceOnly:
			return 2
		case d.VendorID == 0 && d.SystemImageGUID == 0:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), compareDevices(a, b), cmp.Compare(a.DeviceID, b.DeviceID))
}

func (m *merger) mergeDevices(list []int) topology.FabricDevice {
	views := make([]*topology.FabricDevice, len(list))
	for i, n := range list {
		views[i] = m.device(n)
	}
	slices.SortStableFunc(views, better)
	d := *views[0]
	d.Ports = slices.Clone(d.Ports)
	for _, v := range views[1:] {
		if v.Description != d.Description && !v.ReferenceOnly && v.Description != "" {
			m.findings = append(m.findings, topology.Finding{Code: CodeConflictingRecords, Severity: topology.Warning, Subject: identity(&d),
				Message: fmt.Sprintf("the reports name it %q and %q; the first is taken", d.Description, v.Description),
				Remedy:  "read all parts of the fabric at one time"})
		}
		fill(&d, v)
	}
	slices.SortFunc(d.Ports, func(a, b topology.PortInfo) int { return cmp.Compare(a.Number, b.Number) })
	return d
}

// fill adds to d what only v says.
func fill(d, v *topology.FabricDevice) {
	d.SystemImageGUID = cmp.Or(d.SystemImageGUID, v.SystemImageGUID)
	d.VendorID, d.DeviceID = cmp.Or(d.VendorID, v.VendorID), cmp.Or(d.DeviceID, v.DeviceID)
	d.Description, d.Name = cmp.Or(d.Description, v.Description), cmp.Or(d.Name, v.Name)
	d.Host, d.Model = cmp.Or(d.Host, v.Host), cmp.Or(d.Model, v.Model)
	d.Rail, d.Tier = cmp.Or(d.Rail, v.Rail), cmp.Or(d.Tier, v.Tier)
	d.NVLinkDomain = cmp.Or(d.NVLinkDomain, v.NVLinkDomain)
	d.PortCount = max(d.PortCount, v.PortCount)
	if d.Kind == topology.UnknownDevice || v.Kind == topology.AggregationDevice {
		d.Kind = v.Kind
	}
	for _, p := range v.Ports {
		i := slices.IndexFunc(d.Ports, func(q topology.PortInfo) bool { return q.Number == p.Number })
		if i < 0 {
			d.Ports = append(d.Ports, p)
			continue
		}
		q := &d.Ports[i]
		q.GUID, q.State, q.External = cmp.Or(q.GUID, p.GUID), cmp.Or(q.State, p.State), cmp.Or(q.External, p.External)
		if q.Counters == nil {
			q.Counters = p.Counters
		}
	}
}

// links joins equal cables; of two cables on one port the one that both ends report stays, then the smaller one.
func (m *merger) links(out *topology.FabricReport) {
	byEnds := map[[2]topology.FabricEnd]topology.FabricLink{}
	for ri, r := range m.reports {
		for _, l := range r.Links {
			l.A.Device, l.B.Device = m.rank[m.base[ri]+int(l.A.Device)], m.rank[m.base[ri]+int(l.B.Device)]
			if compareEnds(l.A, l.B) > 0 {
				l.A, l.B = l.B, l.A
			}
			key := [2]topology.FabricEnd{l.A, l.B}
			if o, ok := byEnds[key]; ok {
				l = joinLinks(o, l)
			}
			byEnds[key] = l
		}
	}
	all := slices.SortedFunc(maps.Values(byEnds), func(a, b topology.FabricLink) int {
		if a.OneSided != b.OneSided {
			if a.OneSided {
				return 1
			}
			return -1
		}
		return compareLinks(a, b)
	})
	taken := make(map[topology.FabricEnd]bool, 2*len(all))
	out.Links = make([]topology.FabricLink, 0, len(all))
	for _, l := range all {
		if taken[l.A] || taken[l.B] {
			m.findings = append(m.findings, conflictFinding(out, l))
			continue
		}
		taken[l.A], taken[l.B] = true, true
		out.Links = append(out.Links, l)
	}
	slices.SortFunc(out.Links, compareLinks)
}

func compareEnds(a, b topology.FabricEnd) int {
	return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Port, b.Port))
}

// joinLinks joins two views of one cable: known beats unknown, slower beats faster.
func joinLinks(a, b topology.FabricLink) topology.FabricLink {
	known := func(l topology.FabricLink) bool { return l.BandwidthBytesPerSecond > 0 }
	if known(b) && (!known(a) || b.BandwidthBytesPerSecond < a.BandwidthBytesPerSecond) {
		a, b = b, a
	}
	a.OneSided = a.OneSided && b.OneSided
	a.CouldBe = max(a.CouldBe, b.CouldBe)
	a.Width, a.Speed = cmp.Or(a.Width, b.Width), cmp.Or(a.Speed, b.Speed)
	return a
}
