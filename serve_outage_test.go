package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// brokenServices are services as wrappers meet them on a bad day: the address of each by what is wrong.
func brokenServices(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	serve := func(name string, handle func(net.Conn)) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		out[name] = "http://" + l.Addr().String()
		if handle == nil {
			l.Close()
			return
		}
		var conns sync.WaitGroup
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				conns.Go(func() {
					defer c.Close()
					handle(c)
				})
			}
		}()
		t.Cleanup(func() {
			l.Close()
			<-done
			conns.Wait()
		})
	}
	const okHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n"
	read := func(c net.Conn) { _, _ = c.Read(make([]byte, 65536)) }
	serve("dead", nil)
	serve("hung", func(c net.Conn) { // until the client goes
		for b := make([]byte, 4096); ; {
			if _, err := c.Read(b); err != nil {
				return
			}
		}
	})
	serve("slow", func(c net.Conn) {
		read(c)
		for _, b := range []byte(okHead + strings.Repeat(" ", 4000)) {
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(50 * time.Millisecond) // what the test is about: bytes come, the answer does not
		}
	})
	serve("resets", func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) })
	serve("busy", func(c net.Conn) {
		read(c)
		fmt.Fprint(c, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	})
	serve("proxy page", func(c net.Conn) {
		read(c)
		fmt.Fprint(c, "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>")
	})
	serve("other service", func(c net.Conn) {
		read(c)
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
	})
	serve("cut off", func(c net.Conn) {
		read(c)
		fmt.Fprint(c, okHead+`{"placement":{"nodes":["node`)
	})
	return out
}

// TestOutageNeverBlocksAJob: whatever the service does, a wrapper has an empty hint, exit code 0 and one line of warning in
// little more than its time; without ignore it has exit code 5.
func TestOutageNeverBlocksAJob(t *testing.T) {
	services := brokenServices(t)
	var mu sync.Mutex
	longest := time.Duration(0)
	var calls sync.WaitGroup
	for name, url := range services {
		for _, mode := range []string{"ignore", "fail"} {
			for _, more := range []string{"", "--lease 15m", "-o sbatch"} {
				calls.Go(func() {
					args := append([]string{"place", "--server", url, "-N", "4", "--timeout", "2s", "--on-unavailable", mode}, strings.Fields(more)...)
					cmd := exec.Command("railmap", args...)
					cmd.Env = append(os.Environ(), "RAILMAP_SERVER=")
					var out, errs bytes.Buffer
					cmd.Stdout, cmd.Stderr = &out, &errs
					begin := time.Now()
					err := cmd.Run()
					took := time.Since(begin)
					code := 0
					if exit, ok := errors.AsType[*exec.ExitError](err); ok {
						code = exit.ExitCode()
					}
					want := 0
					if mode == "fail" {
						want = int(exitUnavailable)
					}
					if code != want || out.Len() > 0 || strings.Count(errs.String(), "\n") != 1 {
						t.Errorf("%s, %s %s: exit %d\n%s%s", name, mode, more, code, &out, &errs)
					}
					mu.Lock()
					longest = max(longest, took)
					mu.Unlock()
				})
			}
		}
	}
	calls.Wait()
	if longest > 6*time.Second { // a hang; on an idle machine it is 2.0 s (railmap bench outage)
		t.Errorf("a call took %s with --timeout 2s", longest)
	}
	t.Logf("%d calls, the longest took %s", len(services)*6, longest.Round(time.Millisecond))
}
