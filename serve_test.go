package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/railmap/railmap/topology"
)

// process is a real railmap serve in a process of its own.
type process struct {
	cmd *exec.Cmd
	url string
	mu  sync.Mutex
	log bytes.Buffer
}

// startServe starts it and waits until it serves. Listen on port 0 unless the arguments say otherwise.
func startServe(t testing.TB, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command("railmap", append([]string{"serve", "--log-format", "json", "--listen", "127.0.0.1:0"}, args...)...)}
	p.cmd.Env = append(os.Environ(), "RAILMAP_SERVER=")
	out, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	serving := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.mu.Lock()
			p.log.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			var line struct {
				Msg, Address string
				TLS          bool
			}
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
				scheme := "http://"
				if line.TLS {
					scheme = "https://"
				}
				serving <- scheme + line.Address
			}
		}
		close(serving)
	}()
	select {
	case p.url = <-serving:
	case <-time.After(60 * time.Second):
	}
	if p.url == "" {
		t.Fatalf("railmap serve does not serve: %s", p.logged())
	}
	return p
}

func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// cli runs the command in this process.
func cli(t testing.TB, args ...string) (stdout, stderr string, code exitCode) {
	t.Helper()
	var out, errs bytes.Buffer
	e := &env{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, now: time.Now}
	code = run(t.Context(), e, args)
	return out.String(), errs.String(), code
}

// synthFile writes a synthetic map.
func synthFile(t testing.TB, spec string) string {
	t.Helper()
	s, err := topology.ParseSynthSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	topo, err := topology.SynthTopology(s, 1, nil, topology.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "topology.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := topology.Write(f, topo, topology.JSON); err != nil {
		t.Fatal(err)
	}
	return path
}

const smallCluster = "core:1 pod:2 leaf:2 node:8 rail:2 gpu:8"

// TestServeByCommands goes through the life of a lease with the commands that wrappers use.
func TestServeByCommands(t *testing.T) {
	topo := synthFile(t, smallCluster)
	p := startServe(t, "--topology", topo, "--data", t.TempDir())
	t.Setenv("RAILMAP_SERVER", p.url)
	lease := filepath.Join(t.TempDir(), "lease.json")
	for _, step := range []struct {
		args string
		code exitCode
		want string // part of stdout
	}{
		{"place -N 4 --lease 15m --holder a --lease-file " + lease + " -o hostlist", exitOK, "node[0000-0003]\n"},
		{"place -N 4 -o hostlist", exitOK, "node[0004-0007]\n"},
		{"place -N 4 -o sbatch", exitOK, "--nodelist=node[0004-0007]"},
		{"place -N 29", exitInfeasible, ""},
		{"place -N 4 --on-unavailable ignore -o name", exitOK, "node0004\n"},
		{"place -N 4 --busy node0001", exitUsage, ""},
		{"lease bind --lease-file " + lease + " --job 17 --side slurm", exitOK, "slurm  17"},
		{"lease bind --lease-file " + lease + " --job 18", exitUsage, ""},
		{"lease renew --lease-file " + lease, exitOK, "bound"},
		{"lease list --no-headers", exitOK, "node[0000-0003]"},
		{"lease renew l-none --token 1", exitUsage, ""},
		{"topology show --server " + p.url, exitOK, "32 nodes"},
		{"export slurm --server " + p.url + " --out -", exitOK, "SwitchName="},
		{"store backup --server " + p.url + " -o " + filepath.Join(t.TempDir(), "b.db"), exitOK, ""},
		{"submit " + topo, exitUsage, ""},
		{"lease release --lease-file " + lease, exitOK, "released"},
		{"lease renew --lease-file " + lease, exitConflict, ""},
		{"place -N 4 -o hostlist", exitOK, "node[0000-0003]\n"},
	} {
		out, errs, code := cli(t, strings.Fields(step.args)...)
		if code != step.code || !strings.Contains(out, step.want) {
			t.Errorf("railmap %s: exit %d, want %d\n%s%s", step.args, code, step.code, out, errs)
		}
	}
	p.signal(t, syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, p.logged())
	}
}

// TestSameAnswerAsOnFiles: the service gives the bytes that the command gives on the file.
func TestSameAnswerAsOnFiles(t *testing.T) {
	topo := synthFile(t, smallCluster)
	p := startServe(t, "--topology", topo, "--data", t.TempDir())
	for _, format := range []string{"table", "wide", "name", "hostlist", "sbatch", "hostfile", "affinity", "pod-index", "pbs", "lsf", "rankfile"} {
		a, _, _ := cli(t, "place", "-t", topo, "-N", "6", "-o", format)
		b, _, _ := cli(t, "place", "--server", p.url, "-N", "6", "-o", format)
		if a != b || a == "" {
			t.Errorf("-o %s:\nfile:\n%s\nservice:\n%s", format, a, b)
		}
	}
}

// TestExposure: no other address than loopback without TLS and authentication.
func TestExposure(t *testing.T) {
	for _, tt := range []struct {
		args string
		ok   bool
	}{
		{"--listen 127.0.0.1:0", true}, {"--listen [::1]:0", true}, {"--listen localhost:0", true}, {"--listen :7070", false}, {"--listen 0.0.0.0:7070", false},
		{"--listen 10.0.0.1:7070 --tls-cert c --tls-key k", false}, {"--listen 10.0.0.1:7070 --tokens t", false}, {"--listen 10.0.0.1:7070 --insecure", true},
		{"--listen 10.0.0.1:7070 --tls-cert c --tls-key k --tokens t", true}, {"--listen 10.0.0.1:7070 --tls-cert c --tls-key k --client-ca a", true},
		{"--listen 10.0.0.1:7070 --tls-cert c", false},
	} {
		_, errs, code := cli(t, append([]string{"config", "show"}, strings.Fields(tt.args)...)...)
		if (code == exitOK) != tt.ok || !tt.ok && code != exitUsage {
			t.Errorf("%s: exit %d: %s", tt.args, code, errs)
		}
	}
}

// TestReload: a bad configuration is refused whole and the last good one stays; SIGHUP does not end the process.
func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("metrics: {maxSwitches: 100}\n")
	p := startServe(t, "--config", file, "--data", t.TempDir())
	metric := func(name string) string {
		resp, err := http.Get(p.url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		for line := range strings.Lines(string(body)) {
			if v, ok := strings.CutPrefix(line, name+" "); ok {
				return strings.TrimSpace(v)
			}
		}
		return ""
	}
	await := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); metric("railmap_config_last_reload_successful") != want; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the metric of the reload is not %s\n%s", want, p.logged())
			}
		}
	}
	await("1")
	write("metrics: {maxSwitchs: 1}\nlisten: 3\n")
	p.signal(t, syscall.SIGHUP)
	await("0")
	if resp, err := http.Post(p.url+"/-/reload", "", nil); err != nil || resp.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("reload of a bad file: %v %v", resp, err)
	}
	write("metrics: {maxSwitches: 7}\ndata: elsewhere\n")
	p.signal(t, syscall.SIGHUP)
	await("1")
}

// TestConfigErrors: every problem is told at once, by its path.
func TestConfigErrors(t *testing.T) {
	c := defaultConfig()
	err := parseConfig([]byte("store: mysql://x\ntls: {cert: a}\nlog: {level: loud, format: xml}\nmetrics: {maxSwitches: -1}\n"), "f.yaml", &c)
	for _, want := range []string{"store:", "tls.cert", "log.level", "log.format", "metrics.maxSwitches"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q is not told: %v", want, err)
		}
	}
	if err := parseConfig([]byte("tls: {certificate: a}\n"), "f.yaml", &c); err == nil || strings.Contains(err.Error(), "main.") {
		t.Errorf("unknown field: %v", err)
	}
	c = config{Store: "etcd://me:secret@h:1"}
	if got := c.redacted().Store; got != "etcd://***@h:1" {
		t.Errorf("redacted: %s", got)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte("listen: 127.0.0.1:1\nstore: etcd://a:1,b:2?prefix=/x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := defaultConfig()
		_ = parseConfig(data, "fuzz", &c)
	})
}
