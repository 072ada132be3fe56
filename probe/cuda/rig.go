//go:build cgo && linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// rig holds the library, the contexts and the buffers of one run. All driver calls come from one thread, because the
// current context belongs to a thread.
type rig struct {
	*api
	plan    Plan
	opts    Options
	devices map[string]int // PCI address -> device
	scope   scope
	gpus    map[string]*gpu
	host    map[string][]handle // buffers by NUMA node
	flag    handle
	blocked bool // streams can wait for the flag
	seen    map[string]bool
}

// gpu is a device in use.
type gpu struct {
	name    string
	device  int
	context handle
	buffers []devptr
	peers   map[string]bool // GPU -> direct access is on
}

// Run measures the steps of a plan and emits one result for each. The error is about the driver as a whole, a cancelled
// context, or something that could not be freed; a step that fails says so in its result.
func Run(ctx context.Context, plan Plan, o Options, emit func(Result)) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine, and its pinning with it
		done <- run(ctx, plan, o, emit)
	}()
	return <-done
}

func run(ctx context.Context, plan Plan, o Options, emit func(Result)) (err error) {
	s := &rig{plan: plan, opts: o, gpus: map[string]*gpu{}, host: map[string][]handle{}, seen: map[string]bool{}}
	if s.api, err = openAPI(o.Dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.scope.close()) }()
	if err = s.init(); err != nil {
		return err
	}
	if s.devices, err = s.api.devices(); err != nil {
		return err
	}
	for i, step := range plan.Steps {
		if err = ctx.Err(); err != nil {
			return err
		}
		r := s.step(ctx, step)
		r.Step = i
		emit(r)
	}
	return ctx.Err()
}

func (s *rig) step(ctx context.Context, step Step) Result {
	var r Result
	var err error
	limited, cancel := context.WithTimeoutCause(ctx, s.plan.Timeout, fmt.Errorf("not done within %v", s.plan.Timeout))
	defer cancel()
	switch step.Kind {
	case CopyStep:
		r.Ways, err = s.copyStep(limited, step)
	case LatencyStep:
		r.Ways, err = s.latencyStep(limited, step)
	case NCCLStep:
		r.Sizes, r.Version, err = s.ncclStep(limited, step)
	default:
		err = fmt.Errorf("step kind %q: must be copy, latency or nccl", step.Kind)
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// gpu opens a GPU when it is used first.
func (s *rig) gpu(name string) (*gpu, error) {
	if g := s.gpus[name]; g != nil {
		if err := s.setCurrent(g.context); err != nil {
			return nil, err
		}
		return g, s.makeFlag()
	}
	address, known := s.plan.GPUs[name]
	device, there := s.devices[address]
	if !known || !there {
		return nil, fmt.Errorf("%s (%s): CUDA shows no such device", name, address)
	}
	context, err := s.retain(device)
	if err != nil {
		return nil, err
	}
	s.scope.add(func() error { return s.release(device) })
	if err := s.setCurrent(context); err != nil {
		return nil, err
	}
	g := &gpu{name: name, device: device, context: context, peers: map[string]bool{}}
	s.gpus[name] = g
	return g, s.makeFlag()
}

// makeFlag allocates the word that streams wait for. It needs a current context.
func (s *rig) makeFlag() error {
	if s.flag != nil {
		return nil
	}
	flag, err := s.hostAlloc(4096)
	if err != nil {
		return err
	}
	s.scope.add(func() error { return s.hostFree(flag) })
	s.flag, s.blocked = flag, true
	return nil
}

// deviceBuffer gives the i-th buffer of a GPU, of the plan's size.
func (s *rig) deviceBuffer(g *gpu, i int) (devptr, error) {
	for len(g.buffers) <= i {
		if err := s.setCurrent(g.context); err != nil {
			return 0, err
		}
		free, err := s.freeMemory()
		if err != nil {
			return 0, err
		}
		if free < 2*uint64(s.plan.Bytes) {
			return 0, fmt.Errorf("%s has %d bytes free: needs twice %d", g.name, free, s.plan.Bytes)
		}
		p, err := s.alloc(s.plan.Bytes)
		if err != nil {
			return 0, err
		}
		s.scope.add(func() error { return errors.Join(s.setCurrent(g.context), s.free(p)) })
		g.buffers = append(g.buffers, p)
	}
	return g.buffers[i], nil
}

// hostBuffer gives the i-th buffer on a NUMA node. The pages lie where the thread runs when they are allocated.
func (s *rig) hostBuffer(numa string, i int) (handle, error) {
	if err := s.pin(numa); err != nil {
		return nil, err
	}
	for len(s.host[numa]) <= i {
		p, err := s.hostAlloc(s.plan.Bytes)
		if err != nil {
			return nil, err
		}
		s.scope.add(func() error { return s.hostFree(p) })
		s.host[numa] = append(s.host[numa], p)
	}
	return s.host[numa][i], nil
}

// pin keeps this thread on the CPUs of a NUMA node.
func (s *rig) pin(numa string) error {
	cpus, known := s.plan.NUMA[numa]
	if !known || len(cpus) == 0 {
		return fmt.Errorf("%s: no CPUs known", numa)
	}
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("run on the CPUs of %s: %w", numa, err)
	}
	return nil
}

// peer turns on direct access between two GPUs, both ways, and tells whether there is any.
func (s *rig) peer(a, b *gpu) (bool, error) {
	for _, way := range [][2]*gpu{{a, b}, {b, a}} {
		from, to := way[0], way[1]
		if direct, asked := from.peers[to.name]; asked {
			if !direct {
				return false, nil
			}
			continue
		}
		yes, err := s.canAccess(from.device, to.device)
		if err != nil {
			return false, err
		}
		from.peers[to.name] = yes
		if !yes {
			return false, nil
		}
		if err := s.openPeer(from, to); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (s *rig) openPeer(from, to *gpu) error {
	if err := s.setCurrent(from.context); err != nil {
		return err
	}
	err := s.enablePeer(to.context)
	if ce, ok := errors.AsType[*CallError](err); ok && ce.Code == alreadyPeered {
		return nil
	}
	if err == nil {
		s.scope.add(func() error { return errors.Join(s.setCurrent(from.context), s.disablePeer(to.context)) })
	}
	return err
}

// isGPU tells GPUs from NUMA nodes by name.
func isGPU(place string) bool { return strings.HasPrefix(place, "GPU") }

// wait polls the streams until all are done. When the context ends first it lets the flag go, so that nothing is left
// waiting, and gives the streams a moment to run dry before their buffers are freed.
func (s *rig) wait(ctx context.Context, streams []handle) error {
	const grace = 5 * time.Second
	var cause error
	deadline := time.Time{}
	for {
		busy := false
		for _, st := range streams {
			done, err := s.streamDone(st)
			if err != nil {
				return errors.Join(cause, err)
			}
			busy = busy || !done
		}
		if !busy {
			return cause
		}
		if cause == nil && ctx.Err() != nil {
			cause, deadline = context.Cause(ctx), time.Now().Add(grace)
			storeFlag(s.flag, 1)
		}
		if cause != nil && time.Now().After(deadline) {
			return cause
		}
		time.Sleep(50 * time.Microsecond)
	}
}
