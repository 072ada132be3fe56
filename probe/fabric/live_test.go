package fabric

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/railmap/railmap/topology"
)

// simulator starts ibsim on a fabric and makes ibnetdiscover talk to it. ibsim reads ibnetdiscover's own text as its netlist.
func simulator(t *testing.T, r *topology.FabricReport) {
	t.Helper()
	libs, _ := filepath.Glob("/usr/lib/*/umad2sim/libumad2sim.so*")
	for _, name := range []string{"ibsim", "ibnetdiscover"} {
		if _, err := exec.LookPath(name); err != nil {
			libs = nil
		}
	}
	if len(libs) == 0 {
		if os.Getenv("RAILMAP_REQUIRE_REAL") != "" {
			t.Fatal("ibsim, libumad2sim and ibnetdiscover must be installed (ibsim-utils, libumad2sim0, infiniband-diags)")
		}
		t.Skip("ibsim, libumad2sim or ibnetdiscover is not installed")
	}
	dir := t.TempDir()
	net := filepath.Join(dir, "net")
	if err := os.WriteFile(net, []byte(text(t, r)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("IBSIM_SOCKNAME", fmt.Sprintf("railmap-test-%d", os.Getpid()))
	sim := exec.Command("ibsim", "-s", net)
	sim.Dir = dir
	console, err := sim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := sim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan bool, 1)
	go func() {
		reader := bufio.NewReader(out)
		seen := ""
		for !strings.HasSuffix(seen, "sim>") {
			c, err := reader.ReadByte()
			if err != nil {
				ready <- false
				return
			}
			seen = seen[max(0, len(seen)-8):] + string(c)
		}
		ready <- true
		reader.WriteTo(discard{})
	}()
	t.Cleanup(func() {
		console.Close()
		sim.Process.Kill()
		sim.Wait()
	})
	select {
	case ok := <-ready:
		if !ok {
			t.Fatal("ibsim ended before it was ready")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("ibsim is not ready after 30 s")
	}
	t.Setenv("LD_PRELOAD", libs[0])
	t.Chdir(dir) // the library leaves files in the working directory
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func TestLive(t *testing.T) {
	want := twoLevel(12, 2, 4, 2)
	for i := range want.Devices {
		want.Devices[i].VendorID, want.Devices[i].DeviceID = 0, 0 // the simulator has ids of its own
	}
	simulator(t, want)
	got, err := Live(t.Context(), LiveOptions{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Devices {
		got.Devices[i].VendorID, got.Devices[i].DeviceID = 0, 0
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	t.Setenv("SIM_HOST", "node0000 mlx5_0")
	both, err := Live(t.Context(), LiveOptions{Ports: []LocalPort{{CA: "ibsim0", Port: 1}, {CA: "mlx5_7", Port: 1}}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if codes(both) != CodePortFailed || both.Findings[0].Subject != "mlx5_7/1" || len(both.Devices) != len(want.Devices) {
		t.Errorf("one port that is not there: findings %v", both.Findings)
	}
}

func TestLiveSingleAdapter(t *testing.T) {
	r := twoLevel(1, 1, 1, 0)
	r.Devices, r.Links = r.Devices[1:], nil
	simulator(t, r)
	if _, err := Live(t.Context(), LiveOptions{}); err == nil || !strings.Contains(err.Error(), "this host sees no fabric") {
		t.Errorf("error %v", err)
	}
}

// script writes a program that stands in for ibnetdiscover.
func script(t *testing.T, body string) string {
	path := filepath.Join(t.TempDir(), "ibnetdiscover")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLiveErrors(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"fails", "echo 'ibwarn: can not open umad port' >&2; exit 1", "ibwarn: can not open umad port"},
		{"no fabric text", "echo hello", "no InfiniBand records"},
		{"endless nonsense", "yes nonsense", "no InfiniBand records"},
		{"silent failure", "exit 3", "exit status 3"},
	} {
		_, err := Live(t.Context(), LiveOptions{Program: script(t, tt.body), Timeout: 30 * time.Second})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want it to contain %q", tt.name, err, tt.want)
		}
	}
	if _, err := Live(t.Context(), LiveOptions{Program: "no-such-ibnetdiscover"}); err == nil || !strings.Contains(err.Error(), "must be in PATH") {
		t.Errorf("missing program: error %v", err)
	}
	_, err := Live(t.Context(), LiveOptions{Program: script(t, "exec sleep 60"), Timeout: 50 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("hanging program: error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Live(ctx, LiveOptions{Program: script(t, "exec sleep 60")}); err == nil {
		t.Error("cancelled: no error")
	}
}
