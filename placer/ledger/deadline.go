package ledger

import (
	"container/heap"
	"time"
)

// deadlines holds one time for each lease id, on the monotonic clock, and gives those that have passed. Setting a new time
// leaves the old entry in the heap; it is skipped when it comes up.
type deadlines struct {
	at   map[string]time.Time
	heap timeHeap
}

type timed struct {
	at time.Time
	id string
}

func newDeadlines() *deadlines { return &deadlines{at: map[string]time.Time{}} }

func (d *deadlines) set(id string, at time.Time) {
	d.at[id] = at
	heap.Push(&d.heap, timed{at, id})
}

func (d *deadlines) remove(id string) { delete(d.at, id) }

// due lists at most n ids whose time has passed, earliest first. They stay due until set or removed.
func (d *deadlines) due(now time.Time, n int) []string {
	var out []string
	var back []timed
	for len(d.heap) > 0 && len(out) < n && !now.Before(d.heap[0].at) {
		t := heap.Pop(&d.heap).(timed)
		if at, ok := d.at[t.id]; ok && at.Equal(t.at) {
			out = append(out, t.id)
			back = append(back, t)
		}
	}
	for _, t := range back {
		heap.Push(&d.heap, t)
	}
	return out
}

// next is the earliest time set; ok is false when there is none.
func (d *deadlines) next() (at time.Time, ok bool) {
	for len(d.heap) > 0 {
		t := d.heap[0]
		if at, ok := d.at[t.id]; ok && at.Equal(t.at) {
			return at, true
		}
		heap.Pop(&d.heap)
	}
	return time.Time{}, false
}

// timeHeap is a min-heap by time, by id on a tie.
type timeHeap []timed

func (h timeHeap) Len() int { return len(h) }
func (h timeHeap) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].id < h[j].id
	}
	return h[i].at.Before(h[j].at)
}
func (h timeHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timeHeap) Push(x any)   { *h = append(*h, x.(timed)) }
func (h *timeHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
