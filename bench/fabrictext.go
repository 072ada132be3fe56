package bench

import (
	"bufio"
	"fmt"
	"io"
)

// FatTree describes a full fat tree whose dump FabricText writes. With one rail, group g of Radix/2 hosts hangs on leaf g;
// with R rails, on leaves g*R to g*R+R-1, one a rail. Three levels: pods of Radix/2 leaves under Radix/2 spines, spine j of
// every pod cabled to cores j*Radix/2 and up, once each.
type FatTree struct {
	Hosts  int
	Rails  int
	Radix  int    // ports of a switch, even
	Levels int    // 2 or 3
	Speed  string // "NDR"
}

// LevelsNeeded is 2 while one layer of spines reaches all leaves, else 3; 0 when three levels are not enough.
func (t FatTree) LevelsNeeded() int {
	half := t.Radix / 2
	leaves := (t.Hosts + half - 1) / half * t.Rails
	switch {
	case leaves <= t.Radix:
		return 2
	case (leaves+half-1)/half <= t.Radix*half:
		return 3
	}
	return 0
}

// fabricText holds what every line needs.
type fabricText struct {
	FatTree
	w                     *bufio.Writer
	half                  int
	leaves, spines, cores int
}

// FabricText writes the text that ibnetdiscover prints for the fabric: switches first, adapters from the last to the first,
// both ends of every cable. GUIDs are scattered as those of real cards are, so that neither sorting nor hashing gets a gift.
func FabricText(w io.Writer, t FatTree) error {
	f := &fabricText{FatTree: t, w: bufio.NewWriterSize(w, 1<<16), half: t.Radix / 2}
	groups := (t.Hosts + f.half - 1) / f.half
	f.leaves = groups * t.Rails
	switch t.Levels {
	case 2:
		f.spines = min(f.half, f.leaves)
	case 3:
		pods := (f.leaves + f.half - 1) / f.half
		f.spines, f.cores = pods*f.half, f.half*f.half
		if pods < f.Radix { // fewer pods than core ports: the cores are fewer and take several cables of each spine
			f.cores = f.half * max(1, f.half*pods/f.Radix)
		}
	default:
		return fmt.Errorf("levels is %d: must be 2 or 3", t.Levels)
	}
	fmt.Fprintf(f.w, "#\n# Topology file: generated on Thu Jan  1 00:00:00 1970\n#\n# Initiated from node %016x port %016x\n", f.hca(0, 0), f.hca(0, 0))
	for i := range f.spines {
		f.spine(i)
	}
	for i := range f.leaves {
		f.leaf(i)
	}
	for i := range f.cores {
		f.core(i)
	}
	for h := t.Hosts - 1; h >= 0; h-- {
		for r := t.Rails - 1; r >= 0; r-- {
			f.adapter(h, r)
		}
	}
	return f.w.Flush()
}

// scatter spreads serial numbers over 24 bits without collisions: an odd factor permutes them.
func scatter(n int) uint64 { return uint64(n) * 0x9e3779 & 0xffffff }

func (f *fabricText) hca(h, r int) uint64 {
	return 0xa088c20300000000 | scatter(h*f.Rails+r)<<4
}
func (f *fabricText) leafGUID(i int) uint64  { return 0x2c5eab0300000000 | scatter(i)<<6 }
func (f *fabricText) spineGUID(i int) uint64 { return 0x2c5eab0340000000 | scatter(i)<<6 }
func (f *fabricText) coreGUID(i int) uint64  { return 0x2c5eab0380000000 | scatter(i)<<6 }

func (f *fabricText) switchHead(guid uint64, name string) {
	fmt.Fprintf(f.w, "\nvendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x%x\nswitchguid=0x%x(%x)\nSwitch\t%d \"S-%016x\"\t\t# \"MF0;%s:MQM9700/U1\" enhanced port 0 lid 7 lmc 0\n",
		guid, guid, guid, f.Radix+1, guid, name)
}

func (f *fabricText) toSwitch(port int, guid uint64, peerPort int, name string) {
	fmt.Fprintf(f.w, "[%d]\t\"S-%016x\"[%d]\t\t# \"MF0;%s:MQM9700/U1\" lid 7 4x%s\n", port, guid, peerPort, name, f.Speed)
}

// uplink says where up-port u of leaf i goes: the spine and its port.
func (f *fabricText) uplink(i, u int) (spine, port int) {
	if f.Levels == 2 {
		per := f.half / f.spines // cables of one leaf to one spine
		return u / per % f.spines, i*per + u%per + 1
	}
	return i/f.half*f.half + u, i%f.half + 1
}

func (f *fabricText) leaf(i int) {
	f.switchHead(f.leafGUID(i), leafName(i))
	group, rail := i/f.Rails, i%f.Rails
	for p := range f.half {
		if h := group*f.half + p; h < f.Hosts {
			g := f.hca(h, rail)
			fmt.Fprintf(f.w, "[%d]\t\"H-%016x\"[1](%x) \t\t# \"%s mlx5_%d\" lid 9 4x%s\n", p+1, g, g, hostName(h), rail, f.Speed)
		}
	}
	for u := range f.half {
		if s, p := f.uplink(i, u); f.Levels == 3 || u < f.half/f.spines*f.spines {
			f.toSwitch(f.half+u+1, f.spineGUID(s), p, spineName(s))
		}
	}
}

func (f *fabricText) spine(i int) {
	f.switchHead(f.spineGUID(i), spineName(i))
	if f.Levels == 2 {
		per := f.half / f.spines
		for l := range f.leaves {
			for k := range per {
				f.toSwitch(l*per+k+1, f.leafGUID(l), f.half+i*per+k+1, leafName(l))
			}
		}
		return
	}
	pod, j := i/f.half, i%f.half
	for l := range f.half {
		if leaf := pod*f.half + l; leaf < f.leaves {
			f.toSwitch(l+1, f.leafGUID(leaf), f.half+j+1, leafName(leaf))
		}
	}
	for u := range f.half {
		c, p := f.coreLink(pod, j, u)
		f.toSwitch(f.half+u+1, f.coreGUID(c), p, coreName(c))
	}
}

// coreLink says where up-port u of spine j of a pod goes. Each plane j has cores/half cores of its own; each takes per cables
// of a spine.
func (f *fabricText) coreLink(pod, j, u int) (core, port int) {
	plane := f.cores / f.half
	per := f.half / plane
	return j*plane + u/per, pod*per + u%per + 1
}

func (f *fabricText) core(i int) {
	f.switchHead(f.coreGUID(i), coreName(i))
	plane := f.cores / f.half
	per := f.half / plane
	j := i / plane
	for pod := range f.spines / f.half {
		for k := range per {
			s := pod*f.half + j
			f.toSwitch(pod*per+k+1, f.spineGUID(s), f.half+i%plane*per+k+1, spineName(s))
		}
	}
}

func (f *fabricText) adapter(h, r int) {
	g := f.hca(h, r)
	leaf := h/f.half*f.Rails + r
	fmt.Fprintf(f.w, "\nvendid=0x2c9\ndevid=0x1021\nsysimgguid=0x%x\ncaguid=0x%x\nCa\t1 \"H-%016x\"\t\t# \"%s mlx5_%d\"\n", g, g, g, hostName(h), r)
	fmt.Fprintf(f.w, "[1](%x) \t\"S-%016x\"[%d]\t\t# lid 9 lmc 0 \"MF0;%s:MQM9700/U1\" lid 7 4x%s\n", g, f.leafGUID(leaf), h%f.half+1, leafName(leaf), f.Speed)
}

func hostName(h int) string  { return fmt.Sprintf("node%05d", h) }
func leafName(i int) string  { return fmt.Sprintf("leaf%04d", i) }
func spineName(i int) string { return fmt.Sprintf("spine%04d", i) }
func coreName(i int) string  { return fmt.Sprintf("core%04d", i) }
