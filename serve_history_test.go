package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/railmap/railmap/placer"
	"github.com/railmap/railmap/placer/ledger"
	"github.com/railmap/railmap/placer/server"
)

// A history is what clients of real servers saw of one node: who took it and who gave it back, between which moments. The
// node is a lock; some order of the calls must explain all answers.
type nodeCall struct {
	node string
	take bool
	who  uint64
}

type nodeAnswer int

const (
	answered nodeAnswer = iota
	refused
	unanswered // it may have happened, then or at any time later
)

// nodeModel: state 0 = free, else who holds it.
func nodeModel() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: partitionByNode,
		Init:      func() []any { return []any{uint64(0)} },
		Step: func(state, input, output any) []any {
			held, call, answer := state.(uint64), input.(nodeCall), output.(nodeAnswer)
			mine := held == call.who
			after := uint64(0)
			if call.take {
				mine, after = held == 0, call.who
			}
			switch {
			case answer == answered && mine:
				return []any{after}
			case answer == refused && call.take && !mine:
				return []any{held}
			case answer == unanswered && mine:
				return []any{held, after}
			case answer == unanswered:
				return []any{held}
			}
			return nil
		},
		Equal: func(a, b any) bool { return a == b },
	}
	return m.ToModel()
}

func partitionByNode(history []porcupine.Operation) [][]porcupine.Operation {
	by := map[string][]porcupine.Operation{}
	for _, op := range history {
		by[op.Input.(nodeCall).node] = append(by[op.Input.(nodeCall).node], op)
	}
	var out [][]porcupine.Operation
	for _, ops := range by {
		out = append(out, ops)
	}
	return out
}

// history collects calls.
type history struct {
	mu    sync.Mutex
	ops   []porcupine.Operation
	count map[nodeAnswer]int
	start time.Time
}

func (h *history) record(client int, call nodeCall, begin time.Time, answer nodeAnswer) {
	ret := time.Since(h.start).Nanoseconds()
	if answer == unanswered {
		ret = math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count[answer]++
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: call, Call: begin.Sub(h.start).Nanoseconds(), Output: answer, Return: ret})
}

// takeAndGive takes a node by a placement that allows no other, and gives it back.
func (h *history) takeAndGive(c *server.Client, client int, who uint64, node string) {
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Second)
	defer cancel()
	begin := time.Now()
	resp, err := c.Place(ctx, &server.PlaceRequest{Request: placer.Request{Nodes: 1, Include: []string{node}, Brief: true}, Lease: &server.LeaseRequest{Holder: fmt.Sprint(who), TTLSeconds: 3600}})
	p, isProblem := errors.AsType[*server.Problem](err)
	switch {
	case err == nil:
		h.record(client, nodeCall{node, true, who}, begin, answered)
	case isProblem && (p.Status == http.StatusUnprocessableEntity || p.Status == http.StatusConflict):
		h.record(client, nodeCall{node, true, who}, begin, refused)
		return
	default:
		h.record(client, nodeCall{node, true, who}, begin, unanswered)
		return
	}
	begin = time.Now()
	answer := answered
	if _, err := c.Release(ctx, resp.Lease.ID, resp.Lease.Token); err != nil {
		answer = unanswered
	}
	h.record(client, nodeCall{node, false, who}, begin, answer)
}

// runHistory drives clients through the servers while fault does harm, and checks what they saw.
func runHistory(t *testing.T, urls []string, clients, calls int, fault func(stop <-chan struct{}) int) {
	t.Helper()
	h := &history{start: time.Now(), count: map[nodeAnswer]int{}}
	stop, harmed := make(chan struct{}), make(chan int, 1)
	go func() { harmed <- fault(stop) }()
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			c, err := server.NewClient(urls[i%len(urls)], "", &http.Transport{MaxIdleConnsPerHost: 2})
			if err != nil {
				t.Error(err)
				return
			}
			rng := rand.New(rand.NewPCG(uint64(i), 5))
			for k := range calls / clients {
				h.takeAndGive(c, i, uint64(i)<<32|uint64(k)+1, fmt.Sprintf("node%04d", rng.IntN(8)))
			}
		})
	}
	wg.Wait()
	close(stop)
	n := <-harmed
	begin := time.Now()
	result := porcupine.CheckOperationsTimeout(nodeModel(), h.ops, 60*time.Second)
	t.Logf("%d calls in %s (%d refused, %d unanswered), %d faults; checked in %s", len(h.ops), begin.Sub(h.start).Round(time.Millisecond), h.count[refused], h.count[unanswered], n, time.Since(begin).Round(time.Millisecond))
	if result != porcupine.Ok {
		t.Fatalf("the history is %s", result)
	}
}

// histories is how many to run: 5 in a change's tests, RAILMAP_SOAK times as many in a soak.
func histories(n int) int {
	if testing.Short() {
		return 1
	}
	var factor int
	if _, err := fmt.Sscan(os.Getenv("RAILMAP_SOAK"), &factor); err == nil && factor > 1 {
		return n * factor
	}
	return n
}

// restartable is a server on a fixed address that can be killed and started again.
type restartable struct {
	*process
	t    *testing.T
	args []string
}

func startAt(t *testing.T, args ...string) *restartable {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	r := &restartable{t: t, args: append(args, "--listen", address)}
	r.process = startServe(t, r.args...)
	return r
}

// killAndStart is kill -9 and a new start on the same data.
func (r *restartable) killAndStart() {
	r.kill()
	r.process = startServe(r.t, r.args...)
}

// pause stops the process for a while, as a busy hypervisor or a debugger would.
func (r *restartable) pause(d time.Duration) {
	_ = r.cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(d)
	_ = r.cmd.Process.Signal(syscall.SIGCONT)
}

// TestHistoryServe: 16 clients of a real server that is killed and paused at random moments.
func TestHistoryServe(t *testing.T) {
	topo := synthFile(t, smallCluster)
	for round := range histories(5) {
		r := startAt(t, "--topology", topo, "--data", t.TempDir())
		rng := rand.New(rand.NewPCG(uint64(round), 3))
		runHistory(t, []string{r.url}, 16, 5000, func(stop <-chan struct{}) int {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return n
				case <-time.After(time.Duration(100+rng.IntN(400)) * time.Millisecond):
				}
				if rng.IntN(3) == 0 {
					r.pause(time.Duration(50+rng.IntN(300)) * time.Millisecond)
				} else {
					r.killAndStart()
				}
			}
		})
		r.kill()
	}
}

// TestHistoryEtcdServers: three servers on three etcd members; a server or a member is killed at a time.
func TestHistoryEtcdServers(t *testing.T) {
	etcd := startEtcd(t)
	topo := synthFile(t, smallCluster)
	var members []string
	for _, m := range etcd {
		members = append(members, m.client)
	}
	for round := range histories(1) {
		store := fmt.Sprintf("etcd://%s?prefix=/history%d", strings.Join(members, ","), round)
		var servers []*restartable
		var urls []string
		for range 3 {
			r := startAt(t, "--topology", topo, "--data", t.TempDir(), "--store", store)
			servers, urls = append(servers, r), append(urls, r.url)
		}
		rng := rand.New(rand.NewPCG(uint64(round), 4))
		runHistory(t, urls, 12, 2000, func(stop <-chan struct{}) int {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return n
				case <-time.After(time.Duration(700+rng.IntN(800)) * time.Millisecond):
				}
				if n%3 == 2 {
					etcd[rng.IntN(3)].restart(t)
				} else {
					servers[rng.IntN(3)].killAndStart()
				}
			}
		})
		for _, r := range servers {
			r.kill()
		}
	}
}

// etcdMember is a real etcd process.
type etcdMember struct {
	cmd    *exec.Cmd
	client string
	args   []string
}

func (m *etcdMember) start(t *testing.T) {
	m.cmd = exec.Command("etcd", m.args...)
	if err := m.cmd.Start(); err != nil {
		t.Error(err)
	}
}

func (m *etcdMember) kill() {
	if m.cmd.ProcessState == nil {
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait()
	}
}

func (m *etcdMember) restart(t *testing.T) {
	m.kill()
	m.start(t)
}

// startEtcd starts three members on loopback and waits until they answer.
func startEtcd(t *testing.T) []*etcdMember {
	t.Helper()
	if _, err := exec.LookPath("etcd"); err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatal("etcd is not installed: .ci/install-deps installs it")
		}
		t.Skip("etcd is not installed (package etcd-server)")
	}
	var ports []string
	var held []net.Listener
	for range 6 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports, held = append(ports, l.Addr().String()), append(held, l)
	}
	for _, l := range held {
		l.Close()
	}
	var cluster []string
	for i := range 3 {
		cluster = append(cluster, fmt.Sprintf("m%d=http://%s", i, ports[3+i]))
	}
	dir := t.TempDir()
	var members []*etcdMember
	for i := range 3 {
		client, peer := "http://"+ports[i], "http://"+ports[3+i]
		members = append(members, &etcdMember{client: ports[i], args: []string{"--name", fmt.Sprintf("m%d", i), "--data-dir", filepath.Join(dir, fmt.Sprint(i)),
			"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(cluster, ","), "--heartbeat-interval", "100", "--election-timeout", "1000", "--log-level", "error"}})
	}
	for _, m := range members {
		m.start(t)
	}
	t.Cleanup(func() {
		for _, m := range members {
			m.kill()
		}
	})
	return members
}

// TestOldHolderIsRefused: the service is paused for longer than a lease lives. After that the lease is over, the node goes to
// another holder with a higher token, and the old token opens nothing.
func TestOldHolderIsRefused(t *testing.T) {
	r := startAt(t, "--topology", synthFile(t, smallCluster), "--data", t.TempDir())
	c, err := server.NewClient(r.url, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ttl float64) (*ledger.Lease, error) {
		resp, err := c.Place(t.Context(), &server.PlaceRequest{Request: placer.Request{Nodes: 1, Include: []string{"node0003"}}, Lease: &server.LeaseRequest{Holder: "h", TTLSeconds: ttl}})
		return resp.Lease, err
	}
	old, err := ask(1)
	if err != nil {
		t.Fatal(err)
	}
	r.pause(1500 * time.Millisecond)
	if _, err := c.Renew(t.Context(), old.ID, server.LeaseAction{Token: old.Token}); err == nil {
		t.Error("a lease was renewed after its time")
	}
	next, err := ask(60)
	if err != nil || next.Token <= old.Token {
		t.Fatalf("%+v %v after token %d", next, err, old.Token)
	}
	for _, id := range []string{old.ID, next.ID} {
		p, ok := errors.AsType[*server.Problem](func() error {
			_, err := c.Renew(t.Context(), id, server.LeaseAction{Token: old.Token})
			return err
		}())
		if !ok || p.Status != http.StatusConflict {
			t.Errorf("renewal of %s with the old token: %+v", id, p)
		}
	}
}
