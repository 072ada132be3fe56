package pair

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// Our own load generator: several TCP streams a rail, from one address to another. What makes its figures right, each once
// a wrong figure:
//
//	linger     the sender closes with SO_LINGER 0: what is still in its send buffer (up to 4 MB) would run into the next
//	           measurement and make it 3 to 20 % too low
//	first byte the receiver's clock starts at its own first byte, not when the sender says so: a window that opens before
//	           data flows reads low, one that opens on a full buffer reads absurdly high
//	warm-up    what arrives in the first third is not counted: slow start, and the burst that a shaper lets through
//	congestion the algorithm is set on each socket: the system's default may be one that reads wrong on slow links (bbr), and
//	           the sysctl is refused inside a network namespace
//	tail       where flows share a link, load goes on after the window: else those that end last have it for themselves
//	all flow   all streams of all rails are connected and known to the receiver before the first byte of load
const (
	pingBytes   = 64
	bufferBytes = 256 << 10
	keyBytes    = 32
	dataMagic   = "RMPAIR1\n"
	// connectTimeout bounds connecting and greeting of a data connection.
	connectTimeout = 2 * time.Second
	// drainTime is how long a sender goes on after the window should have closed.
	drainTime = time.Second
)

// dataHello opens each data connection: magic, key, rail, stream.
func dataHello(key string, rail, stream int) []byte {
	b := make([]byte, 0, len(dataMagic)+keyBytes+4)
	b = append(append(b, dataMagic...), key...)
	b = binary.BigEndian.AppendUint16(b, uint16(rail))
	return binary.BigEndian.AppendUint16(b, uint16(stream))
}

// sendTCP loads the peer as ordered and returns the latency of each rail: the median half round trip, in seconds.
func sendTCP(ctx context.Context, o *order, key string, from []NIC, peers []string) ([]float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conns, err := dialStreams(ctx, o, key, from, peers)
	defer func() {
		for _, c := range conns {
			c.SetLinger(0) // lesson "linger"
			c.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() {
		for _, c := range conns {
			_ = c.SetDeadline(time.Now())
		}
	})
	defer stop()
	latencies := make([]float64, 0, o.Rails)
	for r := range o.Rails {
		l, err := pingPong(conns[r*o.Streams], o.Pings)
		if err != nil {
			return nil, fmt.Errorf("rail %d: %w", r, err)
		}
		latencies = append(latencies, l)
	}
	end := time.Now().Add(o.length() + drainTime)
	done := make(chan struct{}, len(conns))
	for _, c := range conns {
		go func() {
			fill(c, end)
			done <- struct{}{}
		}()
	}
	for range conns {
		<-done
	}
	return latencies, ctx.Err()
}

// dialStreams connects everything before anything flows. The connections come by rail, then stream; the receiver has
// acknowledged each.
func dialStreams(ctx context.Context, o *order, key string, from []NIC, peers []string) ([]*net.TCPConn, error) {
	var conns []*net.TCPConn
	if len(from) < o.Rails || len(peers) < o.Rails {
		return nil, fmt.Errorf("%d rails here and %d there: must be %d", len(from), len(peers), o.Rails)
	}
	for r := range o.Rails {
		d := net.Dialer{Timeout: connectTimeout, Control: socketOptions(o.Congestion, from[r].Device)}
		if host, _, err := net.SplitHostPort(from[r].Address); err == nil {
			d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(host)}
		}
		for s := range o.Streams {
			c, err := d.DialContext(ctx, "tcp", peers[r])
			if err != nil {
				return conns, fmt.Errorf("rail %d: %w", r, err)
			}
			conns = append(conns, c.(*net.TCPConn))
			_ = c.SetDeadline(time.Now().Add(connectTimeout))
			if _, err := c.Write(dataHello(key, r, s)); err != nil {
				return conns, fmt.Errorf("rail %d: %w", r, err)
			}
			if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
				return conns, fmt.Errorf("rail %d: %s refused the connection: %w", r, peers[r], err)
			}
		}
	}
	return conns, nil
}

// pingPong exchanges small messages and returns the median half round trip; 0 without any.
func pingPong(c net.Conn, n int) (float64, error) {
	if n == 0 {
		return 0, nil
	}
	_ = c.SetDeadline(time.Now().Add(connectTimeout + time.Duration(n)*20*time.Millisecond))
	var buf [pingBytes]byte
	times := make([]float64, 0, n)
	for range n {
		began := time.Now()
		if _, err := c.Write(buf[:]); err != nil {
			return 0, err
		}
		if _, err := io.ReadFull(c, buf[:]); err != nil {
			return 0, err
		}
		times = append(times, time.Since(began).Seconds()/2)
	}
	return median(times), nil
}

// fill writes until the receiver closes, which is the normal end, or the time is over.
func fill(c net.Conn, end time.Time) {
	_ = c.SetDeadline(end)
	buf := make([]byte, bufferBytes)
	for {
		if _, err := c.Write(buf); err != nil {
			return
		}
	}
}
