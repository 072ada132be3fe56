package placer

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
)

// Shared nodes: a request for fewer GPUs per node than a node has may use nodes whose other GPUs are taken. Whole nodes stay
// whole as long as shared ones serve as well. On a node the GPUs are taken as close together as can be: GPU pairs, quads and
// halves in index order share PCIe switches, NICs and NUMA nodes on the machines that are sold with 8 GPUs, so the set comes
// out of the smallest aligned block of a power of two that has enough free ones, and of those blocks the fullest.

// maxGPUs is what a node can have here.
const maxGPUs = 64

// shareNodes marks GPUs in use. A node with all of them in use is busy.
func (d *draft) shareNodes(used map[string][]int) error {
	if len(used) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(used))
	if _, err := d.c.names.positions("used GPUs", names); err != nil {
		return err
	}
	d.gpus = maps.Clone(d.gpus)
	if d.gpus == nil {
		d.gpus = map[int32]uint64{}
	}
	for _, name := range names {
		v, _ := d.c.names.lookup(name)
		n := int(d.c.nodes[v].gpus)
		for _, g := range used[name] {
			if g < 0 || g >= min(max(n, 1), maxGPUs) {
				return fmt.Errorf("used GPUs of %s: %d must be between 0 and %d", name, g, n-1)
			}
			d.gpus[v] |= 1 << g
		}
		switch taken := bits.OnesCount64(d.gpus[v]); {
		case d.useAt(v) != Free || taken == 0:
		case taken == n:
			d.setUse(v, Busy)
		default:
			d.setUse(v, Partial)
		}
	}
	return nil
}

// UseGPUs says which GPUs of a node are in use, one bit each by index: none makes the node free, all make it busy, and so
// does any when their number is unknown.
func (t *Tx) UseGPUs(name string, used uint64) error {
	v, err := t.position(name)
	if err != nil {
		return err
	}
	d := t.d
	n := int(d.c.nodes[v].gpus)
	if n > 0 && n < maxGPUs {
		used &= 1<<n - 1
	}
	use := Partial
	switch {
	case used == 0:
		use = Free
	case n == 0 || bits.OnesCount64(used) == n:
		use, used = Busy, 0
	}
	if d.gpus[v] != used {
		if !t.ownGPUs {
			d.gpus, t.ownGPUs = maps.Clone(d.gpus), true
		}
		if d.gpus == nil {
			d.gpus = map[int32]uint64{}
		}
		if d.gpus[v] = used; used == 0 {
			delete(d.gpus, v)
		}
	}
	d.setUse(v, use)
	return nil
}

// freeGPUs is the number of GPUs that are not in use on a node.
func (s *Snapshot) freeGPUs(v int32) int {
	if len(s.gpus) == 0 {
		return 0 // all alike
	}
	return int(s.c.nodes[v].gpus) - bits.OnesCount64(s.gpus[v])
}

// sharesGPUs tells whether a node in partial use has enough free GPUs for a shared request.
func (s *Snapshot) sharesGPUs(v int32, perNode int) bool {
	return perNode > 0 && s.useAt(v) == Partial && !s.c.nodes[v].down && s.freeGPUs(v) >= perNode
}

// preferShared restricts the search to nodes in partial use when they alone carry the threshold, so that whole nodes stay
// whole.
func (p *problem) preferShared(t float64) bool {
	if len(p.s.gpus) == 0 || p.r.GPUsPerNode == 0 {
		return false
	}
	all := p.allow
	p.allow = make([]bool, len(all))
	for v, ok := range all {
		p.allow[v] = ok && p.s.useAt(int32(v)) == Partial
	}
	best := math.Inf(-1)
	for _, v := range p.ringValues() {
		best = max(best, v)
	}
	if best < t || math.IsInf(best, -1) {
		p.allow = all
		return false
	}
	return true
}

// pickGPUs chooses the GPUs on every node; nil for requests of whole nodes.
func (p *problem) pickGPUs(r *Request, order []int32) [][]int {
	if r.GPUsPerNode == 0 {
		return nil
	}
	partial := false
	out := make([][]int, len(order))
	for i, v := range order {
		n := int(p.c.nodes[v].gpus)
		if n < r.GPUsPerNode || n > maxGPUs {
			return nil // the number of GPUs is unknown
		}
		partial = partial || n > r.GPUsPerNode
		out[i] = chooseGPUs(p.s.gpus[v], n, r.GPUsPerNode)
	}
	if !partial {
		return nil
	}
	return out
}

// chooseGPUs takes want free GPUs of n from the smallest, then fullest aligned block.
func chooseGPUs(used uint64, n, want int) []int {
	for size := 1; ; size *= 2 {
		best := -1
		for first := 0; first < n; first += size {
			if freeIn(used, first, min(size, n-first)) >= want && (best < 0 || fuller(used, n, size, first, best)) {
				best = first
			}
		}
		if best >= 0 {
			return takeGPUs(used, best, min(size, n-best), want, nil)
		}
		if size >= n {
			return nil
		}
	}
}

// fuller tells whether block a has fewer free GPUs than block b, or, if they have the same, the block around it.
func fuller(used uint64, n, size, a, b int) bool {
	for ; size <= n; size *= 2 {
		a, b = a/size*size, b/size*size
		fa, fb := freeIn(used, a, min(size, n-a)), freeIn(used, b, min(size, n-b))
		if fa != fb {
			return fa < fb
		}
	}
	return false
}

// takeGPUs fills want from a block: from the half that is nearest to being used up by it, then from the other.
func takeGPUs(used uint64, first, size, want int, out []int) []int {
	if want == 0 {
		return out
	}
	if size == 1 {
		return append(out, first)
	}
	half := (size + 1) / 2
	a, b := freeIn(used, first, half), freeIn(used, first+half, size-half)
	fromA := min(a, want)
	if b >= a && want <= b && (want > a || b < a) || b > a && want > a && want >= b {
		fromA = max(0, want-b)
	}
	out = takeGPUs(used, first, half, fromA, out)
	return takeGPUs(used, first+half, size-half, want-fromA, out)
}

func freeIn(used uint64, first, size int) int {
	mask := uint64(1)<<size - 1
	if size >= 64 {
		mask = math.MaxUint64
	}
	return size - bits.OnesCount64(used>>first&mask)
}
