package pair

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// answerTime is how long a participant may be silent; it is asked every pingInterval.
	answerTime   = 4 * time.Second
	pingInterval = time.Second
	// resultGrace is how long a result may take beyond the measurement itself.
	resultGrace = 3 * time.Second
)

// member is a participant as the coordinator sees it.
type member struct {
	node  string
	nics  []NIC
	w     *wire
	inbox chan *message
	gone  chan struct{} // closed when the connection is
	once  sync.Once
	heard atomic.Int64 // when it last said something, Unix nanoseconds
	lost  atomic.Bool
}

func newMember(m *message, w *wire) *member {
	x := &member{node: m.Node, nics: m.NICs, w: w, inbox: make(chan *message, 64), gone: make(chan struct{})}
	x.heard.Store(time.Now().UnixNano())
	return x
}

// listen reads until the connection ends.
func (m *member) listen() {
	defer m.leave()
	for {
		msg, err := m.w.read(24 * time.Hour)
		if err != nil {
			return
		}
		m.heard.Store(time.Now().UnixNano())
		if msg.Type == msgPong {
			continue
		}
		select {
		case m.inbox <- msg:
		default: // nobody waits for so many
		}
	}
}

func (m *member) leave() {
	m.once.Do(func() {
		m.lost.Store(true)
		close(m.gone)
		m.w.c.Close()
	})
}

// trouble says why a member cannot be measured now, nil when it can.
func (m *member) trouble() error {
	switch {
	case m.lost.Load():
		return fmt.Errorf("%s has left", m.node)
	case time.Since(time.Unix(0, m.heard.Load())) > answerTime:
		return fmt.Errorf("%s does not answer", m.node)
	}
	return nil
}

// await waits for the answer to one measurement, as long as this member and the other end of the pair are there; older
// answers are dropped.
func (m *member) await(ctx context.Context, id int64, kind string, limit time.Duration, other *member) (*message, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	look := time.NewTicker(answerTime / 8)
	defer look.Stop()
	for {
		select {
		case msg := <-m.inbox:
			if msg.ID != id {
				continue
			}
			if msg.Error != "" {
				return nil, fmt.Errorf("%s: %s", m.node, msg.Error)
			}
			if msg.Type == kind {
				return msg, nil
			}
		case <-m.gone:
			return nil, m.trouble()
		case <-other.gone:
			return nil, other.trouble()
		case <-look.C:
			if err := errors.Join(m.trouble(), other.trouble()); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer.C:
			return nil, fmt.Errorf("no %s of %s within %s", kind, m.node, limit)
		}
	}
}

// host is the address of a member's connection, for messages about strangers.
func host(c net.Conn) string {
	h, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		return "unknown"
	}
	return h
}

var errSelf = errors.New("a node cannot be measured against itself")
