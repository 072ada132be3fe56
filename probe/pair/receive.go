package pair

import (
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// receiver takes data connections of a participant: only those that show the key of the session that the coordinator has
// opened.
type receiver struct {
	mu      sync.Mutex
	session *session
	wg      sync.WaitGroup
	slots   chan struct{} // bounds connections that have not shown a key yet
}

// session is one measurement, one way, at the receiving end.
type session struct {
	key   string
	o     *order
	rails []railClock
	rates chan streamRate
	ctx   context.Context
}

// railClock holds when the first byte of load came on a rail.
type railClock struct {
	mu    sync.Mutex
	first time.Time
}

type streamRate struct {
	rail int
	rate float64
	err  error
}

func newReceiver() *receiver { return &receiver{slots: make(chan struct{}, 256)} }

// serve accepts until the listener closes, and waits for what it started.
func (r *receiver) serve(ctx context.Context, l net.Listener) {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer r.wg.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		select {
		case r.slots <- struct{}{}:
		default:
			c.Close() // more strangers than any measurement has streams
			continue
		}
		r.wg.Go(func() {
			defer c.Close()
			s, rail, stream, err := r.greet(c)
			<-r.slots
			if err == nil {
				s.stream(c, rail, stream)
			}
		})
	}
}

// greet reads what opens a data connection.
func (r *receiver) greet(c net.Conn) (s *session, rail, stream int, err error) {
	_ = c.SetDeadline(time.Now().Add(connectTimeout))
	head := make([]byte, len(dataMagic)+keyBytes+4)
	if _, err := io.ReadFull(c, head); err != nil {
		return nil, 0, 0, err
	}
	r.mu.Lock()
	s = r.session
	r.mu.Unlock()
	key := head[len(dataMagic) : len(dataMagic)+keyBytes]
	if s == nil || string(head[:len(dataMagic)]) != dataMagic || subtle.ConstantTimeCompare(key, []byte(s.key)) != 1 {
		return nil, 0, 0, errors.New("not expected")
	}
	rail = int(binary.BigEndian.Uint16(head[len(head)-4:]))
	stream = int(binary.BigEndian.Uint16(head[len(head)-2:]))
	if rail >= s.o.Rails || stream >= s.o.Streams {
		return nil, 0, 0, errors.New("not ordered")
	}
	_, err = c.Write([]byte{1})
	return s, rail, stream, err
}

// open makes ready for one measurement; it replaces whatever was open.
func (r *receiver) open(ctx context.Context, key string, o *order) *session {
	s := &session{key: key, o: o, rails: make([]railClock, o.Rails), ctx: ctx, rates: make(chan streamRate, o.Rails*o.Streams)}
	r.mu.Lock()
	r.session = s
	r.mu.Unlock()
	return s
}

// close ends a measurement.
func (r *receiver) close(s *session) {
	r.mu.Lock()
	if r.session == s {
		r.session = nil
	}
	r.mu.Unlock()
}

// wait adds up the streams of each rail, in bytes per second.
func (s *session) wait() ([]float64, error) {
	rates := make([]float64, s.o.Rails)
	for range s.o.Rails * s.o.Streams {
		select {
		case r := <-s.rates:
			if r.err != nil {
				return nil, fmt.Errorf("rail %d: %w", r.rail, r.err)
			}
			rates[r.rail] += r.rate
		case <-s.ctx.Done():
			return nil, context.Cause(s.ctx)
		}
	}
	return rates, nil
}

// stream answers the pings and counts the load of one connection.
func (s *session) stream(c net.Conn, rail, stream int) {
	stop := context.AfterFunc(s.ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	rate, err := s.count(c, rail, stream)
	if err == nil && s.o.Tail > 0 {
		_ = c.SetDeadline(time.Now().Add(time.Duration(s.o.Tail * float64(time.Second))))
		_, _ = io.CopyBuffer(io.Discard, struct{ io.Reader }{c}, make([]byte, bufferBytes))
	}
	select {
	case s.rates <- streamRate{rail, rate, err}:
	case <-s.ctx.Done():
	}
}

// count echoes the pings of the first stream, then measures: bytes between the first read after the warm-up and the last
// read of the window, by this end's clock.
func (s *session) count(c net.Conn, rail, stream int) (float64, error) {
	_ = c.SetDeadline(time.Now().Add(s.o.length() + time.Duration(s.o.Rails*s.o.Pings)*20*time.Millisecond + 3*connectTimeout))
	buf := make([]byte, bufferBytes)
	if stream == 0 {
		for range s.o.Pings {
			if _, err := io.ReadFull(c, buf[:pingBytes]); err != nil {
				return 0, err
			}
			if _, err := c.Write(buf[:pingBytes]); err != nil {
				return 0, err
			}
		}
	}
	warm, window := time.Duration(s.o.Warm*1e9), time.Duration(s.o.Window*1e9)
	var start, last time.Time
	bytes := 0
	for {
		n, err := c.Read(buf)
		now := time.Now()
		first := s.rails[rail].started(now)
		switch {
		case !start.IsZero():
			bytes += n
			last = now
			if now.Sub(start) >= window {
				return float64(bytes) / last.Sub(start).Seconds(), nil
			}
		case now.Sub(first) >= warm: // lessons "first byte" and "warm-up"
			start = now
			_ = c.SetReadDeadline(start.Add(window))
		}
		if err != nil {
			if start.IsZero() {
				return 0, fmt.Errorf("no data after the warm-up: %w", err)
			}
			// Nothing came until the window closed, or the sender ended early: what came, came in the whole window.
			return float64(bytes) / window.Seconds(), nil
		}
	}
}

// started is the time of the first byte on this rail.
func (r *railClock) started(now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.IsZero() {
		r.first = now
	}
	return r.first
}
