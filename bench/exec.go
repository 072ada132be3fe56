package bench

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// runChild runs a program on one processor and gives what it prints.
func runChild(ctx context.Context, program string, args []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", program, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out, nil
}

// serverProcess is a placement service in a process of its own.
type serverProcess struct {
	cmd   *exec.Cmd
	url   string
	begin time.Time
	log   *os.File
}

// startServer starts the program on a free port of loopback, with the map and the ledger in dir.
func startServer(ctx context.Context, program, dir string) (*serverProcess, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "serve.log"))
	if err != nil {
		return nil, err
	}
	p := &serverProcess{url: "http://" + address, begin: time.Now(), log: log}
	p.cmd = exec.CommandContext(ctx, program, "serve", "--listen", address, "--data", filepath.Join(dir, "data"), "--topology", filepath.Join(dir, "topology.json"), "--log-level", "warn")
	p.cmd.Stderr = log
	return p, p.cmd.Start()
}

// awaitReady polls /readyz and gives the seconds since the start.
func (p *serverProcess) awaitReady(ctx context.Context) (float64, error) {
	for {
		resp, err := http.Get(p.url + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return time.Since(p.begin).Seconds(), nil
			}
		}
		if ctx.Err() != nil || time.Since(p.begin) > 5*time.Minute {
			log, _ := os.ReadFile(p.log.Name())
			return 0, fmt.Errorf("the server does not get ready: %s", bytes.TrimSpace(log))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// residentBytes is the memory that the process holds now (VmRSS of proc(5)); 0 = unknown.
func (p *serverProcess) residentBytes() int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// stop ends the process; twice is once.
func (p *serverProcess) stop() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Signal(os.Interrupt)
		_ = p.cmd.Wait()
		_ = p.log.Close()
	}
}
