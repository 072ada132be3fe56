package pair

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// protocolVersion must be the same at both ends.
const protocolVersion = 1

const (
	// maxMessage bounds one message before anything is allocated for it.
	maxMessage = 64 << 10
	// writeTimeout is how long a message may wait for a peer that does not read.
	writeTimeout = 2 * time.Second
)

// Types of messages. The coordinator says challenge, welcome, refused, receive, send, ping and end; a participant says hello,
// ready, result, sent and pong.
const (
	msgChallenge = "challenge"
	msgHello     = "hello"
	msgWelcome   = "welcome"
	msgRefused   = "refused"
	msgReceive   = "receive"
	msgReady     = "ready"
	msgSend      = "send"
	msgResult    = "result"
	msgSent      = "sent"
	msgPing      = "ping"
	msgPong      = "pong"
	msgEnd       = "end"
)

// message is one line of JSON on the control connection.
type message struct {
	Type      string    `json:"type"`
	Version   int       `json:"version,omitempty"`
	ID        int64     `json:"id,omitempty"`    // of one measurement, one way
	Nonce     string    `json:"nonce,omitempty"` // challenge, hello
	MAC       string    `json:"mac,omitempty"`   // hello, welcome
	Node      string    `json:"node,omitempty"`
	NICs      []NIC     `json:"nics,omitempty"` // hello: by rail
	Busy      string    `json:"busy,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Key       string    `json:"key,omitempty"` // receive, send: what a data connection must show
	Order     *order    `json:"order,omitempty"`
	Peers     []string  `json:"peers,omitempty"` // send: address of each rail
	Rates     []float64 `json:"rates,omitempty"` // result: bytes per second by rail
	Latencies []float64 `json:"latencies,omitempty"`
	Error     string    `json:"error,omitempty"`
}

// NIC is one rail of a participant: the interface or RDMA device, and the address and port where it takes data.
type NIC struct {
	Device  string `json:"device,omitempty"`
	Address string `json:"address"` // host:port
}

// order says how to measure; both ends get the same.
type order struct {
	Method  string  `json:"method"`
	Rails   int     `json:"rails"`
	Streams int     `json:"streams"`
	Warm    float64 `json:"warmSeconds"`
	Window  float64 `json:"windowSeconds"`
	// Tail is how long load goes on after the window, uncounted: where flows share a link, those that began a little later
	// still meet full load.
	Tail       float64 `json:"tailSeconds,omitempty"`
	Pings      int     `json:"pings"`
	Congestion string  `json:"congestion,omitempty"`
}

// Limits of an order, so that a coordinator that lost its mind cannot keep a node busy.
const (
	maxRails   = 64
	maxStreams = 64
	maxPings   = 10000
	maxSeconds = 300
)

func (o *order) check() error {
	if o == nil || o.Rails < 1 || o.Rails > maxRails || o.Streams < 1 || o.Streams > maxStreams || o.Pings < 0 || o.Pings > maxPings ||
		!(o.Warm >= 0 && o.Window > 0 && o.Tail >= 0 && o.Warm+o.Window+o.Tail <= maxSeconds) {
		return fmt.Errorf("order %+v: must have 1 to %d rails, 1 to %d streams, up to %d pings and %d s", o, maxRails, maxStreams, maxPings, maxSeconds)
	}
	return nil
}

// length is how long one way takes once it has begun.
func (o *order) length() time.Duration {
	return time.Duration((o.Warm + o.Window + o.Tail) * float64(time.Second))
}

// wire is a control connection. Reads are one goroutine's; writes are anybody's.
type wire struct {
	c  net.Conn
	sc *bufio.Scanner
	mu sync.Mutex
}

func newWire(c net.Conn) *wire {
	w := &wire{c: c, sc: bufio.NewScanner(c)}
	w.sc.Buffer(make([]byte, 0, 4096), maxMessage)
	return w
}

func (w *wire) write(m *message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.c.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err = w.c.Write(append(line, '\n'))
	return err
}

// read waits for the next message, at most for the time given.
func (w *wire) read(patience time.Duration) (*message, error) {
	_ = w.c.SetReadDeadline(time.Now().Add(patience))
	if !w.sc.Scan() {
		if err := w.sc.Err(); err != nil {
			return nil, err
		}
		return nil, errors.New("the other end has closed the connection")
	}
	m := new(message)
	if err := json.Unmarshal(w.sc.Bytes(), m); err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	return m, nil
}
