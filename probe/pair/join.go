package pair

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"
)

// coordinatorSilence is how long a participant believes in a coordinator that says nothing; it asks every second whether
// everybody is there.
const coordinatorSilence = 15 * time.Second

// ErrBusy says that this node runs something and is not measured.
var ErrBusy = errors.New("the node is busy")

// JoinOptions say how a node takes part.
type JoinOptions struct {
	Coordinator string // host:port
	Token       []byte
	Node        string
	// NICs are the rails in order: interface names or addresses. Empty: one rail, the address from which the coordinator is
	// reached.
	NICs []string
	// Devices are the RDMA devices of the rails, for perftest.
	Devices  []string
	DataPort int           // port of the data listeners; 0 = any free one
	Busy     string        // why this node must not be measured; it tells the coordinator and leaves
	Patience time.Duration // how long to wait for the coordinator to be there; 60 s when 0
}

// Join takes part until the coordinator says that it ends. It returns ErrBusy when the node is busy, and an error when the
// coordinator refuses or goes away: whatever was being measured stops with it.
func Join(ctx context.Context, o JoinOptions) error {
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	c, err := dialPatiently(ctx, o.Coordinator, o.Patience)
	if err != nil {
		return fmt.Errorf("coordinator %s: %w", o.Coordinator, err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	p := &participant{o: o, w: newWire(c), data: newReceiver()}
	defer p.jobs.Wait()
	defer cancel(errors.New("the measurement has ended"))
	if err := p.listen(ctx, c); err != nil {
		return err
	}
	if err := p.greet(); err != nil {
		return fmt.Errorf("coordinator %s: %w", o.Coordinator, err)
	}
	if o.Busy != "" {
		return fmt.Errorf("%w: %s", ErrBusy, o.Busy)
	}
	return p.follow(ctx)
}

// dialPatiently tries until the coordinator is there: all processes start at the same time.
func dialPatiently(ctx context.Context, address string, patience time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	pause := 50 * time.Millisecond
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
			pause = min(2*pause, time.Second)
		}
	}
}

// participant is one node that takes part.
type participant struct {
	o    JoinOptions
	w    *wire
	data *receiver
	nics []NIC
	jobs sync.WaitGroup
}

// listen opens the data listeners, one for each rail.
func (p *participant) listen(ctx context.Context, control net.Conn) error {
	names := p.o.NICs
	if len(names) == 0 {
		host, _, err := net.SplitHostPort(control.LocalAddr().String())
		if err != nil {
			return err
		}
		names = []string{host}
	}
	for r, name := range names {
		address, device, err := addressOf(name)
		if err != nil {
			return err
		}
		port := p.o.DataPort
		if port > 0 {
			port += r
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("rail %d: %w", r, err)
		}
		if r < len(p.o.Devices) {
			device = p.o.Devices[r]
		}
		p.nics = append(p.nics, NIC{Device: device, Address: l.Addr().String()})
		p.jobs.Go(func() { p.data.serve(ctx, l) })
	}
	return nil
}

// addressOf takes an address as it is, and looks up the first one of an interface.
func addressOf(name string) (address, device string, err error) {
	if ip := net.ParseIP(name); ip != nil {
		return name, "", nil
	}
	i, err := net.InterfaceByName(name)
	if err != nil {
		return "", "", fmt.Errorf("NIC %q: must be an interface of this host or an address: %w", name, err)
	}
	addresses, err := i.Addrs()
	if err != nil {
		return "", "", err
	}
	best := ""
	for _, a := range addresses {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.IsLinkLocalUnicast() {
			continue
		}
		if n.IP.To4() != nil {
			return n.IP.String(), name, nil
		}
		if best == "" {
			best = n.IP.String()
		}
	}
	if best == "" {
		return "", "", fmt.Errorf("NIC %s: has no address: must have one to be measured over TCP", name)
	}
	return best, name, nil
}

// greet proves the token both ways and says who this is.
func (p *participant) greet() error {
	m, err := p.w.read(handshakeTimeout)
	if err != nil {
		return err
	}
	if m.Type != msgChallenge || m.Version != protocolVersion {
		return fmt.Errorf("speaks %q of version %d: must be railmap's protocol of version %d (use the same railmap everywhere)", m.Type, m.Version, protocolVersion)
	}
	nonce := newNonce()
	hello := &message{Type: msgHello, Nonce: nonce, MAC: prove(p.o.Token, "participant", m.Nonce, nonce, p.o.Node), Node: p.o.Node, NICs: p.nics, Busy: p.o.Busy}
	if err := p.w.write(hello); err != nil {
		return err
	}
	reply, err := p.w.read(handshakeTimeout)
	if err != nil {
		return err
	}
	if reply.Type == msgRefused {
		return fmt.Errorf("refused: %s", reply.Reason)
	}
	if reply.Type != msgWelcome || !proven(p.o.Token, reply.MAC, "coordinator", m.Nonce, nonce) {
		return ErrToken
	}
	return nil
}

// follow does what the coordinator says, one measurement at a time; a new order ends the one before.
func (p *participant) follow(ctx context.Context) error {
	cancel := func() {}
	defer func() { cancel() }()
	for {
		m, err := p.w.read(coordinatorSilence)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("coordinator %s is gone: %w", p.o.Coordinator, err)
		}
		switch m.Type {
		case msgEnd:
			return nil
		case msgPing:
			err = p.w.write(&message{Type: msgPong})
		case msgReceive, msgSend:
			cancel()
			if err = m.Order.check(); err != nil {
				return err
			}
			cancel = p.start(ctx, m)
		}
		if err != nil {
			return err
		}
	}
}

// start begins one end of a measurement; the answer ends it.
func (p *participant) start(ctx context.Context, m *message) context.CancelFunc {
	limit := m.Order.length() + time.Duration(m.Order.Rails*m.Order.Pings)*20*time.Millisecond + 3*connectTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New("took too long"))
	p.jobs.Go(func() {
		defer cancel()
		p.measure(ctx, m)
	})
	return cancel
}

// measure runs one end of a measurement and reports.
func (p *participant) measure(ctx context.Context, m *message) {
	answer := &message{ID: m.ID}
	var err error
	if m.Type == msgSend {
		answer.Type = msgSent
		answer.Latencies, answer.Rates, err = p.send(ctx, m)
	} else {
		answer.Type = msgResult
		answer.Rates, err = p.receive(ctx, m)
	}
	if err != nil {
		answer.Error = err.Error()
	}
	_ = p.w.write(answer) // when the coordinator is gone, follow ends too
}

func (p *participant) send(ctx context.Context, m *message) (latencies, rates []float64, err error) {
	if m.Order.Method == MethodPerftest {
		return perftestClient(ctx, m.Order, p.nics, m.Peers)
	}
	latencies, err = sendTCP(ctx, m.Order, m.Key, p.nics, m.Peers)
	return latencies, nil, err
}

func (p *participant) receive(ctx context.Context, m *message) ([]float64, error) {
	ready := func() error { return p.w.write(&message{Type: msgReady, ID: m.ID}) }
	if m.Order.Method == MethodPerftest {
		return nil, perftestServer(ctx, m.Order, p.nics, ready)
	}
	if m.Order.Rails > len(p.nics) || len(m.Key) != keyBytes {
		return nil, fmt.Errorf("%d rails: this node has %d", m.Order.Rails, len(p.nics))
	}
	s := p.data.open(ctx, m.Key, m.Order)
	defer p.data.close(s)
	if err := ready(); err != nil {
		return nil, err
	}
	return s.wait()
}
