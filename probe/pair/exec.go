package pair

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/railmap/railmap/probe"
)

// Methods of a measurement.
const (
	MethodTCP      = "tcp"
	MethodPerftest = "perftest"
)

const (
	// perftestPort is the control port of the first rail; perftest itself uses it by default.
	perftestPort = 18515
	// perftestOutput bounds what one run may print.
	perftestOutput = 1 << 20
)

// perftestServer waits on every rail until all clients are done. The client prints the figures.
func perftestServer(ctx context.Context, o *order, nics []NIC, ready func() error) error {
	if o.Rails > len(nics) {
		return fmt.Errorf("%d rails: this node has %d", o.Rails, len(nics))
	}
	errs := make(chan error, o.Rails)
	for r := range o.Rails {
		go func() {
			_, err := runPerftest(ctx, o, r, nics[r].Device)
			errs <- err
		}()
	}
	// perftest says nothing when it listens; the client tries again until it does.
	err := ready()
	for range o.Rails {
		err = errors.Join(err, <-errs)
	}
	return err
}

// perftestClient measures every rail at the same time and returns bytes per second by rail.
func perftestClient(ctx context.Context, o *order, nics []NIC, peers []string) (latencies, rates []float64, err error) {
	if o.Rails > len(nics) || o.Rails > len(peers) {
		return nil, nil, fmt.Errorf("%d rails here and %d there: must be %d", len(nics), len(peers), o.Rails)
	}
	rates = make([]float64, o.Rails)
	errs := make([]error, o.Rails)
	var wg sync.WaitGroup
	for r := range o.Rails {
		wg.Go(func() {
			host, _, err := net.SplitHostPort(peers[r])
			if err != nil {
				errs[r] = err
				return
			}
			rates[r], errs[r] = perftestRail(ctx, o, r, nics[r].Device, host)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	return nil, rates, nil
}

// perftestRail tries again while the server is not there yet.
func perftestRail(ctx context.Context, o *order, rail int, device, host string) (float64, error) {
	for try := 0; ; try++ {
		out, err := runPerftest(ctx, o, rail, device, host)
		if err == nil {
			results, err := probe.ParsePerftest(out)
			if err != nil {
				return 0, fmt.Errorf("rail %d: %w", rail, err)
			}
			if last := results[len(results)-1]; last.BytesPerSecond != nil {
				return *last.BytesPerSecond, nil
			}
			return 0, fmt.Errorf("rail %d: ib_write_bw printed no bandwidth", rail)
		}
		if try == 8 || ctx.Err() != nil {
			return 0, fmt.Errorf("rail %d: %w", rail, err)
		}
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// runPerftest runs ib_write_bw on one rail. -D counts from after its own warm-up, which it takes out of the duration.
func runPerftest(ctx context.Context, o *order, rail int, device string, host ...string) ([]byte, error) {
	seconds := strconv.Itoa(max(1, int(o.Warm+o.Window+.5)))
	args := []string{"--report_gbits", "-F", "-D", seconds, "-p", strconv.Itoa(perftestPort + rail), "-q", strconv.Itoa(o.Streams)}
	if device != "" {
		args = append(args, "-d", device)
	}
	cmd := exec.CommandContext(ctx, "ib_write_bw", append(args, host...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.Output()
	if len(out) > perftestOutput {
		out = out[:perftestOutput]
	}
	if err != nil {
		return nil, fmt.Errorf("ib_write_bw on %s: %w", device, err)
	}
	return out, nil
}
