package fabric

import "github.com/railmap/railmap/topology"

const (
	chunkShift = 10
	chunkSize  = 1 << chunkShift
)

// chunked is a list that grows without copying: pointers to its elements stay good.
type chunked[T any] struct {
	chunks []*[chunkSize]T
	n      int
}

func (c *chunked[T]) add(v T) int {
	i := c.n
	if i&(chunkSize-1) == 0 {
		c.chunks = append(c.chunks, new([chunkSize]T))
	}
	c.chunks[i>>chunkShift][i&(chunkSize-1)] = v
	c.n++
	return i
}

func (c *chunked[T]) at(i int) *T { return &c.chunks[i>>chunkShift][i&(chunkSize-1)] }

// guidIndex finds devices by GUID: open addressing, half full at most, 4 bytes a slot (device index + 1, 0 = free).
type guidIndex struct {
	slots []int32
	n     int
}

func (x *guidIndex) slot(g topology.GUID) int {
	h := uint64(g) * 0x9e3779b97f4a7c15
	return int(h >> 20 & uint64(len(x.slots)-1))
}

func (x *guidIndex) find(devs *chunked[device], g topology.GUID) int32 {
	if len(x.slots) == 0 {
		return -1
	}
	for i := x.slot(g); ; i = (i + 1) & (len(x.slots) - 1) {
		s := x.slots[i]
		if s == 0 {
			return -1
		}
		if devs.at(int(s-1)).guid == g {
			return s - 1
		}
	}
}

// insert adds device i, which must not be there yet.
func (x *guidIndex) insert(devs *chunked[device], i int32) {
	if x.n*2 >= len(x.slots) {
		old := x.slots
		x.slots = make([]int32, max(1024, 2*len(old)))
		for _, s := range old {
			if s != 0 {
				x.place(devs.at(int(s-1)).guid, s)
			}
		}
	}
	x.place(devs.at(int(i)).guid, i+1)
	x.n++
}

func (x *guidIndex) place(g topology.GUID, s int32) {
	i := x.slot(g)
	for x.slots[i] != 0 {
		i = (i + 1) & (len(x.slots) - 1)
	}
	x.slots[i] = s
}

// span is a piece of the textStore: which chunk, where in it, how long.
type span struct {
	chunk uint16
	off   uint16
	len   uint16
}

const textChunk = 1 << 16

// textStore holds descriptions back to back. Texts are at most 256 bytes; when all 65,536 chunks are full (4 GiB of names)
// later names come out empty.
type textStore struct {
	chunks [][]byte
}

func (t *textStore) put(b []byte) span {
	if len(b) == 0 {
		return span{}
	}
	last := len(t.chunks) - 1
	if last < 0 || len(t.chunks[last])+len(b) > textChunk {
		if last+1 >= 1<<16 {
			return span{}
		}
		t.chunks = append(t.chunks, make([]byte, 0, textChunk))
		last++
	}
	s := span{chunk: uint16(last), off: uint16(len(t.chunks[last])), len: uint16(len(b))}
	t.chunks[last] = append(t.chunks[last], b...)
	return s
}

func (t *textStore) bytes(s span) []byte {
	if s.len == 0 {
		return nil
	}
	return t.chunks[s.chunk][s.off : int(s.off)+int(s.len)]
}

// texts turns the chunks into strings; spans cut their names out of them without further copies.
func (t *textStore) texts() func(span) string {
	all := make([]string, len(t.chunks))
	for i, c := range t.chunks {
		all[i] = string(c)
	}
	t.chunks = nil
	return func(s span) string {
		if s.len == 0 {
			return ""
		}
		return all[s.chunk][s.off : int(s.off)+int(s.len)]
	}
}
