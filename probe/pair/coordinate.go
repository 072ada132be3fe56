package pair

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/railmap/railmap/topology"
)

// Codes of findings of a sweep.
const (
	CodeNodeMissing = "node-missing" // expected, and did not join
	CodeNodeBusy    = "node-busy"    // joined, and runs something
	CodeNodeLost    = "node-lost"    // left or fell silent while pairs were measured
	CodeStranger    = "stranger"     // came without the token
	CodeTwice       = "node-twice"   // two processes with the name of one node
	CodePartial     = "partial-sweep"
	CodeUnplaced    = "unknown-node" // not in the map
)

// Options say how a sweep goes.
type Options struct {
	Token       []byte
	Members     int           // participants to wait for
	Expected    []string      // names to wait for, if known; used to name who is missing
	JoinTimeout time.Duration // 60 s when 0; then it begins with who is there
	Topology    *topology.Topology
	Tiers       []Tier
	Samples     int
	Budget      time.Duration // of the rounds; 10 minutes when 0
	Method      string        // tcp when empty
	Streams     int           // 4 when 0
	Window      time.Duration // of one way; 3 s when 0, with a third more before it
	Pings       int           // 50 when 0
	Congestion  string        // TCP congestion control, the system's when empty
	Repeats     int           // how often doubtful pairs are measured again at most; 2 when 0, none when negative
	ToolVersion string
	Now         func() time.Time
	// Planned is called with the plan before the first round, Progress after each way of each round. Both may be nil.
	Planned  func(*Plan)
	Progress func(done, of int)
}

func (o *Options) complete() {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&o.JoinTimeout, time.Minute)
	set(&o.Budget, 10*time.Minute)
	set(&o.Window, 3*time.Second)
	if o.Method == "" {
		o.Method = MethodTCP
	}
	if o.Streams == 0 {
		o.Streams = 4
	}
	if o.Pings == 0 {
		o.Pings = 50
	}
	if o.Repeats == 0 {
		o.Repeats = 2
	}
	if len(o.Tiers) == 0 {
		o.Tiers = DefaultTiers()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// RoundSeconds is how long one round takes: both ways, each with its warm-up and some time to connect.
func (o Options) RoundSeconds() float64 {
	o.complete()
	return 2 * (o.Window.Seconds()*4/3 + 0.2)
}

// Coordinate waits for the participants, measures in rounds and reports. What was measured is reported whatever happens
// then: when the context ends or the budget is used up, the report is partial and says so; a participant that dies, hangs or
// is slow to answer costs its own pairs. The listener is closed at the end, which ends every participant.
func Coordinate(ctx context.Context, l net.Listener, o Options) (*topology.PairReport, error) {
	o.complete()
	s := &sweep{o: o, members: map[string]*member{}, samples: map[sampleKey]*sample{}}
	ctx, cancel := context.WithCancel(ctx)
	defer s.wg.Wait()
	defer cancel()
	defer l.Close()
	defer s.dismiss("the sweep has ended")
	s.gather(ctx, l)
	if ctx.Err() == nil && len(s.members) < 2 {
		return s.report(), fmt.Errorf("%d nodes have joined: must be at least 2", len(s.members))
	}
	s.wg.Go(func() { s.pingAll(ctx) })
	err := s.run(ctx)
	return s.report(), err
}

// sweep is the state of one coordination.
type sweep struct {
	o        Options
	mu       sync.Mutex // members, samples and findings
	members  map[string]*member
	samples  map[sampleKey]*sample
	findings []topology.Finding
	site     *Site
	partial  bool
	lastID   int64
	wg       sync.WaitGroup
}

func (s *sweep) find(code string, sev topology.Severity, subject, remedy, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.findings = append(s.findings, topology.Finding{Code: code, Severity: sev, Subject: subject, Message: fmt.Sprintf(format, args...), Remedy: remedy})
}

// gather accepts participants until all are there or the time to join is over.
func (s *sweep) gather(ctx context.Context, l net.Listener) {
	ctx, cancel := context.WithTimeout(ctx, s.o.JoinTimeout)
	defer cancel()
	joined := make(chan struct{}, 1)
	slots := make(chan struct{}, 512) // bounds strangers
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			select {
			case slots <- struct{}{}:
				s.wg.Go(func() {
					s.admit(ctx, c)
					<-slots
					select {
					case joined <- struct{}{}:
					default:
					}
				})
			default:
				c.Close()
			}
		}
	})
	for {
		select {
		case <-joined:
			if s.complete() {
				return
			}
		case <-ctx.Done():
			s.missing()
			return
		}
	}
}

func (s *sweep) complete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	answered := len(s.members)
	for _, f := range s.findings {
		if f.Code == CodeNodeBusy {
			answered++
		}
	}
	return s.o.Members > 0 && answered >= s.o.Members
}

// missing names who did not come.
func (s *sweep) missing() {
	s.mu.Lock()
	n := len(s.members)
	var names []string
	for _, name := range s.o.Expected {
		if s.members[name] == nil {
			names = append(names, name)
		}
	}
	s.mu.Unlock()
	for _, name := range names {
		s.find(CodeNodeMissing, topology.Warning, name, "start railmap probe pairs there, or look why it cannot reach the coordinator", "did not join: its pairs are not measured")
	}
	if len(names) == 0 && s.o.Members > n {
		s.find(CodeNodeMissing, topology.Warning, "sweep", "look which node cannot reach the coordinator", "%d of %d participants joined", n, s.o.Members)
	}
}

// admit checks one participant; whoever does not hold the token learns nothing and is named.
func (s *sweep) admit(ctx context.Context, c net.Conn) {
	w := newWire(c)
	nonce := newNonce()
	hello, err := func() (*message, error) {
		if err := w.write(&message{Type: msgChallenge, Version: protocolVersion, Nonce: nonce}); err != nil {
			return nil, err
		}
		return w.read(handshakeTimeout)
	}()
	if err != nil || hello.Type != msgHello || !proven(s.o.Token, hello.MAC, "participant", nonce, hello.Nonce, hello.Node) {
		s.find(CodeStranger, topology.Warning, host(c), "give all participants the same --token-file", "came without the token and was turned away")
		_ = w.write(&message{Type: msgRefused, Reason: "token"})
		c.Close()
		return
	}
	m := newMember(hello, w)
	reason := ""
	s.mu.Lock()
	switch {
	case ctx.Err() != nil:
		reason = "the sweep has begun without this node"
	case hello.Busy != "":
	case s.members[m.node] != nil:
		reason = "another process has joined as " + m.node
	case m.node == "" || len(m.nics) == 0 || len(m.nics) > maxRails:
		reason = fmt.Sprintf("a participant must have a name and 1 to %d rails", maxRails)
	default:
		s.members[m.node] = m
	}
	s.mu.Unlock()
	if reason != "" {
		s.find(CodeTwice, topology.Warning, m.node, "start one process on each node, before the sweep begins", "was refused: %s", reason)
		_ = w.write(&message{Type: msgRefused, Reason: reason})
		c.Close()
		return
	}
	_ = w.write(&message{Type: msgWelcome, MAC: prove(s.o.Token, "coordinator", nonce, hello.Nonce)})
	if hello.Busy != "" {
		s.find(CodeNodeBusy, topology.Info, m.node, "measure it when it is idle", "is not measured: %s", hello.Busy)
		c.Close()
		return
	}
	s.wg.Go(m.listen)
}

// pingAll asks everybody now and then, so that both ends know that the other is there.
func (s *sweep) pingAll(ctx context.Context) {
	tick := time.NewTicker(pingInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, m := range s.everybody() {
				if !m.lost.Load() {
					_ = m.w.write(&message{Type: msgPing}) // whoever does not answer is silent
				}
			}
		}
	}
}

func (s *sweep) member(name string) *member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members[name]
}

func (s *sweep) everybody() []*member {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*member
	for _, m := range s.members {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *member) int { return topology.CompareNames(a.node, b.node) })
	return all
}

// dismiss tells everybody that it is over.
func (s *sweep) dismiss(reason string) {
	for _, m := range s.everybody() {
		if m.trouble() == nil {
			_ = m.w.write(&message{Type: msgEnd, Reason: reason})
		}
		m.leave()
	}
}

// errBudget ends a sweep whose time is over.
var errBudget = errors.New("the budget is used up")
