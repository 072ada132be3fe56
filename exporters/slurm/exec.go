package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ErrNoSlurm is in the error of whatever needs a Slurm program that is not installed.
var ErrNoSlurm = errors.New("no Slurm programs")

// Install is an installed Slurm.
type Install struct {
	// Root is a folder with an unpacked Slurm that is entered by chroot, for releases other than that of this host; it needs
	// root rights. Empty: the programs in PATH and /usr/sbin.
	Root string
	// Conf is the slurm.conf that programs use; empty: their default.
	Conf string

	mount string // folder that programs in Root see as /mnt when no other is given
}

// command makes a command of this Slurm. Work, when not empty, is a folder that the program sees as i.seen(work). In a chroot,
// /proc and the folder are mounted in a name space of the one process, so nothing stays behind.
func (i Install) command(ctx context.Context, work string, args ...string) *exec.Cmd {
	var c *exec.Cmd
	if work == "" {
		work = i.mount
	}
	if i.Root == "" {
		c = exec.CommandContext(ctx, program(args[0]), args[1:]...)
	} else {
		script := `mount -t proc proc "$0/proc" && { [ -z "$1" ] || mount --bind "$1" "$0/mnt"; } && root=$0 && shift && exec chroot "$root" "$@"`
		c = exec.CommandContext(ctx, "unshare", append([]string{"--mount", "--propagation", "private", "sh", "-c", script, i.Root, work}, args...)...)
	}
	c.Dir = "/"
	c.WaitDelay = 5 * time.Second
	if i.Conf != "" {
		c.Env = append(os.Environ(), "SLURM_CONF="+i.Conf)
	}
	return c
}

// program finds a daemon where distributions put it, which is not in everybody's PATH.
func program(name string) string {
	if _, err := exec.LookPath(name); err != nil {
		if path := filepath.Join("/usr/sbin", name); isExecutable(path) {
			return path
		}
	}
	return name
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// seen is a work folder as the programs see it.
func (i Install) seen(work string) string {
	if i.Root == "" {
		return work
	}
	return "/mnt"
}

// Release asks slurmctld for its version: the full one ("24.11.5") and what counts of it.
func (i Install) Release(ctx context.Context) (string, Version, error) {
	out, err := i.command(ctx, "", "slurmctld", "-V").Output()
	if err != nil {
		return "", Version{}, fmt.Errorf("%w: slurmctld -V: %w", ErrNoSlurm, err)
	}
	text := strings.TrimSpace(string(out))
	v, err := ParseVersion(text)
	return text[strings.LastIndexByte(text, ' ')+1:], v, err
}

// run runs a client and returns what it printed on both streams.
func (i Install) run(ctx context.Context, work string, args ...string) (string, error) {
	out, err := i.command(ctx, work, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, clip(strings.TrimSpace(string(out))))
	}
	return string(out), err
}

// process is a daemon in the foreground.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

func startProcess(c *exec.Cmd) (*process, error) {
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: c, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = c.Wait() // the state is kept in c.ProcessState
	}()
	return p, nil
}

// stop ends the process by SIGTERM, after ten seconds by SIGKILL, and waits.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}
