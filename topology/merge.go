package topology

import (
	"cmp"
	"fmt"
	"slices"
)

// fabric is the union of all fabric reports in dense arrays: devices by GUID (then name), each cable once, and for every
// device its cable ends by port number.
type fabric struct {
	devices []FabricDevice
	links   []FabricLink
	first   []int32 // ends[first[d]:first[d+1]] are the cable ends of device d
	ends    []cableEnd
}

// cableEnd is a cable seen from one device.
type cableEnd struct {
	port, peerPort int32
	peer, link     int32
}

func (f *fabric) cables(d int32) []cableEnd { return f.ends[f.first[d]:f.first[d+1]] }

// mergeFabrics joins reports by GUID (by kind, host and name where a source has no GUIDs). The result does not depend on the
// order of reports, devices or links.
func mergeFabrics(reports []*FabricReport) (*fabric, []Finding) {
	f := &fabric{}
	var findings []Finding
	for _, r := range reports {
		findings = append(findings, r.Findings...)
	}
	if len(reports) == 1 && slices.IsSortedFunc(reports[0].Devices, compareDevices) {
		f.devices, f.links = reports[0].Devices, slices.Clone(reports[0].Links)
	} else {
		f.union(reports)
	}
	findings = append(findings, f.sortLinks()...)
	f.index()
	return f, findings
}

func compareDevices(a, b FabricDevice) int {
	if a.GUID != b.GUID {
		return cmp.Compare(a.GUID, b.GUID)
	}
	if a.GUID != 0 {
		return 0
	}
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Description, b.Description))
}

// union concatenates, sorts and folds devices, and re-points the links.
func (f *fabric) union(reports []*FabricReport) {
	type origin struct{ report, device int }
	var all []FabricDevice
	var from []origin
	for i, r := range reports {
		for j := range r.Devices {
			all = append(all, r.Devices[j])
			from = append(from, origin{i, j})
		}
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(compareDevices(all[a], all[b]), cmp.Compare(all[a].Description, all[b].Description))
	})
	to := make([][]int32, len(reports))
	for i, r := range reports {
		to[i] = make([]int32, len(r.Devices))
	}
	for _, i := range order {
		last := len(f.devices) - 1
		if last < 0 || compareDevices(f.devices[last], all[i]) != 0 {
			f.devices = append(f.devices, all[i])
			last++
		} else {
			f.devices[last] = mergeDevice(f.devices[last], all[i])
		}
		to[from[i].report][from[i].device] = int32(last)
	}
	for i, r := range reports {
		for _, l := range r.Links {
			l.A.Device, l.B.Device = to[i][l.A.Device], to[i][l.B.Device]
			f.links = append(f.links, l)
		}
	}
}

// mergeDevice fills what the first report did not know.
func mergeDevice(a, b FabricDevice) FabricDevice {
	if a.ReferenceOnly && !b.ReferenceOnly {
		a, b = b, a
	}
	a.Description = cmp.Or(a.Description, b.Description)
	a.Name = cmp.Or(a.Name, b.Name)
	a.Host = cmp.Or(a.Host, b.Host)
	a.Model = cmp.Or(a.Model, b.Model)
	a.SystemImageGUID = cmp.Or(a.SystemImageGUID, b.SystemImageGUID)
	a.DeviceID = cmp.Or(a.DeviceID, b.DeviceID)
	a.VendorID = cmp.Or(a.VendorID, b.VendorID)
	a.PortCount = max(a.PortCount, b.PortCount)
	if a.Rail == nil {
		a.Rail = b.Rail
	}
	if a.Tier == nil {
		a.Tier = b.Tier
	}
	if len(a.Ports) == 0 {
		a.Ports = b.Ports
	}
	return a
}

// sortLinks orders links and drops repeats of one cable. Two reports that disagree about the bandwidth of a cable by more
// than a fifth leave the smaller value and a finding. Cables without port numbers are never folded: each counts.
func (f *fabric) sortLinks() []Finding {
	for i := range f.links {
		l := &f.links[i]
		if l.B.Device < l.A.Device || (l.B.Device == l.A.Device && l.B.Port < l.A.Port) {
			l.A, l.B = l.B, l.A
		}
	}
	if !slices.IsSortedFunc(f.links, compareLinks) {
		slices.SortStableFunc(f.links, compareLinks)
	}
	var findings []Finding
	out := f.links[:0]
	for _, l := range f.links {
		if n := len(out); n > 0 && l.A.Port > 0 && l.B.Port > 0 && out[n-1].A == l.A && out[n-1].B == l.B {
			if c := f.conflict(&out[n-1], l); c != nil {
				findings = append(findings, *c)
			}
			continue
		}
		out = append(out, l)
	}
	f.links = out
	return findings
}

func compareLinks(a, b FabricLink) int {
	return cmp.Or(cmp.Compare(a.A.Device, b.A.Device), cmp.Compare(a.A.Port, b.A.Port), cmp.Compare(a.B.Device, b.B.Device), cmp.Compare(a.B.Port, b.B.Port))
}

// conflict keeps the smaller of two bandwidths of one cable in kept.
func (f *fabric) conflict(kept *FabricLink, other FabricLink) *Finding {
	a, b := kept.BandwidthBytesPerSecond, other.BandwidthBytesPerSecond
	kept.OneSided = kept.OneSided && other.OneSided
	if a == 0 || (b != 0 && b < a) {
		kept.Width, kept.Speed, kept.BandwidthBytesPerSecond = other.Width, other.Speed, other.BandwidthBytesPerSecond
	}
	if a == 0 || b == 0 || min(a, b) >= 0.8*max(a, b) {
		return nil
	}
	return &Finding{Code: "conflicting-reports", Severity: Warning,
		Subject: fmt.Sprintf("%s:%d", f.devices[kept.A.Device].label(), kept.A.Port),
		Message: fmt.Sprintf("two reports give this cable %s and %s: the smaller one is used", gbit(a), gbit(b)),
		Remedy:  "read the fabric again; if it stays, reseat the cable"}
}

// index builds the ends of every device, by port.
func (f *fabric) index() {
	n := len(f.devices)
	f.first = make([]int32, n+1)
	for _, l := range f.links {
		f.first[l.A.Device+1]++
		f.first[l.B.Device+1]++
	}
	for i := range n {
		f.first[i+1] += f.first[i]
	}
	f.ends = make([]cableEnd, 2*len(f.links))
	next := slices.Clone(f.first[:n])
	put := func(d int32, e cableEnd) {
		f.ends[next[d]] = e
		next[d]++
	}
	for i, l := range f.links {
		put(l.A.Device, cableEnd{l.A.Port, l.B.Port, l.B.Device, int32(i)})
		put(l.B.Device, cableEnd{l.B.Port, l.A.Port, l.A.Device, int32(i)})
	}
	for d := range n {
		ends := f.cables(int32(d))
		byPort := func(a, b cableEnd) int { return cmp.Or(cmp.Compare(a.port, b.port), cmp.Compare(a.link, b.link)) }
		if !slices.IsSortedFunc(ends, byPort) {
			slices.SortFunc(ends, byPort)
		}
	}
}

// label names a device for findings: its name, description or GUID.
func (d *FabricDevice) label() string {
	if d.Kind == SwitchDevice {
		if n := switchName(d); n != "" {
			return n
		}
	} else if d.Host != "" {
		return d.Host + "/" + d.Name
	} else if d.Description != "" {
		return d.Description
	}
	if d.GUID != 0 {
		return d.GUID.String()
	}
	return cmp.Or(d.Name, "unnamed device")
}

// gbit prints a bandwidth as operators say it.
func gbit(bytesPerSecond float64) string { return fmt.Sprintf("%.4g Gbit/s", bytesPerSecond*8/1e9) }
