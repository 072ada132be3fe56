package nccl

import "math/bits"

// nearest lists the vertices of a kind that v reaches best, by index: the widest path first, then the best type.
func (s *System) nearest(v *vertex, k kind) []int {
	best := path{kind: PathDIS}
	var out []int
	for i, p := range v.paths[k] {
		if p.bw > best.bw || p.bw == best.bw && p.kind < best.kind {
			best, out = p, out[:0]
		}
		if p.bw == best.bw && p.kind == best.kind {
			out = append(out, i)
		}
	}
	return out
}

// localNets is the list of NICs that a GPU uses, one a channel in turn: its nearest NICs are shared with the other GPUs near
// them, each GPU starting at another one.
//
//	8 GPUs, 16 NICs, all near: GPU 0 uses NICs 0 1, GPU 1 NICs 8 9, GPU 2 NICs 4 5 ... (start = bits of the number mirrored)
func (s *System) localNets(gpu *vertex) []int {
	nets := s.nearest(gpu, kindNet)
	if len(nets) == 0 {
		return nil
	}
	gpus := len(s.nearest(s.vertices[kindNet][nets[0]], kindGPU))
	if gpus == 0 {
		return nil
	}
	var use int
	switch s.options.NetDevicesPolicy {
	case NetDevsAll:
		use = len(nets)
	case NetDevsMax:
		use = min(s.options.NetDevicesMax, len(nets))
	default:
		use = (len(nets) + gpus - 1) / gpus
	}
	start := gpu.dev % gpus
	if n := len(nets); n&(n-1) == 0 {
		start = mirror(start, n)
	}
	out := make([]int, use)
	for c := range out {
		n := nets[(start+c)%len(nets)]
		out[c] = s.vertices[kindNet][n].slot
	}
	return out
}

// mirror reverses the bits of v that a power of two leaves.
func mirror(v, powerOfTwo int) int {
	width := bits.Len(uint(powerOfTwo)) - 1
	if width == 0 {
		return 0
	}
	return int(bits.Reverse64(uint64(v&(powerOfTwo-1))) >> (64 - width))
}

// localGPU is the GPU to which a NIC belongs: the first of its nearest GPUs that uses it on the lowest channel; -1 if none.
func (s *System) localGPU(net *vertex) int {
	near := s.nearest(s.vertices[kindNet][net.slot], kindGPU)
	best, bestChannel := -1, maxChannels
	for _, g := range near {
		for c, n := range s.localNets(s.vertices[kindGPU][g]) {
			if n == net.slot && c < bestChannel {
				best, bestChannel = g, c
			}
		}
	}
	return best
}

// netOrders caches the order in which a search tries NICs: for all GPUs or for one, and by the worst path type allowed.
type netOrders struct {
	lists [][PathDIS][]int // [GPU + 1][type]; 0 = all GPUs
}

func (s *System) orderNets() {
	s.netOrder.lists = make([][PathDIS][]int, s.GPUs()+1)
	if s.Nets() == 0 {
		return
	}
	local := make([][]int, s.GPUs())
	for g, v := range s.vertices[kindGPU] {
		local[g] = s.localNets(v)
	}
	for g := -1; g < s.GPUs(); g++ {
		for t := range PathDIS {
			s.netOrder.lists[g+1][t] = s.orderFor(g, t, local)
		}
	}
}

// netsFor is the order of NICs for one GPU (-1 = all of them) with paths up to a type.
func (s *System) netsFor(gpu int, worst PathType) []int {
	return s.netOrder.lists[gpu+1][min(worst, PathDIS-1)]
}

// orderFor lists the NICs that the GPUs use, then all others by path type.
func (s *System) orderFor(gpu int, worst PathType, local [][]int) []int {
	list := distinct{seen: make([]bool, s.Nets())}
	if len(s.hosts) > 1 && !s.options.NoScatterNets {
		list.byChannel(gpu, local)
	} else {
		for g := range local {
			if gpu < 0 || gpu == g {
				list.add(local[g]...)
			}
		}
	}
	most := maxVertices
	if s.options.NetDevicesPolicy == NetDevsMax {
		most = s.options.NetDevicesMax
		if gpu < 0 {
			most *= s.GPUs()
		}
	}
	for t := PathLOC; t <= worst; t++ {
		for g, v := range s.vertices[kindGPU] {
			if gpu >= 0 && gpu != g {
				continue
			}
			for n, p := range v.paths[kindNet] {
				if n < maxChannels && p.kind == t && len(list.out) < most {
					list.add(n)
				}
			}
		}
	}
	return list.out
}

// distinct is a list without repeats.
type distinct struct {
	out  []int
	seen []bool
}

func (d *distinct) add(values ...int) {
	for _, v := range values {
		if !d.seen[v] {
			d.seen[v] = true
			d.out = append(d.out, v)
		}
	}
}

// byChannel takes the first NIC of every GPU, then the second ones, and so on: the GPUs of a domain of several hosts spread.
func (d *distinct) byChannel(gpu int, local [][]int) {
	for c := range maxChannels {
		for g := range local {
			if (gpu < 0 || gpu == g) && c < len(local[g]) {
				d.add(local[g][c])
			}
		}
	}
}
