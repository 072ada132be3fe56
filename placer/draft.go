package placer

import (
	"math"
	"slices"
)

// draft is a snapshot being written. It shares every chunk with the snapshot that it came from until it changes it; a chunk
// whose gen is the draft's own was already copied. Drafts of one snapshot are independent of each other.
type draft struct {
	Snapshot
	own uint64 // mark of chunks that this draft may change
}

// draft starts a new generation. The lists of pages are copied (some hundred bytes at 100,000 nodes), the chunks are not.
func (s *Snapshot) draft(generation uint64) *draft {
	d := &draft{Snapshot: *s, own: s.c.marks.Add(1)}
	d.generation = generation
	d.use.pages = slices.Clone(s.use.pages)
	d.layers = slices.Clone(s.layers)
	for i := range d.layers {
		d.layers[i].rows.pages = slices.Clone(d.layers[i].rows.pages)
		d.layers[i].sums.pages = slices.Clone(d.layers[i].sums.pages)
	}
	return d
}

// apply puts a state on the draft.
func (d *draft) apply(st State) error {
	names := d.c.names
	for _, part := range []struct {
		field string
		names []string
		use   Use
	}{{"busy", st.Busy, Busy}, {"lent", st.Lent, Lent}, {"drained", st.Drained, Drained}} {
		at, err := names.positions(part.field, part.names)
		if err != nil {
			return err
		}
		for _, v := range at {
			if d.useAt(v) == Free {
				d.setUse(v, part.use)
			}
		}
	}
	for _, g := range st.Gangs {
		at, err := names.positions("gang "+g.Name, g.Nodes)
		if err != nil {
			return err
		}
		for _, v := range at {
			d.setUse(v, Busy)
		}
		d.cross(at, 1)
	}
	return d.shareNodes(st.UsedGPUs)
}

// setUse changes what node v is used for. Cost: buckets × depth for a node that becomes free or is taken.
func (d *draft) setUse(v int32, use Use) {
	before := d.useAt(v)
	if before == use {
		return
	}
	ch := d.use.at(v / nodeChunk)
	if ch.gen != d.own {
		ch = &useChunk{gen: d.own, use: ch.use}
		d.use.set(v/nodeChunk, ch, d.own)
	}
	ch.use[v%nodeChunk] = use
	if d.layers == nil || d.c.nodes[v].down {
		return
	}
	switch {
	case before == Free:
		d.count(v, int32(d.bucketAt(v)), -1)
	case use == Free:
		d.count(v, int32(d.bucketAt(v)), 1)
	}
}

// setShare takes a new measurement of node v.
func (d *draft) setShare(v int32, share float64) {
	bucket := d.c.bucketOf(min(share, d.c.nodes[v].sick))
	indexed := d.layers != nil && d.freeAt(v)
	if indexed {
		d.count(v, int32(d.bucketAt(v)), -1)
	}
	if d.band[v/nodeChunk].gen != d.own {
		d.band = slices.Clone(d.band)
		b := *d.band[v/nodeChunk]
		b.gen = d.own
		d.band[v/nodeChunk] = &b
	}
	ch := d.band[v/nodeChunk]
	ch.share[v%nodeChunk], ch.bucket[v%nodeChunk] = share, bucket
	if indexed {
		d.count(v, int32(bucket), 1)
	}
}

// cross adds delta rings to every uplink that a gang on the sorted positions crosses.
func (d *draft) cross(at []int32, delta int32) {
	for _, g := range d.c.crossed(at) {
		d.addCrossings(g, delta)
	}
}

// addCrossings changes the load of the uplink of g. When its bucket changes, the nodes below g enter or leave the counts of
// the groups above for the buckets between.
func (d *draft) addCrossings(g, delta int32) {
	if d.link[g/linkSize].gen != d.own {
		d.link = slices.Clone(d.link)
		l := *d.link[g/linkSize]
		l.gen = d.own
		d.link[g/linkSize] = &l
	}
	ch := d.link[g/linkSize]
	ch.crossings[g%linkSize] = max(0, ch.crossings[g%linkSize]+delta)
	before, after := int32(ch.bucket[g%linkSize]), int32(d.c.bucketOf(d.uplinkShare(g)))
	ch.bucket[g%linkSize] = uint8(after)
	if d.layers == nil || before == after {
		return
	}
	for l := range d.layers {
		row := *d.layers[l].row(d.c.row[g])
		if after < before {
			d.shift(l, g, &row, after+1, before, -1)
		} else {
			d.shift(l, g, &row, before+1, after, 1)
		}
	}
}

// shift adds sign × row[q] to the groups above g, for the buckets from..to that pass each uplink on the way.
func (d *draft) shift(l int, g int32, row *countRow, from, to, sign int32) {
	for up := d.c.groups[g].parent; up >= 0 && from <= to; up = d.c.groups[up].parent {
		target := d.writableRow(l, d.c.row[up])
		for q := from; q <= to; q++ {
			target[q] += sign * row[q]
		}
		d.copySums(l, d.c.row[up], target)
		to = min(to, int32(d.linkBucketAt(up)))
	}
}

// count adds delta to the rows of every group above v for the buckets up to q that pass the uplinks on the way.
func (d *draft) count(v, q, delta int32) {
	l := int(d.c.nodes[v].class)
	for g := d.c.nodes[v].leaf; g >= 0; g = d.c.groups[g].parent {
		row := d.writableRow(l, d.c.row[g])
		for i := range row[:q+1] {
			row[i] += delta
		}
		d.copySums(l, d.c.row[g], row)
		q = min(q, int32(d.linkBucketAt(g)))
	}
}

// copySums keeps the two close columns equal to the row.
func (d *draft) copySums(l int, r int32, row *countRow) {
	if r >= d.c.leafRows {
		return
	}
	ch := d.layers[l].sums.at(r / sumSize)
	if ch.gen != d.own {
		c := *ch
		c.gen, ch = d.own, &c
		d.layers[l].sums.set(r/sumSize, ch, d.own)
	}
	ch.free[r%sumSize], ch.worth[r%sumSize] = row[0], row[d.c.keep]
}

func (d *draft) writableRow(l int, r int32) *countRow {
	rows := &d.layers[l].rows
	b := rows.at(r / rowsPerBlock)
	if b.gen != d.own {
		b = &rowBlock{gen: d.own, rows: b.rows}
		rows.set(r/rowsPerBlock, b, d.own)
	}
	return &b.rows[r%rowsPerBlock]
}

// validShare refuses what no measurement can be.
func validShare(share float64) bool { return share >= 0 && !math.IsInf(share, 0) && share <= 1e3 }
