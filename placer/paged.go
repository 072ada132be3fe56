package placer

// paged is a list of pointers to chunks, in pages, so that a generation which changes a few chunks copies a few hundred
// bytes of pointers and not all of them. Own marks the draft that may change a page in place.
type paged[T any] struct{ pages []*page[T] }

const pageSize = 16

type page[T any] struct {
	own   uint64
	items [pageSize]*T
}

func (p *paged[T]) at(i int32) *T { return p.pages[i/pageSize].items[i%pageSize] }

// set replaces chunk i in a list whose page pointers belong to the draft.
func (p *paged[T]) set(i int32, x *T, own uint64) {
	pg := p.pages[i/pageSize]
	if pg.own != own {
		pg = &page[T]{own: own, items: pg.items}
		p.pages[i/pageSize] = pg
	}
	pg.items[i%pageSize] = x
}

// add appends a chunk; it is for building a list, not for sharing.
func (p *paged[T]) add(n int, x *T) {
	if n%pageSize == 0 {
		p.pages = append(p.pages, &page[T]{})
	}
	p.pages[n/pageSize].items[n%pageSize] = x
}
