package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// identity is what a node report knows about a port: GUIDs go before names.
type identity struct {
	report *NodeReport
	device string
}

// findHosts turns adapters into hosts: by the GUIDs of node reports, then by alias file, then by description. Adapters that
// name no host, or only the name of an image, become findings.
func (b *builder) findHosts() {
	known := b.reportedGUIDs()
	b.hostOf = make([]int32, len(b.f.devices))
	b.device = make([]string, len(b.f.devices))
	byKey := make(map[string]int32, len(b.f.devices)/4+1)
	spelling := make([]map[string]int, 0) // host -> spellings, only where they differ
	for d := range b.f.devices {
		b.hostOf[d] = -1
		dev := &b.f.devices[d]
		if dev.Kind != AdapterDevice && dev.Kind != UnknownDevice {
			continue
		}
		name, device, report, class := b.hostName(dev, known)
		if class != named {
			b.reportNameless(int32(d), name, class)
			continue
		}
		key := strings.ToLower(name)
		h, ok := byKey[key]
		if !ok {
			h = int32(len(b.hosts))
			byKey[key] = h
			b.hosts = append(b.hosts, host{name: name, group: -1})
			spelling = append(spelling, nil)
		}
		if b.hosts[h].name != name || spelling[h] != nil {
			if spelling[h] == nil {
				spelling[h] = map[string]int{b.hosts[h].name: len(b.hosts[h].adapters)}
			}
			spelling[h][name]++
		}
		if report != nil {
			b.hosts[h].report = report
		}
		b.device[d] = device
		b.hosts[h].adapters = append(b.hosts[h].adapters, int32(d))
		b.hostOf[d] = h
	}
	for h, s := range spelling {
		b.hosts[h].name = commonSpelling(b.hosts[h].name, s)
	}
	b.addReportedHosts(byKey)
	b.splitDuplicates()
	slices.SortFunc(b.hosts, func(x, y host) int { return CompareNames(x.name, y.name) })
	for h := range b.hosts {
		for _, d := range b.hosts[h].adapters {
			b.hostOf[d] = int32(h)
		}
	}
}

// commonSpelling picks the most frequent spelling of one host name, lower case on a tie.
func commonSpelling(name string, spellings map[string]int) string {
	best, n := name, -1
	for _, s := range sortedKeys(spellings) {
		c := spellings[s]
		if c > n || (c == n && s == strings.ToLower(s)) {
			best, n = s, c
		}
	}
	return best
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// hostName decides who owns an adapter.
func (b *builder) hostName(dev *FabricDevice, known map[GUID]identity) (name, device string, report *NodeReport, class nameClass) {
	if id, ok := b.identify(dev, known); ok {
		return b.alias(dev.GUID, id.report.Node), id.device, id.report, named
	}
	if dev.Host != "" {
		name, device, class = dev.Host, dev.Name, named
		if genericNames[strings.ToLower(name)] {
			class = generic
		}
	} else {
		name, device, class = parseDescription(dev.Description, b.opts.HostPattern)
	}
	if a := b.alias(dev.GUID, name); a != name && a != "" {
		return a, device, nil, named
	}
	return name, device, nil, class
}

func (b *builder) identify(dev *FabricDevice, known map[GUID]identity) (identity, bool) {
	if len(known) == 0 || dev.GUID == 0 {
		return identity{}, false
	}
	if id, ok := known[dev.GUID]; ok {
		return id, true
	}
	for _, p := range dev.Ports {
		if id, ok := known[p.GUID]; ok && p.GUID != 0 {
			return id, true
		}
	}
	return identity{}, false
}

// reportedGUIDs maps node and port GUIDs of node reports to their nodes.
func (b *builder) reportedGUIDs() map[GUID]identity {
	known := map[GUID]identity{}
	for _, r := range b.in.Nodes {
		for _, n := range r.NICs {
			for _, g := range []GUID{n.NodeGUID, n.PortGUID} {
				if g != 0 {
					known[g] = identity{r, n.Device}
				}
			}
		}
	}
	return known
}

// addReportedHosts adds nodes that only a node report knows; a later report of one node replaces an earlier one.
func (b *builder) addReportedHosts(byKey map[string]int32) {
	reports := slices.Clone(b.in.Nodes)
	slices.SortStableFunc(reports, func(x, y *NodeReport) int {
		return cmp.Or(CompareNames(x.Node, y.Node), compareTimes(x, y))
	})
	for _, r := range reports {
		name := b.alias(0, r.Node)
		h, ok := byKey[strings.ToLower(name)]
		if !ok {
			short, _, _ := strings.Cut(name, ".")
			h, ok = byKey[strings.ToLower(short)]
		}
		if !ok {
			h = int32(len(b.hosts))
			byKey[strings.ToLower(name)] = h
			b.hosts = append(b.hosts, host{name: name, group: -1})
		}
		b.hosts[h].report = r
	}
}

func compareTimes(x, y *NodeReport) int {
	if x.Time == nil || y.Time == nil {
		return cmp.Compare(b2i(x.Time != nil), b2i(y.Time != nil))
	}
	return x.Time.Compare(*y.Time)
}

func b2i(v bool) int {
	if v {
		return 1
	}
	return 0
}

// reportNameless names an adapter that cannot be given to a host: its GUID, and where it is plugged in.
func (b *builder) reportNameless(d int32, name string, class nameClass) {
	dev := &b.f.devices[d]
	where := "without a cable"
	if c := b.f.cables(d); len(c) > 0 {
		where = fmt.Sprintf("on %s port %d", b.f.devices[c[0].peer].label(), c[0].peerPort)
	}
	const remedy = "set the node description on the host (rdma-ndd, or the sysfs file node_desc), give a node report of it, or list its GUID in the alias file"
	if class == generic {
		b.find("generic-name", Warning, dev.GUID.String(), remedy, "adapter calls itself %q, the name of an image: not given to any host; %s", dev.Description, where)
		return
	}
	b.find("unnamed-adapter", Warning, dev.GUID.String(), remedy, "adapter has no host name (description %q); %s", dev.Description, where)
}

// splitDuplicates takes apart hosts that hold one device name twice: two machines with one name are never one node of double
// width. Both get the name and a GUID suffix.
func (b *builder) splitDuplicates() {
	b.twins = map[string]string{}
	for h := range len(b.hosts) {
		if b.hosts[h].report != nil || len(b.hosts[h].adapters) < 2 || !b.repeatsDevice(b.hosts[h].adapters) {
			continue
		}
		parts := b.splitAdapters(b.hosts[h].adapters)
		name := b.hosts[h].name
		for i, part := range parts {
			n := fmt.Sprintf("%s-%06x", name, uint64(b.f.devices[part[0]].GUID)&0xffffff)
			b.find("duplicate-name", Error, n, "give one of the machines its own host name and node description, or tell them apart in the alias file by GUID",
				"%d machines call themselves %q: this one has adapter %s", len(parts), name, b.f.devices[part[0]].GUID)
			b.twins[n] = strings.ToLower(name)
			if i == 0 {
				b.hosts[h].name, b.hosts[h].adapters = n, part
				continue
			}
			b.hosts = append(b.hosts, host{name: n, adapters: part, group: -1})
		}
	}
}

func (b *builder) repeatsDevice(adapters []int32) bool {
	for i, x := range adapters {
		for _, y := range adapters[:i] {
			sx, sy := b.f.devices[x].SystemImageGUID, b.f.devices[y].SystemImageGUID
			if b.device[x] != "" && b.device[x] == b.device[y] && (sx == 0 || sx != sy) {
				return true
			}
		}
	}
	return false
}

// splitAdapters divides the adapters of one name among machines: those on the same switch port number belong together where
// that leaves no device twice (cabling follows the machine), otherwise each goes to the first machine that lacks its device.
func (b *builder) splitAdapters(adapters []int32) [][]int32 {
	byPort := map[string][]int32{}
	for _, d := range adapters {
		key := "none"
		if c := b.f.cables(d); len(c) > 0 {
			key = fmt.Sprint(c[0].peerPort)
		}
		byPort[key] = append(byPort[key], d)
	}
	var parts [][]int32
	clean := true
	for _, k := range sortedKeys(byPort) {
		parts = append(parts, byPort[k])
		clean = clean && !b.repeatsDevice(byPort[k])
	}
	if !clean || len(parts) > 4 {
		parts = nil
		for _, d := range adapters {
			i := slices.IndexFunc(parts, func(p []int32) bool { return !b.repeatsDevice(append(slices.Clone(p), d)) })
			if i < 0 {
				parts = append(parts, []int32{d})
			} else {
				parts[i] = append(parts[i], d)
			}
		}
	}
	slices.SortFunc(parts, func(x, y []int32) int { return cmp.Compare(x[0], y[0]) })
	return parts
}
