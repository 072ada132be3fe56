package nccl

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FuseNICOptions say which ports NCCL makes one NIC of. The zero value fuses nothing; NCCL's own default is Level PathNVL,
// which it calls PORT: the ports of one card.
type FuseNICOptions struct {
	Level    PathType // NCCL_NET_MERGE_LEVEL: ports that are no farther apart; LOC = none
	SameRail bool     // NCCL_NET_MERGE_POLICY=RAIL: only ports of one rail
	Most     int      // ports in one NIC; 0 = 4, as NCCL's InfiniBand transport
}

// FuseNICs returns a copy of the document in which ports that are near each other are one NIC, with the sum of their speeds
// and of their PCIe widths, as NCCL's NIC fusion makes it. Ports without a device number stay as they are. It fails when
// ports of different processors would have to be fused.
func FuseNICs(x *XML, o FuseNICOptions) (*XML, error) {
	x = x.Clone()
	if o.Level <= PathLOC {
		return x, nil
	}
	if o.Most <= 0 {
		o.Most = 4
	}
	ports, err := x.ports()
	if err != nil {
		return nil, err
	}
	next := 0
	for _, p := range ports {
		next = max(next, p.dev+1)
	}
	for i := range ports {
		group := o.group(ports, i)
		if len(group) < 2 {
			continue
		}
		if err := x.fuse(group, next); err != nil {
			return nil, err
		}
		next++
	}
	return x, nil
}

// fusePort is a net element with its place.
type fusePort struct {
	net   *Element
	above []*Element // system first, nic last
	dev   int
	rail  int
	taken bool
}

// ports lists the net elements in the order of their device numbers, which is the order in which NCCL fuses.
func (x *XML) ports() ([]*fusePort, error) {
	var out []*fusePort
	var failed error
	x.Root.walk(func(e *Element, above []*Element) {
		if _, ok := e.Get("dev"); e.Name != "net" || !ok || failed != nil {
			return
		}
		p := &fusePort{net: e, above: slices.Clone(above)}
		if p.dev, failed = e.number("dev", 0); failed != nil {
			return
		}
		p.rail, failed = e.number("rail", -1)
		out = append(out, p)
	})
	slices.SortStableFunc(out, func(a, b *fusePort) int { return cmp.Compare(a.dev, b.dev) })
	return out, failed
}

// group takes a port and those after it that are near enough.
func (o FuseNICOptions) group(ports []*fusePort, first int) []*fusePort {
	root := ports[first]
	if root.taken {
		return nil
	}
	root.taken = true
	out := []*fusePort{root}
	for _, p := range ports {
		if p.taken || len(out) == o.Most || o.SameRail && (root.rail < 0 || p.rail != root.rail) {
			continue
		}
		if _, kind := commonAbove(root, p); kind <= o.Level {
			p.taken = true
			out = append(out, p)
		}
	}
	return out
}

// commonAbove finds the lowest element above both ports and how far it makes them: one nic element or two functions of one
// card (PORT), below one switch (PIX), below several (PXB), at one processor (PHB), or farther.
func commonAbove(a, b *fusePort) (*Element, PathType) {
	n := 0
	for n < len(a.above) && n < len(b.above) && a.above[n] == b.above[n] {
		n++
	}
	common := a.above[n-1]
	switch common.Name {
	case "nic":
		return common, PathNVL
	case "system":
		return common, PathSYS
	}
	if n < len(a.above) && n < len(b.above) && sameCard(a.above[n], b.above[n]) {
		return common, PathNVL
	}
	if common.Name == "cpu" {
		return common, PathPHB
	}
	if len(a.above) == n+2 && len(b.above) == n+2 { // switch, function, nic
		return common, PathPIX
	}
	return common, PathPXB
}

// sameCard tells whether two functions differ in the last digit of their bus id only.
func sameCard(a, b *Element) bool {
	x, okX := a.Get("busid")
	y, okY := b.Get("busid")
	return okX && okY && len(x) == len(y) && len(x) > 0 && x[:len(x)-1] == y[:len(y)-1]
}

// fuse replaces the ports of a group by one. Ports of one function stay there; those of several hang on a new function below
// what they have in common, as wide as all of them.
func (x *XML) fuse(group []*fusePort, dev int) error {
	first := group[0]
	common, kind := first.above[len(first.above)-1], PathLOC
	for _, p := range group[1:] {
		if c, k := commonAbove(first, p); k >= kind {
			common, kind = c, k
		}
	}
	if kind >= PathSYS {
		return first.net.errorf("would be fused with a port of another processor: NCCL cannot do that; lower the level")
	}
	nic := common
	if common.Name != "nic" {
		var err error
		if nic, err = x.newFunction(common, group, kind); err != nil {
			return err
		}
	}
	net, err := fusedNet(group, dev)
	if err != nil {
		return err
	}
	for _, p := range group {
		up := p.above[len(p.above)-1]
		up.Children = slices.DeleteFunc(up.Children, func(e *Element) bool { return e == p.net })
	}
	nic.Children = append(nic.Children, net)
	return nil
}

// newFunction makes the PCI function of a fused NIC, like that of its first port.
func (x *XML) newFunction(common *Element, group []*fusePort, kind PathType) (*Element, error) {
	own := group[0].above[len(group[0].above)-2]
	if own.Name != "pci" {
		return group[0].above[len(group[0].above)-1], nil // no PCI device: keep the place of the first port
	}
	pci := common.Add("pci")
	pci.Attrs = slices.Clone(own.Attrs)
	busID, _ := own.Get("busid")
	pci.Set("busid", x.freeBusID(busID))
	if kind > PathNVL {
		width := 0
		for _, p := range group {
			w, err := p.width(common)
			if err != nil {
				return nil, err
			}
			width += w
		}
		if width > 0 {
			pci.Set("link_width", strconv.Itoa(width))
		}
	}
	return pci.Add("nic"), nil
}

// width is the narrowest link from a port up to an element.
func (p *fusePort) width(common *Element) (int, error) {
	narrow := 0
	for _, e := range p.above[slices.Index(p.above, common)+1:] {
		if e.Name != "pci" {
			continue
		}
		w, err := e.natural("link_width")
		if err != nil {
			return 0, err
		}
		if w > 0 && (narrow == 0 || w < narrow) {
			narrow = w
		}
	}
	return narrow, nil
}

// freeBusID counts up from a bus id to one that the document does not have.
func (x *XML) freeBusID(from string) string {
	have := map[uint64]bool{}
	x.Root.walk(func(e *Element, _ []*Element) {
		s, _ := e.Get("busid")
		if id, err := ParseBusID(s); err == nil {
			have[id] = true
		}
	})
	id, _ := ParseBusID(from)
	for have[id] {
		id++
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", id>>20, id>>12&0xff, id>>4&0xff, id&0xf)
}

// fusedNet is the one port made of several: the speeds add up, GPUDirect RDMA needs all of them, the rest is the first's.
func fusedNet(group []*fusePort, dev int) (*Element, error) {
	net := group[0].net.clone()
	net.Comments = nil
	var names []string
	speed, direct, rail := 0, true, group[0].rail
	for _, p := range group {
		name, _ := p.net.Get("name")
		names = append(names, name)
		s, err := p.net.number("speed", 0)
		if err != nil {
			return nil, err
		}
		if s <= 0 {
			s = defaultMbps
		}
		speed += s
		g, err := p.net.number("gdr", 0)
		if err != nil {
			return nil, err
		}
		direct = direct && g != 0
		if p.rail != rail {
			rail = -1
		}
	}
	net.Set("name", strings.Join(names, "+"))
	net.Set("dev", strconv.Itoa(dev))
	net.Set("speed", strconv.Itoa(speed))
	net.Set("gdr", map[bool]string{true: "1", false: "0"}[direct])
	if _, ok := net.Get("rail"); ok {
		net.Set("rail", strconv.Itoa(rail))
	}
	return net, nil
}
