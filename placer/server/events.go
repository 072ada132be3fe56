package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Event is one thing that happened, sent to whoever listens on /v1/events (server-sent events).
type Event struct {
	Type       string `json:"type"` // topology, lease, occupancy, report
	Generation uint64 `json:"generation,omitempty"`
	Lease      string `json:"lease,omitempty"`
	Phase      string `json:"phase,omitempty"`
	Side       string `json:"side,omitempty"`
	Node       string `json:"node,omitempty"`
}

// events spreads events to subscribers. A subscriber that does not keep up loses events, and is told so by a gap in the ids.
type events struct {
	mu     sync.Mutex
	next   uint64
	subs   map[chan numbered]bool
	done   chan struct{}
	closed bool
}

type numbered struct {
	id uint64
	e  Event
}

func newEvents() *events {
	return &events{subs: map[chan numbered]bool{}, done: make(chan struct{})}
}

func (b *events) publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	for ch := range b.subs {
		select {
		case ch <- numbered{b.next, e}:
		default:
		}
	}
}

func (b *events) subscribe() (chan numbered, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.subs) >= maxSubscribers {
		return nil, problem(http.StatusServiceUnavailable, codeUnavailable, "too many listeners, or the server is stopping")
	}
	ch := make(chan numbered, 64)
	b.subs[ch] = true
	return ch, nil
}

func (b *events) unsubscribe(ch chan numbered) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.subs, ch)
}

func (b *events) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		close(b.done)
	}
}

// handleEvents is GET /v1/events. It outlives the write timeout of the server by setting its own before each write.
func (s *Server) handleEvents(w http.ResponseWriter, r *http.Request) error {
	ch, err := s.events.subscribe()
	if err != nil {
		return err
	}
	defer s.events.unsubscribe(ch)
	rc := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	write := func(text string) bool {
		if rc.SetWriteDeadline(time.Now().Add(writeTimeout)) != nil {
			return false
		}
		if _, err := fmt.Fprint(w, text); err != nil {
			return false
		}
		return rc.Flush() == nil
	}
	_ = rc.SetReadDeadline(time.Time{}) // a listener sends nothing
	if !write(": listening\n\n") {
		return nil
	}
	beat := time.NewTicker(15 * time.Second)
	defer beat.Stop()
	for {
		select {
		case <-r.Context().Done():
			return nil
		case <-s.events.done:
			return nil
		case <-beat.C:
			if !write(": still here\n\n") {
				return nil
			}
		case n := <-ch:
			body, err := json.Marshal(n.e)
			if err != nil || !write(fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", n.id, n.e.Type, body)) {
				return err
			}
		}
	}
}
