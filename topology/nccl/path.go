package nccl

import "slices"

// computePaths finds the best routes and then applies what NCCL will not or cannot do over them: peer access through host
// bridges, GPUDirect RDMA, relays over NVLink (PXN).
func (s *System) computePaths() {
	ends := []kind{kindCPU, kindDevice, kindGPU, kindNet, kindNVSwitch}
	for k := range kinds {
		for _, v := range s.vertices[k] {
			for _, end := range ends {
				v.paths[end] = unconnected(len(s.vertices[end]))
			}
		}
	}
	for _, k := range ends {
		for _, v := range s.vertices[k] {
			s.pathsTo(v)
		}
	}
	s.divertPeers()
	s.markC2C()
	s.adaptNets()
	for _, n := range s.vertices[kindNet] {
		n.net.localGPU = s.localGPU(n)
		n.net.near = slices.DeleteFunc(s.nearest(n, kindGPU), func(g int) bool { return n.paths[kindGPU][g].kind == PathDIS })
	}
	s.layHops()
}

// layHops prepares the paths that searches load.
func (s *System) layHops() {
	loaded := []kind{kindGPU, kindNet, kindNVSwitch}
	for _, k := range loaded {
		for _, v := range s.vertices[k] {
			for _, end := range loaded {
				for i := range v.paths[end] {
					v.paths[end][i].layHops(v)
				}
			}
		}
	}
}

func (p *path) layHops(from *vertex) {
	p.hops = make([]hop, len(p.links))
	for i, l := range p.links {
		p.hops[i] = hop{link: int32(l.index), back: int32(l.back.index), share: backShare(from, l), pci: l.kind == linkPCI}
		c := l.to
		p.overhead = p.overhead || p.kind == PathPHB && from.kind == kindGPU && c.kind == kindCPU && c.cpu.arch == archX86 && c.cpu.vendor == vendorIntel
	}
}

// backShare is what a link's other direction carries of its traffic: read requests of GPUs before Ampere are an eighth, and
// NVLink to a POWER processor is as slow as both directions together; 0 = nothing.
func backShare(from *vertex, l *link) int32 {
	switch {
	case l.to.kind == kindDevice && l.to.sm < 80 && from.kind != kindGPU:
		return 8
	case l.to.kind == kindCPU && l.to.cpu.arch == archPower && l.kind == PathNVL:
		return 1
	}
	return 0
}

// pathsTo sets the path of every vertex to base, breadth first from base:
//
//	level 0: base     level 1: its neighbours     level 2: theirs, and those of level 1 that got better ...
//
// A vertex takes a new path when its type is better, or equal and wider, or equal, as wide and shorter.
func (s *System) pathsTo(base *vertex) {
	start := base.pathTo(base)
	start.links, start.bw, start.kind = nil, localGBps, PathLOC
	for level := []*vertex{base}; len(level) > 0; {
		var next []*vertex
		queued := map[*vertex]bool{}
		for _, v := range level {
			for _, l := range v.links {
				if s.extend(base, v, l) && !queued[l.to] {
					queued[l.to] = true
					next = append(next, l.to)
				}
			}
		}
		level = next
	}
}

func unconnected(n int) []path {
	p := make([]path, n)
	for i := range p {
		p[i].kind = PathDIS
	}
	return p
}

// pathTo is the path from v to base.
func (v *vertex) pathTo(base *vertex) *path { return &v.paths[base.kind][base.slot] }

// extend offers the vertex at the end of l the path of v, one link longer, and tells whether it took it.
func (s *System) extend(base, v *vertex, l *link) bool {
	from, to := v.pathTo(base), l.to.pathTo(base)
	if !s.mayPass(base, v, l, from) {
		return false
	}
	bw := min(from.bw, l.bw)
	kind := max(from.kind, stepKind(base, v, l, from))
	better := kind < to.kind || kind == to.kind && (to.bw < bw || to.bw == bw && len(to.links) > len(from.links)+1)
	if !better {
		return false
	}
	links := make([]*link, 0, len(from.links)+1)
	to.links = append(append(links, l.back), from.links...)
	to.bw, to.kind = bw, kind
	return true
}

// relayLength is the length of a path to base that ends at a neighbour over NVLink.
func relayLength(base *vertex) int {
	if base.kind == kindGPU { // one more: from the rank to its device
		return 2
	}
	return 1
}

// mayPass keeps routes from going through GPUs: only to the ranks on them, or over NVLink to a neighbour's neighbour.
func (s *System) mayPass(base, v *vertex, l *link, from *path) bool {
	own := base
	if base.kind == kindGPU {
		own = base.parent
	}
	if v.kind != kindDevice || v == own || l.kind == PathLOC && l.to.kind == kindGPU {
		return true
	}
	return !s.options.NoNVB && l.kind == PathNVL && l.to.kind == kindDevice && len(from.links) <= relayLength(base)
}

// stepKind is what one more link makes of a path.
func stepKind(base, v *vertex, l *link, from *path) PathType {
	switch {
	case l.kind == linkPCI && (v.kind == kindCPU || l.to.kind == kindCPU):
		return PathPHB
	case v.kind == kindPCI && l.to.kind == kindPCI:
		return PathPXB
	case v.kind == kindDevice && from.kind == PathNVL && l.kind == PathNVL && len(from.links) == relayLength(base):
		return PathNVB
	case l.kind == PathNET: // the port counts as part of its NIC
		return PathLOC
	}
	return l.kind
}

// through makes the path from one vertex to another go over a third.
func through(via, from, to *vertex) {
	first, second := from.paths[via.kind][via.slot], via.paths[to.kind][to.slot]
	p := &from.paths[to.kind][to.slot]
	links := make([]*link, 0, len(first.links)+len(second.links))
	p.links = append(append(links, first.links...), second.links...)
	p.kind = joinKinds(first.kind, second.kind)
	if via.kind == kindGPU {
		p.kind = PathPXN
	}
	p.bw = min(first.bw, second.bw)
}

// joinKinds is the type of a path made of two: the worse one, but C2C and a host bridge make P2C.
func joinKinds(a, b PathType) PathType {
	if max(a, b) == PathPHB && min(a, b) == PathC2C {
		return PathP2C
	}
	return max(a, b)
}

// localCPU is the processor that a GPU reaches best.
func (s *System) localCPU(gpu *vertex) *vertex {
	var best *vertex
	paths := gpu.paths[kindCPU]
	for _, c := range s.nearest(gpu, kindCPU) {
		if best == nil || len(paths[c].links) < len(paths[best.index].links) {
			best = s.vertices[kindCPU][c]
		}
	}
	return best
}

// divertPeers sends traffic between GPUs that are farther apart than the level of peer access through the processor.
func (s *System) divertPeers() {
	level := s.p2pLevel()
	for _, to := range s.vertices[kindGPU] {
		for _, from := range s.vertices[kindGPU] {
			if from.paths[kindGPU][to.slot].kind <= level {
				continue
			}
			if cpu := s.localCPU(to); cpu != nil {
				through(cpu, from, to)
			}
		}
	}
}

// markC2C gives the nearest NICs of a GPU with C2C the type P2C: GPU and NIC meet in the processor without a host bridge on
// the GPU's side.
func (s *System) markC2C() {
	if s.Nets() == 0 {
		return
	}
	for _, gpu := range s.vertices[kindGPU] {
		cpu := s.localCPU(gpu)
		if cpu == nil {
			continue
		}
		for _, n := range s.nearest(gpu, kindNet) {
			net := s.vertices[kindNet][n]
			if joinKinds(gpu.paths[kindCPU][cpu.slot].kind, net.paths[kindCPU][cpu.slot].kind) != PathP2C {
				continue
			}
			gpu.paths[kindNet][n].kind = min(PathP2C, gpu.paths[kindNet][n].kind)
			net.paths[kindGPU][gpu.index].kind = min(PathP2C, net.paths[kindGPU][gpu.index].kind)
		}
	}
}

// adaptNets changes the paths between GPUs and NICs: over a relay GPU where that is better, and through the processor where
// GPUDirect RDMA is not possible. The NIC's own GPU is looked up anew whenever a change may have given it another one.
func (s *System) adaptNets() {
	for _, net := range s.vertices[kindNet] {
		local, near := s.localGPU(net), s.nearest(net, kindGPU)
		for _, gpu := range s.vertices[kindGPU] {
			relayed, diverted := s.adapt(gpu, net, local)
			if diverted || relayed && slices.Contains(near, gpu.index) || s.options.everyWalk {
				local, near = s.localGPU(net), s.nearest(net, kindGPU)
			}
		}
	}
}

// adapt changes the paths of one pair and tells how.
func (s *System) adapt(gpu, net *vertex, local int) (relayed, diverted bool) {
	if relay := s.relay(gpu, net, local); relay != nil {
		through(relay, gpu, net)
		relayed = true
	}
	if gpu.paths[kindNet][net.index].kind >= PathPHB || s.gpuDirect(gpu, net, false) {
		return relayed, false
	}
	cpu := s.localCPU(gpu)
	if cpu == nil {
		return relayed, false
	}
	through(cpu, net, gpu)
	through(cpu, gpu, net)
	return relayed, true
}

// relay returns the GPU over which gpu should send to the NIC: the NIC's own GPU (local), joined to gpu by NVLink, on the
// same host, able to use GPUDirect RDMA, and wider than gpu's own path or avoiding a host bridge. Only the way out uses
// relays.
func (s *System) relay(gpu, net *vertex, local int) *vertex {
	if s.options.NoPXN || local < 0 || local == gpu.index {
		return nil
	}
	peer := s.vertices[kindGPU][local]
	near, own := peer.paths[kindNet][net.index], gpu.paths[kindNet][net.index]
	if near.kind > s.options.pxnLevel() || !s.gpuDirect(peer, net, true) || peer.host != gpu.host ||
		peer.paths[kindGPU][gpu.slot].kind > PathNVL || near.bw <= own.bw && own.kind <= PathPXN {
		return nil
	}
	return peer
}

// gpuDirect tells whether the NIC may read or write the GPU's memory. GPUs before Ampere read only where NVLink carries the
// other traffic or the GPU is alone.
func (s *System) gpuDirect(gpu, net *vertex, read bool) bool {
	if !net.gdr || !gpu.gdr || gpu.part >= 0 {
		return false
	}
	if read && gpu.sm < 80 && !s.hasPeer(gpu) {
		return false
	}
	p := gpu.paths[kindNet][net.slot]
	if p.kind == PathPXN {
		if relay := relayOf(p); relay != nil {
			p = relay.paths[kindNet][net.slot]
		}
	}
	return p.kind <= s.options.gdrLevel()
}

func (s *System) hasPeer(gpu *vertex) bool {
	if s.GPUs() == 1 {
		return true
	}
	for i, p := range gpu.paths[kindGPU] {
		if i != gpu.index && p.kind == PathNVL {
			return true
		}
	}
	return false
}

// relayOf finds the GPU in a relayed path: own device, perhaps an NVSwitch, then the relay's device.
func relayOf(p path) *vertex {
	for _, l := range p.links[min(1, len(p.links)):] {
		switch l.to.kind {
		case kindNVSwitch:
			continue
		case kindGPU:
			return l.to
		case kindDevice:
			for _, d := range l.to.links {
				if d.to.kind == kindGPU {
					return d.to
				}
			}
		}
		return nil
	}
	return nil
}
