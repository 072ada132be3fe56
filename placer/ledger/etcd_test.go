package ledger

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// member is one real etcd process.
type member struct {
	cmd    *exec.Cmd
	args   []string
	client string
	log    *os.File
}

// startEtcd starts a cluster of real etcd members on loopback and waits until it answers.
func startEtcd(t *testing.T, n int) []*member {
	t.Helper()
	path, err := exec.LookPath("etcd")
	if err != nil {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatal("etcd is not installed: .ci/install-deps installs it")
		}
		t.Skip("etcd is not installed (package etcd-server)")
	}
	ports := freePorts(t, 2*n)
	var initial []string
	for i := range n {
		initial = append(initial, fmt.Sprintf("m%d=http://127.0.0.1:%d", i, ports[2*i+1]))
	}
	var members []*member
	dir := t.TempDir()
	for i := range n {
		client, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[2*i]), fmt.Sprintf("http://127.0.0.1:%d", ports[2*i+1])
		log, err := os.Create(filepath.Join(dir, fmt.Sprintf("m%d.log", i)))
		if err != nil {
			t.Fatal(err)
		}
		m := &member{client: client, log: log, args: []string{path, "--name", fmt.Sprintf("m%d", i), "--data-dir", filepath.Join(dir, fmt.Sprintf("m%d", i)),
			"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(initial, ","), "--initial-cluster-token", "railmap-test", "--heartbeat-interval", "100", "--election-timeout", "1000"}}
		m.start(t)
		members = append(members, m)
		t.Cleanup(m.kill)
	}
	waitFor(t, members)
	return members
}

func (m *member) start(t *testing.T) {
	t.Helper()
	m.cmd = exec.Command(m.args[0], m.args[1:]...)
	m.cmd.Stdout, m.cmd.Stderr = m.log, m.log
	m.cmd.Env = append(os.Environ(), "ETCD_UNSUPPORTED_ARCH=")
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

func (m *member) kill() {
	if m.cmd.ProcessState == nil {
		m.cmd.Process.Kill()
		m.cmd.Wait()
	}
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	var held []net.Listener
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, l)
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	for _, l := range held {
		l.Close()
	}
	return ports
}

func waitFor(t *testing.T, members []*member) {
	t.Helper()
	c := dialEtcd(t, members)
	defer c.Close()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, err := c.Get(ctx, "ready")
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(members[0].log.Name())
			t.Fatalf("etcd does not answer: %v\n%s", err, log)
		}
	}
}

func dialEtcd(t *testing.T, members []*member) *clientv3.Client {
	t.Helper()
	var urls []string
	for _, m := range members {
		urls = append(urls, m.client)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: urls, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func openEtcd(t *testing.T, members []*member, prefix string) *Ledger {
	t.Helper()
	store := OpenEtcd(dialEtcd(t, members), prefix)
	l, err := Open(t.Context(), store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestEtcdServersShareOneLedger: what one server grants, the others refuse at once, and see in their views after Refresh.
func TestEtcdServersShareOneLedger(t *testing.T) {
	members := startEtcd(t, 1)
	a, b := openEtcd(t, members, "/one"), openEtcd(t, members, "/one")
	defer a.Close()
	defer b.Close()
	lease, err := reserve(a, "n1", "n2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reserve(b, "n2"); err == nil || !strings.Contains(err.Error(), lease.ID) {
		t.Fatalf("second server: %v, must name lease %s", err, lease.ID)
	}
	if err := b.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.View(func(s *State) {
		if s.HeldGPUs("n1") == 0 {
			t.Error("the second server does not see n1 held")
		}
	})
	if _, err := Do(t.Context(), b, func(tx *Tx) (*Lease, error) { return tx.Release(lease.ID, lease.Token) }); err != nil {
		t.Fatal(err)
	}
	again, err := reserve(a, "n2")
	if err != nil || again.Token <= lease.Token {
		t.Fatalf("after the release: %+v, %v: the token must grow beyond %d", again, err, lease.Token)
	}
}
