package pair

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/railmap/railmap/topology"
)

var testToken = []byte("a token for tests only")

// TestMain lets the crash tests start this program as a participant: RAILMAP_PAIR_CHILD is "coordinator node".
func TestMain(m *testing.M) {
	if who := os.Getenv("RAILMAP_PAIR_CHILD"); who != "" {
		address, node, _ := strings.Cut(who, " ")
		if err := Join(context.Background(), JoinOptions{Coordinator: address, Token: testToken, Node: node}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func listenLoopback(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// quick is a sweep that costs little: loopback is not what is measured here.
func quick(n int) Options {
	return Options{Token: testToken, Members: n, JoinTimeout: 20 * time.Second, Tiers: []Tier{All}, Window: 30 * time.Millisecond, Pings: 4, Streams: 2, Repeats: -1}
}

// joinAll starts participants in this process; the answer holds what each Join returned.
func joinAll(ctx context.Context, l net.Listener, nodes ...JoinOptions) func() map[string]error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	errs := map[string]error{}
	for _, n := range nodes {
		n.Coordinator = l.Addr().String()
		if n.Token == nil {
			n.Token = testToken
		}
		wg.Go(func() {
			err := Join(ctx, n)
			mu.Lock()
			errs[n.Node] = err
			mu.Unlock()
		})
	}
	return func() map[string]error { wg.Wait(); return errs }
}

func TestSweep(t *testing.T) {
	l := listenLoopback(t)
	rails := []string{"127.0.0.1", "127.0.0.2"}
	wait := joinAll(t.Context(), l, JoinOptions{Node: "n0", NICs: rails}, JoinOptions{Node: "n1", NICs: rails},
		JoinOptions{Node: "n2", NICs: rails[:1]}, JoinOptions{Node: "n3", Busy: "a job runs"})
	r, err := Coordinate(t.Context(), l, quick(4))
	if err != nil {
		t.Fatal(err)
	}
	errs := wait()
	if errs["n0"] != nil || errs["n1"] != nil || errs["n2"] != nil || !errors.Is(errs["n3"], ErrBusy) {
		t.Errorf("participants ended with %v", errs)
	}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	lines := map[string]bool{}
	for _, p := range r.Pairs {
		rail := "all"
		if p.Rail != nil {
			rail = fmt.Sprint(*p.Rail)
		}
		lines[p.A+p.B+rail] = true
		if p.BandwidthBytesPerSecond == nil || p.BandwidthBytesPerSecond.Value < 1e6 || p.LatencySeconds == nil || p.LatencySeconds.Value <= 0 {
			t.Errorf("%s - %s rail %s: %+v %+v %s", p.A, p.B, rail, p.BandwidthBytesPerSecond, p.LatencySeconds, p.Failed)
		}
	}
	if len(lines) != 6+4 || !lines["n0n11"] || !lines["n1n0all"] || !lines["n2n0all"] {
		t.Errorf("measured %v", lines)
	}
	if len(r.Findings) != 1 || r.Findings[0].Code != CodeNodeBusy {
		t.Errorf("findings %v", r.Findings)
	}
}

func TestStrangersAreTurnedAway(t *testing.T) {
	l := listenLoopback(t)
	wait := joinAll(t.Context(), l, JoinOptions{Node: "n0"}, JoinOptions{Node: "n1"}, JoinOptions{Node: "evil", Token: []byte("another token of some length")})
	o := quick(3)
	o.JoinTimeout = 2 * time.Second
	o.Expected = []string{"n0", "n1", "n2"}
	r, err := Coordinate(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	if errs := wait(); errs["evil"] == nil || errs["n0"] != nil {
		t.Errorf("participants ended with %v", errs)
	}
	codes := ""
	for _, f := range r.Findings {
		codes += f.Code + " " + f.Subject + ";"
	}
	if codes != "node-missing n2;stranger 127.0.0.1;" || len(r.Pairs) != 2 {
		t.Errorf("findings %s, %d pairs", codes, len(r.Pairs))
	}
}

// A coordinator without the token is refused by the participant.
func TestFalseCoordinator(t *testing.T) {
	l := listenLoopback(t)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		w := newWire(c)
		_ = w.write(&message{Type: msgChallenge, Version: protocolVersion, Nonce: newNonce()})
		_, _ = w.read(time.Second)
		_ = w.write(&message{Type: msgWelcome, MAC: prove([]byte("guess"), "coordinator")})
	}()
	if err := Join(t.Context(), JoinOptions{Coordinator: l.Addr().String(), Token: testToken, Node: "n0"}); !errors.Is(err, ErrToken) {
		t.Errorf("Join = %v, want %v", err, ErrToken)
	}
}

// A data connection without the key of the measurement gets nothing, and disturbs nothing.
func TestDataNeedsKey(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := newReceiver()
	l := listenLoopback(t)
	done := make(chan struct{})
	go func() { r.serve(ctx, l); close(done) }()
	o := &order{Method: MethodTCP, Rails: 1, Streams: 1, Window: .02}
	key := newNonce()
	s := r.open(ctx, key, o)
	nics := []NIC{{Address: "127.0.0.1:0"}}
	if _, err := sendTCP(ctx, o, newNonce(), nics, []string{l.Addr().String()}); err == nil {
		t.Error("a wrong key was taken")
	}
	if _, err := sendTCP(ctx, o, key, nics, []string{l.Addr().String()}); err != nil {
		t.Error(err)
	}
	if rates, err := s.wait(); err != nil || rates[0] < 1e6 {
		t.Errorf("rates %v, %v", rates, err)
	}
	r.close(s)
	cancel()
	<-done
}

// An interrupt keeps what has been measured.
func TestInterruptKeepsResults(t *testing.T) {
	l := listenLoopback(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wait := joinAll(t.Context(), l, JoinOptions{Node: "n0"}, JoinOptions{Node: "n1"}, JoinOptions{Node: "n2"}, JoinOptions{Node: "n3"})
	o := quick(4)
	o.Progress = func(done, of int) { cancel() }
	r, err := Coordinate(ctx, l, o)
	if err != nil || !r.Partial || len(r.Pairs) != 4 || r.Findings[0].Code != CodePartial {
		t.Errorf("%v: partial %v, %d pairs, %v", err, r.Partial, len(r.Pairs), r.Findings)
	}
	wait()
}

// The death of the coordinator ends a participant, and what it was sending.
func TestParticipantEndsWithCoordinator(t *testing.T) {
	l := listenLoopback(t)
	wait := joinAll(t.Context(), l, JoinOptions{Node: "n0"})
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	w := newWire(c)
	nonce := newNonce()
	_ = w.write(&message{Type: msgChallenge, Version: protocolVersion, Nonce: nonce})
	m, err := w.read(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	_ = w.write(&message{Type: msgWelcome, MAC: prove(testToken, "coordinator", nonce, m.Nonce)})
	_ = w.write(&message{Type: msgReceive, ID: 1, Key: newNonce(), Order: &order{Method: MethodTCP, Rails: 1, Streams: 1, Window: 200}})
	c.Close()
	if errs := wait(); errs["n0"] == nil {
		t.Error("the participant ended as if all was well")
	}
	l.Close()
}

// child starts a participant as a process of its own.
func child(t *testing.T, l net.Listener, node string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "RAILMAP_PAIR_CHILD="+l.Addr().String()+" "+node)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// Participants that are killed or stopped at random moments cost their own pairs only: the sweep ends in time and the pairs
// of the others are complete. RAILMAP_CRASH_ROUNDS raises the number of sweeps.
func TestCrashes(t *testing.T) {
	rounds := 4
	if n := os.Getenv("RAILMAP_CRASH_ROUNDS"); n != "" {
		fmt.Sscan(n, &rounds)
	}
	for seed := range rounds {
		sig := []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP}[seed%2]
		t.Run(fmt.Sprintf("%s/%d", sig, seed), func(t *testing.T) { crash(t, uint64(seed), sig) })
	}
}

func crash(t *testing.T, seed uint64, sig syscall.Signal) {
	const n = 6
	rng := rand.New(rand.NewPCG(seed, 5))
	l := listenLoopback(t)
	procs := map[string]*exec.Cmd{}
	for i := range n {
		name := fmt.Sprintf("n%d", i)
		procs[name] = child(t, l, name)
	}
	defer func() {
		for _, p := range procs {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	}()
	victim := fmt.Sprintf("n%d", rng.IntN(n))
	o := quick(n)
	o.Budget = 20 * time.Second
	var timer *time.Timer
	o.Planned = func(p *Plan) {
		moment := time.Duration(rng.Float64() * .2 * p.Seconds() * float64(time.Second))
		timer = time.AfterFunc(moment, func() { _ = procs[victim].Process.Signal(sig) })
	}
	ctx, cancel := context.WithTimeout(t.Context(), o.Budget+10*time.Second)
	defer cancel()
	r, err := Coordinate(ctx, l, o)
	timer.Stop()
	if err != nil || ctx.Err() != nil {
		t.Fatalf("the sweep did not end within the budget and 10 s: %v", err)
	}
	checkUntouched(t, r, n, victim)
}

func checkUntouched(t *testing.T, r *topology.PairReport, n int, victim string) {
	t.Helper()
	whole := 0
	for _, p := range r.Pairs {
		if p.A != victim && p.B != victim {
			if p.BandwidthBytesPerSecond == nil {
				t.Errorf("%s - %s: %s, and neither is %s", p.A, p.B, p.Failed, victim)
			}
			whole++
		} else if p.BandwidthBytesPerSecond == nil && p.Failed == "" {
			t.Errorf("%s - %s has neither figure nor reason", p.A, p.B)
		}
	}
	if want := (n - 1) * (n - 2); whole != want {
		t.Errorf("%d measurements without %s, want %d", whole, victim, want)
	}
}
